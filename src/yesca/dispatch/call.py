"""The hot path: an operator call from Python values to wrapped results.

`call(record, values)` encodes the call, finds or makes its plan, runs it and records the tape.
The builtin of machine code does the same steps on the same plans (`runtime/native/fastcall.py`);
whatever it does not know ends up here.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from ..base.errors import too_big
from ..base.frames import warn_once
from ..core import registry
from ..core.devices import CPU, META
from ..core.dtypes import SCALAR_NAMES, DType, bool_, can_cast, get_default_dtype
from ..core.spec import Spec, on_meta
from ..core.storage import UntypedStorage
from ..core.tensor_base import (
    Extra, InferenceView, NoGradView, OneOfSeveral, TensorBase, Version,
)
from ..core.views import stretched
from ..operators import limited
from ..operators.record import Record
from ..runtime.plan import NUMBER, PLAN_LIMIT, Plan, new_storage
from ..runtime.plan import run as run_plan
from ..runtime.program import Program, Ref
from . import autocast, explicit, inplace, negation
from .outputs import casts
from .shortcuts import Run, tensors_in
from .state import STATE, push_level

NUMBERS = (int, float, complex)
NO_PLAN: Any = object()  # stands for a plan that cannot be made
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_launch: Any = None


def call(record: Record, values: tuple[Any, ...]) -> Any:
    """Run an operator on a full tuple of its arguments."""
    if STATE.levels:
        return _through_levels(record, values, None)
    return run(record, values)


def call_inplace(record: Record, values: tuple[Any, ...]) -> Any:
    """Run an operator and write its result into its first argument."""
    if STATE.levels:
        return _through_levels(record, values, values[0])
    return run(record, values, values[0])


def _through_levels(record: Record, values: tuple[Any, ...], target: Any) -> Any:
    """The innermost level handles the call with itself switched off."""
    level = STATE.levels.pop()
    try:
        return level.call(record, values, target)
    finally:
        push_level(level)  # the builtin path may have been told meanwhile that there is none


def observe(observer: Any) -> None:
    """Let an observer see every call that arrives at `run`, or (None) nobody."""
    global run
    run = base if observer is None else observer.call


def intercept(function: Callable[..., Any]) -> None:
    """Let a function see the calls that arrive at `run` from now on: it hands on to `unobserved`.
    """
    global base, run
    if run is base:
        run = function
    base = function


def call_out(record: Record, values: tuple[Any, ...], out: Any) -> Any:
    """Run an operator so that its kernels write to `out`, off the tape.

    NotImplemented where `out` is not just as the result would be, or shares an operand's memory.
    """
    if record.composite is not None or record.kind == "view" or STATE.levels or STATE.recorder \
            or STATE.autocast is not None or out._counter is None:
        return NotImplemented
    return run(record, values, out=out)


def unobserved(record: Record, values: tuple[Any, ...], target: Any = None, out: Any = None
               ) -> Any:
    """Run below the levels. `target`: the tensor that takes the result, in place; `out`: another
    one that does."""
    if target is not None and STATE.derivative is not None:
        inplace.check_captured(target, record, values)
    if record.autocast and STATE.autocast is not None and target is None:
        return autocast.run(record, values)
    if record.composite is not None:
        return _composed(record, values, target)
    key: list[Any] = [target is not None, get_default_dtype()]
    tensors: list[Any] = []
    if out is not None:
        key = [2, get_default_dtype(), out._spec]
        tensors.append(out)
    scalars: list[Any] = []
    needs = False
    for position, mode in enumerate(record.modes):
        value = values[position]
        if mode == "X":
            key.append(_static(value))
        elif isinstance(value, TensorBase):
            if mode == "S":
                value = value.item()  # type: ignore[attr-defined]
                scalars.append(value)
                key.append(value.__class__)
                continue
            key.append(value._spec)
            tensors.append(value)
            if value._extra is not None:
                inplace.settle(value)
            needs = needs or value._requires_grad
        elif value is None:
            key.append(None)
        elif mode == "L":
            needs = _encode_tensors(record, value, key, tensors) or needs
        elif isinstance(value, NUMBERS):
            if value.__class__ is int and not _LEAST <= value <= _MOST:
                raise too_big(value)
            scalars.append(value)
            key.append(value.__class__)
        elif type(value).__module__ == "numpy" and value.ndim == 0:
            return unobserved(record, tuple(number_of(v) if type(v).__module__ == "numpy" else v
                                            for v in values), target, out)
        else:
            raise _wrong_type(record, position, value)
    frozen = tuple(key)
    plan = record.plans.get(frozen)
    if plan is None:
        plan = make_plan(record, values, tensors, target) if out is None else \
            _out_plan(record, values, tensors)
        if len(record.plans) >= PLAN_LIMIT:
            record.plans.clear()
        record.plans[frozen] = plan
    if out is not None and (plan is NO_PLAN or _shares(tensors)):
        return NotImplemented
    return _noted(plan, tensors, tuple(scalars), bool(needs) and STATE.tape)


def _composed(record: Record, values: tuple[Any, ...], target: Any) -> Any:
    """Run a record that is made of others."""
    if target is not None:
        inplace.check_operands(record, target, tensors_in(values[1:]))
    elif record.name.endswith("_"):  # one that has no other form
        inplace.check_captured(values[0], record, values)
    if record.backward is not None and explicit.wanted(values):
        return explicit.run(record, values, OPERATORS, target)
    made = record.composite(OPERATORS, *values)  # type: ignore[misc]
    return made if target is None or made is target else stored(target, made)


def stored(target: Any, made: Any) -> Any:
    """Write an in-place composite's result; what the tape shows is the node that computed it."""
    given, wanted = made._spec.dtype, target._spec.dtype
    if not can_cast(given, wanted):
        raise RuntimeError(f"result type {SCALAR_NAMES[given]} can't be cast to the desired output "
                           f"type {SCALAR_NAMES[wanted]}")
    OPERATORS.copy_(target, made)
    node, source = target._node, made._node
    if source is not None and node is not None and STATE.tape and (
            target._extra is None or target._extra.base is None):
        node.extra.label = source.name()
    return target


def _noted(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...], needs: bool) -> Any:
    """Run a plan, and note it where a call is watched."""
    STATE.last_plan = plan
    made = execute(plan, tensors, scalars, needs)
    if STATE.seen is not None:
        STATE.seen.append(Run(plan, tensors, scalars, made))
    return made


def _shares(tensors: list[Any]) -> bool:
    """Whether the first tensor's memory is another's as well."""
    storage = tensors[0]._storage
    return any(t._storage is storage for t in tensors[1:])


def known_plan(record: Record, values: tuple[Any, ...], inplace: bool) -> Plan | None:
    """The plan of an earlier call with the same key, without settling what it does not know."""
    key: list[Any] = [inplace, get_default_dtype()]
    for mode, value in zip(record.modes, values, strict=True):
        if mode == "X":
            key.append(_static(value))
        elif isinstance(value, TensorBase):
            key.append(value._spec)
        elif value is None:
            key.append(None)
        elif mode == "L" and isinstance(value, (list, tuple)):
            key.append(len(value))
            key += [one._spec for one in value if isinstance(one, TensorBase)]
        else:
            key.append(value.__class__)
    return record.plans.get(tuple(key))


#: Runs a call below the levels. What imports it by name would miss an observer: `call.run`.
run: Callable[..., Any] = unobserved
base: Callable[..., Any] = unobserved  # what `run` is while nobody observes


def _static(value: Any) -> Any:
    """A hashable form of a static argument that keeps 1, 1.0 and True apart."""
    kind = value.__class__
    if kind is list or kind is tuple or isinstance(value, tuple):
        return tuple(_static(v) for v in value)
    if kind is slice:
        return (slice, _static(value.start), _static(value.stop), _static(value.step))
    return (kind, value) if kind in (int, float, bool) else value


def _encode_tensors(record: Record, values: Any, key: list[Any], tensors: list[Any]) -> bool:
    needs = False
    key.append(len(values))
    for value in values:
        if not isinstance(value, TensorBase):
            raise TypeError(f"{record.name}(): expected Tensor as element {len(tensors)} in "
                            f"argument 0, but got {type(value).__name__}")
        key.append(value._spec)
        tensors.append(value)
        if value._extra is not None:
            inplace.settle(value)
        needs = needs or bool(value._requires_grad)
    return needs


def _wrong_type(record: Record, position: int, value: Any) -> TypeError:
    parameter = record.schema.parameters[position]
    shown = "input" if parameter.name == "self" else parameter.name
    return TypeError(f"{record.name}(): argument '{shown}' (position {position + 1}) must be "
                     f"{parameter.type}, not {type(value).__name__}")


# ---- plans -----------------------------------------------------------------------------------

def _out_plan(record: Record, values: tuple[Any, ...], tensors: list[Any]) -> Any:
    """A plan whose result goes to the first of the tensors, or NO_PLAN: `write_out` knows why."""
    spec = tensors[0]._spec
    if any(t._spec.device is not CPU or t._spec.neg for t in tensors) or (
            not spec.dense and stretched(spec.shape, spec.strides)):
        return NO_PLAN
    try:
        plan = make_plan(record, values, tensors, tensors[0], True)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return NO_PLAN
    if len(plan.results) != 1 or plan.views or plan.writes:
        return NO_PLAN
    plan.out, plan.differentiable = True, False
    return plan


def make_plan(record: Record, values: tuple[Any, ...], tensors: list[Any], target: Any,
              out: bool = False) -> Plan:
    """Run the record's program on references: all checks and choices happen here, once.

    out: the first of the tensors is no argument, but takes the result.
    """
    collects = gc.isenabled()
    gc.disable()  # all of this stays: passes of the collector would find nothing
    try:
        return _made_plan(record, values, tensors, target, out)
    finally:
        if collects:
            gc.enable()


def _made_plan(record: Record, values: tuple[Any, ...], tensors: list[Any], target: Any,
               out: bool) -> Plan:
    specs = [t._spec for t in tensors]
    signs = () if record.kind == "view" else tuple([k for k, s in enumerate(specs) if s.neg])
    for k in signs:
        specs[k] = negation.settled_spec(tensors[k])
    device = _common_device(record, tensors)
    if device is META:
        specs = [s if s.device is META else on_meta(s) for s in specs]
    elif record.kind != "elementwise":  # these promote first
        limited.refuse(record.name, _computed(record, values, specs))
    refs = iter([Ref(k, s) for k, s in enumerate(specs)][int(out):])
    given = []
    for mode, value in zip(record.modes, values, strict=True):
        if mode == "L" and value is not None:
            given.append(tuple(next(refs) for _ in value))
        elif mode == "T" and isinstance(value, TensorBase):
            given.append(next(refs))
        else:
            given.append(_plain(value))
    program = Program(record, tuple(given), specs, device)
    if target is not None:
        program.inplace_target = Ref(0, specs[0])
        program.exact_target = out and (record.kind != "elementwise" or not casts(record.name))
    if any(s.dtype.is_complex for s in specs):
        _refuse_complex(record, specs)
    record.program(record, program, tuple(given))  # type: ignore[misc]
    if record.name in ("to_dtype", "copy"):
        _warn_of_lost_parts(specs[-1], program.results[0])
    plan = program.finish()
    plan.negated = signs
    plan.values = tuple(
        NUMBER if mode in "TS" and isinstance(v, NUMBERS) else v
        for mode, v in zip(record.modes, given, strict=True))
    plan.differentiable = record.backward is not None and any(
        r.dtype.is_floating_point or r.dtype.is_complex for r in plan.results)
    return plan


def _computed(record: Record, values: tuple[Any, ...], specs: list[Spec]) -> list[DType]:
    """The dtypes that a call computes in: the operands', or the `dtype=` they are converted to."""
    if record.kind != "gather":  # there it is the dtype of indices
        for parameter, value in zip(record.schema.parameters, values, strict=True):
            if parameter.name == "dtype" and isinstance(value, DType):
                return [value]
    return [s.dtype for s in specs]


#: Kinds whose records take complex operands unless a stage of theirs computes what these lack.
_MOVING = ("view", "copy", "gather", "scatter", "creation", "contraction", "elementwise", "sort",
           "composite")


def _refuse_complex(record: Record, specs: list[Spec]) -> None:
    """Refuse complex operands of a record whose arithmetic is that of real numbers."""
    if record.kind not in _MOVING and "c" not in record.takes:
        found = next(s.dtype for s in specs if s.dtype.is_complex)
        raise record.lacks(SCALAR_NAMES[found])


def _warn_of_lost_parts(source: Spec, made: Spec) -> None:
    """Once a process: a conversion drops imaginary parts (one inside a backward pass may)."""
    if source.dtype.is_complex and not made.dtype.is_complex and made.dtype is not bool_ \
            and STATE.run is None:
        warn_once("Casting complex values to real discards the imaginary part")


def number_of(value: Any) -> Any:
    """NumPy's scalar as an operand: its truth values are floats, as PyTorch has it."""
    plain = _plain(value)
    return float(plain) if type(plain) is bool else plain


def _plain(value: Any) -> Any:
    """An argument as records know it: NumPy's scalars are Python numbers."""
    if isinstance(value, list):
        return tuple(_plain(v) for v in value)
    if isinstance(value, TensorBase):
        return value.item()  # type: ignore[attr-defined]
    if type(value) is tuple and any(type(v).__module__ == "numpy" for v in value):
        return tuple(_plain(v) for v in value)
    if type(value).__module__ == "numpy" and value.ndim == 0:
        return value.item()
    return value


def _common_device(record: Record, tensors: list[Any]) -> Any:
    """The device of the call; tensors with dimensions must all be on it."""
    found = None
    for tensor in tensors:
        spec = tensor._spec
        if found is None or (found.ndim == 0 and spec.ndim):
            if found is not None and found.device is not spec.device and found.device is META:
                raise _two_devices(record, found, spec)
            found = spec
        elif spec.device is not found.device and (spec.ndim or spec.device is META):
            raise _two_devices(record, found, spec)
    return CPU if found is None else found.device


def _two_devices(record: Record, a: Spec, b: Spec) -> RuntimeError:
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, "
        f"{a.device} and {b.device}! (when calling {record.name}: the tensor on device {b.device} "
        f"is not on the expected device {a.device}; move one of them with .to())")


# ---- execution -------------------------------------------------------------------------------

def execute(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...], needs: bool) -> Any:
    """Run a plan: the Python twin of the builtin."""
    if plan.view is not None:
        return _execute_view(plan, tensors, scalars, needs)
    if plan.inplace:
        return _execute_inplace(plan, tensors, scalars, needs)
    for k in plan.writes:  # also where a check fails afterwards
        inplace.bump(tensors[k])
    storages = _storages(plan, tensors, scalars)
    if not plan.results:  # a call that only writes, or one whose list of results is empty
        return () if plan.record.schema.text.endswith("[]") else None
    wrap = registry.wrap
    results = [wrap(s, spec, 0) for s, spec in zip(storages, plan.results, strict=True)]
    if needs and plan.differentiable:
        registry.record_node(plan, tensors, scalars, results)
    return results[0] if len(results) == 1 else tuple(results)


def _storages(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...]) -> list[Any]:
    if plan.negated and not plan.meta:
        return negation.run(plan, tensors, lambda settled: _launched(plan, settled, scalars))
    return _launched(plan, tensors, scalars)


def _launched(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...]) -> list[Any]:
    global _launch
    if plan.meta:
        return [UntypedStorage._wrap(0, s.nbytes, None, 0, META) for s in plan.results]
    if STATE.recorder is not None:
        recorded = registry.capture(plan, tensors, scalars)  # type: ignore[misc]
        if recorded is not None:
            return recorded  # type: ignore[no-any-return]
    if _launch is None:
        from ..runtime.threads import launch as _launch
    return run_plan(plan, tensors, scalars, _launch)


def _execute_view(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...], needs: bool) -> Any:
    kind = InferenceView if STATE.inference else NoGradView if not STATE.grad else \
        Extra if plan.record.schema.results == 1 else OneOfSeveral
    made = [_viewed(tensors[0], *place, kind) for place in plan.views]
    if needs and plan.differentiable:
        registry.record_node(plan, tensors, scalars, made)
    return made[0] if len(made) == 1 and plan.record.schema.results == 1 else tuple(made)


def _viewed(base: Any, spec: Spec, offset: int, kind: type[Extra]) -> Any:
    start, old, new = base._offset, base._spec.dtype.itemsize, spec.dtype.itemsize
    if old != new:  # another dtype over the same bytes
        start, uneven = divmod(start * old, new)
        if uneven:
            raise RuntimeError(f"self.storage_offset() must be divisible by {new // old} to view "
                               f"{base._spec.dtype} as {spec.dtype} (different element sizes), "
                               f"but got {base._offset}")
    made = registry.wrap(base._storage, spec, start + offset)
    made._counter = base._counter
    if kind is Extra and base._extra is not None:
        kind = base._extra.__class__  # what bars a view bars the views of it
    extra = made._extra = kind()
    extra.base = base if base._extra is None or base._extra.base is None else base._extra.base
    extra.seen = base._counter.value if base._counter is not None else 0
    return made


def _execute_inplace(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...], needs: bool) -> Any:
    target = tensors[0]
    needs = needs and plan.differentiable
    inplace.check(plan, target, STATE.tape, needs)
    if len(tensors) > 1:
        inplace.check_operands(plan.record, target, tensors[1:])
    original = inplace.keep_original(plan, tensors) if needs else None
    if not plan.meta:
        _storages(plan, inplace.separate(plan, tensors), scalars)
    inplace.bump(target)
    if needs:
        operands = tensors if original is None else [original, *tensors[1:]]
        registry.record_node(plan, operands, scalars, [target], target)
    return target


def make_meta(spec: Spec) -> Any:
    """A tensor without bytes."""
    return registry.wrap(
        UntypedStorage._wrap(0, spec.nbytes, None, 0, META), spec, 0)


class Operators:
    """All operators by name, as functions of their schemas; made when first asked for."""

    def __getattr__(self, name: str) -> Any:
        from .functions import function

        made = function(name)
        if made is None:
            raise AttributeError(f"yesca has no operator {name!r}")
        setattr(self, name, made)
        return made


OPERATORS = Operators()

__all__ = ["NUMBER", "OPERATORS", "DType", "UntypedStorage", "Version", "call", "call_inplace",
           "execute", "make_plan", "new_storage", "run"]
