"""Backward records of elementwise operators, made lazily from formulas or from the body.

`backward_record(add)` is an operator of its own: one kernel that reads the gradient and whatever
the formulas name and gives the gradients of all operands that want one. Its own derivative is
derived from its body, so second and higher derivatives need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import COMPLEX
from ..loops import ir
from ..loops.ir import Expr
from .kinds import elementwise_program
from .record import Record, reads

_made: dict[Record, Record | None] = {}


def backward_record(record: Record) -> Record | None:
    """The backward operator of an elementwise record; None where all derivatives are zero."""
    if record not in _made:
        _made[record] = _make(record)
    return _made[record]


def _make(record: Record) -> Record | None:
    if not record.backward:
        return None
    named: set[str] = set()
    if record.backward == "derive":
        named = {p.name for p in record.schema.parameters}
    else:
        for formula in record.backward.values():  # type: ignore[union-attr]
            named |= set(reads(formula))
    parts = ["Tensor grad"]
    order = ["grad"]
    for parameter in record.schema.parameters:
        if parameter.name in ("wanted",):
            parts.append("any forward_wanted")
            order.append("forward_wanted")
        elif parameter.name in named or not parameter.is_tensor:
            mark = "?" if parameter.optional or parameter.is_tensor else ""
            name = "forward_grad" if parameter.name == "grad" else parameter.name
            parts.append(f"{parameter.type}{mark} {name}")
            order.append(name)
    if "result" in named:
        parts.append("Tensor? result")
        order.append("result")
    text = f"{record.name}_backward({', '.join(parts)}, any wanted) -> Tensor"
    return Record(text, "elementwise", body=_body(record, order), program=elementwise_program,
                  backward="derive", derived_from=record, method=False, function=False,
                  dtype=record.dtype if record.dtype == "float" else "promote")


def _body(record: Record, order: list[str]) -> Callable[..., Any]:
    def body(*args: Any) -> tuple[Expr, ...]:
        given = dict(zip(order, args, strict=False))
        wanted = [name for name, _ in args[-1]]
        renamed = {"forward_grad": "grad", "forward_wanted": "wanted"}
        forward = {renamed.get(k, k): v for k, v in given.items() if k != "grad"}
        if record.derived_from is not None and "forward_grad" not in given:
            forward["grad"] = None
        if record.backward == "derive":
            return _derive(record, given["grad"], forward, wanted)
        return tuple(_formula(record, name, given["grad"], forward) for name in wanted)

    return body


def _formula(record: Record, name: str, grad: Expr, forward: dict[str, Any]) -> Expr:
    formula = record.backward[name]  # type: ignore[index]
    values = dict(forward, grad=grad)
    made = formula(*(values[n] for n in reads(formula)))
    return made if isinstance(made, Expr) else ir.const(made, grad.dtype)


def _derive(record: Record, grad: Any, forward: dict[str, Any], wanted: list[str]
            ) -> tuple[Expr, ...]:
    """Reverse mode over the body's own expressions."""
    from ..loops.derive import backward

    arguments = [forward.get(p.name) for p in record.schema.parameters]
    made = record.body(*arguments)  # type: ignore[misc]
    outputs = list(made) if isinstance(made, tuple) else [made]
    grads = list(grad) if isinstance(grad, tuple) else [grad]
    inputs = [forward[name] for name in wanted]
    grads = [ir.cast(g, o.dtype) for g, o in zip(grads, outputs, strict=False)]
    found = backward(outputs[:len(grads)], grads, inputs)
    return tuple(ir.const(0, x.dtype) if d is None else d for d, x in
                 zip(found, inputs, strict=True))


__all__ = ["COMPLEX", "backward_record"]
