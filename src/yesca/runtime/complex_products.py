"""Matrix products of complex operands: four real products of their parts, and one stage."""

from __future__ import annotations

import math
from typing import Any

from ..core.devices import META
from ..loops.complexes import Complex
from .parts import part_of


def product(p: Any, a: Any, b: Any, c: Any, initial: Any, alpha: Any, beta: Any) -> None:
    """c = alpha * a @ b + beta * initial; see `runtime.products.product`."""
    from .products import product as real_product

    shape = tuple(c.spec.shape)
    if math.prod(shape) == 0 or p.device is META:
        return
    part = c.spec.dtype.to_real()
    left, right = [part_of(a, 0), part_of(a, 1)], [part_of(b, 0), part_of(b, 1)]
    signs = -1 if a.spec.conj else 1, -1 if b.spec.conj else 1
    re, im = p.temporary(shape, part), p.temporary(shape, part)
    real_product(p, left[0], right[0], re)
    real_product(p, left[1], right[1], re, initial=re, alpha=-signs[0] * signs[1])
    real_product(p, left[0], right[1], im, alpha=signs[1])
    real_product(p, left[1], right[0], im, initial=im, alpha=signs[0])
    dtype = c.spec.dtype

    def body(x: Any, y: Any, *rest: Any) -> Any:
        made = _scaled(p, Complex(x, y, dtype), alpha)
        for start in rest:
            made = made + _scaled(p, start, beta)
        return made

    p.flat(body, [re, im, *([initial] if initial is not None else [])], [c])


def _scaled(p: Any, value: Any, factor: Any) -> Any:
    """A value times a factor; a real factor scales both parts."""
    if factor.position is None:
        return value if factor.value == 1 else value * factor.value
    whole = isinstance(factor.value, complex)
    return value * p.argument(factor.position, value.dtype if whole else value.dtype.to_real())
