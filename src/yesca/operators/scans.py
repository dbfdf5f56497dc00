"""Running values along a dimension: sums, products, log-sum-exp."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import int64
from ..core.spec import spec
from ..core.views import wrap_dim
from ..loops import ir
from ..loops.ir import cast
from .kinds import compute_dtype, rows
from .reduction import along


def _running(kind: str) -> Any:
    def program(p: Any, self: Any, dim: int, dtype: Any) -> None:
        source = self.spec.dtype
        result = dtype or (int64 if source.category <= 1 else source)
        made = p.result(spec(result, self.spec.shape, None, p.device))
        x, outer, size = along(p, self, dim)
        seen, _, _ = along(p, made, dim)
        wide = compute_dtype(result)
        if kind == "prod" and wide.is_complex:
            _running_product(p, x, seen, size)
            return
        p.rows(lambda v: ir.scan(kind, cast(v, wide)), [x], [seen], outer, size)
    return program


def _running_product(p: Any, x: Any, out: Any, size: int) -> None:
    """Running products of complex numbers: each pass joins spans twice as long."""
    dtype, shape = out.spec.dtype, tuple(out.spec.shape)
    left, span = x, 1

    def part(ref: Any, begin: int, count: int) -> Any:
        steps = ref.spec.strides
        return ref.seen(((*shape[:-1], count), steps, begin * steps[-1]))

    while span < size:
        made = p.temporary(shape, dtype)
        p.flat(lambda a: cast(a, dtype), [part(left, 0, span)], [part(made, 0, span)])
        p.flat(lambda a, b: cast(a, dtype) * cast(b, dtype),
               [part(left, 0, size - span), part(left, span, size - span)],
               [part(made, span, size - span)])
        left, span = made, 2 * span
    p.flat(lambda a: cast(a, dtype), [left], [out])


def _cumsum_back(ops: Any, grad: Any, self_spec: Any, dim: int) -> Any:
    if self_spec.ndim == 0:
        return grad
    made = ops.flip(ops.cumsum(ops.flip(grad, (dim,)), dim), (dim,))
    return made if made.dtype is self_spec.dtype else ops.to_dtype(made, self_spec.dtype)


def _cumprod_back(ops: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    if bool(ops.any(ops.eq(self, 0))):
        return _cumprod_with_zeros(ops, grad, self, dim)
    return ops.div(_cumsum_back(ops, ops.mul(grad, result), self._spec, dim), self)


def _cumprod_with_zeros(ops: Any, grad: Any, self: Any, dim: int) -> Any:
    """Each row's gradient element by element: exact where a factor is zero."""
    d = wrap_dim(dim, self.dim())
    parts = []
    for k in range(self.shape[d]):
        factors = ops.clone(self)
        ops.copy_(ops.select(factors, d, k), ops.ones_like(ops.select(factors, d, k)))
        later = ops.narrow(ops.mul(grad, ops.cumprod(factors, d)), d, k, self.shape[d] - k)
        parts.append(ops.sum(later, (d,), True))
    return ops.cat(parts, d)


rows("cumsum(Tensor self, int dim, *, dtype? dtype=None) -> Tensor", _running("sum"), out=True,
     inplace=True, takes="bifc", backward={"self": _cumsum_back}, doc="Running sums along dim.")
rows("cumprod(Tensor self, int dim, *, dtype? dtype=None) -> Tensor", _running("prod"), out=True,
     inplace=True, takes="bifc", backward={"self": _cumprod_back},
     doc="Running products along dim.")
