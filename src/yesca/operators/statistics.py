"""Sums without NaN, smallest with largest, covariances, distances, rows of bounded norm."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, bool_, float32, int64
from ..core.spec import contiguous_strides, spec
from ..core.views import wrap_dim
from ..loops.ir import Expr, cast, const
from ..loops.scalar import isnan, where
from .argument_types import is_whole
from .kinds import (
    composite, compute_dtype, elementwise, reduced_dims, reduced_shape, reduction, rows,
)
from .norms import norm_back, norm_slope
from .reduction import spread

# ---- without NaN -----------------------------------------------------------------------------


def _or_zero(x: Expr) -> Expr:
    return where(isnan(x), const(0, x.dtype), x) if x.dtype.category == FLOATING else x


def _nansum_back(ops: Any, grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    made = spread(ops, grad, tuple(self.shape), dim, keepdim)
    made = ops.select_where(ops.isnan(self), 0.0, made)
    return made if made.dtype is self.dtype else ops.to_dtype(made, self.dtype)


reduction("nansum_real(Tensor self, any? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
          "Tensor", "sum", before=_or_zero, dtype="sum", method=False, out=False,
          node_name="NansumBackward0", backward={"self": _nansum_back})


def _nansum(ops: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if self.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    return ops.nansum_real(self, dim, keepdim, dtype=dtype)


composite("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
          "Tensor", _nansum, out=True, doc="The sum over dim with NaN as zero.")


def _nanmean(ops: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if self.dtype.category < FLOATING:
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but "
                           f"got {SCALAR_NAMES[self.dtype]}")
    count = ops.sum(ops.logical_not(ops.isnan(self.detach())), dim, keepdim)
    return ops.div(ops.nansum(self, dim, keepdim, dtype=dtype), count)


composite("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
          "Tensor", _nanmean, out=True, doc="The mean over dim of what is not NaN.")

# ---- smallest and largest --------------------------------------------------------------------


def _aminmax_program(p: Any, self: Any, dim: int | None, keepdim: bool) -> None:
    shape = tuple(self.spec.shape)
    dims = reduced_dims(dim, len(shape)) if shape else ()
    if dim is None and self.spec.numel == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the "
                           "operation has no identity.")
    if any(shape[d] == 0 for d in dims):
        raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    dtype, wide = self.spec.dtype, compute_dtype(self.spec.dtype)
    made = [p.result(spec(dtype, reduced_shape(shape, dims, keepdim), None, p.device))
            for _ in range(2)]
    p.reduce(("min", "max"), lambda x: (cast(x, wide),) * 2, lambda low, high: (low, high),
             self, dims, made)


def _aminmax_back(ops: Any, grads: Any, self: Any, result0: Any, result1: Any, dim: Any,
                  keepdim: bool) -> Any:
    """Equal extremes share the gradient."""
    shape, total = tuple(self.shape), None
    dims = reduced_dims(dim, len(shape)) if shape else ()
    for grad, result in zip(grads, (result0, result1), strict=True):
        if grad is None:
            continue
        mask = ops.eq(self, spread(ops, result, shape, dim, keepdim))
        share = ops.div(ops.mul(spread(ops, grad, shape, dim, keepdim), mask),
                        ops.sum(mask, dims, True) if dims else 1)
        total = share if total is None else ops.add(total, share)
    return total


rows("aminmax_over(Tensor self, int? dim=None, bool keepdim=False) -> (Tensor, Tensor)",
     _aminmax_program, method=False, node_name="AminmaxBackward0",
     samples=lambda make: [(make(3, 4),), (make(3, 4), 1), (make(2, 3), 0, True), (make(),)],
     backward={"self": _aminmax_back})
composite("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor, Tensor)",
          lambda ops, self, dim, keepdim: ops.named(
              "aminmax", ops.aminmax_over(self, dim, keepdim)), out=True,
          doc="The smallest and the largest value over dim, or of all.")

# ---- covariances -----------------------------------------------------------------------------


def _check_weights(ops: Any, name: str, weights: Any, count: int, whole: bool) -> None:
    if weights.dim() > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got "
                           f"{name} with {weights.dim()} dimensions")
    category = weights.dtype.category
    if (category >= FLOATING or weights.dtype is bool_) if whole else category != FLOATING:
        kind = "integral" if whole else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with "
                           f"{SCALAR_NAMES[weights.dtype]} dtype")
    if weights.numel() != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are "
                           f"observations in the input but got {weights.numel()} != {count}")
    if count and bool(ops.any(ops.lt(weights, 0))):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _cov(ops: Any, self: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    if self.dim() > 2:
        raise RuntimeError("cov(): expected input to have two or fewer dimensions but got an "
                           f"input with {self.dim()} dimensions")
    if self.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    table = self if self.dim() == 2 else ops.reshape(self, (1, -1))  # (variables, observations)
    count = table.shape[1]
    weights = None
    for name, given, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if given is not None:
            _check_weights(ops, name, given, count, whole)
            weights = given if weights is None else ops.mul(weights, given)
    total = count if weights is None else ops.sum(weights)
    if weights is not None and count and not float(total):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    if weights is None:
        middle = ops.div(ops.sum(table, 1), total)
    else:
        middle = ops.div(ops.sum(ops.mul(table, weights), 1), total)
    free = total
    if aweights is not None and correction and weights is not None:
        pulled = ops.sum(ops.mul(weights, aweights))
        free = ops.sub(total, ops.div(ops.mul(pulled, correction), total))
    elif correction:
        free = total - correction
    free = max(free, 0) if isinstance(free, (int, float)) else ops.clamp(free, 0)
    if isinstance(free, int) and count <= correction:
        from ..base.frames import warn

        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less "
             "than the number of observations.")
    apart = ops.sub(table, ops.unsqueeze(middle, 1))
    scaled = apart if weights is None else ops.mul(apart, weights)
    made = ops.div(ops.mm(apart, ops.conj(ops.t(scaled))), free)
    return ops.squeeze(made)


def _observations(make: Any) -> list[tuple[Any, ...]]:
    return [(make(3, 5),), (make(6),), (make(2, 4), 0), (make(2, 4), 1, make.integers(
        4, low=1, high=3)), (make(2, 4), 1, None, make(4, low=0.5, high=2.0))]


composite("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) "
          "-> Tensor", _cov, samples=_observations,
          doc="Covariances of variables (rows) over observations (columns).")


def _corrcoef(ops: Any, self: Any) -> Any:
    if self.dim() > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions but got an "
                           f"input with {self.dim()} dimensions")
    made = ops.cov(self)
    if made.dim() == 0:
        return ops.div(made, made)
    spread_of = ops.sqrt(ops.real(ops.diagonal(made)) if made.dtype.is_complex
                         else ops.diagonal(made))
    made = ops.div(ops.div(made, ops.unsqueeze(spread_of, 1)), ops.unsqueeze(spread_of, 0))
    if made.dtype.is_complex:
        return ops.complex(ops.clamp(ops.real(made), -1, 1), ops.clamp(ops.imag(made), -1, 1))
    return ops.clamp(made, -1, 1)


composite("corrcoef(Tensor self) -> Tensor", _corrcoef,
          samples=lambda make: [(make(3, 5),), (make(2, 6),)],
          doc="Correlations of variables (rows) over observations (columns).")

# ---- distances and norms ---------------------------------------------------------------------


def _dist(ops: Any, self: Any, other: Any, p: Any) -> Any:
    apart = ops.sub(self, other)
    if apart.dtype.category < FLOATING:
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{SCALAR_NAMES[apart.dtype]} instead.")
    return ops.linalg_vector_norm(apart, p)


def _dist_back(ops: Any, grad: Any, self: Any, other: Any, result: Any, p: Any, self_spec: Any,
               other_spec: Any, needs: Any) -> tuple[Any, Any]:
    made = norm_back(ops, grad, ops.sub(self, other), result, p)
    return tuple([ops.sum_to_size(own, tuple(seen.shape)) if need else None for need, own, seen in
                  zip(needs, (made, ops.neg(made)), (self_spec, other_spec), strict=True)])


composite("dist(Tensor self, Tensor other, number p=2) -> Tensor", _dist,
          backward={("self", "other"): _dist_back},
          samples=lambda make: [(make(3, 4), make(3, 4)), (make(3), make(3), 1),
                                (make(2, 3), make(3), 3)],
          doc="The p-norm of self - other.")


def _renorm(ops: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    if isinstance(p, complex) or p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported" if not isinstance(p, complex)
                           else "renorm: p must be real-valued")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} "
                           "dimensions")
    norm, _ = _part_norms(ops, self, p, dim)
    factor = ops.where(ops.gt(norm, maxnorm), ops.div(
        ops.scalar_tensor(float(maxnorm), norm), ops.add(norm, 1e-7)), ops.ones_like(norm))
    own = ops.contiguous(self)
    return ops.mul(own, factor if factor.dtype is self.dtype or self.dtype.is_complex
                   else ops.to_dtype(factor, self.dtype))


def _part_norms(ops: Any, self: Any, p: Any, dim: int) -> tuple[Any, tuple[int, ...]]:
    """The norms of the parts along dim, and the other dimensions."""
    d = wrap_dim(dim, self.dim())
    others = tuple(k for k in range(self.dim()) if k != d)
    wide = compute_dtype(self.dtype)
    return ops.linalg_vector_norm(self, p, others, True, dtype=None if wide is self.dtype
                                  else float32), others


def _renorm_back(ops: Any, grad: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Where a part was scaled, its factor is a function of its norm."""
    dtype = self.dtype
    norm, others = _part_norms(ops, self, p, dim)
    if not dtype.is_complex:
        self, grad = (ops.to_dtype(t, norm.dtype) for t in (self, grad))
    pull = ops.sum(ops.mul(ops.conj(self), grad), others, True)
    pull = ops.real(pull) if dtype.is_complex else pull
    slope = norm_slope(ops, self, norm, p)
    if p == float("inf"):
        slope = ops.div(slope, ops.sum(ops.eq(ops.abs(self), norm), others, True))
    inverse = ops.reciprocal(ops.add(norm, 1e-7))
    scaled = ops.mul(ops.mul(ops.sub(grad, ops.mul(ops.mul(inverse, pull), slope)), inverse),
                     float(maxnorm))
    made = ops.select_where(ops.gt(norm, maxnorm), scaled, grad)
    return made if made.dtype is dtype else ops.to_dtype(made, dtype)


composite("renorm(Tensor self, number p, int dim, number maxnorm) -> Tensor", _renorm, inplace=True,
          out=True, backward={"self": _renorm_back}, holomorphic=False,
          samples=lambda make: [(make(3, 4), 2, 0, 1.0), (make(2, 3, 4), 1, 1, 0.5)],
          doc="self with each part along dim scaled down to a p-norm of at most maxnorm.")

# ---- whole numbers ---------------------------------------------------------------------------


def _common_divisor(x: Expr, y: Expr) -> Expr:
    """Euclid's algorithm with as many steps as neighbours of Fibonacci's sequence need."""
    from ..loops.scalar import absolute, irem

    a, b = (absolute(v) if v.dtype.is_signed else v for v in (x, y))
    for _ in range({1: 13, 2: 24, 4: 47, 8: 92}[x.dtype.itemsize]):
        done = b.eq(0)
        a, b = where(done, a, b), where(done, 0, irem(a, where(done, 1, b)))
    return a


def _common_multiple(x: Expr, y: Expr) -> Expr:
    from ..loops.scalar import absolute, idiv

    divisor = _common_divisor(x, y)
    made = idiv(x, where(divisor.eq(0), 1, divisor)) * y
    return absolute(made) if x.dtype.is_signed else made


elementwise("gcd(Tensor self, Tensor other) -> Tensor", _common_divisor, takes="i", numbers=(),
            domain=(-30.0, 30.0), doc="The greatest common divisor of integers.")
elementwise("lcm(Tensor self, Tensor other) -> Tensor", _common_multiple, takes="i", numbers=(),
            domain=(-30.0, 30.0), doc="The least common multiple of integers.")


def _unravel(ops: Any, indices: Any, shape: Any) -> tuple[Any, ...]:
    if indices.dtype.category >= FLOATING or indices.dtype is bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError("expected 'shape' to be int or sequence of ints, but got "
                        f"{type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    wrong = [n for n in sizes if not isinstance(n, int) and not is_whole(n)]
    if wrong:
        raise TypeError("expected 'shape' sequence to only contain ints, but got "
                        f"{type(wrong[0])}")
    sizes = tuple(int(n) for n in sizes)
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = contiguous_strides(sizes)
    step, size = (ops.as_tensor(v, dtype=int64, device=indices.device) for v in (steps, sizes))
    whole = ops.div(ops.unsqueeze(indices, -1), step, rounding_mode="floor")
    return tuple(ops.unbind(ops.remainder(whole, size), -1))


composite("unravel_index(Tensor indices, any shape) -> Tensor[]", _unravel, method=False,
          samples=lambda make: [(make.integers(5, high=6), (2, 3)), (make.integers(2), 4)],
          doc="The coordinates, one tensor a dimension, of indices into a flattened tensor.")
