"""Views: the same storage seen differently. Their gradients go back the way they came."""

# Names: diagonal_backward narrow_backward select_backward slice_backward

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.dtypes import SCALAR_NAMES, DType
from ..core.spec import Spec, contiguous_strides, spec
from ..loops.ir import cast, const
from .kinds import composite, compute_dtype, rows, view


def _view(base: Spec, size: tuple[int, ...]) -> Any:
    if len(size) == 1 and isinstance(size[0], DType):
        return _as_dtype(base, size[0])
    shape = algebra.infer_shape(size, base.numel)
    strides = algebra.view_strides(base.shape, base.strides, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.")
    return shape, strides, 0


def _as_dtype(base: Spec, dtype: DType) -> tuple[Any, ...]:
    """The same bytes as elements of another dtype; the last dimension grows or shrinks."""
    shape, strides = list(base.shape), list(base.strides)
    old, new = base.dtype.itemsize, dtype.itemsize
    as_what = (f"to view {SCALAR_NAMES[base.dtype]} as {SCALAR_NAMES[dtype]} (different element "
               "sizes)")
    if old == new:
        return tuple(shape), tuple(strides), 0, dtype
    if not shape:
        raise RuntimeError(f"self.dim() cannot be 0 {as_what}")
    if new > old and shape[-1] % (new // old):
        raise RuntimeError(f"self.size(-1) must be divisible by {new // old} {as_what}, but got "
                           f"{shape[-1]}")
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {as_what}, but got {strides[-1]}")
    if old > new:
        ratio = old // new
        strides = [*(s * ratio for s in strides[:-1]), 1]
        shape[-1] *= ratio
        return tuple(shape), tuple(strides), 0, dtype
    ratio = new // old
    for d, step in enumerate(strides[:-1]):
        if step % ratio:
            raise RuntimeError(f"self.stride({d}) must be divisible by {ratio} {as_what}, but "
                               f"got {step}")
    shape[-1] //= ratio
    return tuple(shape), (*(s // ratio for s in strides[:-1]), 1), 0, dtype


_back = {"self": lambda ops, grad, self_spec: ops.reshape(grad, tuple(self_spec.shape))}
view_ = view("view(Tensor self, size... size) -> Tensor", _view, function=False,
             samples=lambda make: [(make(3, 4), (2, -1)), (make(2, 3, 4), (2, 3, 2, 2)),
                                   (make(), (1, 1)), (make(0, 3), (3, 0))],
             backward={"self": lambda ops, grad, self_spec, size: ops.view(
                 grad, (self_spec.dtype,)) if isinstance(size[0] if size else 0, DType)
                 else ops.reshape(grad, tuple(self_spec.shape))},
             doc="The same elements in another shape, or the same bytes in another dtype, without "
                 "a copy.")
alias = view("alias(Tensor self) -> Tensor",
             lambda base: (tuple(base.shape), base.strides, 0), method=False,
             backward={"self": lambda grad: grad}, doc="The same view once more.")


def _reshape(ops: Any, self: Any, shape: tuple[int, ...]) -> Any:
    base = self._spec
    wanted = algebra.infer_shape(shape, base.numel)
    if algebra.view_strides(base.shape, base.strides, wanted) is not None:
        return ops.view(self, wanted)
    return ops.copy_like(self, wanted, contiguous_strides(wanted))


reshape = composite("reshape(Tensor self, int[]... shape) -> Tensor", _reshape,
                    samples=lambda make: [(make(3, 4), (2, 6)), (make(2, 3, 4), (6, -1)),
                                          (make(0, 3), (0,)), (make(), (1,))],
                    doc="The same elements in another shape; a copy where a view cannot be.")


def _flatten(ops: Any, self: Any, start_dim: int, end_dim: int) -> Any:
    ndim = self.dim()
    first, last = algebra.wrap_dim(start_dim, ndim), algebra.wrap_dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if ndim == 0:
        return ops.reshape(self, (1,))
    if first == last:
        return self
    shape = tuple(self.shape)
    count = 1
    for size in shape[first:last + 1]:
        count *= size
    return ops.reshape(self, (*shape[:first], count, *shape[last + 1:]))


flatten = composite("flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor", _flatten,
                    doc="Dimensions start_dim to end_dim as one.")
ravel = composite("ravel(Tensor self) -> Tensor", lambda ops, self: ops.reshape(
    ops.contiguous(self), (-1,)), doc="One dimension.")


def _unflatten(ops: Any, self: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    d = algebra.wrap_dim(dim, self.dim())
    shape = tuple(self.shape)
    try:
        algebra.has_dim(d, len(shape))
        inner = algebra.infer_shape(tuple(sizes), shape[d])
    except (RuntimeError, IndexError) as error:
        if "is invalid for input of size" in str(error):
            raise RuntimeError(
                f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim "
                f"{d} ({shape[d]}) in the input tensor") from None
        raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
    return ops.view(self, (*shape[:d], *inner, *shape[d + 1:]))


unflatten = composite("unflatten(Tensor self, int dim, int[] sizes) -> Tensor", _unflatten,
                      samples=lambda make: [(make(3, 4), 1, (2, 2)), (make(6), 0, (2, -1))],
                      doc="One dimension as several.")
transpose = view(
    "transpose(Tensor self, int dim0, int dim1) -> Tensor", algebra.transpose,
    aliases=("swapdims",),
    backward={"self": lambda ops, grad, dim0, dim1: ops.transpose(grad, dim0, dim1)},
    samples=lambda make: [(make(3, 4), 0, 1), (make(2, 3, 4), -1, 0), (make(), 0, -1)],
    doc="Two dimensions swapped.")
composite("swapaxes(Tensor self, int axis0, int axis1) -> Tensor",
          lambda ops, self, axis0, axis1: ops.transpose(self, axis0, axis1),
          samples=lambda make: [(make(3, 4), 0, 1)], doc="Two dimensions swapped.")


def _t(base: Spec) -> algebra.Strided:
    if base.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {base.ndim}D")
    return algebra.transpose(base, 0, base.ndim - 1)


t = view("t(Tensor self) -> Tensor", _t,
         samples=lambda make: [(make(3, 4),), (make(3),), (make(),)],
         backward={"self": lambda ops, grad: ops.t(grad)},
         doc="A matrix transposed.")


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    made = [0] * len(dims)
    for k, d in enumerate(dims):
        made[d % len(dims)] = k
    return tuple(made)


permute = view("permute(Tensor self, int[]... dims) -> Tensor", algebra.permute,
               backward={"self": lambda ops, grad, dims: ops.permute(grad, _inverse(dims))},
               samples=lambda make: [(make(2, 3, 4), (2, 0, 1)), (make(3, 4), (-1, 0))],
               doc="Dimensions in another order.")
movedim = composite(
    "movedim(Tensor self, int[1] source, int[1] destination) -> Tensor",
    lambda ops, self, source, destination: ops.permute(self, algebra.moved_order(
        self.dim(), _many(source), _many(destination))), aliases=("moveaxis",),
    samples=lambda make: [(make(2, 3, 4), 0, 2), (make(2, 3, 4), (0, 1), (-1, 0))],
    doc="Dimensions moved to other places.")


def _many(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


expand = view(
    "expand(Tensor self, int[]... size, *, bool implicit=False) -> Tensor",
    lambda base, size, implicit: algebra.expand(base, size), function=False,
    backward={"self": lambda ops, grad, self_spec: ops.sum_to_size(grad, tuple(self_spec.shape))},
    samples=lambda make: [(make(3, 1), (3, 4)), (make(4), (2, -1)), (make(), (2, 2))],
    doc="Dimensions of size 1 stretched without a copy.")
broadcast_to = composite("broadcast_to(Tensor self, int[]... size) -> Tensor",
                         lambda ops, self, size: ops.expand(self, size),
                         samples=lambda make: [(make(3, 1), (2, 3, 4))])
expand_as = composite("expand_as(Tensor self, Tensor other) -> Tensor",
                      lambda ops, self, other: ops.expand(self, tuple(other.shape)),
                      samples=lambda make: [(make(3, 1), make(3, 4))])
view_as = composite("view_as(Tensor self, Tensor other) -> Tensor",
                    lambda ops, self, other: ops.view(self, tuple(other.shape)),
                    samples=lambda make: [(make(3, 4), make(4, 3))])
reshape_as = composite("reshape_as(Tensor self, Tensor other) -> Tensor",
                       lambda ops, self, other: ops.reshape(self, tuple(other.shape)),
                       samples=lambda make: [(make(3, 4), make(2, 6))])
unsqueeze = view("unsqueeze(Tensor self, int dim) -> Tensor", algebra.unsqueeze, backward=_back,
                 samples=lambda make: [(make(3, 4), 0), (make(3, 4), -1), (make(), 0)],
                 inplace=False, doc="A new dimension of size 1.")


def _overload(dim: Any) -> int:
    """Which of PyTorch's signatures: no dimension, one, or several."""
    return 0 if dim is None else 1 if isinstance(dim, int) else 2


squeeze = view(
    "squeeze(Tensor self, int[1]? dim=None) -> Tensor",
    lambda base, dim: algebra.squeeze(base, None if dim is None else _many(dim)),
    node_name=lambda plan: f"SqueezeBackward{_overload(plan.values[1])}",
    backward=_back, doc="Dimensions of size 1 dropped.",
    samples=lambda make: [(make(1, 3, 1),), (make(1, 3, 1), 0), (make(1, 3, 1), (0, 1)), (make(),)])


# ---- parts -----------------------------------------------------------------------------------

def _place_back(name: str, *arguments: str) -> Any:
    """The gradient of a part: zeros but for the part."""
    source = (f"lambda ops, grad, self_spec, {', '.join(arguments)}: ops.{name}_backward("
              f"grad, tuple(self_spec.shape), {', '.join(arguments)})")
    return eval(source)  # noqa: S307 - parameter names are what the tape reads


def _part_backward(p: Any, grad: Any, shape: tuple[int, ...], mapping: Any,
                   *arguments: Any) -> None:
    made = p.result(spec(grad.spec.dtype, shape, None, p.device))
    p.flat(lambda: const(0, grad.spec.dtype), [], [made])
    p.flat(lambda x: x, [grad], [made.seen(mapping(made.spec, *arguments))])


def _parted(name: str, arguments: str, mapping: Any, *, doc: str, parts: Any, **options: Any
            ) -> Any:
    """A view of a part, and the operator that puts its gradient back; `parts`: (shape of self,
    arguments, shape of the part) for their tests."""
    names = [a.split("=")[0].split()[-1] for a in arguments.split(", ")]
    plain = ", ".join(f"any {n}" for n in names)
    made = view(f"{name}(Tensor self, {arguments}) -> Tensor", mapping,
                backward={"self": _place_back(name, *names)}, doc=doc,
                samples=lambda make: [(make(*shape), *rest) for shape, rest, _ in parts],
                **options)
    rows(f"{name}_backward(Tensor grad, int[] shape, {plain}) -> Tensor",
         lambda p, grad, shape, *rest: _part_backward(p, grad, shape, mapping, *rest),
         kind="copy", method=False,
         samples=lambda make: [(make(*part), shape, *rest) for shape, rest, part in parts],
         backward={"grad": eval(f"lambda ops, grad, {', '.join(names)}: "  # noqa: S307
                                f"ops.{name}(grad, {', '.join(names)})")})
    return made


select = _parted("select", "int dim, int index", algebra.select,
                 parts=[((3, 4), (0, 1), (4,)), ((2, 3, 4), (-1, -2), (2, 3)), ((3,), (0, 0), ())],
                 doc="One index of a dimension, which goes away.")
slice_ = _parted("slice", "int dim=0, int? start=None, int? end=None, int step=1",
                 algebra.slice_, function=False, method=False,
                 parts=[((3, 4), (1, 1, 3, 1), (3, 2)), ((5, 2), (0, None, None, 2), (3, 2)),
                        ((3, 4), (0, 2, 2, 1), (0, 4))],
                 doc="A range of a dimension.")


def _narrow(base: Spec, dim: int, start: int, length: int) -> algebra.Strided:
    if base.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    d = algebra.wrap_dim(dim, base.ndim)
    size = base.shape[d]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but "
                         f"got {start})")
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return algebra.slice_(base, d, start, start + length, 1)


narrow = _parted("narrow", "int dim, start start, int length", _narrow,
                 parts=[((3, 4), (1, 1, 2), (3, 2)), ((3, 4), (0, -2, 1), (1, 4))],
                 node_name="SliceBackward0", doc="A range of a dimension, by start and length.")
diagonal = _parted("diagonal", "int offset=0, int dim1=0, int dim2=1", algebra.diagonal,
                   parts=[((3, 4), (0, 0, 1), (3,)), ((3, 4), (1, 0, 1), (3,)),
                          ((2, 3, 4), (-1, 2, 0), (3, 1))],
                   doc="The diagonal of two dimensions.")


def _as_strided(base: Spec, size: tuple[int, ...], stride: tuple[int, ...], offset: int
                ) -> algebra.Strided:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and "
                           f"strides={list(stride)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got "
                           f"strides: {list(stride)}")
    return tuple(size), tuple(stride), offset


def check_extent(size: Any, stride: Any, offset: int, dtype: DType, nbytes: int) -> None:
    """Refuse a view that reaches beyond a storage of so many bytes."""
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=False))
    need = 0 if 0 in tuple(size) else (last + 1) * dtype.itemsize
    if need > nbytes or offset < 0:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {dtype.itemsize} requiring a storage size of {need} are out of bounds for "
            f"storage of size {nbytes}")


def _strided_back(p: Any, grad: Any, shape: tuple[int, ...], stride: tuple[int, ...],
                  view_stride: tuple[int, ...], offset: int) -> None:
    """The gradient of an as_strided view; elements seen twice get the sum, one after the other.

    What the view sees of the storage beyond the base is no part of the base's gradient.
    """
    dtype, size = grad.spec.dtype, tuple(grad.spec.shape)
    made = p.result(spec(dtype, shape, stride, p.device))
    first = min(0, offset) if grad.spec.numel else 0
    last = max(_extent(shape, stride), offset + _extent(size, view_stride))
    summed = algebra.overlaps_itself(size, view_stride)
    wide = compute_dtype(dtype) if summed else dtype
    whole = made
    if first < 0 or last * dtype.itemsize > made.spec.nbytes or wide is not dtype:
        whole = p.temporary((last - first,), wide)
    p.flat(lambda: const(0, wide), [], [whole])
    part = whole.seen((size, view_stride, offset - first))
    if summed:
        p.ordered_add(grad, part)
    else:
        p.flat(lambda x: x, [grad], [part])
    if whole is not made:
        p.flat(lambda x: x, [whole.seen((shape, stride, -first))], [made])


def _extent(size: Any, stride: Any) -> int:
    """How many elements of a storage a view spans."""
    return 0 if 0 in tuple(size) else 1 + sum(
        (n - 1) * s for n, s in zip(size, stride, strict=True))


as_strided_raw = view(
    "as_strided_view(Tensor self, int[] size, int[] stride, int offset=0) -> Tensor",
    _as_strided, method=False, node_name="AsStridedBackward0",
    samples=lambda make: [(make(3, 4), (2, 2), (4, 1), 1), (make(6), (3, 2), (1, 2))],
    backward={"self": lambda ops, grad, self_spec, stride, offset: ops.as_strided_scatter_add(
        grad, tuple(self_spec.shape), tuple(self_spec.strides), stride, offset)},
    doc="Strides and an offset relative to self's first element.")
rows("as_strided_scatter_add(Tensor grad, int[] shape, int[] stride, int[] view_stride, "
     "int offset) -> Tensor", _strided_back, kind="copy", method=False,
     samples=lambda make: [(make(2, 2), (3, 4), (4, 1), (4, 1), 1),
                           (make(3, 2), (6,), (1,), (1, 1), 0)],
     backward={"grad": lambda ops, grad, grad_spec, shape, stride, view_stride, offset:
               ops.as_strided_view(_laid_out(ops, grad, shape, stride), tuple(grad_spec.shape),
                                   view_stride, offset)})


def _laid_out(ops: Any, grad: Any, shape: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    """A gradient with the strides that a strided view is described for."""
    return grad if grad._spec.strides == tuple(stride) else ops.copy_like(grad, shape, stride)


def _strided_put(p: Any, self: Any, src: Any, size: tuple[int, ...], stride: tuple[int, ...],
                 offset: int) -> None:
    made = p.result(spec(self.spec.dtype, self.spec.shape, self.spec.strides, p.device))
    p.flat(lambda x: x, [self], [made])
    check_extent(size, stride, offset, made.spec.dtype, made.spec.nbytes)
    part = made.seen((size, stride, offset))
    p.flat(lambda x: cast(x, made.spec.dtype), [src], [part])


rows("strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int offset=0) -> "
     "Tensor", _strided_put, kind="copy", method=False, node_name="AsStridedScatterBackward0",
     samples=lambda make: [(make(3, 4), make(2, 2), (2, 2), (4, 1), 1)],
     backward={
         "self": lambda ops, grad, self_spec, src_spec, size, stride, offset:
             ops.strided_scatter(
                 _laid_out(ops, grad, tuple(self_spec.shape), self_spec.strides),
                 ops.zeros(tuple(src_spec.shape), dtype=grad.dtype, device=grad.device), size,
                 stride, offset),
         "src": lambda ops, grad, self_spec, size, stride, offset: ops.clone(ops.as_strided_view(
             _laid_out(ops, grad, tuple(self_spec.shape), self_spec.strides), size, stride,
             offset))},
     doc="self with the elements of a strided view, counted from its first, replaced.")


def _scattered(ops: Any, self: Any, src: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    at = 0 if storage_offset is None else storage_offset - self.storage_offset()
    return ops.strided_scatter(self, src, tuple(size), tuple(stride), at)


composite("as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, "
          "int? storage_offset=None) -> Tensor", _scattered,
          samples=lambda make: [(make(3, 4), make(2, 2), (2, 2), (4, 1), 1)]
          if make.layout == "contiguous" else [],
          doc="self with the elements of one of its strided views replaced.")


def _offset_as_strided(ops: Any, self: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    own = self.storage_offset()
    at = own if storage_offset is None else storage_offset
    if len(size) == len(stride) and all(s >= 0 for s in stride):
        if at < 0:
            raise RuntimeError(f"Tensor: invalid storage offset {at}")
        if not self.is_meta:
            check_extent(size, stride, at, self.dtype, self.untyped_storage().nbytes())
    return ops.as_strided_view(self, tuple(size), tuple(stride), at - own)


as_strided = composite(
    "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    _offset_as_strided,
    samples=lambda make: [(make(3, 4), (2, 2), (4, 1), 1), (make(6), (3, 2), (1, 2))],
    doc="Any sizes, strides and offset over the same storage.")


def _unfold_back(ops: Any, grad: Any, shape: tuple[int, ...], dim: int, size: int, step: int
                 ) -> Any:
    from ..core.spec import contiguous_strides

    if not shape:
        return ops.sum(grad)
    strides = contiguous_strides(shape)
    d = algebra.wrap_dim(dim, len(shape))
    own = list(strides)
    own[d] *= step
    return ops.as_strided_scatter_add(grad, shape, strides, (*own, strides[d]), 0)


unfold = view("unfold(Tensor self, int dimension, int size, int step) -> Tensor", algebra.unfold,
              function=False,
              backward={"self": lambda ops, grad, self_spec, dimension, size, step: _unfold_back(
                  ops, grad, tuple(self_spec.shape), dimension, size, step)},
              samples=lambda make: [(make(5), 0, 3, 1), (make(2, 6), 1, 2, 2), (make(), 0, 1, 1)],
              doc="Windows of a dimension.")
sum_to = composite(
    "sum_to_size(Tensor self, int[1]... size) -> Tensor",
    lambda ops, self, size: _sum_to(ops, self, tuple(size)), function=True,
    samples=lambda make: [(make(2, 3, 4), (3, 1)), (make(3, 4), (3, 4)), (make(3, 4), ())],
    doc="Summed over the dimensions that broadcasting stretched.")


def _sum_to(ops: Any, grad: Any, size: tuple[int, ...]) -> Any:
    shape = tuple(grad.shape)
    if not size:
        return ops.sum(grad)
    if shape == size:
        return grad
    extra = len(shape) - len(size)
    if extra < 0 or any(s not in (1, n) for s, n in zip(size, shape[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    dims = tuple(range(extra)) + tuple(
        k + extra for k, s in enumerate(size) if s == 1 and shape[k + extra] != 1)
    made = ops.sum(grad, dims, True) if dims else grad
    return ops.reshape(made, size) if tuple(made.shape) != size else made


def _reread(base: Spec, dtype: DType) -> algebra.Strided:
    return tuple(base.shape), base.strides, 0


__all__ = ["algebra"]
