"""Gathers and scatters along one dimension, rows of a table."""

# Names: scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.dtypes import INTEGRAL, int64
from ..core.memory_formats import kept
from ..core.spec import spec
from ..loops import ir
from ..loops.folds import neutral
from ..loops.ir import Expr, cast, const
from ..loops.scalar import where
from . import places
from .filling import filling
from .kinds import composite, compute_dtype, rows


def _checked_index(name: str, index: Any) -> None:
    if index.spec.dtype.category != INTEGRAL or index.spec.dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _sized(ref: Any) -> Any:
    """A 0-dim reference as one of one dimension."""
    return ref if ref.spec.ndim else ref.seen(((1,), (1,), 0))


# ---- gather ----------------------------------------------------------------------------------

def _fits(name: str, self: Any, index: Any, dim: int) -> None:
    if self.spec.ndim != index.spec.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as "
                           f"{'input' if name == 'gather' else 'self'} tensor")
    for k, (have, want) in enumerate(zip(self.spec.shape, index.spec.shape, strict=True)):
        if k != dim and want > have:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index "
                f"{list(index.spec.shape)} to be no larger than self {list(self.spec.shape)} "
                f"apart from dimension {dim}")


def _gather(p: Any, self: Any, dim: int, index: Any, sparse_grad: bool) -> None:
    dtype = self.spec.dtype
    out = p.result(spec(dtype, index.spec.shape, None, p.device))
    d = algebra.wrap_dim(dim, self.spec.ndim)
    if index.spec.numel == 0:
        return
    _checked_index("gather", index)
    self, index, target = _sized(self), _sized(index), _sized(out)
    _fits("gather", self, index, d)
    shape, strides = tuple(index.spec.shape), list(self.spec.strides)
    step, size = strides[d], self.spec.shape[d]
    strides[d] = 0

    def body(_: Expr, at: Expr) -> Expr:
        place = places.wrapped(p, at, size, places.out_of_bounds_runtime(d, size), False)
        return ir.load(0, dtype, place * p.fixed(step, int64))

    _nonempty(index, d, size)
    p.flat(body, [self.seen((shape, tuple(strides), 0)), index], [target])


def _failing(caller: str, d: int, shape: tuple[int, ...]) -> Any:
    """What an index out of range raises: each of the operators has its own words.

    index_add along the first or last of several dimensions is a scatter in PyTorch.
    """
    size = shape[d]
    if caller == "index_reduce" or caller == "index_add" and (
            len(shape) == 1 or 0 < d < len(shape) - 1):
        return places.no_row
    if caller in ("", "index_add"):
        return places.out_of_bounds_runtime(d, size)
    return places.out_of_bounds(d, size, "index_copy_(): " if caller == "index_copy" else "")


def _nonempty(index: Any, d: int, size: int) -> None:
    if size == 0 and index.spec.numel:
        raise RuntimeError(f"index 0 is out of bounds for dimension {d} with size 0")


rows("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", _gather,
     kind="gather", out=True,
     backward={"self": lambda ops, grad, self_spec, dim, index: ops.gather_backward(
         grad, index, tuple(self_spec.shape), dim)},
     doc="out[i][j] = self[index[i][j]][j] for dim 0, and likewise along other dimensions.")


def _gather_back(p: Any, grad: Any, index: Any, shape: tuple[int, ...], dim: int) -> None:
    out = p.result(spec(grad.spec.dtype, shape, None, p.device))
    p.flat(lambda: const(0, grad.spec.dtype), [], [out])
    _scatter_into(p, out, dim, index, grad, "sum", checked=False)


rows("gather_backward(Tensor grad, Tensor index, any shape, int dim) -> Tensor", _gather_back,
     kind="scatter", method=False,
     backward={"grad": lambda ops, grad, index, dim: ops.gather(grad, dim, index)})


def _take_along(ops: Any, self: Any, indices: Any, dim: Any) -> Any:
    if indices.dtype is not int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got "
                           f"{places.type_name(indices)}")
    if dim is None:
        self, dim, indices = ops.view(self, (-1,)), 0, ops.view(indices, (-1,))
    if self.dim() != indices.dim():
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number "
                           f"of dimensions, but got {self.dim()} dimensions for input, and "
                           f"{indices.dim()} dimensions for indices")
    d = algebra.wrap_dim(dim, self.dim())

    def one(shape: Any) -> tuple[int, ...]:
        return tuple(1 if k == d else n for k, n in enumerate(shape))

    common = algebra.broadcast_shapes(one(self.shape), one(indices.shape))

    def wide(x: Any) -> Any:
        return ops.expand(x, tuple(x.shape[k] if k == d else n for k, n in enumerate(common)))

    from_end = ops.add(indices, self.shape[d])
    return ops.gather(wide(self), d, wide(ops.select_where(ops.lt(indices, 0), from_end,
                                                           indices)))


composite("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", _take_along,
          out=True, doc="gather with broadcasting.")


# ---- scatter ---------------------------------------------------------------------------------

def _scatter_into(p: Any, out: Any, dim: int, index: Any, src: Any, combine: str,
                  checked: bool = True, number: int = -1, caller: str = "") -> None:
    """Values to the places that the index names along dim; a row owns the line it writes to."""
    if index.spec.numel == 0:
        return
    d = algebra.wrap_dim(dim, out.spec.ndim)
    out, index = _sized(out), _sized(index)
    size = out.spec.shape[d]
    _nonempty(index, d, size)
    fail = _failing(caller, d, tuple(out.spec.shape)) if checked else None
    shape = tuple(index.spec.shape)
    keep = [k for k in range(len(shape)) if k != d]
    order = [*keep, d]
    place = places.permuted(index, order)
    if number < 0:
        src = _sized(src)
        value: Any = places.permuted(src.seen((shape, src.spec.strides, 0)), order)
    else:
        value = lambda: filling(p, number, out.spec.dtype)  # noqa: E731

    def work(target: Any) -> None:
        step = target.spec.strides[d]
        places.put(p, target, [shape[k] for k in keep], [target.spec.strides[k] for k in keep],
                   value, place, combine, offset=lambda at: places.wrapped(
                       p, at, size, fail, False) * p.fixed(step, int64))

    places.collected(p, out, work, combine)


_FOLDS = {"": "", "add": "sum", "sum": "sum", "multiply": "prod", "prod": "prod", "amax": "max",
          "amin": "min", "mean": "sum"}


def _check_scatter(p: Any, name: str, self: Any, dim: int, index: Any, src: Any) -> None:
    d = algebra.wrap_dim(dim, self.spec.ndim)
    if index.spec.numel == 0:
        return
    _checked_index(name, index)
    if self.spec.ndim != index.spec.ndim and self.spec.ndim + index.spec.ndim > 1:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    _fits(name, _sized(self), _sized(index), d)
    if not p.is_ref(src):
        return
    if src.spec.dtype is not self.spec.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if _sized(src).spec.ndim != _sized(index).spec.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(a > b for a, b in zip(_sized(index).spec.shape, _sized(src).spec.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(index.spec.shape)} to be no larger than self "
            f"{list(self.spec.shape)} apart from dimension {d} and to be no larger size than src "
            f"{list(src.spec.shape)}")


def _scatter(p: Any, self: Any, dim: int, index: Any, src: Any, combine: str, caller: str
             ) -> None:
    name = "scatter" if not combine else f"scatter_{combine}"
    _check_scatter(p, name, self, dim, index, src)
    out = places.begun(p, self, kept if caller == "index_fill" else None)
    _scatter_into(p, out, dim, index, src, combine, number=-1 if p.is_ref(src) else 3,
                  caller=caller)


def _scatter_back_self(ops: Any, grad: Any, dim: int, index: Any, combine: str) -> Any:
    if combine == "sum":
        return grad
    if combine:
        raise NotImplementedError(f"the derivative of scatter with reduce={combine!r} is not "
                                  "implemented; use scatter_reduce")
    return ops.scatter_fold(grad, dim, index, 0, "")


def _scatter_name(plan: Any) -> str:
    """PyTorch has a node for each of the functions that scatter."""
    combine, caller = plan.values[-2:]
    number = plan.operands < 3
    if caller == "index_fill":
        return f"IndexFillBackward{int(not number)}"
    if caller:
        return "".join(part.capitalize() for part in caller.split("_")) + "Backward0"
    return "ScatterAddBackward0" if combine == "sum" else f"ScatterBackward{int(number)}"


rows("scatter_fold(Tensor self, int dim, Tensor index, Tensor src, str combine, str caller='') "
     "-> Tensor", _scatter, kind="scatter", method=False, inplace=True,
     numbers=("src",),
     node_name=_scatter_name,
     backward={"self": _scatter_back_self,
               "src": lambda ops, grad, src_spec, dim, index, combine, caller: _source_grad(
                   ops, _once(ops, grad, dim, index, caller), index, src_spec)})


def _once(ops: Any, grad: Any, dim: int, index: Any, caller: str) -> Any:
    """The gradient at the index; a place that `index_fill` names twice counts once."""
    found = ops.gather(grad, dim, index)
    if caller != "index_fill" or not index.numel() or not index.dim():
        return found
    shape = [1] * index.dim()
    shape[dim] = index.shape[dim]
    number = ops.expand(ops.reshape(ops.arange(index.shape[dim]), tuple(shape)),
                        tuple(index.shape))
    last = ops.scatter_fold(ops.zeros(tuple(grad.shape), dtype=number.dtype), dim, index, number,
                            "")
    return ops.select_where(ops.eq(ops.gather(last, dim, index), number), found, 0.0)


def _source_grad(ops: Any, made: Any, index: Any, src_spec: Any) -> Any:
    """The gradient of a source of which the index may use only a part."""
    if tuple(index.shape) == tuple(src_spec.shape):
        return made
    whole = ops.zeros(tuple(src_spec.shape), dtype=made.dtype, device=made.device)
    part = tuple(slice(0, n) for n in index.shape)
    return ops.part_scatter(whole, made, part)


def _scatter_public(inplace: bool) -> Any:
    def body(ops: Any, self: Any, dim: int, index: Any, src: Any, value: Any, reduce: Any) -> Any:
        if (src is None) is (value is None):
            raise TypeError("scatter() received an invalid combination of arguments - either src "
                            "or value is given")
        src = value if src is None else src
        if reduce not in (None, "add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        return _scatter_add(inplace)(ops, self, dim, index, src, _FOLDS[reduce or ""])
    return body


def _scatter_add(inplace: bool) -> Any:
    def body(ops: Any, self: Any, dim: int, index: Any, src: Any, fold: str = "sum") -> Any:
        function = ops.scatter_fold_ if inplace else ops.scatter_fold
        return function(self, dim, index, src, fold)
    return body


for _suffix, _inplace in (("", False), ("_", True)):
    composite(f"scatter{_suffix}(Tensor self, int dim, Tensor index, Tensor? src=None, *, "
              "Scalar? value=None, str? reduce=None) -> Tensor", _scatter_public(_inplace),
              numbers=("src",), out=not _inplace, doc="self with src written at the index.")
    composite(f"scatter_add{_suffix}(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
              _scatter_add(_inplace), out=not _inplace, doc="self with src added at the index.")


# ---- scatter_reduce --------------------------------------------------------------------------

def _scatter_reduce(p: Any, self: Any, dim: int, index: Any, src: Any, reduce: str,
                    include_self: bool, caller: str) -> None:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got "
                           f"{reduce}")
    _check_scatter(p, "scatter_reduce", self, dim, index, src)
    out = places.begun(p, self)
    if index.spec.numel == 0:
        return
    dtype = out.spec.dtype
    fold = _FOLDS[reduce]
    if not include_self:
        start = neutral(fold, dtype)
        _constant_into(p, out, dim, index, start, "", caller)
    _scatter_into(p, out, dim, index, src, fold, caller=caller)
    if reduce != "mean":
        return
    count = p.temporary(tuple(out.spec.shape), int64)
    p.flat(lambda: const(int(include_self), int64), [], [count])
    _constant_into(p, count, dim, index, 1, "sum", caller)

    def divide(total: Expr, many: Expr) -> Expr:
        many = where(many < 1, const(1, int64), many)
        if dtype.category <= INTEGRAL:
            from .arithmetic import floor_quotient

            return cast(floor_quotient(cast(total, int64), many), dtype)
        wide = compute_dtype(dtype)
        return cast(cast(total, wide) / cast(many, wide), dtype)

    p.flat(divide, [out, count], [out])


def _constant_into(p: Any, out: Any, dim: int, index: Any, value: Any, combine: str, caller: str
                   ) -> None:
    """A fixed number to the places that the index names."""
    d = algebra.wrap_dim(dim, out.spec.ndim)
    out, index = _sized(out), _sized(index)
    shape = tuple(index.spec.shape)
    size, step = out.spec.shape[d], out.spec.strides[d]
    _nonempty(index, d, size)
    keep = [k for k in range(len(shape)) if k != d]
    fail = _failing(caller, d, tuple(out.spec.shape))
    places.put(p, out, [shape[k] for k in keep], [out.spec.strides[k] for k in keep],
               lambda: const(value, out.spec.dtype), places.permuted(index, [*keep, d]), combine,
               offset=lambda at: places.wrapped(p, at, size, fail, False) * p.fixed(step, int64))


def _reduce_back(ops: Any, grad: Any, self: Any, src: Any, index: Any, result: Any, dim: int,
                 reduce: str, include_self: bool) -> tuple[Any, Any]:
    if index.numel() == 0:
        return grad, ops.zeros_like(src)
    own, other = grad, ops.gather(grad, dim, index)
    if reduce == "mean":
        count = ops.ones_like(grad) if include_self else ops.zeros_like(grad)
        count = ops.scatter_add(count, dim, index, ops.ones_like(other))
        count = ops.masked_fill(count, ops.eq(count, 0), 1)
        own, other = ops.div(grad, count), ops.div(other, ops.gather(count, dim, index))
    elif reduce == "prod":
        own, other = _prod_back(ops, grad, self, src, index, result, dim, include_self)
    elif reduce in ("amax", "amin"):
        chosen = ops.gather(result, dim, index)
        equal = ops.eq(_used(ops, src, index), chosen)
        mine = ops.eq(self, result)
        ties = ops.to_dtype(mine, grad.dtype) if include_self else ops.zeros_like(grad)
        ties = ops.scatter_add(ties, dim, index, ops.to_dtype(equal, grad.dtype))
        shared = ops.div(grad, ties)
        own = ops.mul(shared, mine) if include_self else grad
        other = ops.mul(ops.gather(shared, dim, index), equal)
    if not include_self:
        own = ops.scatter_fold(own, dim, index, 0, "")
    elif reduce in ("amax", "amin"):
        untouched = ops.scatter_fold(ops.ones_like(grad), dim, index, 0, "")
        own = ops.select_where(ops.ne(untouched, 0), grad, own)
    return own, _source_grad(ops, other, index, src._spec)


def _used(ops: Any, src: Any, index: Any) -> Any:
    """The part of the source that the index uses."""
    if tuple(src.shape) == tuple(index.shape):
        return src
    return ops.getitem(src, tuple(slice(0, n) for n in index.shape))


def _prod_back(ops: Any, grad: Any, self: Any, src: Any, index: Any, result: Any, dim: int,
               include_self: bool) -> tuple[Any, Any]:
    """Products of all other factors: divided where no factor is 0, else computed without it."""
    factors = _used(ops, src, index)
    masked = ops.masked_fill(self, ops.eq(self, 0), 1)
    own = ops.div(ops.mul(grad, result), masked)
    own_zero = ops.eq(self, 0)
    if include_self and bool(ops.any(own_zero)):
        ones = ops.ones_like(self)
        without = ops.scatter_reduce(ones, dim, index, factors, "prod", include_self=True)
        own = ops.select_where(own_zero, ops.mul(grad, without), own)
    zero = ops.eq(factors, 0)
    start = self if include_self else ops.ones_like(self)
    zeros = ops.scatter_add(ops.zeros_like(self), dim, index, ops.to_dtype(zero, self.dtype))
    only = ops.logical_and(zero, ops.eq(ops.gather(zeros, dim, index), 1))
    nonzero = ops.scatter_reduce(start, dim, index, ops.masked_fill(factors, zero, 1), "prod",
                                 include_self=True)
    spread = ops.gather(ops.mul(grad, nonzero), dim, index)
    whole = ops.gather(ops.mul(grad, result), dim, index)
    other = ops.select_where(only, spread, ops.div(whole, ops.masked_fill(factors, zero, 1)))
    return own, other


def _folded(caller: str) -> str:
    return "IndexReduce" if caller else "ScatterReduce"


rows("scatter_reduce_fold(Tensor self, int dim, Tensor index, Tensor src, str reduce, "
     "bool include_self, str caller='') -> Tensor", _scatter_reduce, kind="scatter",
     method=False, inplace=True, node_name=lambda plan: f"{_folded(plan.values[-1])}Backward0",
     backward={("self", "src"): _reduce_back})
for _suffix in ("", "_"):
    composite(f"scatter_reduce{_suffix}(Tensor self, int dim, Tensor index, Tensor src, "
              "str reduce, *, bool include_self=True) -> Tensor",
              lambda ops, *arguments, suffix=_suffix: getattr(
                  ops, f"scatter_reduce_fold{suffix}")(*arguments),
              out=not _suffix, doc="src folded into self where the index says along dim.")
