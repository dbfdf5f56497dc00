"""Derivatives off the tape, written out: one small Python function per plan and wanted operands.

`step(plan, mask)(node, grads)` gives the gradients of all operands. What a general walk over the
record would look up for every call (which values were kept, which names a formula reads) is
decided once, when the function's source is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..core import registry
from ..core.tensor_base import TensorBase
from ..dispatch import fast
from ..dispatch.call import OPERATORS, call
from ..operators.derivatives import backward_record, forward_name, grad_names
from ..operators.record import Record, reads
from ..runtime.plan import NUMBER, Plan
from ..runtime.program import Ref

Step = Callable[[Any, list[Any]], Any]


def step(plan: Plan, mask: int) -> Step:
    """The derivative of a plan for the operands in the mask, for which the values were kept."""
    made: Step | None = plan.steps.get(mask)
    if made is None:
        made = plan.steps[mask] = _Writer(plan, mask, mask).make()
    return made


def narrowed(plan: Plan, mask: int, kept_for: int) -> Step:
    """The derivative for those of the operands that values were kept for that are in the mask."""
    made: Step | None = plan.steps.get((kept_for, mask))
    if made is None:
        made = plan.steps[kept_for, mask] = _Writer(plan, mask, kept_for).make()
    return made


def restore(saved: Any) -> Any:
    """A tensor off the tape from what was kept."""
    counter = saved.counter
    if counter is not None and counter.value != saved.version:
        fast.raise_changed(saved)
    made = registry.wrap(saved.storage, saved.spec, saved.offset)
    made._counter = counter
    return made


def as_dense(value: Any) -> Any:
    """A gradient as the kernels of derivatives read it."""
    if isinstance(value, TensorBase) and value.is_sparse:  # type: ignore[attr-defined]
        return value.to_dense()  # type: ignore[attr-defined]
    return value


def conjugates(plan: Plan) -> bool:
    """Whether written formulas get conjugates: those of real-analytic functions then give what
    PyTorch means by a gradient, the incoming one times the conjugate of the derivative."""
    record = plan.record
    return bool(record.kind != "elementwise" and record.holomorphic and any(
        s.dtype.is_complex for s in (*plan.results, *(plan.operand_spec(k)
                                                      for k in range(plan.operands)))))


class _Writer:
    """Makes one step's source and its constants."""

    def __init__(self, plan: Plan, mask: int, kept_for: int) -> None:
        self.plan = plan
        self.record: Record = plan.record
        self.mask = mask
        kept = plan.saves(kept_for)
        self.kept = {place: k for k, place in enumerate(kept)}
        unpack = fast.FAST.restore if fast.FAST is not None else restore
        self.turned = conjugates(plan)
        self.scope: dict[str, Any] = {"restore": unpack, "ops": OPERATORS, "conj": OPERATORS.conj}

    def constant(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def saved(self, is_result: bool, which: int) -> str:
        place = self.kept.get((is_result, which))
        if place is None:
            return "None"
        return f"conj(restore(s[{place}]))" if self.turned else f"restore(s[{place}])"

    def names(self) -> dict[str, str]:
        """Expression of everything that a formula may name."""
        plan = self.plan
        found = {"ops": "ops", "grads": "tuple(grads)",
                 "result": self.saved(True, 0), "result_spec": self.constant(plan.results[0]),
                 "needs": self.constant(tuple(bool(self.mask >> k & 1)
                                              for k in range(plan.operands)))}
        for k in range(len(plan.results)):
            found[f"result{k}"] = self.saved(True, k)
        numbers = 0
        for parameter, value in zip(self.record.schema.parameters, plan.values, strict=True):
            name = parameter.name
            found[f"{name}_spec"] = "None"
            if value is NUMBER:
                found[name] = f"node._scalars[{numbers}]" + (
                    ".conjugate()" if self.turned else "")
                numbers += 1
            elif isinstance(value, Ref):
                found[name] = self.saved(False, value.slot)
                found[f"{name}_spec"] = self.constant(value.spec)
            elif isinstance(value, tuple) and value and isinstance(value[0], Ref):
                parts = ", ".join(self.saved(False, r.slot) for r in value)
                found[name] = f"({parts},)"
                found[f"{name}_spec"] = self.constant(tuple(r.spec for r in value))
            else:
                found[name] = self.constant(value.conjugate() if self.turned and isinstance(
                    value, complex) else value)
        return found

    def make(self) -> Step:
        lines = self.elementwise() if self.record.kind == "elementwise" else self.formulas()
        source = "\n    ".join(["def step(node, grads):", "s = node._saved", *lines])
        exec(_compiled(source, self.record.name), self.scope)
        return self.scope["step"]

    def wanted(self, slot: int) -> bool:
        return bool(self.mask >> slot & 1)

    # ---- elementwise records -------------------------------------------------------------

    def elementwise(self) -> list[str]:
        plan = self.plan
        derived = backward_record(self.record, len(plan.results))
        if derived is None:
            return [f"return {self.constant((None,) * plan.operands)}"]
        slots = {v.slot: p.name for p, v in zip(self.record.schema.parameters, plan.values,
                                                strict=True) if isinstance(v, Ref)}
        chosen = [k for k in range(plan.operands) if self.wanted(k)]
        found = self.names()
        given = {forward_name(p.name): found[p.name] for p in self.record.schema.parameters}
        for k, name in enumerate(grad_names(len(plan.results))):
            given[name] = f"grads[{k}]"
        given["forward_result"] = found["result"]
        given["wanted"] = self.constant(tuple((slots[k], plan.operand_spec(k).dtype)
                                              for k in chosen))
        arguments = ", ".join(given[p.name] for p in derived.schema.parameters)
        function = self.constant(_function(derived))
        targets = ", ".join(f"g{k}" for k in chosen)
        lines = [f"{targets} = {function}({arguments})"]
        shape = tuple(plan.results[0].shape)
        for k in chosen:
            size = tuple(plan.operand_spec(k).shape)
            if size != shape:
                lines.append(f"g{k} = ops.sum_to_size(g{k}, {self.constant(size)})")
        row = ", ".join(f"g{k}" if k in chosen else "None" for k in range(plan.operands))
        return [*lines, f"return ({row},)"]

    # ---- written formulas ----------------------------------------------------------------

    def formulas(self) -> list[str]:
        found = {**self.names(), "grad": "grads[0]"}  # also where an argument has that name
        lines: list[str] = []
        made: dict[int, str] = {}
        for key, formula in (self.record.backward or {}).items():  # type: ignore[union-attr]
            names = (key,) if isinstance(key, str) else key
            values = [self.plan.values[self.record.schema.index(n)] for n in names]
            slots = [[r.slot for r in (v if isinstance(v, tuple) else (v,))
                      if isinstance(r, Ref)] for v in values]
            if not any(self.wanted(s) for own in slots for s in own):
                continue
            arguments = ", ".join(found[n] for n in reads(formula))
            variable = f"r{len(lines)}"
            lines.append(f"{variable} = {self.constant(formula)}({arguments})")
            for j, (own, value) in enumerate(zip(slots, values, strict=True)):
                part = variable if isinstance(key, str) else f"{variable}[{j}]"
                for i, s in enumerate(own):
                    made[s] = f"{part}[{i}]" if isinstance(value, tuple) else part
        row = ", ".join(made[k] if k in made and self.wanted(k) else "None"
                        for k in range(self.plan.operands))
        return [*lines, f"return ({row},)"]


@lru_cache(4096)
def _compiled(source: str, name: str) -> Any:
    """The code of a step: plans of other shapes have the same, with other constants."""
    return compile(source, f"<derivative of {name}>", "exec")


def _function(derived: Record) -> Callable[..., Any]:
    """The derived operator as a function of its positional arguments."""
    def twin(*values: Any) -> Any:
        return call(derived, tuple([as_dense(v) for v in values]))

    twin.__doc__ = derived.text
    if fast.FAST is None:
        return twin
    found = _functions.get(derived)
    if found is None:
        found = _functions[derived] = fast.FAST.function(derived, twin, derived.name)
    return found


_functions: dict[Record, Callable[..., Any]] = {}
