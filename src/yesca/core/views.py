"""Stride algebra: how views come from views. Sizes and strides are in elements."""

from __future__ import annotations

from collections.abc import Sequence

from .dtypes import SCALAR_NAMES, DType
from .spec import Spec, contiguous_strides

Strided = tuple[tuple[int, ...], tuple[int, ...], int]  # shape, strides, offset


def wrap_dim(dim: int, ndim: int, name: str = "") -> int:
    """A dimension number made non-negative; a 0-dim tensor accepts -1 and 0."""
    count = max(ndim, 1)
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, "
                         f"{count - 1}], but got {dim})")
    return dim + count if dim < 0 else dim


def has_dim(dim: int, ndim: int) -> None:
    """Refuse to ask a tensor without dimensions for the size of one."""
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")


def wrap_dims(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Several dimension numbers as a set, which PyTorch keeps in 64 bits."""
    if ndim > 64:
        raise RuntimeError("only tensors with up to 64 dims are supported")
    return distinct_dims(dims, ndim)


def distinct_dims(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Several dimension numbers, each at most once."""
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    seen: set[int] = set()
    for d in wrapped:
        if d in seen:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        seen.add(d)
    return wrapped


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape: aligned from the right, sizes of 1 stretch."""
    ndim = max((len(s) for s in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for k, size in enumerate(reversed(shape), 1):
            if size != 1 and result[-k] != size:
                if result[-k] != 1:
                    raise RuntimeError(
                        f"The size of tensor a ({result[-k]}) must match the size of tensor b "
                        f"({size}) at non-singleton dimension {ndim - k}")
                result[-k] = size
    return tuple(result)


def expand_strides(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]
                   ) -> tuple[int, ...]:
    """Strides for `target`, with 0 where a dimension is new or stretched."""
    missing = len(target) - len(shape)
    made = [0] * len(target)
    for k in range(len(shape) - 1, -1, -1):  # the last dimension that does not fit is named
        size, want = shape[k], target[missing + k]
        if size == want:
            made[missing + k] = strides[k]
        elif size != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({size}) "
                f"at non-singleton dimension {missing + k}.  Target sizes: {list(target)}.  "
                f"Tensor sizes: {list(shape)}")
    return tuple(made)


def expand(base: Spec, sizes: Sequence[int]) -> Strided:
    """`Tensor.expand`: -1 keeps a size, new dimensions come in front."""
    missing = len(sizes) - base.ndim
    if missing < 0:
        raise RuntimeError(
            f"expand(torch.{_type_name(base)}{{{list(base.shape)}}}, size={list(sizes)}): the "
            f"number of sizes provided ({len(sizes)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({base.ndim})")
    target = []
    for k, size in enumerate(sizes):
        if size == -1:
            if k < missing:
                raise RuntimeError(
                    f"The expanded size of the tensor ({size}) isn't allowed in a leading, "
                    f"non-existing dimension {k}")
            size = base.shape[k - missing]
        elif size < 0:
            raise RuntimeError(f"The expanded size of the tensor ({size}) must not be negative")
        target.append(size)
    strides = list(expand_strides(base.shape, base.strides, target))
    for k in range(missing - 1, -1, -1):  # a new dimension of size 1 spans what is inside it
        if target[k] == 1:
            strides[k] = target[k + 1] * strides[k + 1] if k + 1 < len(target) else 1
    return tuple(target), tuple(strides if base.ndim else (0 for _ in target)), 0


def _type_name(base: Spec) -> str:
    return f"{SCALAR_NAMES[base.dtype]}Tensor"


def infer_shape(sizes: Sequence[int], numel: int) -> tuple[int, ...]:
    """Fill in the one -1 of a requested shape."""
    known = 1
    hole = None
    for k, size in enumerate(sizes):
        if size == -1:
            if hole is not None:
                raise RuntimeError("only one dimension can be inferred")
            hole = k
        elif size < 0:
            raise RuntimeError(f"invalid shape dimension {size} at index {k} of shape "
                               f"{list(sizes)}")
        else:
            known *= size
    if hole is not None:
        if known == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {numel} elements into shape {list(sizes)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous")
        if known and numel % known == 0:
            return tuple(numel // known if k == hole else s for k, s in enumerate(sizes))
    elif known == numel:
        return tuple(sizes)
    raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")


def view_strides(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]
                 ) -> tuple[int, ...] | None:
    """Strides that read the same elements in the shape `target`, or None if none can."""
    if 0 in target or 0 in shape:
        same = tuple(shape) == tuple(target)
        return tuple(strides) if same else contiguous_strides(tuple(target))
    if not shape:
        return (1,) * len(target)
    made = [0] * len(target)
    k = len(target) - 1
    step = strides[-1]  # of the innermost dimension of the current run of joined dimensions
    run = taken = 1
    for d in range(len(shape) - 1, -1, -1):
        run *= shape[d]
        if d > 0 and (shape[d - 1] == 1 or strides[d - 1] == run * step):
            continue
        while k >= 0 and (taken < run or target[k] == 1):
            made[k] = taken * step
            taken *= target[k]
            k -= 1
        if taken != run:
            return None
        step, run, taken = strides[d - 1], 1, 1
    return tuple(made) if k < 0 else None


def retyped(base: Spec, dtype: DType, offset: int) -> Strided:
    """The same bytes as elements of another dtype; the last dimension shrinks or grows.

    `offset`, in elements of the base, becomes the offset in elements of `dtype`.
    """
    shape, strides = tuple(base.shape), base.strides
    old, new = base.dtype.itemsize, dtype.itemsize
    if old == new:
        return shape, strides, offset
    pair = f"to view {SCALAR_NAMES[base.dtype]} as {SCALAR_NAMES[dtype]} (different element sizes)"
    if not shape:
        raise RuntimeError(f"self.dim() cannot be 0 {pair}")
    for what, value in (("size(-1)", shape[-1]), ("storage_offset()", offset)):
        if new > old and value % (new // old):
            raise RuntimeError(f"self.{what} must be divisible by {new // old} {pair}, but got "
                               f"{value}")
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {pair}, but got {strides[-1]}")
    if old > new:
        times = old // new
        return ((*shape[:-1], shape[-1] * times), (*(s * times for s in strides[:-1]), 1),
                offset * times)
    times = new // old
    for d, step in enumerate(strides[:-1]):
        if step % times:
            raise RuntimeError(f"self.stride({d}) must be divisible by {times} {pair}, "
                               f"but got {step}")
    return ((*shape[:-1], shape[-1] // times), (*(s // times for s in strides[:-1]), 1),
            offset // times)


def transpose(base: Spec, a: int, b: int) -> Strided:
    """Swap two dimensions."""
    a, b = wrap_dim(a, base.ndim), wrap_dim(b, base.ndim)
    shape, strides = list(base.shape), list(base.strides)
    if base.ndim:
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
    return tuple(shape), tuple(strides), 0


def permute(base: Spec, dims: Sequence[int]) -> Strided:
    """Reorder all dimensions."""
    if len(dims) != base.ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {base.ndim} is not "
            f"equal to len(dims) = {len(dims)}")
    wrapped = tuple(wrap_dim(d, base.ndim) for d in dims)
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return (tuple(base.shape[d] for d in wrapped), tuple(base.strides[d] for d in wrapped), 0)


def select(base: Spec, dim: int, index: int) -> Strided:
    """One index of a dimension, which goes away."""
    if base.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, base.ndim)
    size = base.shape[d]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size "
                         f"{list(base.shape)} at dimension {d}")
    index += size if index < 0 else 0
    shape, strides = tuple(base.shape), base.strides
    return shape[:d] + shape[d + 1:], strides[:d] + strides[d + 1:], index * strides[d]


def slice_(base: Spec, dim: int, start: int | None, end: int | None, step: int) -> Strided:
    """A range of a dimension; bounds are clamped as Python's are."""
    if base.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    d = wrap_dim(dim, base.ndim)
    size = base.shape[d]
    low = _clamp(0 if start is None else start, size)
    high = max(_clamp(size if end is None else end, size), low)
    shape, strides = list(base.shape), list(base.strides)
    shape[d] = (high - low + step - 1) // step
    offset = low * strides[d]
    strides[d] *= step
    return tuple(shape), tuple(strides), offset


def _clamp(index: int, size: int) -> int:
    return min(max(index + size if index < 0 else index, 0), size)


def unsqueeze(base: Spec, dim: int) -> Strided:
    """A new dimension of size 1."""
    d = wrap_dim(dim, base.ndim + 1)
    shape, strides = tuple(base.shape), base.strides
    step = shape[d] * strides[d] if d < base.ndim else 1
    return shape[:d] + (1,) + shape[d:], strides[:d] + (step,) + strides[d:], 0


def squeeze(base: Spec, dims: Sequence[int] | None) -> Strided:
    """Drop dimensions of size 1: all, or those named that have it."""
    which = range(base.ndim) if dims is None else wrap_dims(dims, base.ndim)
    drop = {d for d in which if base.ndim and base.shape[d] == 1}
    keep = [d for d in range(base.ndim) if d not in drop]
    return tuple(base.shape[d] for d in keep), tuple(base.strides[d] for d in keep), 0


def diagonal(base: Spec, offset: int, dim1: int, dim2: int) -> Strided:
    """The diagonal of two dimensions, as a last dimension."""
    a, b = wrap_dim(dim1, base.ndim), wrap_dim(dim2, base.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = base.shape[a], base.shape[b]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = offset * base.strides[b] if offset >= 0 else -offset * base.strides[a]
    keep = [d for d in range(base.ndim) if d not in (a, b)]
    shape = tuple(base.shape[d] for d in keep) + (count,)
    strides = tuple(base.strides[d] for d in keep) + (base.strides[a] + base.strides[b],)
    return shape, strides, start if count else 0


def unfold(base: Spec, dim: int, size: int, step: int) -> Strided:
    """Windows of a dimension, as a last dimension."""
    d = wrap_dim(dim, base.ndim)
    length = base.shape[d] if base.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {length} but size is "
                           f"{size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    shape, strides = list(base.shape), list(base.strides)
    if not shape:
        return (size,), (1,), 0
    own = strides[d]
    shape[d] = (length - size) // step + 1
    strides[d] = own * step
    return tuple(shape) + (size,), tuple(strides) + (own,), 0


def moved_order(ndim: int, source: Sequence[int], destination: Sequence[int]) -> tuple[int, ...]:
    """The order of dimensions after moving some to new places; the others keep theirs."""
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} "
                           f"dims) should contain the same number of dims as destination "
                           f"({list(destination)} dims)")
    src, dst = distinct_dims(source, ndim), distinct_dims(destination, ndim)
    if ndim == 0:
        return ()
    order = [-1] * ndim
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(ndim) if d not in src)
    return tuple(d if d >= 0 else next(rest) for d in order)


def movedim(base: Spec, source: Sequence[int], destination: Sequence[int]) -> Strided:
    """Move dimensions to new places."""
    return permute(base, moved_order(base.ndim, source, destination))


def collapse(shape: Sequence[int], strides: Sequence[Sequence[int]]
             ) -> tuple[list[int], list[list[int]]]:
    """Join neighbouring dimensions that all operands step through as one.

    Gives sizes and, per operand, strides, innermost first; dimensions of size 1 are dropped.
    """
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d in range(len(shape) - 1, -1, -1):
        if shape[d] == 1:
            continue
        if sizes and all(own[d] == mine[-1] * sizes[-1]
                         for own, mine in zip(strides, steps, strict=True)):
            sizes[-1] *= shape[d]
            continue
        sizes.append(shape[d])
        for own, mine in zip(strides, steps, strict=True):
            mine.append(own[d])
    return sizes, steps


def storage_order(shape: tuple[int, ...], strides: Sequence[int]) -> list[int]:
    """Dimensions from outermost to innermost in memory (stable)."""
    return sorted(range(len(shape)), key=lambda d: -strides[d] if shape[d] != 1 else 0) \
        if any(strides[d] < strides[d + 1] for d in range(len(shape) - 1)) \
        else list(range(len(shape)))


def sorted_strides(padded: Sequence[Sequence[int]], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a dense tensor whose dimensions lie in the order that operands' strides give."""
    order = sorted_order(padded, shape)
    if order == list(range(len(shape) - 1, -1, -1)):
        return contiguous_strides(tuple(shape))
    strides = [0] * len(shape)
    step = 1
    for d in order:
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def sorted_order(padded: Sequence[Sequence[int]], shape: tuple[int, ...]) -> list[int]:
    """The dimensions, innermost first, in the order that operands' strides give.

    Strides are those for `shape`, first operand first; where they say nothing the order is that
    of the dimensions.
    """
    ndim = len(shape)
    order = list(range(ndim - 1, -1, -1))

    def inner(a: int, b: int) -> int:
        """-1 when a must lie inside b, 1 when outside, 0 when undecided."""
        for steps in padded:
            x, y = steps[a], steps[b]
            if x == 0 or y == 0:
                continue
            if x != y:
                return -1 if x < y else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    for i in range(1, ndim):
        at = i
        for j in range(i - 1, -1, -1):
            verdict = inner(order[j], order[at])
            if verdict > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif verdict < 0:
                break
    return order


def stretched(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a dimension steps over one place (expanded tensors have such)."""
    return any(s == 0 and n > 1 for n, s in zip(shape, strides, strict=True))


def refuse_stretched(shape: Sequence[int], strides: Sequence[int]) -> None:
    """RuntimeError where a dimension steps over one place: what would be written there?"""
    if stretched(shape, strides):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.")


def meeting(a: Spec, start: int, b: Spec, begin: int) -> str:
    """How two tensors of one storage, at these bytes, share its memory.

    "no", "full" (element on element), "partial", or "unknown" where one of them has gaps, so that
    ranges that meet may have no element in common.
    """
    if not a.numel or not b.numel:
        return "no"
    if not a.dense or not b.dense:
        return "unknown"
    if start == begin and a.nbytes == b.nbytes:
        return "full" if a.strides == b.strides else "partial"
    return "partial" if start < begin + b.nbytes and begin < start + a.nbytes else "no"


def overlaps_itself(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indices may mean one element (expanded tensors do)."""
    extent = 0
    for step, size in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if step <= extent:
            return True
        extent += step * (size - 1)
    return False
