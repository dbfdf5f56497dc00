"""The stations that one of PyTorch's operators passes: tape, dispatch modes, subclasses, kernel.

Above them stand function modes, transforms and autocast. `leaf` is the way of one operator;
`translated` turns a call of yesca's own into the operators that PyTorch's dispatcher would see.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor_base import Extra, NoGradView, OneOfSeveral, TensorBase
from ..dispatch import autocast
from ..dispatch.call import OPERATORS, stored
from ..dispatch.handlers import owners
from ..dispatch.levels import Level
from ..dispatch.shortcuts import tensors_in
from ..dispatch.state import STATE, set_aside, set_below
from ..operators.record import Record
from .choosing import find
from .overloads import AtenOverload


class DispatchLevel(Level):
    """Hands operators below the tape to a `TorchDispatchMode`."""

    transforms = True  # it sees the operators of public functions, and those of a pass backward
    dispatches = True

    def __init__(self, mode: Any) -> None:
        self.mode = mode

    def call(self, record: Record, values: tuple[Any, ...], target: Any) -> Any:
        with set_aside([*STATE.levels, self]):
            return translated(record, values, target)

    def fill(self, function: Any, tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
             ) -> Any:
        with set_aside([*STATE.levels, self]):
            named(function.__name__, (tensor, *args), kwargs)
        return tensor

    def takes(self, name: str) -> bool:
        from .programs import FACTORIES

        return name in FACTORIES or name == "tensor"

    def function(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from .programs import FACTORIES

        if func.__name__ == "tensor":  # numbers are copied unseen
            made = func(*args, **{**kwargs, "requires_grad": False})
            with set_aside([*STATE.levels, self]):
                made = named("lift_fresh", (made,), {})
            return made.requires_grad_(bool(kwargs.get("requires_grad", False)))
        with set_aside([*STATE.levels, self]):
            made = FACTORIES[func.__name__](func, args, dict(kwargs))
        return func(*args, **kwargs) if made is NotImplemented else made


# ---- from calls of yesca's to operators of PyTorch's ------------------------------------------

def translated(record: Record, values: tuple[Any, ...], target: Any = None) -> Any:
    """Run a call as the operators that PyTorch's dispatcher would see."""
    from .programs import PROGRAMS

    if record.autocast and STATE.autocast is not None and target is None:
        return autocast.run(record, values, translated)
    if target is None:
        program = PROGRAMS.get(record.name)
        made = NotImplemented if program is None else program(*values)
        if made is not NotImplemented:
            return made
    args, kwargs = _given(record, values)
    op = _operator(record.name if target is None else f"{record.name}_", args, kwargs, record)
    if op is not None:
        made = leaf(op, args, kwargs)
        return tuple(made) if isinstance(made, list) else made
    if target is not None:  # it has no form in place there
        return stored(target, translated(record, values))
    if record.composite is not None:
        return record.composite(OPERATORS, *values)
    return _own(record, values)


def _given(record: Record, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as PyTorch's operator of the same name has them: without defaults at the end."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    spare = 0
    for parameter, value in zip(record.schema.parameters, values, strict=True):
        default = not parameter.required and type(value) is type(parameter.default) \
            and value == parameter.default
        if not parameter.keyword_only:
            positional.append(value)
            spare = spare + 1 if default else 0
        elif not default:
            named[parameter.name] = value
    return tuple(positional[:len(positional) - spare]), named


def _operator(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], record: Record
              ) -> AtenOverload | None:
    """PyTorch's operator of this name for these arguments, or None; one that PyTorch opens counts
    only where yesca's is no composite."""
    from .._ops import ops
    from . import schemas

    if name not in schemas.table():
        return None
    found = find(getattr(ops.aten, name), args, kwargs)
    if found is None or found.composite and record.composite is not None:
        return None
    return found  # type: ignore[no-any-return]


def named(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run PyTorch's operator of a name."""
    from .._ops import ops
    from .choosing import chosen

    op = chosen(getattr(ops.aten, name), args, kwargs)
    return leaf(op, args, kwargs)


def _own(record: Record, values: tuple[Any, ...]) -> Any:
    """An operator of which PyTorch has none alike: `torch.ops.yesca.name`."""
    from .own import overload

    return leaf(overload(record), values, {})


# ---- the way of one operator -------------------------------------------------------------------

def called(op: AtenOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator called by name while a mode or a subclass listens."""
    if op.composite:
        op._schema.bound(args, kwargs)
        return op.kernel(*args, **kwargs)  # its parts come here
    return leaf(op, args, kwargs)


def leaf(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tape, then what stands below it."""
    values = op._schema.bound(args, kwargs)
    made = _on_tape(op, values)
    # What was written comes back, whatever a handler gives.
    return values[0] if getattr(op, "writes_self", False) else made


def _on_tape(op: Any, values: tuple[Any, ...]) -> Any:
    if STATE.tape and any(t._requires_grad for t in tensors_in(values)):
        from .tape import taped

        return taped(op, values)
    return below(op, *op.elided(values))


def below(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Off the tape: the innermost mode, else the classes of the operands, else the kernel."""
    before = STATE.below
    set_below(True)
    try:
        made = _handled(op, args, kwargs)
    finally:
        set_below(before)
    if STATE.grad and not before and getattr(op, "is_view", False):
        _free_views(made)
    return made


def _free_views(made: Any) -> None:
    """Views were made below the tape, which is no reason to bar writes to them."""
    several = isinstance(made, (list, tuple))
    for one in made if several else (made,):
        extra = one._extra
        if type(extra) is NoGradView:
            one._extra = OneOfSeveral() if several else Extra()
            one._extra.base, one._extra.seen = extra.base, extra.seen


def _handled(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    levels = STATE.levels
    if levels and levels[-1].dispatches:
        return _through_mode(op, args, kwargs)
    found = owners((*args, *kwargs.values()))
    return _offered(op, found, args, kwargs) if found else op.kernel(*args, **kwargs)


def _through_mode(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The innermost mode handles the operator with itself switched off."""
    types = tuple([type(t) for t in owners((*args, *kwargs.values()))])
    levels = STATE.levels
    level = levels[-1]
    with set_aside(levels[:-1]):
        rule = op.rules.get(type(level.mode))
        made = level.mode.__torch_dispatch__(op, types, args, kwargs) if rule is None \
            else rule(level.mode, op, types, args, kwargs)
        if made is NotImplemented:
            if not types:
                raise _refused(op, [level.mode])
            made = below(op, args, kwargs)
        return _checked(op, made)


def _offered(op: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    types = tuple([type(t) for t in found])
    for one in found:
        cls = type(one)
        rule = op.rules.get(cls)
        made = cls.__torch_dispatch__(op, types, args, kwargs) if rule is None \
            else rule(cls, op, types, args, kwargs)
        if made is not NotImplemented:
            return _checked(op, made)
    raise _refused(op, found)


def _checked(op: Any, made: Any) -> Any:
    """What a handler returned; RuntimeError where tensors are wanted instead."""
    returns = op._schema.returns
    if returns and all(one.type in ("Tensor", "Tensor[]") for one in returns):
        try:
            op._schema.results(made)
        except TypeError as error:
            raise RuntimeError(str(error)) from None
    return made


def _refused(op: Any, found: list[Any]) -> TypeError:
    lines = "\n".join(f"  - {'tensor subclass' if isinstance(one, TensorBase) else 'mode object'} "
                      f"{type(one) if isinstance(one, TensorBase) else one}" for one in found)
    return TypeError(f"Multiple dispatch failed for 'torch.ops.{op}'; all __torch_dispatch__ "
                     f"handlers returned NotImplemented:\n\n{lines}\n\nA class or mode takes an "
                     "operator by handling it in its __torch_dispatch__.")
