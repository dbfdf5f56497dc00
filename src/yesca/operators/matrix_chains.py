"""Products of several matrices, and what is made of products: multi_dot, kron, bilinear, cdist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, bfloat16, float16
from ..core.spec import contiguous_strides, spec
from ..core.views import broadcast_shapes, expand_strides
from ..loops.ir import Expr, const, fold
from ..loops.scalar import absolute, maximum, power, sqrt, where
from .kinds import composite, rows
from .products import spoken, turned

# ---- chains ----------------------------------------------------------------------------------


def _cheapest(sizes: Sequence[int]) -> list[list[int]]:
    """Where to split each run of matrices i..j so that the fewest multiplications are needed."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                     for k in range(i, j)]
            cost[i][j] = min(costs)
            split[i][j] = i + costs.index(cost[i][j])
    return split


def _product_of(ops: Any, tensors: Sequence[Any]) -> Any:
    if len(tensors) == 2:
        return ops.mm(*tensors)
    split = _cheapest([tensors[0].shape[0], *(t.shape[1] for t in tensors)])

    def between(i: int, j: int) -> Any:
        if i == j:
            return tensors[i]
        return ops.mm(between(i, split[i][j]), between(split[i][j] + 1, j))

    return between(0, len(tensors) - 1)


def multi_dot(ops: Any, tensors: Sequence[Any]) -> Any:
    """The product of the matrices (first and last may be vectors) in the cheapest order."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0], tensors[-1]
    for place, tensor in (("first", first), ("last", last)):
        if tensor.dim() not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {place} tensor must be 1D or 2D but got "
                               f"{tensor.dim()}D")
    for k, tensor in enumerate(tensors):
        if 0 < k < len(tensors) - 1 and tensor.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {k} must be 2D but got {tensor.dim()}D")
        if tensor.dtype is not first.dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{_name(first)} and tensor {k} {_name(tensor)}")
    given = [ops.unsqueeze(first, 0) if first.dim() == 1 else first, *tensors[1:-1],
             ops.unsqueeze(last, 1) if last.dim() == 1 else last]
    for k, (a, b) in enumerate(zip(given, given[1:], strict=False)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {k} and {k + 1} with shapes "
                               f"{list(tensors[k].shape)} and {list(tensors[k + 1].shape)} cannot "
                               "be multiplied")
    made = _product_of(ops, given)
    if first.dim() == 1:
        made = ops.squeeze(made, 0)
    return ops.squeeze(made, -1) if last.dim() == 1 else made


def _name(tensor: Any) -> str:
    class Place:
        spec = tensor._spec

    return spoken(Place)


def chain(ops: Any, matrices: Sequence[Any]) -> Any:
    """chain_matmul: one matrix is given back as it is."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else multi_dot(ops, matrices)


composite("linalg_multi_dot(Tensor[] tensors) -> Tensor", multi_dot, out=True, method=False,
          doc="The product of several matrices in the cheapest order.")


def _vecdot(ops: Any, x: Any, y: Any, dim: int) -> Any:
    if x.dtype.is_floating_point is False and not x.dtype.is_complex:
        raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input. "
                           f"Got {SCALAR_NAMES[x.dtype]}")
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{SCALAR_NAMES[x.dtype]} and y of type {SCALAR_NAMES[y.dtype]} instead")
    return ops.sum(ops.mul(ops.conj(x) if x.dtype.is_complex else x, y), (dim,))


composite("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", _vecdot, out=True,
          method=False, autocast="lower",
          doc="Sums of products along dim; the operands broadcast.")
composite("linalg_matmul(Tensor input, Tensor other) -> Tensor",
          lambda ops, input, other: ops.matmul(input, other), out=True, method=False,
          doc="torch.matmul.")


# ---- kron, bilinear --------------------------------------------------------------------------

def _kron(ops: Any, self: Any, other: Any) -> Any:
    """Each element of self times the whole of other: one elementwise product."""
    ndim = max(self.dim(), other.dim())
    first = (1,) * (ndim - self.dim()) + tuple(self.shape)
    second = (1,) * (ndim - other.dim()) + tuple(other.shape)
    spread = ops.reshape(self, tuple(n for size in first for n in (size, 1)))
    whole = ops.reshape(other, tuple(n for size in second for n in (1, size)))
    return ops.reshape(ops.mul(spread, whole),
                       tuple(m * n for m, n in zip(first, second, strict=True)))


composite("kron(Tensor self, Tensor other) -> Tensor", _kron, out=True,
          doc="Kronecker's product.")


def _bilinear(ops: Any, input1: Any, input2: Any, weight: Any, bias: Any) -> Any:
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and "
                           f"{input2.dim()}")
    for d, (m, n) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if m != n:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got "
                               f"{m} and {n}")
    for k, given in ((1, input1), (2, input2)):
        if given.shape[-1] != weight.shape[k]:
            raise RuntimeError(f"bilinear(): input{k} size does not match weight size: got "
                               f"{given.shape[-1]} but expected {weight.shape[k]}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError("bilinear(): bias size does not match weight size: got "
                           f"{bias.shape[0]} but expected {weight.shape[0]}")
    lead = tuple(input1.shape[:-1])
    x = ops.reshape(input1, (-1, input1.shape[-1])) if input1.numel() else \
        ops.reshape(input1, (_count(lead), input1.shape[-1]))
    y = ops.reshape(input2, (_count(lead), input2.shape[-1]))
    made = ops.reshape(ops.trilinear(x, weight, y), (*lead, weight.shape[0]))
    return made if bias is None else ops.add(made, bias)


def _trilinear_back(ops: Any, grad: Any, self: Any, weight: Any, other: Any,
                    needs: tuple[bool, bool, bool]) -> Any:
    """Each operand's is a product of the other two and grad, two of them joined first."""
    made: list[Any] = [None] * 3
    if needs[0]:
        part = ops.contraction(other, weight, (0, 3), (2, 1, 3), (0, 2, 1))
        made[0] = ops.contraction(part, grad, (0, 2, 1), (0, 2), (0, 1))
    if needs[1]:
        part = ops.contraction(grad, self, (0, 2), (0, 1), (0, 2, 1))
        made[1] = ops.contraction(part, other, (0, 2, 1), (0, 3), (2, 1, 3))
    if needs[2]:
        part = ops.contraction(self, weight, (0, 1), (2, 1, 3), (0, 2, 3))
        made[2] = ops.contraction(part, grad, (0, 2, 3), (0, 2), (0, 3))
    return made


def _trilinear(ops: Any, self: Any, weight: Any, other: Any) -> Any:
    part = ops.contraction(self, weight, (0, 1), (2, 1, 3), (0, 2, 3))
    return ops.contraction(part, other, (0, 2, 3), (0, 3), (0, 2))


# Axes: 0 the batch, 1 and 3 the operands' own, 2 the result's.
composite("trilinear(Tensor self, Tensor weight, Tensor other) -> Tensor", _trilinear,
          method=False, backward={("self", "weight", "other"): _trilinear_back},
          samples=lambda make: [(make(3, 2), make(5, 2, 4), make(3, 4))])


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


composite("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
          _bilinear, method=False, autocast="given",
          doc="input1 @ weight[o] @ input2 + bias[o] for each output o.")


# ---- distances -------------------------------------------------------------------------------

def _seen_as(ref: Any, batch: tuple[int, ...], order: str, shape: tuple[int, ...]) -> Any:
    """(*batch, a, b) with an axis of stride 0 put where `order` has a dot."""
    own = tuple(ref.spec.shape[-2:])
    steps = expand_strides(ref.spec.shape, ref.spec.strides, (*batch, *own))
    last = {"a": steps[-2], "b": steps[-1], ".": 0}
    return ref.seen(((*batch, *shape), (*steps[:-2], *(last[c] for c in order)), 0))


def _distance(p: Any, norm: float, apart: Expr) -> Expr:
    """The p-norm of the differences along the inner axis."""
    size = absolute(apart)
    one, zero = const(1, apart.dtype), const(0, apart.dtype)
    if norm == 0:
        return fold("sum", where(apart.eq(0), zero, one))
    if norm == 1:
        return fold("sum", size)
    if norm == 2:
        return sqrt(fold("sum", apart * apart))
    if norm == float("inf"):
        return fold("max", size)
    return power(fold("sum", power(size, p.fixed(norm, apart.dtype))),
                 p.fixed(1 / norm, apart.dtype))


def _cdist_direct(p: Any, x1: Any, x2: Any, norm: float) -> None:
    batch = broadcast_shapes(x1.spec.shape[:-2], x2.spec.shape[:-2])
    m, d = x1.spec.shape[-2:]
    n = x2.spec.shape[-2]
    out = p.result(spec(x1.spec.dtype, (*batch, m, n), None, p.device))
    if d == 0:
        p.flat(lambda: const(0, x1.spec.dtype), [], [out])
        return
    p.rows(lambda a, b: _distance(p, norm, a - b),
           [_seen_as(x1, batch, "a.b", (m, n, d)), _seen_as(x2, batch, ".ab", (m, n, d))],
           [out.as_rows()], (*batch, m, n), d)


def _cdist_product(p: Any, x1: Any, x2: Any) -> None:
    """|a - b|^2 = |a|^2 + |b|^2 - 2 a.b, one product for all pairs."""
    dtype = x1.spec.dtype
    batch = broadcast_shapes(x1.spec.shape[:-2], x2.spec.shape[:-2])
    m, d = x1.spec.shape[-2:]
    n = x2.spec.shape[-2]
    out = p.result(spec(dtype, (*batch, m, n), None, p.device))
    squares = []
    for x in (x1, x2):
        own = tuple(x.spec.shape[:-1])
        kept = p.temporary(own, dtype)
        p.rows(lambda v: fold("sum", v * v), [x], [kept.as_rows()], own, d)
        squares.append(kept)
    p.product(x1, turned(x2), out, alpha=-2.0)
    first, second = squares
    first = first.seen(((*first.spec.shape, 1), (*contiguous_strides(first.spec.shape), 0), 0))
    shape, steps = tuple(second.spec.shape), tuple(second.spec.strides)
    second = second.seen(((*shape[:-1], 1, shape[-1]), (*steps[:-1], 0, steps[-1]), 0))
    p.flat(lambda c, a, b: sqrt(maximum(c + a + b, const(0, dtype))), [out, first, second], [out])


def _slope(p: Any, norm: float, apart: Expr, dist: Expr) -> Expr:
    """The derivative of the distance with respect to one difference."""
    dtype = apart.dtype
    zero, one = const(0, dtype), const(1, dtype)
    sign = where(apart > 0, one, where(apart < 0, -one, zero))
    if norm == 1:
        return sign
    if norm == 2:
        return where(dist.eq(0), zero, apart / where(dist.eq(0), one, dist))
    if norm == float("inf"):
        return where(absolute(apart).eq(dist), sign, zero)
    still = dist.eq(0) | apart.eq(0)
    grown = power(where(still, one, absolute(apart) / where(dist.eq(0), one, dist)),
                  p.fixed(norm - 1, dtype))
    return where(still, zero, sign * grown)


def _cdist_slopes(p: Any, grad: Any, x1: Any, x2: Any, result: Any, norm: float) -> None:
    """The gradient of x1, before the sum over broadcast batches."""
    batch = tuple(grad.spec.shape[:-2])
    m, d = x1.spec.shape[-2:]
    n = x2.spec.shape[-2]
    dtype = x1.spec.dtype
    out = p.result(spec(dtype, (*batch, m, d), None, p.device))
    if norm == 0:
        p.flat(lambda: const(0, dtype), [], [out])
        return
    p.rows(lambda g, a, b, r: fold("sum", g * _slope(p, norm, a - b, r)),
           [_seen_as(grad, batch, "a.b", (m, d, n)), _seen_as(x1, batch, "ab.", (m, d, n)),
            _seen_as(x2, batch, ".ba", (m, d, n)), _seen_as(result, batch, "a.b", (m, d, n))],
           [out.as_rows()], (*batch, m, d), n)


rows("cdist_slopes(Tensor grad, Tensor x1, Tensor x2, Tensor result, any norm) -> Tensor",
     _cdist_slopes, method=False)


def _first_back(ops: Any, grad: Any, x1: Any, x2: Any, result: Any, norm: float) -> Any:
    linked = ops.has_derivative(grad, x1, x2)
    if not linked:
        made = ops.cdist_slopes(grad, x1, x2, result, norm)
        return ops.sum_to_size(made, tuple(x1.shape))
    apart = ops.sub(ops.unsqueeze(x1, -2), ops.unsqueeze(x2, -3))  # (*batch, m, n, d)
    dist, weight = ops.unsqueeze(result, -1), ops.unsqueeze(grad, -1)
    if norm == 0:
        return ops.mul(x1, 0)
    if norm in (1, float("inf")):
        slope = ops.sign(apart)
        if norm != 1:
            slope = ops.mul(slope, ops.to_dtype(ops.eq(ops.abs(apart), dist), x1.dtype))
    else:
        still = ops.logical_or(ops.eq(dist, 0), ops.eq(apart, 0))
        grown = ops.select_where(still, 1.0, ops.div(ops.abs(apart), dist))
        slope = ops.select_where(still, 0.0, ops.mul(ops.sign(apart), ops.pow(grown, norm - 1)))
    return ops.sum_to_size(ops.sum(ops.mul(weight, slope), (-2,)), tuple(x1.shape))


def _second_back(ops: Any, grad: Any, x1: Any, x2: Any, result: Any, norm: float) -> Any:
    return _first_back(ops, ops.transpose(grad, -1, -2), x2, x1, ops.transpose(result, -1, -2),
                       norm)


def _pulled(ops: Any, grad: Any, x1: Any, x2: Any, result: Any) -> Any:
    """The gradient of x1 from a distance by products: weights pull it to the other points."""
    zero = ops.eq(result, 0)
    weight = ops.select_where(zero, 0.0, ops.div(grad, result))
    made = ops.sub(ops.mul(ops.sum(weight, (-1,), True), x1),
                   ops.matrix_product(weight, x2, False, False, 1))
    return ops.sum_to_size(made, tuple(x1.shape))


rows("cdist_direct(Tensor x1, Tensor x2, any norm) -> Tensor", _cdist_direct, method=False,
     node_name="CdistBackward0", backward={"x1": _first_back, "x2": _second_back})
rows("cdist_product(Tensor x1, Tensor x2) -> Tensor", _cdist_product, method=False,
     node_name="CdistBackward0",
     backward={"x1": _pulled,
               "x2": lambda ops, grad, x1, x2, result: _pulled(
                   ops, ops.transpose(grad, -1, -2), x2, x1, ops.transpose(result, -1, -2))})

_MODES = {"use_mm_for_euclid_dist_if_necessary": 0, "use_mm_for_euclid_dist": 1,
          "donot_use_mm_for_euclid_dist": 2}
_DIRECT_POINTS = 25  # PyTorch's bound: above it, distances come from one product


def _cdist(ops: Any, x1: Any, x2: Any, p: float, compute_mode: str) -> Any:
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError("X1 and X2 must have the same number of columns. "
                           f"X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dtype.category != FLOATING:
            raise RuntimeError("cdist only supports floating-point dtypes, "
                               f"{name} got: {SCALAR_NAMES[x.dtype]}")
    if not p >= 0:  # NaN neither
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[x1.dtype]} but found "
                           f"{SCALAR_NAMES[x2.dtype]}")
    if x1.dtype in (float16, bfloat16):
        raise NotImplementedError(f"\"cdist\" not implemented for '{SCALAR_NAMES[x1.dtype]}'")
    mode = _MODES[compute_mode]
    many = x1.shape[-2] > _DIRECT_POINTS or x2.shape[-2] > _DIRECT_POINTS
    if p == 2 and x1.shape[-1] and (mode == 1 or (mode == 0 and many)):
        return ops.cdist_product(x1, x2)
    return ops.cdist_direct(x1, x2, float(p))


composite("cdist(Tensor x1, Tensor x2, float p=2.0, any compute_mode="
          "'use_mm_for_euclid_dist_if_necessary') -> Tensor", _cdist,
          method=False, autocast="float32",
          doc="The p-norm distance of each row of x1 to each row of x2.")

__all__ = ["chain", "multi_dot"]
