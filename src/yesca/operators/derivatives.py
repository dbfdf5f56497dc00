"""Backward records of elementwise operators, made lazily from formulas or from the body.

`backward_record(add)` is an operator of its own: one kernel that reads the gradient and whatever
the formulas name and gives the gradients of all operands that want one. Its own derivative is
derived from its body, so second and higher derivatives need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..loops import ir
from ..loops.complexes import conj, joined, parts
from ..loops.ir import Expr
from ..loops.scalar import is_complex
from .kinds import elementwise_program
from .record import Record, reads

_made: dict[tuple[Record, int], Record | None] = {}


def backward_record(record: Record, results: int = 1) -> Record | None:
    """The backward operator of an elementwise record; None where all derivatives are zero."""
    if (record, results) not in _made:
        _made[record, results] = _make(record, results)
    return _made[record, results]


_OWN = ("grad", "wanted", "result")


def grad_names(count: int) -> list[str]:
    """Names of the gradients of an operator's results."""
    return ["grad", *(f"{chr(ord('a') + k)}_grad" for k in range(1, count))]


def forward_name(name: str) -> str:
    """An argument's name in the backward record: its own `grad` and `wanted` come first."""
    return f"forward_{name}" if name.rpartition("_")[2] in _OWN else name


def _make(record: Record, results: int) -> Record | None:
    if not record.backward:
        return None
    named: set[str] = set()
    if record.backward == "derive":
        named = {p.name for p in record.schema.parameters}
    else:
        for formula in record.backward.values():  # type: ignore[union-attr]
            named |= set(reads(formula))
    order = grad_names(results)
    parts = [f"Tensor? {name}" for name in order]
    for parameter in record.schema.parameters:
        if parameter.name in named or not parameter.is_tensor:
            mark = "?" if parameter.optional or parameter.is_tensor else ""
            name = forward_name(parameter.name)
            parts.append(f"{parameter.type}{mark} {name}")
            order.append(name)
    if "result" in named:
        parts.append("Tensor? forward_result")
        order.append("forward_result")
    text = f"{record.name}_backward({', '.join(parts)}, any wanted) -> Tensor"
    return Record(text, "elementwise", body=_body(record, order, results),
                  program=elementwise_program, backward="derive", derived_from=record,
                  method=False, function=False, node_name=record.twice,
                  dtype=record.dtype if record.dtype == "float" else "promote")


def _body(record: Record, order: list[str], results: int) -> Callable[..., Any]:
    def body(*args: Any) -> tuple[Expr, ...]:
        given = dict(zip(order, args, strict=False))
        wanted = [name for name, _ in args[-1]]
        forward = {p.name: given.get(forward_name(p.name)) for p in record.schema.parameters}
        forward["result"] = given.get("forward_result")
        if record.backward == "derive":
            return _derive(record, [given[n] for n in grad_names(results)], forward, wanted)
        return tuple(_formula(record, name, given["grad"], forward) for name in wanted)

    return body


def _formula(record: Record, name: str, grad: Expr, forward: dict[str, Any]) -> Expr:
    formula = record.backward[name]  # type: ignore[index]
    values = dict(forward, grad=grad)
    turn = record.holomorphic and is_complex(grad)
    if turn:
        values["grad"] = conj(grad)
    made = formula(*(values[n] for n in reads(formula)))
    if isinstance(made, (int, float)):
        return ir.const(made, grad.dtype)
    return conj(made) if turn else made


def _derive(record: Record, grads: list[Expr | None], forward: dict[str, Any], wanted: list[str]
            ) -> tuple[Expr, ...]:
    """Reverse mode over the body's own expressions; of complex values, over both parts."""
    from ..loops.derive import backward

    arguments = [forward.get(p.name) for p in record.schema.parameters]
    made = record.body(*arguments)  # type: ignore[misc]
    outputs = list(made) if isinstance(made, tuple) else [made]
    pairs = [(o, ir.cast(g, o.dtype)) for o, g in zip(outputs, grads, strict=True)
             if g is not None]
    inputs = [forward[name] for name in wanted]
    found = iter(backward([e for o, _ in pairs for e in parts(o)],
                          [e for _, g in pairs for e in parts(g)],
                          [e for x in inputs for e in parts(x)]))
    return tuple(joined(x, [ir.const(0, e.dtype) if d is None else d
                            for e, d in zip(parts(x), found, strict=False)]) for x in inputs)


__all__ = ["backward_record", "forward_name", "grad_names"]
