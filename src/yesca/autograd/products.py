"""Gradients and products with Jacobians of what is on the tape, or partly off it."""

from __future__ import annotations

from typing import Any

from ..dispatch.call import OPERATORS
from .calls import gradients
from .inplace import placed

Tensors = tuple[Any, ...]


def filled(grads: Tensors, like: Tensors, strict: bool, message: str) -> Tensors:
    """Zeros for gradients that do not exist; an error in strict mode."""
    made = []
    for k, (one, x) in enumerate(zip(grads, like, strict=True)):
        if one is None:
            if strict:
                raise RuntimeError(message.format(k=k))
            one = OPERATORS.zeros_like(x)
        made.append(one)
    return tuple(made)


def pulled(outputs: Tensors, inputs: Tensors, vectors: Tensors | None, create: bool) -> Tensors:
    """Gradients, None where there is none; outputs off the tape count as constant."""
    chosen = [k for k, o in enumerate(outputs) if o.requires_grad]
    if not chosen:
        return (None,) * len(inputs)
    return gradients([outputs[k] for k in chosen], inputs,
                     None if vectors is None else [vectors[k] for k in chosen],
                     retain_graph=True, create_graph=create, allow_unused=True)


def forward_product(outputs: Tensors, inputs: Tensors, vectors: Tensors, create_graph: bool,
                    strict: bool = False, message: str = "") -> Tensors:
    """The Jacobian of outputs on the tape times vectors of the inputs' shapes."""
    # Slopes are linear in the dummies, so any values do; ones lie off the kinks of formulas.
    dummies = tuple([placed(OPERATORS.ones_like(o)) for o in outputs])
    slopes = pulled(outputs, inputs, dummies, True)
    pairs = [(s, t) for s, t in zip(slopes, vectors, strict=True)
             if s is not None and s.requires_grad]
    if not pairs:
        found: Tensors = (None,) * len(outputs)
    else:
        found = pulled(tuple([s for s, _ in pairs]), dummies,
                           tuple([t for _, t in pairs]), create_graph)
    return filled(found, outputs, strict, message or (
        "Output {k} of the user-provided function is independent of the inputs. This is not "
        "allowed in strict mode."))


__all__ = ["filled", "forward_product", "pulled"]
