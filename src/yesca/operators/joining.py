"""Tensors joined along a dimension, and one tensor taken apart into views."""

# Names: dsplit hsplit split split_pieces vsplit

from __future__ import annotations

from itertools import groupby
from typing import Any

from ..core import views as algebra
from ..core.memory_formats import common, strides_in
from ..core.spec import spec
from ..loops.ir import cast
from .kinds import composite, rows


def _skipped(tensor: Any) -> bool:
    """cat ignores empty tensors of one dimension whatever the others' shapes are."""
    return tuple(tensor.spec.shape) == (0,)


def _cat(p: Any, tensors: Any, dim: int) -> None:
    """Each input is copied into its slice of the result."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for k, t in enumerate(tensors):
        if t.spec.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {k}) cannot be "
                               "concatenated")
    dtype = p.promote(tensors, [])
    real = [(k, t) for k, t in enumerate(tensors) if not _skipped(t)]
    if not real:
        d = algebra.wrap_dim(dim, 1)
        p.result(spec(dtype, (0,), None, p.device))
        return
    first = real[0][1].spec
    d = algebra.wrap_dim(dim, first.ndim)
    total = sum(_matched(first, t.spec, k, d) for k, t in real)
    shape = (*first.shape[:d], total, *first.shape[d + 1:])
    form = common([t.spec for t in tensors])
    out = p.result(spec(dtype, shape, strides_in(shape, form.name), p.device))
    start = 0
    for _, t in real:
        size = t.spec.shape[d]
        part = out.seen(algebra.slice_(out.spec, d, start, start + size, 1))
        p.flat(lambda x: cast(x, dtype), [t], [part])
        start += size


def _matched(first: Any, other: Any, position: int, d: int) -> int:
    if other.ndim != first.ndim:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and "
                           f"{other.ndim}")
    for k, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)):
        if k != d and a != b:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {d}. Expected size {a} but got "
                f"size {b} for tensor number {position} in the list.")
    return int(other.shape[d])


def _cat_back(ops: Any, grad: Any, tensors_spec: Any, needs: Any, dim: int) -> Any:
    ndim = grad.dim()
    d = algebra.wrap_dim(dim, ndim)
    made, start = [], 0
    for own, wanted in zip(tensors_spec, needs, strict=True):
        if tuple(own.shape) == (0,) and ndim != 1:
            made.append(ops.zeros((0,), dtype=own.dtype, device=own.device) if wanted else None)
            continue
        size = own.shape[d]
        part = ops.narrow(grad, d, start, size) if wanted else None
        start += size
        if part is not None and part.dtype is not own.dtype:
            part = ops.to_dtype(part, own.dtype)
        made.append(part)
    return tuple(made)


rows("cat_list(Tensor[] tensors, int dim) -> Tensor", _cat, kind="copy", method=False,
     node_name="CatBackward0", backward={"tensors": _cat_back})


def _listed(tensors: Any, name: str) -> list[Any]:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                        f"{type(tensors).__name__}")
    return list(tensors)


def _cat_public(ops: Any, tensors: Any, dim: int) -> Any:
    return ops.cat_list(_listed(tensors, "cat"), dim)


composite("cat(Tensor[] tensors, int dim=0) -> Tensor", _cat_public, out=True, overlap="none",
          method=False, autocast="promote",
          aliases=("concat", "concatenate"), doc="Tensors one after the other along dim.")


def _stack(p: Any, tensors: Any, dim: int) -> None:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].spec
    d = algebra.wrap_dim(dim, first.ndim + 1)
    for k, t in enumerate(tensors):
        if t.spec.shape != first.shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got "
                               f"{list(first.shape)} at entry 0 and {list(t.spec.shape)} at "
                               f"entry {k}")
    dtype = p.promote(tensors, [])
    shape = (*first.shape[:d], len(tensors), *first.shape[d:])
    out = p.result(spec(dtype, shape, _stacked_strides(tensors, first.shape, d), p.device))
    for k, t in enumerate(tensors):
        p.flat(lambda x: cast(x, dtype), [t], [out.seen(algebra.select(out.spec, d, k))])


def _stacked_strides(tensors: Any, shape: tuple[int, ...], d: int) -> tuple[int, ...]:
    """Those of the tensors joined along the dimension (or a new last one), which is then split."""
    count = len(tensors)
    if d == len(shape):
        made = common([spec(t.spec.dtype, *algebra.unsqueeze(t.spec, d)[:2]) for t in tensors])
        return strides_in((*shape, count), made.name)
    whole = (*shape[:d], count * shape[d], *shape[d + 1:])
    steps = strides_in(whole, common([t.spec for t in tensors]).name)
    found = algebra.view_strides(whole, steps, (*shape[:d], count, *shape[d:]))
    assert found is not None  # a dimension can always be split
    return found


def _stack_back(ops: Any, grad: Any, tensors_spec: Any, needs: Any, dim: int) -> Any:
    return tuple(
        None if not wanted else part if part.dtype is own.dtype else ops.to_dtype(part, own.dtype)
        for part, own, wanted in zip(ops.unbind(grad, dim), tensors_spec, needs, strict=True))


rows("stack_list(Tensor[] tensors, int dim) -> Tensor", _stack, kind="copy", method=False,
     node_name="StackBackward0", backward={"tensors": _stack_back})
composite("stack(Tensor[] tensors, int dim=0) -> Tensor",
          lambda ops, tensors, dim: ops.stack_list(_listed(tensors, "stack"), dim), out=True,
          method=False, autocast="promote",
          doc="Tensors of one shape side by side along a new dimension.")


# ---- taking apart ----------------------------------------------------------------------------

def _split(p: Any, self: Any, sizes: tuple[int, ...], dim: int, listed: bool) -> None:
    start = 0
    for size in sizes:
        shape, strides, offset = algebra.slice_(self.spec, dim, start, start + size, 1)
        p.alias(self, spec(self.spec.dtype, shape, strides, self.spec.device),
                offset if size else start * self.spec.strides[dim])
        start += size


def _split_back(ops: Any, grads: Any, self_spec: Any, sizes: Any, dim: int) -> Any:
    shape = tuple(self_spec.shape)
    parts = []
    for wanted, run in groupby(zip(sizes, grads, strict=True), lambda one: one[1] is not None):
        if wanted:
            parts += [grad for _, grad in run]
            continue
        own = (*shape[:dim], sum(size for size, _ in run), *shape[dim + 1:])
        zero = ops.zeros((), dtype=self_spec.dtype, device=self_spec.device)
        parts.append(ops.expand(zero, own))
    return ops.cat(parts, dim) if len(parts) > 1 else parts[0]


rows("split_views(Tensor self, any sizes, int dim, bool listed=False) -> Tensor[]", _split,
     kind="view", method=False, backward={"self": _split_back}, node_name=lambda plan:
     "SplitWithSizesBackward0" if plan.values[3] else "SplitBackward0")


def _pieces(size: int, total: int) -> tuple[int, ...]:
    if size == 0 and total == 0:
        return (0,)
    count = max((total + size - 1) // size, 1)
    return (*(size for _ in range(count - 1)), total - size * (count - 1))


def _split_public(ops: Any, self: Any, split_size_or_sections: Any, dim: int) -> Any:
    if self.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = algebra.wrap_dim(dim, self.dim())
    total = self.shape[d]
    wanted = split_size_or_sections
    if isinstance(wanted, (list, tuple)):
        sizes = tuple(int(n) for n in wanted)
        if any(n < 0 for n in sizes):
            raise RuntimeError("split_with_sizes expects split_sizes have only non-negative "
                               f"entries, but got split_sizes={list(sizes)}")
        if sum(sizes) != total:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's "
                f"size at dimension {d}), but got split_sizes={list(sizes)}")
        return ops.split_views(self, sizes, d, True)
    size = int(wanted)
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and total:
        raise RuntimeError("split_size can only be 0 if dimension size is 0, but got dimension "
                           f"size of {total}")
    return ops.split_views(self, _pieces(size, total), d)


for _name in ("split", "split_pieces"):  # the method, and what the free function calls
    composite(f"{_name}(Tensor self, int[1] split_size, int dim=0) -> Tensor[]", _split_public,
              method=_name == "split", doc="Pieces of a size (the last may be smaller) or of the "
              "listed sizes, as views.")
composite("split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
          lambda ops, self, split_sizes, dim: _split_public(ops, self, tuple(split_sizes), dim),
          doc="Pieces of the listed sizes, as views.")


def _unsafe_split(ops: Any, self: Any, split_size: Any, dim: int) -> tuple[Any, ...]:
    return tuple(ops.apart(piece) for piece in _split_public(ops, self, split_size, dim))


def _unsafe_split_back(ops: Any, grads: Any, self_spec: Any, split_size: Any, dim: int) -> Any:
    d = algebra.wrap_dim(dim, self_spec.ndim)
    sizes = _pieces(split_size, self_spec.shape[d]) if isinstance(split_size, int) else split_size
    return _split_back(ops, grads, self_spec, sizes, d)


composite("unsafe_split(Tensor self, int split_size, int dim=0) -> Tensor[]", _unsafe_split,
          backward={"self": _unsafe_split_back},
          doc="split, whose pieces share memory but count as tensors of their own.")
composite("unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
          _unsafe_split, backward={"self": lambda ops, grads, self_spec, split_sizes, dim:
                                   _unsafe_split_back(ops, grads, self_spec, split_sizes, dim)},
          doc="split_with_sizes, whose pieces count as tensors of their own.")


def _chunk(ops: Any, self: Any, chunks: int, dim: int, unsafe: bool = False) -> Any:
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = algebra.wrap_dim(dim, self.dim())
    total = self.shape[d]
    size = (total + chunks - 1) // chunks
    sizes = _pieces(size, total) if size else (0,) * chunks
    if unsafe:
        return ops.unsafe_split(self, size, d) if size else \
            ops.unsafe_split_with_sizes(self, sizes, d)
    return ops.split_views(self, sizes, d, not size)


composite("chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", _chunk,
          doc="At most `chunks` pieces of one size, as views.")
composite("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
          lambda ops, self, chunks, dim: _chunk(ops, self, chunks, dim, True),
          doc="chunk, whose pieces share memory but count as tensors of their own.")


def _tensor_split(ops: Any, self: Any, indices_or_sections: Any, dim: int) -> Any:
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a "
                           "tensor with 0 dims")
    d = algebra.wrap_dim(dim, self.dim())
    total = self.shape[d]
    wanted = indices_or_sections
    if ops.is_tensor(wanted):
        wanted = wanted.tolist()
    if isinstance(wanted, int):
        if wanted <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {wanted}")
        least, more = divmod(total, wanted)
        wanted = [k * least + min(k, more) for k in range(1, wanted)]
    made, start = [], 0
    for end in (*wanted, total):
        made.append(ops.slice(self, d, start, end))
        start = end
    return tuple(made)


composite("tensor_split(Tensor self, Tensor|int[1] indices_or_sections, int dim=0) -> Tensor[]",
          _tensor_split, doc="That many pieces, or pieces between the listed indices, as views.")


def _by_side(name: str, dim: Any) -> Any:
    def body(ops: Any, self: Any, indices_or_sections: Any) -> Any:
        least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}[name]
        if self.dim() < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension"
                               f"{'s' if least > 1 else ''}, but got a tensor with {self.dim()} "
                               "dimensions!")
        d = (0 if self.dim() == 1 else 1) if dim is None else dim
        parts = indices_or_sections
        if isinstance(parts, int) and (parts <= 0 or self.shape[d] % parts):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {d}, but the "
                               f"size of the dimension {self.shape[d]} is not divisible by the "
                               f"split_size {parts}!")
        return ops.tensor_split(self, parts, d)
    return body


for _name, _dim in (("hsplit", None), ("vsplit", 0), ("dsplit", 2)):
    composite(f"{_name}(Tensor self, int[1] indices_or_sections) -> Tensor[]",
              _by_side(_name, _dim), doc="tensor_split along a fixed dimension.")


def _unbind(p: Any, self: Any, dim: int) -> None:
    if self.spec.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = algebra.wrap_dim(dim, self.spec.ndim)
    for k in range(self.spec.shape[d]):
        shape, strides, offset = algebra.select(self.spec, d, k)
        p.alias(self, spec(self.spec.dtype, shape, strides, self.spec.device), offset)


def _unbind_back(ops: Any, grads: Any, self_spec: Any, dim: int) -> Any:
    d = algebra.wrap_dim(dim, self_spec.ndim)
    own = tuple(n for k, n in enumerate(self_spec.shape) if k != d)
    zero = None
    parts = []
    for grad in grads:
        if grad is None and zero is None:
            zero = ops.expand(ops.zeros((), dtype=self_spec.dtype, device=self_spec.device), own)
        parts.append(zero if grad is None else grad)
    return ops.stack(parts, d)


rows("unbind(Tensor self, int dim=0) -> Tensor[]", _unbind, kind="view",
     backward={"self": _unbind_back}, doc="The slices of a dimension, as views.")


# ---- by name of the direction ----------------------------------------------------------------

def _atleast(count: int) -> Any:
    def one(ops: Any, x: Any) -> Any:
        ndim = x.dim()
        if ndim >= count:
            return x
        shape = tuple(x.shape)
        if count == 3 and ndim == 2:
            return ops.unsqueeze(x, 2)
        if count == 3 and ndim == 1:
            return ops.reshape(x, (1, *shape, 1))
        return ops.reshape(x, (1,) * (count - ndim) + shape)

    def body(ops: Any, tensors: Any) -> Any:
        if isinstance(tensors, (list, tuple)):
            return tuple(one(ops, t) for t in tensors)
        return one(ops, tensors)
    return body


at_least_1d, at_least_2d, at_least_3d = _atleast(1), _atleast(2), _atleast(3)


def _vstack(ops: Any, tensors: Any) -> Any:
    return ops.cat(at_least_2d(ops, _nonempty(tensors, "vstack")), 0)


def _nonempty(tensors: Any, name: str) -> Any:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def _hstack(ops: Any, tensors: Any) -> Any:
    parts = at_least_1d(ops, _nonempty(tensors, "hstack"))
    return ops.cat(parts, 0 if parts[0].dim() == 1 else 1)


def _column_stack(ops: Any, tensors: Any) -> Any:
    return ops.cat([ops.reshape(t, (t.numel(), 1)) if t.dim() <= 1 else t
                    for t in _nonempty(tensors, "column_stack")], 1)


composite("vstack(Tensor[] tensors) -> Tensor", _vstack, out=True, method=False,
          aliases=("row_stack",), doc="Tensors below each other.")
composite("hstack(Tensor[] tensors) -> Tensor", _hstack, out=True, method=False,
          doc="Tensors beside each other.")
composite("dstack(Tensor[] tensors) -> Tensor",
          lambda ops, tensors: ops.cat(at_least_3d(ops, _nonempty(tensors, "dstack")), 2),
          out=True, method=False, doc="Tensors behind each other.")
composite("column_stack(Tensor[] tensors) -> Tensor", _column_stack, out=True, method=False,
          doc="Tensors as columns.")


def _block_diag(ops: Any, tensors: Any) -> Any:
    blocks = at_least_2d(ops, tensors) if tensors else ()
    if not blocks:
        return ops.empty(1, 0)
    if any(b.dim() > 2 for b in blocks):
        raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions.")
    dtype = ops.cat([ops.reshape(b, (-1,)) for b in blocks]).dtype
    width = sum(b.shape[1] for b in blocks)
    lines, left = [], 0
    for b in blocks:
        height, own = tuple(b.shape)
        b = b if b.dtype is dtype else ops.to_dtype(b, dtype)
        zeros = [ops.zeros((height, n), dtype=dtype, device=b.device)
                 for n in (left, width - left - own)]
        lines.append(ops.cat([zeros[0], b, zeros[1]], 1))
        left += own
    return ops.cat(lines, 0)


composite("block_diag_list(any tensors) -> Tensor", _block_diag, method=False)
