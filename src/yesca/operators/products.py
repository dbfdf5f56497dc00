"""Matrix products: mm, bmm, matmul, linear, mv, dot.

Every float product is one launch of the product kernels (two where an operand is packed first),
whatever the strides: the gradients are products of the same operands seen transposed. Two inner
records carry them: `matrix_product` (either side transposed) and `fold_product` (summed over all
leading dimensions, as a weight's gradient is).
"""

from __future__ import annotations

import math
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any

from ..core.dtypes import SCALAR_NAMES, bool_
from ..core.spec import conjugated, spec
from ..core.views import broadcast_shapes, expand_strides, has_dim
from .kinds import rows

# ---- operands --------------------------------------------------------------------------------


def _sizes(ref: Any) -> str:
    return "x".join(str(n) for n in ref.spec.shape)


def turned(ref: Any) -> Any:
    """The last two dimensions swapped."""
    shape, strides = tuple(ref.spec.shape), tuple(ref.spec.strides)
    return ref.seen(((*shape[:-2], shape[-1], shape[-2]),
                     (*strides[:-2], strides[-1], strides[-2]), 0))


def _row(ref: Any) -> Any:
    """A vector as a matrix of one row."""
    return ref.seen(((1, *ref.spec.shape), (0, *ref.spec.strides), 0))


def column(ref: Any) -> Any:
    """The last dimension as columns of one element each: (*, n) as (*, n, 1)."""
    return ref.seen(((*ref.spec.shape, 1), (*ref.spec.strides, 1), 0))


def above(ref: Any) -> Any:
    """The last dimension as rows: (*, n) as (*, 1, n)."""
    shape, strides = tuple(ref.spec.shape), tuple(ref.spec.strides)
    return ref.seen(((*shape[:-1], 1, shape[-1]), (*strides[:-1], 0, strides[-1]), 0))


def _result(p: Any, like: Any, shape: tuple[int, ...]) -> Any:
    return p.result(spec(like.spec.dtype, shape, None, p.device))


def refuse_bool(ref: Any, name: str) -> None:
    if ref.spec.dtype is bool_:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'; convert the operands, "
                                  "for example with .float()")


def same_dtype(a: Any, b: Any) -> None:
    """The dtypes of a product's two matrices."""
    if a.spec.dtype is not b.spec.dtype:
        raise RuntimeError("expected m1 and m2 to have the same dtype, but got: "
                           f"{spoken(a)} != {spoken(b)}")
    refuse_bool(a, "addmm_impl_cpu_")


_SPOKEN = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int",
           "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
           "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
           "float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool"}


def spoken(ref: Any) -> str:
    """The dtype as C++ spells it."""
    return _SPOKEN.get(ref.spec.dtype.name, ref.spec.dtype.name)


def title(ref: Any) -> str:
    """The dtype as PyTorch's tensor types are called."""
    return SCALAR_NAMES[ref.spec.dtype]


def fits(a: Any, b: Any) -> None:
    """The inner sizes of (m, k) @ (k, n); leading dimensions of `a` count as rows."""
    rows_, inner = math.prod(a.spec.shape[:-1]), a.spec.shape[-1]
    if inner != b.spec.shape[-2]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows_}x{inner} and "
                           f"{_sizes(b)})")


# ---- the inner records -----------------------------------------------------------------------

def _matrix_product(p: Any, self: Any, other: Any, left: bool, right: bool, alpha: Any) -> None:
    a = turned(self) if left else self
    b = turned(other) if right else other
    batch = broadcast_shapes(a.spec.shape[:-2], b.spec.shape[:-2])
    out = _result(p, self, (*batch, a.spec.shape[-2], b.spec.shape[-1]))
    p.product(a, b, out, alpha=p.factor(4))


def _self_back(ops: Any, grad: Any, self_spec: Any, other: Any, left: bool, right: bool,
               alpha: Any) -> Any:
    """The gradient of a in alpha * a @ b (a, b perhaps transposed), in a's layout and shape."""
    made = ops.matrix_product(other, grad, right, True, alpha) if left else \
        ops.matrix_product(grad, other, False, not right, alpha)
    return reduced(ops, made, self_spec)


def _other_back(ops: Any, grad: Any, self: Any, other_spec: Any, left: bool, right: bool,
                alpha: Any) -> Any:
    """The gradient of b, likewise; a single b for many a is summed inside the product."""
    if other_spec.ndim == 2 and self.dim() > 2 and not left:
        return ops.fold_product(grad, self, alpha) if right else \
            ops.fold_product(self, grad, alpha)
    made = ops.matrix_product(grad, self, True, left, alpha) if right else \
        ops.matrix_product(self, grad, not left, False, alpha)
    return reduced(ops, made, other_spec)


def reduced(ops: Any, made: Any, wanted: Any) -> Any:
    """A gradient summed over the dimensions that broadcasting stretched."""
    shape, own = tuple(wanted.shape), tuple(made.shape)
    if own == shape:
        return made
    before = len(own) - len(shape)
    if shape and own[before:] == shape:  # a bias: one plan, where `sum_to_size` has a view as well
        return ops.sum(made, tuple(range(before)))
    return ops.sum_to_size(made, shape)


def _product_name(plan: Any) -> str:
    return "MmBackward0" if plan.results[0].ndim == 2 else "BmmBackward0"


rows("matrix_product(Tensor self, Tensor other, bool left, bool right, Scalar alpha=1) -> Tensor",
     _matrix_product, kind="contraction", method=False, node_name=_product_name,
     backward={"self": lambda ops, grad, self_spec, other, left, right, alpha: _self_back(
                   ops, grad, self_spec, other, left, right, alpha),
               "other": lambda ops, grad, self, other_spec, left, right, alpha: _other_back(
                   ops, grad, self, other_spec, left, right, alpha)},
     doc="alpha * self @ other, either matrix transposed if `left` or `right` says so.")


def _fold_product(p: Any, self: Any, other: Any, alpha: Any) -> None:
    a, b = _folded(p, self), _folded(p, other)
    out = _result(p, self, (a.spec.shape[1], b.spec.shape[1]))
    p.product(turned(a), b, out, alpha=p.factor(2))


def _folded(p: Any, x: Any) -> Any:
    """All dimensions but the last as one."""
    ndim = x.spec.ndim
    if ndim == 2:
        return x
    shape, strides = tuple(x.spec.shape), tuple(x.spec.strides)
    moved = x.seen(((shape[-1], *shape[:-1]), (strides[-1], *strides[:-1]), 0))
    return turned(p.joined(moved, ndim - 1)[0])


rows("fold_product(Tensor self, Tensor other, Scalar alpha=1) -> Tensor", _fold_product,
     kind="contraction", method=False, node_name="MmBackward0",
     backward={"self": lambda ops, grad, other, alpha: ops.matrix_product(
                   other, grad, False, True, alpha),
               "other": lambda ops, grad, self, alpha: ops.matrix_product(
                   self, grad, False, False, alpha)},
     doc="alpha * the sum of outer products of the last dimensions: (*, m), (*, n) give (m, n).")


# ---- two matrices, vectors, batches ----------------------------------------------------------

def _multiply(p: Any, self: Any, other: Any) -> None:
    """self @ other for all ranks from 1 up, shapes having been checked."""
    a = self if self.spec.ndim > 1 else _row(self)
    b = other if other.spec.ndim > 1 else column(other)
    batch = broadcast_shapes(a.spec.shape[:-2], b.spec.shape[:-2])
    rows_ = (a.spec.shape[-2],) if self.spec.ndim > 1 else ()
    columns = (b.spec.shape[-1],) if other.spec.ndim > 1 else ()
    out = _result(p, self, (*batch, *rows_, *columns))
    goal = out if columns else column(out)
    if not rows_:
        goal = above(goal) if columns else _row(goal)
    p.product(a, b, goal)


def _left_back(ops: Any, grad: Any, self_spec: Any, other: Any) -> Any:
    """The gradient of a in a @ b."""
    if other.dim() == 1:
        if self_spec.ndim == 1:
            return ops.mul(grad, other)
        return ops.mul(ops.unsqueeze(grad, -1), other)
    if self_spec.ndim > 1:
        return _self_back(ops, grad, self_spec, other, False, False, 1)
    if other.dim() == 2:
        return ops.mv(other, grad)
    made = ops.matrix_product(other, ops.unsqueeze(grad, -1), False, False, 1)
    return ops.sum_to_size(ops.squeeze(made, -1), tuple(self_spec.shape))


def _right_back(ops: Any, grad: Any, self: Any, other_spec: Any) -> Any:
    """The gradient of b in a @ b."""
    if other_spec.ndim == 1:
        if self.dim() == 1:
            return ops.mul(grad, self)
        return ops.reshape(ops.fold_product(self, ops.unsqueeze(grad, -1), 1),
                           tuple(other_spec.shape))
    if self.dim() == 1:
        return ops.mul(ops.unsqueeze(self, -1), ops.unsqueeze(grad, -2))
    return _other_back(ops, grad, self, other_spec, False, False, 1)


def _named(function: Any, *names: str) -> Any:
    """The function as a formula whose parameters have these names."""

    def formula(*values: Any) -> Any:
        return function(*values)

    formula.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    return formula


def _both(left: str, right: str) -> dict[str, Any]:
    """The two formulas of a @ b for arguments of these names."""
    return {left: _named(_left_back, "ops", "grad", f"{left}_spec", right),
            right: _named(_right_back, "ops", "grad", left, f"{right}_spec")}


def _product(text: str, check: Any, **options: Any) -> None:
    """A record of a @ b; `check` refuses operands that do not fit."""
    left, right = (part.split()[-1] for part in text.partition("(")[2].partition(")")[0]
                   .split(",")[:2])

    def program(p: Any, self: Any, other: Any) -> None:
        check(self, other)
        _multiply(p, self, other)

    rows(text, program, kind="contraction", out=True, backward=_both(left, right), **options)


def _check_mm(a: Any, b: Any) -> None:
    for ref, name in ((a, "self"), (b, "mat2")):
        if ref.spec.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix; got a {ref.spec.ndim}-D tensor")
    fits(a, b)
    same_dtype(a, b)


def check_batches(a: Any, b: Any, added: bool = False) -> None:
    """`added`: of a product that something is added to, whose shape is asked for first."""
    for ref, name in ((a, "batch1"), (b, "batch2")):
        if added:
            has_dim(0, ref.spec.ndim)
        if ref.spec.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    wanted = [a.spec.shape[0], a.spec.shape[2]]
    if list(b.spec.shape[:2]) != wanted:
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"{wanted} but got: {list(b.spec.shape[:2])}.")


def _check_bmm(a: Any, b: Any) -> None:
    check_batches(a, b)
    same_scalars(a, b)


def same_scalars(a: Any, b: Any) -> None:
    """The dtypes of two stacks of matrices."""
    if a.spec.dtype is not b.spec.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[a.spec.dtype]} but found "
                           f"{SCALAR_NAMES[b.spec.dtype]}")
    refuse_bool(a, "bmm")


def _check_mv(a: Any, b: Any) -> None:
    has_dim(0, a.spec.ndim)
    if a.spec.ndim != 2 or b.spec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.spec.ndim}, "
                           f"{b.spec.ndim}")
    m, k = a.spec.shape
    if k != b.spec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({m}), mat ({m}x{k}), vec "
                           f"({b.spec.shape[0]})")
    if a.spec.dtype is not b.spec.dtype:
        raise RuntimeError("addmv input tensors must have the same dtype, but got "
                           f"{three_dtypes(b, a, b)}")
    refuse_bool(a, "addmv_impl_cpu")


def three_dtypes(*refs: Any) -> str:
    a, b, c = (SCALAR_NAMES[r.spec.dtype] for r in refs)
    return f"{a}, {b}, and {c}"


def _check_dot(a: Any, b: Any) -> None:
    if a.spec.ndim != 1 or b.spec.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.spec.ndim}D and {b.spec.ndim}D "
                           "tensors")
    if a.spec.dtype is not b.spec.dtype:
        raise RuntimeError("dot : expected both vectors to have same dtype, but found "
                           f"{SCALAR_NAMES[a.spec.dtype]} and {SCALAR_NAMES[b.spec.dtype]}")
    m, n = a.spec.numel, b.spec.numel
    if m != n:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{m}] and src [{n}] to have the same "
            f"number of elements, but got {m} and {n} elements respectively")
    refuse_bool(a, "dot")


def _check_matmul(a: Any, b: Any) -> None:
    m, n = a.spec.ndim, b.spec.ndim
    if m == 0 or n == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D, but they are "
                           f"{m}D and {n}D")
    if m == 1 and n == 1:
        _check_dot(a, b)
    elif n == 1:
        flat = a if m == 2 else a.seen(((math.prod(a.spec.shape[:-1]), a.spec.shape[-1]),
                                        (1, 1), 0))
        _check_mv(flat, b)
    elif n == 2:
        fits(a if m > 1 else _row(a), b)
        same_dtype(a, b)
    else:
        _check_stacks(a if m > 1 else _row(a), b)


def _check_stacks(a: Any, b: Any) -> None:
    """Batches of matrices that broadcast."""
    batch = broadcast_shapes(a.spec.shape[:-2], b.spec.shape[:-2])
    wanted = [math.prod(batch), a.spec.shape[-1]]
    if wanted[1] != b.spec.shape[-2]:
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"{wanted} but got: {[wanted[0], b.spec.shape[-2]]}.")
    same_scalars(a, b)


def _matmul_name(plan: Any) -> str:
    ranks = tuple(v.spec.ndim for v in plan.values)
    return {(1, 1): "DotBackward0", (2, 1): "MvBackward0", (1, 2): "SqueezeBackward4",
            (2, 2): "MmBackward0"}.get(ranks, "UnsafeViewBackward0")


_product("mm(Tensor self, Tensor mat2) -> Tensor", _check_mm, autocast="lower",
         doc="(m, k) @ (k, n).")
_product("bmm(Tensor self, Tensor mat2) -> Tensor", _check_bmm, autocast="lower",
         doc="(b, m, k) @ (b, k, n).")
_product("mv(Tensor self, Tensor vec) -> Tensor", _check_mv, doc="(m, k) @ (k,).")
_product("dot(Tensor self, Tensor tensor) -> Tensor", _check_dot,
         doc="The sum of the products of two vectors' elements.")


def _vdot(p: Any, self: Any, other: Any) -> None:
    _check_dot(self, other)
    if self.spec.dtype.is_complex:
        self = replace(self, spec=conjugated(self.spec, not self.spec.conj))
    _multiply(p, self, other)


rows("vdot(Tensor self, Tensor other) -> Tensor", _vdot, kind="contraction", out=True,
     holomorphic=False,
     backward={"self": lambda ops, grad, other: ops.mul(ops.conj(grad), other),
               "other": lambda ops, grad, self: ops.mul(grad, self)},
     doc="dot, with the first vector conjugated.")
_product("matmul(Tensor self, Tensor other) -> Tensor", _check_matmul, node_name=_matmul_name,
         autocast="lower",
         doc="The product of vectors, matrices or stacks of matrices, which broadcast.")


# ---- linear ----------------------------------------------------------------------------------

def _check_linear(input: Any, weight: Any, bias: Any) -> None:
    if input.spec.ndim == 0 or weight.spec.ndim == 0:
        raise RuntimeError("both arguments to linear need to be at least 1D, but they are "
                           f"{input.spec.ndim}D and {weight.spec.ndim}D")
    if weight.spec.ndim > 2:
        raise RuntimeError("t() expects a tensor with <= 2 dimensions, but self is "
                           f"{weight.spec.ndim}D")
    if weight.spec.ndim == 1:
        if bias is not None:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        _check_matmul(input, weight)
        return
    fits(input if input.spec.ndim > 1 else _row(input), turned(weight))
    if bias is None:
        same_dtype(input, weight)
        return
    if input.spec.dtype is not weight.spec.dtype:
        raise RuntimeError("mat1 and mat2 must have the same dtype, but got "
                           f"{title(input)} and {title(weight)}")
    if bias.spec.dtype is not input.spec.dtype:
        raise RuntimeError("self and mat2 must have the same dtype, but got "
                           f"{title(bias)} and {title(weight)}")
    refuse_bool(input, "addmm_impl_cpu_")


def stretched(ref: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast to `shape`, or PyTorch's complaint."""
    return ref.seen((shape, expand_strides(ref.spec.shape, ref.spec.strides, shape), 0))


def _linear(p: Any, input: Any, weight: Any, bias: Any) -> None:
    _check_linear(input, weight, bias)
    if weight.spec.ndim == 1:
        _multiply(p, input, weight)
        return
    a = input if input.spec.ndim > 1 else _row(input)
    shape = (*input.spec.shape[:-1], weight.spec.shape[0])
    if bias is not None:
        stretched(bias, (math.prod(a.spec.shape[:-1]), shape[-1]))
    out = _result(p, input, shape)
    p.product(a, turned(weight), out if input.spec.ndim > 1 else _row(out), initial=bias)


def _linear_name(plan: Any) -> str:
    rank, added = plan.values[0].spec.ndim, plan.values[2] is not None
    if plan.values[1].spec.ndim == 1:
        return "DotBackward0" if rank == 1 else "MvBackward0"
    if rank == 2:
        return "AddmmBackward0" if added else "MmBackward0"
    if added:
        return "ViewBackward0"
    return "UnsafeViewBackward0" if rank > 2 else "SqueezeBackward4"


def _linear_weight(ops: Any, grad: Any, input: Any, weight_spec: Any) -> Any:
    if weight_spec.ndim == 1:
        return _right_back(ops, grad, input, weight_spec)
    if input.dim() == 1:
        return ops.mul(ops.unsqueeze(grad, -1), input)
    return ops.fold_product(grad, input, 1)


rows("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", _linear,
     kind="contraction", method=False, out=True, node_name=_linear_name, autocast="lower",
     keeps_views=True,
     backward={"input": lambda ops, grad, input_spec, weight: _left_back(
                   ops, grad, input_spec, weight) if weight.dim() == 1
                   else ops.matmul(grad, weight),
               "weight": _linear_weight,
               "bias": lambda ops, grad, bias_spec: reduced(ops, grad, bias_spec)},
     doc="input @ weight.T + bias: (*, k), (n, k), (n,) give (*, n).")
