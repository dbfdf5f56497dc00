"""Indexing: numbers and slices as one view, index tensors as one gather, and writes at them."""

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.dtypes import bool_, int32, int64, uint8
from ..core.memory_formats import kept
from ..core.spec import Spec, spec
from ..loops import ir
from ..loops.ir import Expr, cast, const
from . import places
from .kinds import composite, compute_dtype, rows, view
from .views import _part_backward

WIDE_ROWS = 16  # a last dimension of at least this size is copied row by row


def _basic(base: Spec, index: Any) -> algebra.Strided:
    """Integers, slices, None and Ellipsis, from left to right."""
    items = index if isinstance(index, tuple) else (index,)
    used = sum(i is not None and i is not Ellipsis for i in items)
    if base.ndim == 0 and isinstance(index, int):
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                         "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")
    if base.ndim == 0 and isinstance(index, slice):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if used > base.ndim:
        raise IndexError(f"too many indices for tensor of dimension {base.ndim}")
    now, offset, d = base, 0, 0
    for k, item in enumerate(items):
        if item is Ellipsis:
            d += base.ndim - used
            continue
        if item is None:
            shape, strides, more = algebra.unsqueeze(now, d)
            d += 1
        elif isinstance(item, int):
            size = now.shape[d]
            if not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {k} with size "
                                 f"{size}")
            shape, strides, more = algebra.select(now, d, item)
        else:
            if item.step is not None and item.step <= 0:
                raise ValueError("step must be greater than zero" if item.step else
                                 "slice step cannot be zero")
            shape, strides, more = algebra.slice_(now, d, item.start, item.stop, item.step or 1)
            d += 1
        offset += more
        now = spec(base.dtype, shape, strides, base.device)
    return tuple(now.shape), now.strides, offset


def _last_step(plan: Any) -> str:
    """The node PyTorch ends with: one view an item of the index, full slices skipped."""
    index = plan.values[1]
    items = index if isinstance(index, tuple) else (index,)
    for item in reversed(items):
        if item is None:
            return "UnsqueezeBackward0"
        if isinstance(item, int):
            return "SelectBackward0"
        if isinstance(item, slice) and item != slice(None):
            return "SliceBackward0"
    return "SliceBackward0" if index == slice(None) else "AliasBackward0"


getitem = view(
    "getitem(Tensor self, any index) -> Tensor", _basic, method=False, node_name=_last_step,
    backward={"self": lambda ops, grad, self_spec, index: ops.getitem_backward(
        grad, tuple(self_spec.shape), index)}, doc="self[index] for integers, slices and None.")



rows("getitem_backward(Tensor grad, int[] shape, any index) -> Tensor",
     lambda p, grad, shape, index: _part_backward(p, grad, shape, _basic, index), kind="copy",
     method=False, backward={"grad": lambda ops, grad, index: ops.getitem(grad, index)})


# ---- index tensors ---------------------------------------------------------------------------

def _layout(shape: tuple[int, ...], where: tuple[int, ...], indices: Any
            ) -> tuple[tuple[int, ...], int, list[int]]:
    """The indices' common shape, where its dimensions go in the result, and the kept dimensions.

    They take the place of the indexed dimensions if those are neighbours, else they come first.
    """
    try:
        common = algebra.broadcast_shapes(*(i.spec.shape for i in indices))
    except RuntimeError:
        shapes = ", ".join(str(list(i.spec.shape)) for i in indices)
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with "
                         f"shapes {shapes}") from None
    keep = [d for d in range(len(shape)) if d not in where]
    neighbours = all(b == a + 1 for a, b in zip(where, where[1:], strict=False))
    if places.count_of(common) and any(shape[d] == 0 for d in where):
        raise IndexError("index is out of bounds for dimension with size 0")
    return common, where[0] if neighbours else 0, keep


def _fails(shape: tuple[int, ...], where: tuple[int, ...], checked: bool) -> list[Any]:
    return [places.out_of_bounds(d, shape[d]) if checked else None for d in where]


def _index(p: Any, self: Any, where: tuple[int, ...], indices: Any) -> None:
    gathered(p, self, where, indices, _fails(tuple(self.spec.shape), where, True),
             ordered=True)


def gathered(p: Any, self: Any, where: tuple[int, ...], indices: Any, fails: list[Any],
             negative: bool = True, ordered: bool = False) -> None:
    """One gather: every result element is loaded at the offset that its indices give.

    `ordered`: the result lies in the order of the dimensions of self and of the indices.
    """
    shape, strides = tuple(self.spec.shape), self.spec.strides
    common, at, keep = _layout(shape, where, indices)
    kept = [shape[d] for d in keep]
    full = (*kept[:at], *common, *kept[at:])
    own = [strides[d] for d in keep]
    steps = (*own[:at], *(0 for _ in common), *own[at:])
    sizes, jumps = [shape[d] for d in where], [strides[d] for d in where]
    source = self.seen((full, steps, 0))
    tail = len(kept) - at
    seen = [_beside(i, common, tail) for i in indices]
    out = p.result(spec(self.spec.dtype, full, _order(source, indices, common, at) if ordered
                        else None, p.device))

    def body(_: Expr, *loads: Expr) -> Expr:
        offset = places.offset_of(p, loads, sizes, jumps, fails, negative)
        return ir.load(0, self.spec.dtype, offset)

    if tail and full[-1] >= WIDE_ROWS and steps[-1] == 1:
        rows_of = [r.seen((r.spec.shape[:-1], r.spec.strides[:-1], 0)).as_rows() for r in seen]
        p.rows(body, [source, *rows_of], [out], list(full[:-1]), full[-1])
    else:
        p.flat(body, [source, *seen], [out])


def _order(source: Any, indices: Any, common: tuple[int, ...], at: int) -> tuple[int, ...]:
    """Strides of the result: dimensions in the order of those kept, then of the indices'."""
    full = tuple(source.spec.shape)
    shape = (*(1 for _ in range(at)), *common, *(1 for _ in range(len(full) - at - len(common))))
    if shape == full and 0 in full:  # as for all operators of tensors without elements
        return algebra.contiguous_strides(full)
    order = [source.spec.strides]
    for index in indices:
        steps = algebra.view_strides(common, places.spread(index, common).spec.strides, shape)
        assert steps is not None  # dimensions of size 1 can always be added
        order.append(algebra.expand_strides(shape, steps, full))
    return algebra.sorted_strides(order, full)


def _beside(index: Any, common: tuple[int, ...], tail: int) -> Any:
    """An index broadcast to the common shape, with `tail` dimensions of size 1 after it."""
    wide = places.spread(index, common)
    return wide.seen(((*common, *(1 for _ in range(tail))),
                      (*wide.spec.strides, *(0 for _ in range(tail))), 0))


def _put_at(p: Any, out: Any, value: Any, where: tuple[int, ...], indices: Any, combine: str,
            checked: bool) -> None:
    """value into (or onto) `out` at the indices, in the order of the indices."""
    shape = tuple(out.spec.shape)
    common, at, keep = _layout(shape, where, indices)
    kept = [shape[d] for d in keep]
    full = (*kept[:at], *common, *kept[at:])
    if not places.count_of(full):
        _fitted(value, full)
        return
    order = [*range(at), *range(at + len(common), len(full)), *range(at, at + len(common))]
    wide = places.permuted(_fitted(value, full), order)
    line, count = p.joined(wide, len(common))

    def work(target: Any) -> None:
        strides = target.spec.strides
        jumps = [strides[d] for d in where]
        place = p.temporary((count,), ir.int64)
        flat = [p.joined(places.spread(i, common), len(common))[0] for i in indices]
        p.flat(lambda *loads: places.offset_of(
            p, loads, [shape[d] for d in where], jumps, _fails(shape, where, checked)),
            flat, [place])
        places.put(p, target, kept, [strides[d] for d in keep], line, place, combine)

    places.collected(p, out, work, combine)


def _fitted(value: Any, full: tuple[int, ...]) -> Any:
    try:
        return places.spread(value, full)
    except (RuntimeError, ValueError):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.spec.shape)} cannot be broadcast "
            f"to indexing result of shape {list(full)}") from None


def _index_put(p: Any, self: Any, value: Any, where: tuple[int, ...], indices: Any,
               accumulate: bool) -> None:
    if value.spec.dtype is not self.spec.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{p.scalar_name(self.spec.dtype)} for the destination and "
            f"{p.scalar_name(value.spec.dtype)} for the source.")
    out = places.begun(p, self, kept)
    _put_at(p, out, value, where, indices, "sum" if accumulate else "", True)


def _index_back(p: Any, grad: Any, shape: tuple[int, ...], where: tuple[int, ...], indices: Any
                ) -> None:
    """Zeros with the gradients added at the indices."""
    out = p.result(spec(grad.spec.dtype, shape, None, p.device))
    p.flat(lambda: const(0, grad.spec.dtype), [], [out])
    _put_at(p, out, grad, where, indices, "sum", False)


rows("index_at(Tensor self, any where, Tensor[] indices) -> Tensor", _index, kind="gather",
     method=False, node_name="IndexBackward0",
     backward={"self": lambda ops, grad, self_spec, where, indices: ops.index_at_backward(
         grad, tuple(self_spec.shape), where, indices)},
     doc="self at index tensors for the dimensions `where`.")
rows("index_at_backward(Tensor grad, any shape, any where, Tensor[] indices) -> Tensor",
     _index_back, kind="scatter", method=False,
     backward={"grad": lambda ops, grad, where, indices: ops.index_at(grad, where, indices)})


def _zeroed(ops: Any, grad: Any, where: Any, indices: Any) -> Any:
    zero = ops.zeros((), dtype=grad.dtype, device=grad.device)
    return ops.index_put_at(grad, zero, where, indices, False)


rows("index_put_at(Tensor self, Tensor value, any where, Tensor[] indices, bool accumulate) -> "
     "Tensor", _index_put, kind="scatter", method=False, inplace=True, stretched="index_put_",
     node_name="IndexPutBackward0",
     backward={"self": lambda ops, grad, where, indices, accumulate:
               grad if accumulate else _zeroed(ops, grad, where, indices),
               "value": lambda ops, grad, value_spec, where, indices: ops.sum_to_size(
                   ops.index_at(grad, where, indices), tuple(value_spec.shape))},
     doc="self with value written (or added) at index tensors for the dimensions `where`.")


def packed(ops: Any, self: Any, indices: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Which dimensions the given indices are for; masks become positions, None is skipped."""
    where: list[int] = []
    tensors: list[Any] = []
    d = 0
    for index in indices:
        if index is None:
            d += 1
            continue
        if index.dtype in (bool_, uint8):
            check_mask(tuple(self.shape), d, tuple(index.shape))
            found = ops.nonzero_tuple(index)
            where += range(d, d + len(found))
            tensors += found
            d += len(found)
            continue
        where.append(d)
        tensors.append(index)
        d += 1
    if d > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {d})")
    return tuple(where), tensors


def check_mask(shape: tuple[int, ...], dim: int, mask: tuple[int, ...]) -> None:
    """A mask must have the sizes of the dimensions that it is for."""
    for k, size in enumerate(mask):
        if dim + k >= len(shape):
            raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
        if shape[dim + k] != size:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {k} does not match the shape of "
                f"the indexed tensor {list(shape)} at index {dim + k}")


def _index_put_public(inplace: bool) -> Any:
    def body(ops: Any, self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
        if any(i.dtype not in (int64, int32, uint8, bool_) for i in indices):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        where, tensors = packed(ops, self, indices)
        function = ops.index_put_at_ if inplace else ops.index_put_at
        return function(self, values, where, tensors, accumulate)
    return body


composite("index_put(Tensor self, tensors indices, Tensor values, bool accumulate=False) -> Tensor",
          _index_put_public(False), doc="self with values written (or added) at the indices.")
composite("index_put_(Tensor self, tensors indices, Tensor values, "
          "bool accumulate=False) -> Tensor",
          _index_put_public(True), doc="Values written (or added) at the indices, in place.")


# ---- masks -----------------------------------------------------------------------------------

def _positions(p: Any, self: Any, count: int) -> None:
    """The places of the true elements, one after the other, as (count, ndim), columns first."""
    ndim = self.spec.ndim
    out = p.result(spec(ir.int64, (count, ndim), (1, count), p.device))
    if count == 0 or ndim == 0:
        return
    line, size = p.joined(self, ndim)
    found = out if ndim == 1 else p.temporary((count,), ir.int64)

    def body(value: Expr) -> Any:
        true = cast(value, compute_dtype(value.dtype)).ne(0)
        place = ir.scan("sum", cast(true, ir.int64)) - 1
        return p.store(ir.coord("inner"), place, true)

    p.rows(body, [line], [found.seen(((size,), (0,), 0))], [], size)
    if ndim == 1:
        return

    def split(place: Expr) -> tuple[Expr, ...]:
        parts, rest = [], place
        for size in reversed(self.spec.shape):
            whole = ir.operate("idiv", rest, p.fixed(size, ir.int64))
            parts.append(rest - whole * p.fixed(size, ir.int64))
            rest = whole
        return tuple(reversed(parts))

    p.flat(split, [found], [out.seen(((count,), (1,), d * count)) for d in range(ndim)])


rows("positions(Tensor self, int count) -> Tensor", _positions, kind="gather", method=False)


def _nonzero(ops: Any, self: Any, as_tuple: bool) -> Any:
    if as_tuple:
        return ops.nonzero_tuple(self)
    return ops._found_positions(self)


def _nonzero_tuple(ops: Any, self: Any) -> Any:
    if self.dim() == 0:
        self = ops.reshape(self, (1,))
    return tuple(ops.unbind(ops._found_positions(self), 1))


composite("nonzero(Tensor self, *, bool as_tuple=False) -> Tensor", _nonzero, out=True,
          doc="The indices of the elements that are not zero, a row each.")
composite("nonzero_tuple(Tensor self) -> Tensor[]", _nonzero_tuple, method=False)
def _nonzero_static(ops: Any, self: Any, size: int, fill_value: int) -> Any:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    made = ops.full((size, self.dim()), fill_value, dtype=int64, device=self.device)
    if self.device.type == "meta":
        return made
    found = ops._found_positions(self)
    count = min(size, found.shape[0])
    ops.copy_(ops.narrow(made, 0, 0, count), ops.narrow(found, 0, 0, count))
    return made


composite("nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor", _nonzero_static,
          out=True, samples=lambda make: [(make(3, 4), 5), (make(2), 4, 7)],
          doc="As many rows of nonzero's as asked for; those that lack hold fill_value.")
composite("argwhere(Tensor self) -> Tensor", lambda ops, self: ops.nonzero(self),
          doc="The indices of the elements that are not zero, a row each.")


def _masked_select(ops: Any, self: Any, mask: Any) -> Any:
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if self.shape == mask.shape and self.dim():
        made = ops._masked(self, mask)
        if made is not None:
            return made
    shape = algebra.broadcast_shapes(tuple(self.shape), tuple(mask.shape))
    flat = ops.nonzero(ops.reshape(ops.expand(mask, shape), (-1,)))
    source = self if tuple(self.shape) == shape else ops.expand(self, shape)
    return ops.index_at(ops.reshape(source, (-1,)), (0,), [ops.reshape(flat, (-1,))])


def _masked_select_back(ops: Any, grad: Any, self_spec: Any, mask: Any) -> Any:
    shape = algebra.broadcast_shapes(tuple(self_spec.shape), tuple(mask.shape))
    zeros = ops.zeros(shape, dtype=grad.dtype, device=grad.device)
    return ops.sum_to_size(ops.masked_scatter(zeros, mask, grad), tuple(self_spec.shape))


composite("masked_select(Tensor self, Tensor mask) -> Tensor", _masked_select, out=True,
          overlap="none", backward={"self": _masked_select_back},
          doc="The elements where the mask is true, in one dimension.")
