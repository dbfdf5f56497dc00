"""Specs: dtype, shape, strides and flags of a tensor, interned.

Equal specs are one object, so a plan is found by comparing pointers. The intern table is
bounded: when it is full it is emptied, and live specs stay valid (they only stop being shared
with later ones, which costs a plan lookup).
"""

from __future__ import annotations

from ..base.naming import public_module
from .devices import CPU, META, Device
from .dtypes import SCALAR_NAMES, DType, as_dtype


class Size(tuple):  # type: ignore[type-arg]
    """A shape: a tuple of sizes that prints as `torch.Size([2, 3])`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __new__(cls, sizes: object = ()) -> Size:
        return super().__new__(cls, sizes)  # type: ignore[arg-type]

    def numel(self) -> int:
        """The number of elements: the product of the sizes."""
        count = 1
        for size in self:
            count *= size
        return count

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):  # type: ignore[no-untyped-def]
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other):  # type: ignore[no-untyped-def]
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times):  # type: ignore[no-untyped-def]
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[object, ...]:
        return (Size, (tuple(self),))


Size.__module__ = public_module("torch")
LIMIT = 1 << 16


class Spec:
    """dtype + shape + strides (in elements) on a kind of device; interned by `spec()`."""

    __slots__ = (
        "dtype", "shape", "strides", "device", "numel", "ndim", "contiguous", "nbytes", "dense",
        "conj", "neg", "row", "run", "__weakref__",
    )

    dtype: DType
    shape: Size
    strides: tuple[int, ...]
    device: Device
    numel: int
    ndim: int
    contiguous: bool
    dense: bool  # every element of its extent is used once, in some order of dimensions
    nbytes: int  # bytes from the first element to the end of the last
    conj: bool  # complex values are the conjugates of what lies in memory
    neg: bool  # values are (then) negated
    # What `find_row` and `find_run` have found last; not set before.
    row: Spec | None
    run: Spec

    def __repr__(self) -> str:
        flags = ", conj" * self.conj + ", neg" * self.neg
        return f"Spec({self.dtype}, {tuple(self.shape)}, {self.strides}, {self.device}{flags})"


_table: dict[tuple[object, ...], Spec] = {}


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements; a size of 0 counts as 1."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size if size > 1 else 1
    return tuple(reversed(strides))


def spec(dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...] | None = None,
         device: Device = CPU, conj: bool = False, neg: bool = False) -> Spec:
    """The interned spec; `strides=None` means contiguous."""
    key = (dtype, tuple(shape), strides, device, conj, neg)
    found = _table.get(key)
    if found is None:
        found = _make(dtype, Size(shape), strides, device, conj, neg)
        if len(_table) >= LIMIT:
            _table.clear()
        _table[key] = found
    return found


def _make(dtype: DType, shape: Size, strides: tuple[int, ...] | None, device: Device,
          conj: bool, neg: bool) -> Spec:
    dtype = as_dtype(dtype)
    if not isinstance(dtype, DType):
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if dtype.code < 0:
        raise NotImplementedError(
            f'"empty_cpu" not implemented for \'{SCALAR_NAMES[dtype]}\': there are no kernels for '
            f"{dtype}, which can be named and compared only")
    natural = contiguous_strides(shape)
    steps = natural if strides is None else tuple(strides)
    full = (dtype, tuple(shape), steps, device, conj, neg)
    known = _table.get(full)
    if known is not None:
        return known
    made = Spec()
    made.dtype, made.shape, made.strides, made.device = dtype, shape, steps, device
    made.conj, made.neg = conj, neg
    made.ndim = len(shape)
    made.numel = shape.numel()
    if made.numel >= 1 << 63:
        raise RuntimeError("numel: integer multiplication overflow. Storage size calculation "
                           f"overflowed with sizes={list(shape)}")
    made.contiguous = made.numel == 0 or all(
        size == 1 or step == want for size, step, want in zip(shape, steps, natural, strict=True)
    )
    last = 1 + sum((size - 1) * step for size, step in zip(shape, steps, strict=True))
    made.nbytes = last * dtype.itemsize if made.numel else 0
    if made.nbytes >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}"
                           + ("" if made.contiguous else f" and strides={list(steps)}"))
    made.dense = made.contiguous or _is_dense(shape, steps)
    _table[full] = made
    return made


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for step, size in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n != 1):
        if step != expected:
            return False
        expected *= size
    return True


def find_row(base: Spec) -> Spec | None:
    """The spec of `x[i]`; None where there are no rows, or where values are not as they lie."""
    plain = base.ndim and not base.conj and not base.neg
    base.row = (spec(base.dtype, base.shape[1:], base.strides[1:], base.device) if plain else None)
    return base.row


def find_run(base: Spec, length: int) -> Spec:
    """The spec of `x[a:b]` of a tensor that has rows, for b - a = length."""
    base.run = spec(base.dtype, (length, *base.shape[1:]), base.strides, base.device)
    return base.run


def with_dtype(base: Spec, dtype: DType) -> Spec:
    """The same shape and strides with another dtype."""
    return spec(dtype, base.shape, base.strides, base.device)


def on_meta(base: Spec) -> Spec:
    """The same spec without bytes."""
    return spec(base.dtype, base.shape, base.strides, META, base.conj, base.neg)


def conjugated(base: Spec, conj: bool) -> Spec:
    """The same spec whose values are (or are not) the conjugates of what lies in memory."""
    if base.conj is conj:
        return base
    return spec(base.dtype, base.shape, base.strides, base.device, conj, base.neg)


def negated(base: Spec, neg: bool) -> Spec:
    """The same spec whose values are (or are not) the negatives of what it would show."""
    if base.neg is neg:
        return base
    return spec(base.dtype, base.shape, base.strides, base.device, base.conj, neg)
