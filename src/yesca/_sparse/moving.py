"""Other orders, parts and conversions of sparse tensors."""

from __future__ import annotations

from typing import Any

from ..base.errors import refusal
from ..core import layouts
from ..core.dtypes import DType, as_dtype, int64
from ..core.views import wrap_dim
from ..dispatch.call import OPERATORS as ops
from . import coo
from .coo import SparseTensor, coalesced, dim_of, like, make, place, refused, sibling, sparse_dim


# ---- the order of dimensions -------------------------------------------------------------------

def _ordered(x: SparseTensor, order: list[int]) -> tuple[Any, tuple[int, ...], bool]:
    """Places and size with the sparse dimensions in another order, and whether it is the old."""
    sparse = sparse_dim(x)
    if any(d >= sparse for d in order[:sparse]):
        raise RuntimeError("sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
                           f"{sparse}, order {order}")
    size = tuple(x._spec.shape[d] for d in order)
    if order == sorted(order):
        return x._places, size, x._unique
    rows = ops.tensor(order[:sparse], dtype=int64, device=x.device)
    return ops.index_select(x._places, 0, rows), size, False


def permute(x: SparseTensor, *dims: Any) -> SparseTensor:
    """The sparse dimensions in another order; dense ones keep theirs."""
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    order = [dim_of(x, d) for d in given]
    if len(order) != x._spec.ndim or sorted(order) != list(range(x._spec.ndim)):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x._spec.ndim} is "
            f"not equal to len(dims) = {len(order)}")
    sparse = sparse_dim(x)
    if order[sparse:] != list(range(sparse, len(order))):
        raise refused("permute", "Only sparse dimensions move.")
    places, size, unique = _ordered(x, order)
    return sibling(x, places, size, unique)


def _swap(x: SparseTensor, dim0: Any, dim1: Any) -> list[int]:
    a, b = dim_of(x, dim0), dim_of(x, dim1)
    if a != b and max(a, b) >= sparse_dim(x):
        raise RuntimeError("sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
                           f"{sparse_dim(x)}, d0: {a}, d1: {b}")
    order = list(range(x._spec.ndim))
    order[a], order[b] = order[b], order[a]
    return order


def transpose(x: SparseTensor, dim0: Any, dim1: Any) -> SparseTensor:
    """Two sparse dimensions swapped."""
    places, size, unique = _ordered(x, _swap(x, dim0, dim1))
    return sibling(x, places, size, unique)


def transpose_(x: SparseTensor, dim0: Any, dim1: Any) -> SparseTensor:
    """`transpose` in place."""
    places, size, unique = _ordered(x, _swap(x, dim0, dim1))
    return place(x, places, x._entries, size, unique)


def _check_matrix(x: SparseTensor) -> None:
    sparse, inner = sparse_dim(x), x._spec.ndim - sparse_dim(x)
    if sparse > 2 or inner:
        raise RuntimeError("t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                           f"{sparse} sparse and {inner} dense dimensions")


def t(x: SparseTensor) -> SparseTensor:
    """The transpose of a sparse matrix."""
    _check_matrix(x)
    return transpose(x, 0, x._spec.ndim - 1) if x._spec.ndim else x


def t_(x: SparseTensor) -> SparseTensor:
    """`t` in place."""
    _check_matrix(x)
    return transpose_(x, 0, x._spec.ndim - 1) if x._spec.ndim else x


def reversed_dims(x: SparseTensor) -> SparseTensor:
    """`x.T`: all dimensions the other way round."""
    return permute(x, list(range(x._spec.ndim))[::-1])


def last_two(x: SparseTensor) -> SparseTensor:
    """`x.mT`."""
    return transpose(x, -2, -1)


def unsqueeze(x: SparseTensor, dim: int) -> SparseTensor:
    """A new dimension of size 1."""
    at, sparse = wrap_dim(dim, x._spec.ndim + 1), sparse_dim(x)
    size = (*x._spec.shape[:at], 1, *x._spec.shape[at:])
    if at > sparse:
        return make(x._places, ops.unsqueeze(x._entries, at - sparse + 1), size, x._unique)
    zeros = ops.zeros((1, coo.nnz(x)), dtype=int64, device=x.device)
    rows = [ops.narrow(x._places, 0, 0, at), zeros, ops.narrow(x._places, 0, at, sparse - at)]
    return sibling(x, ops.cat(rows, 0), size, False)


# ---- parts -------------------------------------------------------------------------------------

def _kept(x: SparseTensor, there: Any) -> tuple[Any, Any]:
    """Places and values where a mask (nnz,) is True."""
    kept = ops.reshape(ops.nonzero(there), (-1,))
    return ops.index_select(x._places, 1, kept), ops.index_select(x._entries, 0, kept)


def select(x: SparseTensor, dim: Any, index: Any) -> Any:
    """One index of a dimension; dense where no sparse dimension is left."""
    d, sparse = dim_of(x, dim), sparse_dim(x)
    count, at = x._spec.shape[d], int(index)
    if not -count <= at < count:
        raise IndexError(f"select(): index {at} out of range for tensor of size "
                         f"{list(x._spec.shape)} at dimension {d}")
    at += count if at < 0 else 0
    size = (*x._spec.shape[:d], *x._spec.shape[d + 1:])
    if d >= sparse:
        return make(x._places, ops.select(x._entries, d - sparse + 1, at), size, x._unique)
    places, entries = _kept(x, ops.eq(ops.select(x._places, 0, d), at))
    if sparse == 1:
        return ops.sum(entries, (0,), dtype=entries.dtype)
    rest = [k for k in range(sparse) if k != d]
    rows = ops.index_select(places, 0, ops.tensor(rest, dtype=int64, device=x.device))
    return make(rows, entries, size, x._unique)


def getitem(x: SparseTensor, index: Any) -> Any:
    """`x[1, :, None]`: whole dimensions, single indices, new dimensions."""
    items = list(index) if isinstance(index, tuple) else [index]
    taken = sum(item is not None and item is not Ellipsis for item in items)
    if taken > x._spec.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x._spec.ndim}")
    made: Any = x
    dim = 0
    for item in items:
        if item is Ellipsis:
            dim += x._spec.ndim - taken
        elif item is None:
            made = unsqueeze(made, dim) if isinstance(made, SparseTensor) \
                else ops.unsqueeze(made, dim)
            dim += 1
        elif isinstance(item, slice):
            if (item.start, item.stop, item.step) != (None, None, None):
                raise refused("as_strided", "A part of a dimension is taken by index_select.")
            dim += 1
        elif isinstance(item, int) and not isinstance(item, bool):
            size = made._spec.shape[dim]
            if not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {dim} with size "
                                 f"{size}")
            made = select(made, dim, item) if isinstance(made, SparseTensor) \
                else ops.select(made, dim, item)
        else:
            raise refused("index.Tensor", "index_select takes the indices of one dimension.")
    return made


def unbind(x: SparseTensor, dim: int = 0) -> tuple[Any, ...]:
    """All indices of a dimension, one by one."""
    return tuple([select(x, dim, k) for k in range(x._spec.shape[dim_of(x, dim)])])


def index_select(x: SparseTensor, dim: Any, index: Any, *, out: Any = None) -> SparseTensor:
    """The indices of a dimension that `index` names, in its order."""
    d, sparse, count = dim_of(x, dim), sparse_dim(x), index.shape[0] if index.dim() else 1
    index = ops.reshape(index, (-1,))
    size = (*x._spec.shape[:d], count, *x._spec.shape[d + 1:])
    bound = x._spec.shape[d]
    outside = ops.logical_or(ops.lt(index, -bound), ops.ge(index, bound))
    if bool(ops.any(outside)):
        wrong = index[outside][0].item()
        raise IndexError(f"index_select(): index contains {wrong} that is out of range for tensor "
                         f"of size {list(x._spec.shape)} at dimension {d}")
    index = ops.select_where(ops.lt(index, 0), ops.add(index, bound), index)
    if d >= sparse:
        entries = ops.index_select(x._entries, d - sparse + 1, index)
        return make(x._places, entries, size, x._unique)
    ordered, order = ops.sort(index, stable=True)
    own = ops.contiguous(ops.select(x._places, 0, d))
    ordered = coo.cast(ordered, int64)
    first = ops.searchsorted(ordered, own)
    counts = ops.sub(ops.searchsorted(ordered, own, right=True), first)
    source, at = coo.ranges(first, counts)
    new, back = ops.sort(ops.index_select(order, 0, at), stable=True)
    source = ops.index_select(source, 0, back)
    rows = list(ops.unbind(ops.index_select(x._places, 1, source), 0))
    rows[d] = new
    return make(ops.stack(rows), ops.index_select(x._entries, 0, source), size, False)


def sparse_mask(x: Any, mask: Any) -> SparseTensor:
    """The values of `x` (dense or sparse) at the places of `mask`."""
    if not isinstance(mask, SparseTensor):
        raise refusal("sparse_mask", "CPU", "The mask must be sparse.")
    if x._spec.shape != mask._spec.shape:
        raise RuntimeError("sparse_mask(): operands have incompatible sizes; self has size "
                           f"{list(x._spec.shape)} but mask has size {list(mask._spec.shape)}")
    if not isinstance(x, SparseTensor):
        return like(mask, coo.gathered(x, mask._places))
    if sparse_dim(x) != sparse_dim(mask):
        raise RuntimeError("sparse_mask(): the tensors have different numbers of sparse dimensions")
    x, sizes = coalesced(x), coo.parameters(x)
    at, there = coo.found(coo.numbered(mask._places, sizes), coo.numbered(x._places, sizes))
    if not coo.nnz(x):
        return like(mask, ops.zeros((coo.nnz(mask), *x._entries.shape[1:]), dtype=x.dtype,
                                    device=x.device))
    entries = ops.index_select(x._entries, 0, at)
    there = ops.reshape(there, (-1, *(1 for _ in x._entries.shape[1:])))
    return like(mask, ops.mul(entries, coo.cast(there, entries.dtype)))


# ---- several -----------------------------------------------------------------------------------

def cat(tensors: Any, dim: Any = 0, *, out: Any = None) -> SparseTensor:
    """Sparse tensors laid side by side."""
    parts = list(tensors)
    for k, x in enumerate(parts):
        if not isinstance(x, SparseTensor):
            raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found at "
                               f"position {k}.")
    first = parts[0]
    d, sparse = dim_of(first, dim), sparse_dim(first)
    rest = [(*x._spec.shape[:d], *x._spec.shape[d + 1:]) for x in parts]
    if any(r != rest[0] or sparse_dim(x) != sparse for r, x in zip(rest, parts, strict=True)):
        raise RuntimeError("All tensors must have the same shape and number of sparse dimensions, "
                           f"except in the concatenating dimension {d}: "
                           f"{[tuple(x._spec.shape) for x in parts]}")
    total = sum(x._spec.shape[d] for x in parts)
    size = (*first._spec.shape[:d], total, *first._spec.shape[d + 1:])
    places, entries, before = [], [], 0
    for x in parts:
        own, values, width = x._places, x._entries, x._spec.shape[d]
        if d < sparse:
            rows = list(ops.unbind(own, 0))
            rows[d] = ops.add(rows[d], before)
            own = ops.stack(rows)
        else:
            shape = list(values.shape)
            sides = []
            for wide in (before, total - before - width):
                shape[d - sparse + 1] = wide
                sides.append(ops.zeros(tuple(shape), dtype=values.dtype, device=values.device))
            values = ops.cat([sides[0], values, sides[1]], d - sparse + 1)
        places.append(own)
        entries.append(values)
        before += width
    return make(ops.cat(places, 1), ops.cat(entries, 0), size, False)


def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> SparseTensor:
    """Sparse tensors along a new dimension."""
    parts = list(tensors)
    if not all(isinstance(x, SparseTensor) for x in parts):
        return cat(parts, 0)  # it words the error
    return cat([unsqueeze(x, dim) for x in parts], dim)


# ---- copies ------------------------------------------------------------------------------------

def clone(x: SparseTensor, *args: Any, memory_format: Any = None, **kwargs: Any) -> SparseTensor:
    """A copy with memory of its own."""
    if memory_format not in (None, layouts.preserve_format):
        raise RuntimeError("unsupported memory format option "
                           f"{getattr(memory_format, 'name', memory_format)}")
    return make(ops.clone(x._places), ops.clone(x._entries), x._spec.shape, x._unique)


def to_dtype(x: SparseTensor, dtype: DType) -> SparseTensor:
    """The values in another dtype."""
    return x if x._spec.dtype is dtype else like(x, coo.cast(x._entries, dtype))


def to(x: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    """Another dtype; self where nothing changes."""
    if args and isinstance(args[0], SparseTensor):
        args = (args[0].dtype, *args[1:])
    entries = x._entries.to(*args, **kwargs)
    if entries is x._entries:
        return x
    return make(x._places.to(entries.device), entries, x._spec.shape, x._unique)


def as_type(x: SparseTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """`x.type()`, and `x.type(torch.DoubleTensor)`."""
    if dtype is None:
        return coo.type_of(x)
    if isinstance(dtype, str):
        return like(x, x._entries.type(dtype.replace("torch.sparse.", "torch.")))
    return to_dtype(x, as_dtype(getattr(dtype, "dtype", dtype)))


def copy_(x: Any, source: Any, non_blocking: bool = False) -> Any:
    """Take the places and values of another sparse tensor."""
    if not (isinstance(x, SparseTensor) and isinstance(source, SparseTensor)):
        kinds = [coo.type_of(v) if isinstance(v, SparseTensor) else v.type() for v in (x, source)]
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found "
                           f"self type = {kinds[0]} and src type = {kinds[1]}")
    if x._spec.shape != source._spec.shape:
        raise RuntimeError(f"copy_: sizes differ: {list(x._spec.shape)} is written, "
                           f"{list(source._spec.shape)} is read")
    entries = coo.cast(source._entries, x.dtype)
    entries = ops.clone(entries) if entries is source._entries else entries
    return place(x, ops.clone(source._places), entries, x._spec.shape, source._unique)


def zero_(x: SparseTensor) -> SparseTensor:
    """No place at all is left."""
    made = coo.empty(x._spec.shape, sparse_dim(x), x._entries)
    return place(x, made._places, made._entries, x._spec.shape, True)


def zeros_like(x: SparseTensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None
               ) -> Any:
    """Zeros of the same size; sparse, unless another layout is asked for."""
    kind = {"dtype": dtype or x.dtype, "device": device or x.device}
    if layout in (None, layouts.sparse_coo):
        made: Any = coo.empty(x._spec.shape, sparse_dim(x), ops.empty((0,), **kind))
    else:
        made = ops.zeros(tuple(x._spec.shape), layout=layout, **kind)
    return made.requires_grad_(requires_grad)


def dense_like(name: str) -> Any:
    """`ones_like` and its like, which are there for `layout=torch.strided` only."""
    def function(x: SparseTensor, *args: Any, dtype: Any = None, layout: Any = None,
                 **kwargs: Any) -> Any:
        if layout is not layouts.strided:
            raise refused(f"{name}", "layout=torch.strided gives a dense tensor.")
        pattern = ops.empty(tuple(x._spec.shape), dtype=dtype or x.dtype, device=x.device)
        return getattr(ops, name)(pattern, *args, **kwargs)

    return function


def new_zeros(x: SparseTensor, *size: Any, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, layout: Any = None, pin_memory: bool = False
              ) -> SparseTensor:
    """Zeros of another size, all dimensions sparse."""
    shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    pattern = ops.empty((0,), dtype=dtype or x.dtype, device=device or x.device)
    return coo.empty(shape, len(shape), pattern).requires_grad_(requires_grad)


def sparse_resize_and_clear_(x: Any, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Another size and other numbers of dimensions, without any value; in place."""
    _check_sparse(x, "sparse_resize_and_clear_")
    shape = tuple(size)
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError("'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
                           f"{len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    made = coo.empty(shape, sparse_dim, x._entries)
    return place(x, made._places, made._entries, shape, True)


def sparse_resize_(x: Any, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Another size, in place; with values, sparse dimensions may only grow."""
    _check_sparse(x, "sparse_resize_")
    shape, own = tuple(size), tuple(x._spec.shape)
    if not coo.nnz(x):
        return sparse_resize_and_clear_(x, size, sparse_dim, dense_dim)
    if sparse_dim != coo.sparse_dim(x) or len(shape) != len(own):
        raise RuntimeError("changing the number of sparse or dense dimensions (from "
                           f"{coo.sparse_dim(x)} and {len(own) - coo.sparse_dim(x)} to "
                           f"{sparse_dim} and {dense_dim}) on a non-empty sparse tensor is not "
                           "supported.")
    for what, wrong in (
            ("shrinking the size of sparse dimensions",
             any(a > b for a, b in zip(own[:sparse_dim], shape, strict=False))),
            ("changing the size of dense dimensions", own[sparse_dim:] != shape[sparse_dim:])):
        if wrong:
            raise RuntimeError(f"{what} (from {list(own)} to {list(shape)}) on a non-empty sparse "
                               "tensor is not supported.")
    return place(x, x._places, x._entries, shape, x._unique)


def resize_as_sparse_(x: Any, the_template: Any) -> SparseTensor:
    """The size and the numbers of dimensions of another sparse tensor, in place."""
    _check_sparse(x, "resize_as_sparse_")
    _check_sparse(the_template, "resize_as_sparse_")
    sparse = sparse_dim(the_template)
    return sparse_resize_(x, the_template._spec.shape, sparse, the_template._spec.ndim - sparse)


def _check_sparse(x: Any, name: str) -> None:
    if not isinstance(x, SparseTensor):
        raise refusal(name, "CPU", "The tensor is not sparse; to_sparse() makes it so.")


