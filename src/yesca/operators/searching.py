"""Places in sorted values, sets of values, counts, and comparisons that give one answer."""

from __future__ import annotations

from typing import Any

from ..base.errors import missing_derivative, underived
from ..core import views as algebra
from ..core.dtypes import (
    BOOL, COMPLEX, FLOATING, INTEGRAL, SCALAR_NAMES, bool_, complex128, float64, int32, int64,
    promote,
)  # fmt: skip
from ..core.spec import spec
from ..loops import ir
from ..loops.ir import Expr, cast, const
from ..loops.scalar import where
from . import places
from .kinds import composite, compute_dtype, rows

# ---- binary search ---------------------------------------------------------------------------


def _search(p: Any, sorted_sequence: Any, self: Any, right: bool, sorter: Any, dtype: Any
            ) -> None:
    """A binary search without branches: as many steps as the size has bits."""
    line = sorted_sequence.spec
    size = line.shape[-1] if line.ndim else 1
    one = line.ndim == 1
    shape = tuple(self.spec.shape)
    out = p.result(spec(dtype, shape, None, p.device))
    wide = compute_dtype(p.promote([sorted_sequence, self], [])) \
        if self.spec.ndim else compute_dtype(line.dtype) \
        if line.dtype.category >= self.spec.dtype.category else compute_dtype(self.spec.dtype)
    rows_of = [r.seen((shape, (*(0 for _ in shape),) if one else
                       (*r.spec.strides[:-1], 0), 0))
               for r in (sorted_sequence, *([sorter] if sorter is not None else []))]
    step = line.strides[-1]

    def at(place: Expr) -> Expr:
        if sorter is not None:
            place = ir.load(1, int64, place * p.fixed(sorter.spec.strides[-1], int64))
        return cast(ir.load(0, line.dtype, place * p.fixed(step, int64)), wide)

    def body(*loads: Expr) -> Expr:
        value = cast(loads[-1], wide)
        found, count = const(0, int64), p.fixed(size, int64)
        jump = 1 << max(size.bit_length() - 1, 0)
        while jump and size:
            further = found + jump
            inside = further <= count
            here = at(where(inside, further - 1, const(0, int64)))
            passed = ~(here > value) if right else ~(here >= value)
            found = where(inside & passed, further, found)
            jump >>= 1
        return cast(found, dtype)

    p.flat(body, [*rows_of, self], [out])


rows("search_sorted(Tensor sorted_sequence, Tensor self, bool right, Tensor? sorter, "
     "dtype dtype) -> Tensor", _search, kind="gather", method=False)


def _searchsorted(ops: Any, sorted_sequence: Any, self: Any, out_int32: bool, right: bool,
                  side: Any, sorter: Any) -> Any:
    if side not in (None, "left", "right"):
        raise RuntimeError("torch.searchsorted(): side can only be 'left' or 'right' but got "
                           f"{side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got "
                           "side of left while right was True")
    if not ops.is_tensor(self):
        if sorted_sequence.dim() != 1:
            raise RuntimeError("torch.searchsorted(): input value can be a scalar only when "
                               "boundaries tensor dimension is 1")
        self = ops.scalar_tensor(self, sorted_sequence)
    _check_search(sorted_sequence, self, sorter)
    return ops.search_sorted(sorted_sequence, self, right or side == "right", sorter,
                             int32 if out_int32 else int64)


def _check_search(line: Any, values: Any, sorter: Any) -> None:
    if line.dim() == 0:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive "
                           "dimension, but got 0 dimension")
    if line.dim() != 1 and tuple(line.shape[:-1]) != tuple(values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(line.shape)} and input value tensor {list(values.shape)}")
    if sorter is None:
        return
    if tuple(sorter.shape) != tuple(line.shape):
        raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size, "
                           f"but got boundary tensor {list(line.shape)}and got sorter tensor "
                           f"{list(sorter.shape)}")
    if sorter.dtype is not int64:
        raise RuntimeError("torch.searchsorted(): sorter must be a tensor of long dtype but got "
                           f"dtype {places.type_name(sorter)}")


composite("searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
          "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", _searchsorted,
          numbers=("self",), out=True, method=False,
          doc="Where values would go in a sorted last dimension.")


def _bucketize(ops: Any, self: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    if boundaries.dim() != 1:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension, but "
                           f"got dim {boundaries.dim()}")
    return _searchsorted(ops, boundaries, self, out_int32, right, None, None)


composite("bucketize(Tensor self, Tensor boundaries, *, bool out_int32=False, "
          "bool right=False) -> Tensor", _bucketize, numbers=("self",),
          out=True, method=False,
          doc="The number of the bucket between boundaries that each value lies in.")


# ---- sets ------------------------------------------------------------------------------------

def _changes(p: Any, self: Any) -> None:
    """Where a line's value differs from the one before (the first does)."""
    size = self.spec.shape[0]
    out = p.result(spec(bool_, (size,), None, p.device))
    if not size:
        return
    p.flat(lambda: const(1, bool_), [], [out.seen(((1,), (1,), 0))])
    step, wide = self.spec.strides[0], compute_dtype(self.spec.dtype)
    if size > 1:
        before, after = (self.seen(((size - 1,), (step,), start)) for start in (0, step))
        p.flat(lambda a, b: cast(a, wide).ne(cast(b, wide)), [after, before],
               [out.seen(((size - 1,), (1,), 1))])


rows("changes(Tensor self) -> Tensor", _changes, kind="copy", method=False)


def _runs(ops: Any, flags: Any, inverse: bool, counts: bool) -> tuple[Any, Any, Any]:
    """Where runs start, which run each position is in, and how long the runs are."""
    starts = ops.reshape(ops._found_positions(flags), (-1,))
    which = ops.sub(ops.cumsum(flags, 0), 1) if inverse else None
    lengths = None
    if counts:
        end = ops.full((1,), flags.numel(), dtype=int64, device=flags.device)
        lengths = ops.sub(ops.cat([ops.narrow(starts, 0, 1, max(starts.numel() - 1, 0)), end]),
                          starts) if starts.numel() else starts
    return starts, which, lengths


def _unique(ops: Any, self: Any, inverse: bool, counts: bool, dim: Any, consecutive: bool) -> Any:
    if dim is not None:
        return _unique_slices(ops, self, inverse, counts, dim, consecutive)
    shape = tuple(self.shape)
    line, order = ops.reshape(self, (-1,)), None
    if not consecutive:
        line, order = ops.sort_order(line, 0, False)
    flags = ops.changes(line)
    values = None if inverse or counts else ops._masked(line, flags)
    if values is not None:
        return values, None, None
    starts, which, lengths = _runs(ops, flags, inverse, counts)
    values = ops.index_at(line, (0,), [starts])
    if which is not None:
        if order is not None:
            which = ops.scatter_fold(ops.empty_like(which), 0, order, which, "")
        which = ops.reshape(which, shape)
    return values, which, lengths


def _ranks(ops: Any, table: Any) -> Any:
    """Of each column: the number of smaller different values; equal values get equal ranks."""
    ordered, order = ops.sort_order(table, 0, False)
    size = table.shape[0]
    new = ops.ne(ops.narrow(ordered, 0, 1, size - 1), ops.narrow(ordered, 0, 0, size - 1))
    zero = ops.zeros((1, table.shape[1]), dtype=bool_, device=table.device)
    dense = ops.cumsum(ops.cat([zero, new], 0), 0)
    return ops.scatter_fold(ops.empty_like(dense), 0, order, dense, "")


def _row_ranks(ops: Any, table: Any) -> Any:
    """The rank of each row in lexicographic order: neighbouring columns are joined in pairs."""
    count = table.shape[0]
    ranks = _ranks(ops, table)
    while ranks.shape[1] > 1:
        columns = ranks.shape[1]
        half = columns // 2
        pairs = ops.reshape(ops.narrow(ranks, 1, 0, 2 * half), (count, half, 2))
        joined = ops.add(ops.mul(ops.select(pairs, 2, 0), count), ops.select(pairs, 2, 1))
        if columns % 2:
            joined = ops.cat([joined, ops.narrow(ranks, 1, columns - 1, 1)], 1)
        ranks = _ranks(ops, joined)
    return ops.reshape(ranks, (-1,))


def _unique_slices(ops: Any, self: Any, inverse: bool, counts: bool, dim: int, consecutive: bool
                   ) -> Any:
    d = algebra.wrap_dim(dim, self.dim())
    count = self.shape[d]
    if self.numel() == 0:
        if count == 0 or 0 not in [n for k, n in enumerate(self.shape) if k != d]:
            empty = ops.empty((0,), dtype=int64, device=self.device)
            return self, empty, empty
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique "
                           "cannot be applied")
    table = ops.reshape(ops.contiguous(ops.movedim(self, d, 0)), (count, -1))
    ranks = _row_ranks(ops, table)
    if consecutive:
        order = None
        line = ranks
    else:
        line, order = ops.sort_order(ranks, 0, False)
    starts, which, lengths = _runs(ops, ops.changes(line), inverse, counts)
    if order is not None:
        if which is not None:
            which = ops.scatter_fold(ops.empty_like(which), 0, order, which, "")
        starts = ops.index_at(order, (0,), [starts])
    return ops.index_select(self, d, starts), which, lengths


def _answer(values: Any, which: Any, lengths: Any, inverse: bool, counts: bool) -> Any:
    made = (values, *((which,) if inverse else ()), *((lengths,) if counts else ()))
    return made if len(made) > 1 else values


def _unique_public(consecutive: bool) -> Any:
    def body(ops: Any, self: Any, *rest: Any) -> Any:
        inverse, counts, dim = rest[-3:]
        values, *more = _unique(ops, self.detach(), inverse, counts, dim, consecutive)
        name = "unique_consecutive" if consecutive else "_unique2" if dim is None else "unique_dim"
        if ops.has_derivative(self):
            values = ops.underived(values, self, name)
        return _answer(values, *more, inverse, counts)
    return body


def _no_derivative(name: str) -> Any:
    raise underived(name) if name not in _NODES else missing_derivative(name)


#: PyTorch's node, where it has one; others have none and no derivative.
_NODES = {"_unique2": "Unique2Backward0", "unique_dim": "UniqueDimBackward0",
          "unique_consecutive": "UniqueConsecutiveBackward0"}
rows("underived(Tensor values, Tensor self, str name) -> Tensor",
     lambda p, values, self, name: p.flat(lambda x: x, [values], [p.result(values.spec)]),
     kind="copy", method=False, backward={"self": _no_derivative},
     node_name=lambda plan: _NODES.get(plan.values[2], "NotImplemented"))


composite("unique(Tensor self, bool sorted=True, bool return_inverse=False, "
          "bool return_counts=False, int? dim=None) -> Tensor", _unique_public(False),
          doc="The different values (or slices of dim), in order.")
composite("unique_consecutive(Tensor self, bool return_inverse=False, "
          "bool return_counts=False, int? dim=None) -> Tensor", _unique_public(True),
          doc="The values (or slices of dim) without repetitions that follow each other.")


def _isin(ops: Any, elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    if not ops.is_tensor(elements):
        elements = ops.scalar_tensor(elements, test_elements)
    number = not ops.is_tensor(test_elements)
    dtype = elements.dtype if number else promote(elements.dtype, test_elements.dtype)
    if dtype.category in (BOOL, COMPLEX) or isinstance(test_elements, complex):
        shown = SCALAR_NAMES[complex128 if isinstance(test_elements, complex) else dtype]
        raise RuntimeError(f"Unsupported input type encountered for isin(): {shown}")
    if number:
        return (ops.ne if invert else ops.eq)(elements, test_elements)
    flat = ops.reshape(test_elements, (-1,))
    if flat.numel() == 0:
        return ops.full(tuple(elements.shape), invert, dtype=bool_, device=elements.device)
    if flat.numel() == 1:
        return (ops.ne if invert else ops.eq)(elements, ops.reshape(flat, ()))
    line = ops.sort_order(flat, 0, False)[0]
    at = ops.clamp(ops.searchsorted(line, elements), None, flat.numel() - 1)
    found = ops.index_at(line, (0,), [at])
    return ops.ne(found, elements) if invert else ops.eq(found, elements)


composite("isin(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
          "bool invert=False) -> Tensor", _isin, out=True,
          numbers=("elements", "test_elements"), method=False,
          doc="Whether each element is among the test elements.")


# ---- counts ----------------------------------------------------------------------------------

def _bincount(ops: Any, self: Any, weights: Any, minlength: int) -> Any:
    if self.dtype.category != INTEGRAL:
        raise NotImplementedError(
            f"\"bincount_cpu\" not implemented for '{SCALAR_NAMES[self.dtype]}'")
    if self.dim() != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and tuple(weights.shape) != tuple(self.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    size = minlength
    if self.numel():
        if int(ops.amin(self)) < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        size = max(size, int(ops.amax(self)) + 1)
    dtype = int64 if weights is None else weights.dtype if weights.dtype.category == FLOATING \
        else float64
    made = ops.zeros((size,), dtype=dtype, device=self.device)
    where_ = ops.to_dtype(self, int64) if self.dtype is not int64 else self
    if weights is None:
        return ops.scatter_fold_(made, 0, where_, 1, "sum") if self.numel() else made
    if weights.dtype is not dtype:
        weights = ops.to_dtype(weights, dtype)
    return ops.scatter_fold_(made, 0, where_, weights.detach(), "sum")


composite("bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor", _bincount,
          samples=lambda make: [(make.integers(7),), (make.integers(5), None, 9)],
          doc="How often each non-negative integer occurs.")


def _histc(p: Any, self: Any, bins: int, low: float, high: float) -> None:
    dtype = self.spec.dtype
    out = p.result(spec(dtype, (bins,), None, p.device))
    p.flat(lambda: const(0, dtype), [], [out])
    line, size = p.joined(self, self.spec.ndim)
    place = p.temporary((size,), int64)
    wide = compute_dtype(dtype) if dtype.category == FLOATING else float64

    def which(load: Expr) -> Expr:
        value = cast(load, wide)
        first, last = p.argument(2, wide), p.argument(3, wide)
        inside = (value >= first) & (value <= last)
        at = cast((value - first) * p.fixed(bins, wide) / (last - first), int64)
        at = where(at.eq(p.fixed(bins, int64)), at - 1, at)
        return where(inside, at, const(-1, int64))

    p.flat(which, [line], [place])
    places.collected(p, out, lambda target: places.put(
        p, target, [], [], lambda: const(1, target.spec.dtype), place, "sum",
        offset=lambda at: where(at < 0, const(0, int64), at), guard=lambda at: at >= 0), "sum")


rows("histogram_fixed(Tensor self, int bins, Scalar low, Scalar high) -> Tensor", _histc,
     kind="scatter", method=False)


def _histc_public(ops: Any, self: Any, bins: int, min: Any, max: Any) -> Any:
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    if self.dtype.category == BOOL:
        raise NotImplementedError("\"histogram_cpu\" not implemented for 'Bool'")
    low, high = min, max
    if low > high:
        raise RuntimeError("max must be larger than min")
    if low == high and self.numel():
        low, high = ops.amin(self).item(), ops.amax(self).item()
    if low == high:
        low, high = low - 1, high + 1
    if not (float("-inf") < low and high < float("inf")):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    return ops.histogram_fixed(self, bins, float(low), float(high))


composite("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
          _histc_public, out=True, doc="How many elements lie in each of `bins` equal ranges.")


# ---- one answer ------------------------------------------------------------------------------

def _equal(ops: Any, self: Any, other: Any) -> bool:
    for place, (name, value) in enumerate((("input", self), ("other", other)), 1):
        if not ops.is_tensor(value):
            raise TypeError(f"equal(): argument '{name}' (position {place}) must be Tensor, not "
                            f"{type(value).__name__}")
    if tuple(self.shape) != tuple(other.shape):
        return False
    return bool(ops.all(ops.eq(self, other)))


def _allclose(ops: Any, self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    return bool(ops.all(ops.isclose(self, other, rtol, atol, equal_nan)))


composite("equal(Tensor self, Tensor other) -> bool", _equal,
          doc="Whether shapes and all elements are the same.")
composite("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
          "bool equal_nan=False) -> bool", _allclose,
          doc="Whether all elements are close (see isclose).")
