"""Reads and writes by an index along one dimension, and writes into parts."""

# Names: index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce
# Names: index_reduce_ masked_scatter masked_scatter_ put put_

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.dtypes import INTEGRAL, bool_, int64
from ..core.memory_formats import kept
from ..core.spec import Spec
from ..loops.ir import cast
from . import places
from .indexing import _basic, gathered
from .kinds import composite, rows


def _out_of_range(value: int) -> None:
    raise IndexError("index out of range in self")


def _select_failure(d: int, shape: Any) -> Any:
    """PyTorch's copy along the second dimension has an error of its own."""
    def fail(value: int) -> None:
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={value} "
                           f"axis_dim={shape[d]}")

    return fail if d == 1 else _out_of_range


def _index_select(p: Any, self: Any, dim: int, index: Any) -> None:
    _check_index("index_select", index)
    d = algebra.wrap_dim(dim, self.spec.ndim)
    line = index if index.spec.ndim else index.seen(((1,), (1,), 0))
    if self.spec.ndim == 0:
        _scalar_select(p, self, line)
        return
    if self.spec.shape[d] == 0 and line.spec.numel:
        _out_of_range(0)
    gathered(p, self, (d,), (line,), [_select_failure(d, self.spec.shape)], negative=False)


def _scalar_select(p: Any, self: Any, index: Any) -> None:
    """A 0-dim tensor has one element, index 0, and stays 0-dim."""
    if index.spec.numel != 1:
        raise RuntimeError("index_select(): Index to scalar can have only 1 value, got "
                           f"{index.spec.numel} value(s)")
    out = p.result(self.spec)

    def body(value: Any, at: Any) -> Any:
        p.check(at.eq(0), at, _out_of_range)
        return value

    p.flat(body, [self, index.seen(((), (), 0))], [out])


def _check_index(name: str, index: Any) -> None:
    if index.spec.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if index.spec.dtype.category != INTEGRAL or index.spec.dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")


rows("index_select(Tensor self, int dim, Tensor index) -> Tensor", _index_select, kind="gather",
     out=True,
     backward={"self": lambda ops, grad, self_spec, dim, index: _select_back(
         ops, grad, self_spec, dim, index)},
     doc="The slices of a dimension that the index names.")


def _select_back(ops: Any, grad: Any, self_spec: Any, dim: int, index: Any) -> Any:
    if self_spec.ndim == 0:
        return grad
    d = algebra.wrap_dim(dim, self_spec.ndim)
    return ops.index_at_backward(grad, tuple(self_spec.shape), (d,), [ops.reshape(index, (-1,))])


# ---- writes: a scatter whose index is the same for all lines ----------------------------------

def _spread_index(ops: Any, name: str, self: Any, dim: int, index: Any, shape: Any) -> Any:
    """The index along dim, stretched over the other dimensions."""
    if index.dim() > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: "
                         f"{index.dim()} with type: {places.type_name(index)}")
    if index.dtype.category != INTEGRAL or index.dtype.itemsize < 4:
        raise IndexError(f"{name}(): Expected dtype int32/int64 for index but got: "
                         f"{places.type_name(index)}")
    if self.dim() == 0:
        return ops.reshape(index, ())
    d = algebra.wrap_dim(dim, self.dim())
    line = [1] * self.dim()
    line[d] = index.numel()
    own = list(shape)
    own[d] = index.numel()
    return ops.expand(ops.reshape(index, tuple(line)), tuple(own))


def _check_source(name: str, self: Any, dim: int, index: Any, source: Any) -> None:
    if self.dim() == 0 or source.dim() == 0:
        if index.numel() != source.numel():
            raise IndexError(f"{name}(): Number of indices ({index.numel()}) should be equal to "
                             f"source.size(dim) ({source.numel()}), for dim: {dim}")
        return
    d = algebra.wrap_dim(dim, self.dim())
    mine = [n for k, n in enumerate(self.shape) if k != d]
    other = [n for k, n in enumerate(source.shape) if k != d]
    if name.startswith("index_copy") and self.dim() != source.dim():
        raise IndexError(f"{name}_(): When source and destination are not scalars, their "
                         f"dimensionality must match. Source dimensionality ({source.dim()}), "
                         f"destination dimensionality ({self.dim()})")
    if mine != other:
        raise RuntimeError(
            f"{name}(): Source/destination tensor must have same slice shapes except at "
            f"dimension {d} Source slice shape: {other}, destination slice shape: {mine}")
    if index.numel() != source.shape[d]:
        raise IndexError(f"{name}(): Number of indices ({index.numel()}) should be equal to "
                         f"source.size(dim): ({source.shape[d]}), for dim: {d}")


def _same_dtype(ops: Any, name: str, self: Any, source: Any) -> None:
    if self.dtype is not source.dtype:
        raise RuntimeError(f"{name}(): self and source expected to have the same dtype, but got "
                           f"(self) {places.type_name(self)} and (source) "
                           f"{places.type_name(source)}")


def _written(ops: Any, name: str, self: Any, dim: int, index: Any, source: Any, combine: str,
             inplace: bool) -> Any:
    _same_dtype(ops, name, self, source)
    _check_source(name, self, dim, index, source)
    shape = tuple(self.shape)
    if self.dim() and source.dim() == 0:
        source = ops.reshape(source, tuple(1 for _ in shape))
    wide = _spread_index(ops, name, self, dim, index, shape)
    if self.dim() == 0:
        source = ops.reshape(source, ())
    function = ops.scatter_fold_ if inplace else ops.scatter_fold
    return function(self, dim, wide, source, combine, name)


def _index_add(inplace: bool) -> Any:
    def body(ops: Any, self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
        if alpha != 1:
            source = ops.mul(source, alpha)
        return _written(ops, "index_add", self, dim, index, source, "sum", inplace)
    return body


def _index_copy(inplace: bool) -> Any:
    return lambda ops, self, dim, index, source: _written(
        ops, "index_copy", self, dim, index, source, "", inplace)


def _index_fill(inplace: bool) -> Any:
    def body(ops: Any, self: Any, dim: int, index: Any, value: Any) -> Any:
        wide = _spread_index(ops, "index_fill", self, dim, _positive(ops, self, dim, index),
                             self.shape)
        if not self.dtype.is_complex and (
                value.dtype.is_complex if ops.is_tensor(value) else isinstance(value, complex)):
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is "
                               "not supported")
        if ops.is_tensor(value):
            if value.dim():
                raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but "
                                   f"got tensor with {value.dim()} dimension(s).")
            value = ops.as_element(value, self.dtype) if value.dtype is not self.dtype else value
            value = ops.expand(value, tuple(wide.shape))
        if inplace and algebra.stretched(self.shape, self._spec.strides):
            one = value if ops.is_tensor(value) else ops.scalar_tensor(value, self)
            d = algebra.wrap_dim(dim, self.dim())
            return ops.index_put_at_(self, ops.to_dtype(one, self.dtype), (d,), [index], False)
        function = ops.scatter_fold_ if inplace else ops.scatter_fold
        return function(self, dim, wide, value, "", "index_fill")
    return body


def _positive(ops: Any, self: Any, dim: int, index: Any) -> Any:
    """index_fill counts negative indices from the end, unlike its kin."""
    size = self.shape[algebra.wrap_dim(dim, self.dim())] if self.dim() else 1
    if index.dtype.category != INTEGRAL:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    wraps = ops.logical_and(ops.lt(index, 0), ops.ge(index, -size))
    return ops.select_where(wraps, ops.add(index, size), index)


def _index_reduce(inplace: bool) -> Any:
    def body(ops: Any, self: Any, dim: int, index: Any, source: Any, reduce: str,
             include_self: bool) -> Any:
        if reduce not in ("prod", "mean", "amax", "amin"):
            raise RuntimeError("index_reduce(): Expected reduce to be one of prod, mean, amax or "
                               f"amin but got {reduce}.")
        _same_dtype(ops, "index_reduce", self, source)
        _check_source("index_reduce", self, dim, index, source)
        wide = _spread_index(ops, "index_reduce", self, dim, index, self.shape)
        source = ops.reshape(source, tuple(wide.shape))
        function = ops.scatter_reduce_fold_ if inplace else ops.scatter_reduce_fold
        return function(self, dim, wide, source, reduce, include_self, "index_add")
    return body


for _suffix in ("", "_"):
    _inplace = bool(_suffix)
    composite(f"index_add{_suffix}(Tensor self, int dim, Tensor index, Tensor source, *, "
              "Scalar alpha=1) -> Tensor", _index_add(_inplace), out=not _inplace,
              doc="self with alpha * source added to the slices that the index names.")
    composite(f"index_copy{_suffix}(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
              _index_copy(_inplace), out=not _inplace,
              autocast="" if _inplace else "promote",
              doc="self with source written to the slices that the index names.")
    composite(f"index_fill{_suffix}(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
              _index_fill(_inplace), numbers=("value",),
              doc="self with value in the slices that the index names.")
    composite(f"index_reduce{_suffix}(Tensor self, int dim, Tensor index, Tensor source, "
              "str reduce, *, bool include_self=True) -> Tensor", _index_reduce(_inplace),
              out=not _inplace, doc="source folded into the slices that the index names.")


# ---- the tensor as one line ------------------------------------------------------------------

def _take(ops: Any, self: Any, index: Any) -> Any:
    if index.dtype is not int64:
        raise RuntimeError("take(): Expected a long tensor for index, but got "
                           f"{places.type_name(index)}")
    if self.numel() == 0 and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    return ops.take_flat(ops.reshape(self, (-1,)), index)


def _take_flat(p: Any, self: Any, index: Any) -> None:
    count = self.spec.numel

    def fail(value: int) -> None:
        raise IndexError(f"out of range: tried to access index {value} on a tensor of {count} "
                         "elements.")

    gathered(p, self, (0,), (index,), [fail])


rows("take_flat(Tensor self, Tensor index) -> Tensor", _take_flat, kind="gather", method=False,
     node_name="TakeBackward0",
     backward={"self": lambda ops, grad, self_spec, index: ops.index_at_backward(
         grad, tuple(self_spec.shape), (0,), [index])})


def _put(ops: Any, self: Any, index: Any, source: Any, accumulate: bool) -> Any:
    if index.dtype is not int64:
        raise RuntimeError("put_(): Expected a long tensor for index, but got "
                           f"{places.type_name(index)}")
    _same_dtype(ops, "put_", self, source)
    if index.numel() != source.numel():
        raise RuntimeError("put_(): Expected source and index to have the same number of "
                           f"elements, but got source.numel() = {source.numel()}, index.numel() "
                           f"= {index.numel()}")
    made = ops.index_put_at(ops.reshape(self, (-1,)), ops.reshape(source, (-1,)), (0,),
                            [ops.reshape(index, (-1,))], accumulate)
    made = ops.reshape(made, tuple(self.shape))
    strides = kept(self._spec)
    return made if made._spec.strides == strides else ops.copy_like(
        made, tuple(self.shape), strides)


def _masked_scatter(ops: Any, self: Any, mask: Any, source: Any) -> Any:
    if mask.dtype is not bool_:
        raise RuntimeError("masked_scatter_ only supports boolean masks, but got mask with dtype "
                           f"{places.type_name(mask)}")
    if self.dtype is not source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{places.type_name(self)} and {places.type_name(source)}")
    shape = algebra.broadcast_shapes(tuple(self.shape), tuple(mask.shape))
    at = ops.reshape(ops.nonzero(ops.reshape(ops.expand(mask, shape), (-1,))), (-1,))
    if at.numel() > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    values = ops.narrow(ops.reshape(source, (-1,)), 0, 0, at.numel())
    flat = ops.reshape(ops.expand(self, shape), (-1,))
    return ops.reshape(ops.index_put_at(flat, values, (0,), [at], False), shape)


def _masked_source_back(ops: Any, grad: Any, mask: Any, source_spec: Any) -> Any:
    """The gradient's elements where the mask is true, in order, then zeros."""
    shape = tuple(source_spec.shape)
    taken = ops.masked_select(grad, mask)
    missing = source_spec.numel - taken.numel()
    rest = ops.zeros((missing,), dtype=grad.dtype, device=grad.device)
    return ops.reshape(ops.cat([taken, rest]), shape)


composite("take(Tensor self, Tensor index) -> Tensor", _take, out=True, overlap="none",
          doc="Elements by their place in the flattened tensor.")
composite("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", _put,
          inplace=True, overlap="any", backward={
              "self": lambda ops, grad, index, source_spec, accumulate: grad if accumulate else
              ops.put(grad, index, ops.zeros(tuple(source_spec.shape), dtype=grad.dtype,
                                             device=grad.device)),
              "source": lambda ops, grad, index, source_spec: ops.reshape(
                  ops.take(grad, index), tuple(source_spec.shape))},
          doc="Elements written (or added) by their place in the flattened tensor.")
composite("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", _masked_scatter,
          inplace=True, overlap="any", backward={
              "self": lambda ops, grad, mask, self_spec: ops.sum_to_size(
                  ops.masked_fill(grad, mask, 0), tuple(self_spec.shape)),
              "source": _masked_source_back},
          doc="source's elements where the mask is true, in order.")


# ---- parts -----------------------------------------------------------------------------------

def _same_strides(base: Spec) -> tuple[int, ...]:
    """Those of self, gaps included, unless elements share a place."""
    return kept(base) if algebra.overlaps_itself(base.shape, base.strides) else base.strides


def _part_scatter(p: Any, self: Any, src: Any, index: Any) -> None:
    out = places.begun(p, self, _same_strides)
    p.flat(lambda v: cast(v, out.spec.dtype), [src], [out.seen(_basic(out.spec, index))])


rows("part_scatter(Tensor self, Tensor src, any index) -> Tensor", _part_scatter, kind="copy",
     method=False, node_name=lambda plan: "SelectScatterBackward0" if isinstance(
         plan.values[2][-1], int) else "SliceScatterBackward0",
     backward={"self": lambda ops, grad, index: ops.part_scatter(
         grad, ops.zeros((), dtype=grad.dtype, device=grad.device), index),
         "src": lambda ops, grad, src_spec, index: ops.sum_to_size(
             ops.getitem(grad, index), tuple(src_spec.shape))})


def _same_shape(name: str, view: Any, src: Any) -> None:
    if tuple(view) != tuple(src.shape):
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.shape)}, slice size = {list(view)}")


def _at(self: Any, dim: int, item: Any) -> tuple[Any, ...]:
    d = algebra.wrap_dim(dim, self.dim())
    return (*(slice(None) for _ in range(d)), item)


def _select_scatter(ops: Any, self: Any, src: Any, dim: int, index: int) -> Any:
    shape, _, _ = algebra.select(self._spec, dim, index)
    _same_shape("select_scatter", shape, src)
    return ops.part_scatter(self, src, _at(self, dim, index))


def _slice_scatter(ops: Any, self: Any, src: Any, dim: int, start: Any, end: Any, step: int
                   ) -> Any:
    shape, _, _ = algebra.slice_(self._spec, dim, start, end, step)
    _same_shape("slice_scatter", shape, src)
    return ops.part_scatter(self, src, _at(self, dim, slice(start, end, step)))


composite("select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
          _select_scatter, doc="self with one slice of a dimension replaced.")
composite("slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "
          "int step=1) -> Tensor", _slice_scatter, out=True,
          doc="self with a range of a dimension replaced.")


def _diagonal_scatter(p: Any, self: Any, src: Any, offset: int, dim1: int, dim2: int) -> None:
    out = places.begun(p, self, _same_strides)
    part = out.seen(algebra.diagonal(out.spec, offset, dim1, dim2))
    if tuple(part.spec.shape) != tuple(src.spec.shape) and src.spec.ndim:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.spec.shape)}, slice size = {list(part.spec.shape)}")
    p.flat(lambda v: cast(v, out.spec.dtype), [src], [part])


rows("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     _diagonal_scatter, kind="copy",
     backward={"self": lambda ops, grad, offset, dim1, dim2: ops.diagonal_scatter(
         grad, ops.zeros((), dtype=grad.dtype, device=grad.device), offset, dim1, dim2),
         "src": lambda ops, grad, offset, dim1, dim2: ops.diagonal(grad, offset, dim1, dim2)},
     doc="self with a diagonal replaced.")
