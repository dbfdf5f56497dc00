"""Order along a dimension: sort, topk, kthvalue, median, mode, running extremes.

Values become unsigned words whose order is the wanted one (`_key`): NaN above all numbers, the
two zeros equal, descending order by complement. Up to 32 bits of value share a word with the
index, so the words are all different and need no partner; wider values sort as pairs.
"""

# Names: cummax cummax_order cummin cummin_order kthvalue_order median median_all median_order
# Names: nanmedian nanmedian_all nanmedian_order

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.dtypes import (
    COMPLEX, FLOATING, SCALAR_NAMES, bool_, float32, float64, int64, uint32, uint64,
)
from ..core.memory_formats import kept
from ..core.spec import spec
from ..loops import ir
from ..loops.ir import Expr, bitcast, cast, const, coord, fold, scan
from ..loops.scalar import isnan, where
from .kinds import composite, compute_dtype, rows
from .reduction import shared_by_all

LOW = (1 << 32) - 1
ROW_GRAIN = 16384  # elements that one chunk of rows sorts at least


def _key(value: Expr, descending: bool) -> Expr:
    """A word (32 bits of it for dtypes up to 32 bits) in the order of the values."""
    dtype = value.dtype
    if dtype.category == FLOATING:
        wide, bits = (float64, uint64) if dtype is float64 else (float32, uint32)
        x = cast(value, wide)
        x = where(x.eq(0), const(0, wide), x)
        raw = bitcast(x, bits)
        top = const(1 << (wide.itemsize * 8 - 1), bits)
        key = where((raw & top).ne(0), ~raw, raw | top)
        key = cast(where(isnan(x), ~const(0, bits), key), uint64)
    elif dtype.itemsize == 8:
        key = cast(value, uint64)
        key = key ^ const(1 << 63, uint64) if dtype.is_signed else key
    else:
        key = cast(cast(value, int64) + const(1 << 31 if dtype.is_signed else 0, int64), uint64)
    if not descending:
        return key
    return ~key if dtype.itemsize == 8 else const(LOW, uint64) - key


def _no_kernel(name: str) -> Any:
    return lambda shown: NotImplementedError(f"\"{name}\" not implemented for '{shown}'")


#: Errors of what orders numbers only.
_NO_TRUTHS = {
    "topk_order": lambda _: RuntimeError("topk does not support bool dtypes on CPU"),
    "kthvalue_order": _no_kernel("kthvalue_cpu"),
    **{f"{name}_order": _no_kernel("median_out") for name in ("median", "nanmedian")},
    **{f"{name}_all": _no_kernel("median_cpu") for name in ("median", "nanmedian")},
}


def _line(p: Any, self: Any, dim: int) -> tuple[Any, int, list[int], int]:
    """self with `dim` last, the dimension's number, the other sizes and its size."""
    if self.spec.dtype.category == COMPLEX:
        shown = {"sort_order": "Sort", "topk_order": "topk"}.get(p.record.name)
        if shown is not None:
            raise RuntimeError(f" {shown} does not support complex dtypes on CPU")
        raise p.record.lacks(SCALAR_NAMES[self.spec.dtype])
    if self.spec.dtype is bool_ and p.record.name in _NO_TRUTHS:
        raise _NO_TRUTHS[p.record.name]("Bool")
    if self.spec.ndim == 0:
        algebra.wrap_dim(dim, 0)
        return self.seen(((1,), (1,), 0)), 0, [], 1
    d = algebra.wrap_dim(dim, self.spec.ndim)
    moved = self.seen(algebra.movedim(self.spec, (d,), (-1,)))
    return moved, d, list(moved.spec.shape[:-1]), moved.spec.shape[-1]


def _ordered(p: Any, x: Any, outer: list[int], size: int, descending: bool, k: int | None = None
             ) -> tuple[Any, Any]:
    """(reference, meaning): words from which the order of each row is read.

    The meaning turns a word into an index: int64 partners stand for themselves, else the index
    is the low half. With `k` only the first k words are in order.
    """
    shape = (*outer, size)
    lines = 1
    for n in outer:
        lines *= n
    keys, spare = p.temporary(shape, uint64), p.temporary(shape, uint64)
    grain = max(1, ROW_GRAIN // max(size, 1))
    if x.spec.dtype.itemsize < 8:
        p.rows(lambda v: (_key(v, descending) << 32) | cast(coord("inner"), uint64), [x], [keys],
               outer, size)
        if k is None:
            p.native("sort_words", [keys, spare], [size, 4], lines if size > 1 else 0, grain)
        elif k:
            p.native("select_words", [keys, spare], [size, k], lines if size > 1 else 0, grain)
        return keys, lambda word: cast(word & const(LOW, uint64), int64)
    order, aside = p.temporary(shape, int64), p.temporary(shape, int64)
    p.rows(lambda v: (_key(v, descending), coord("inner")), [x], [keys, order], outer, size)
    p.native("sort_pairs", [keys, order, spare, aside], [size], lines if size > 1 else 0, grain)
    return order, lambda word: word


def _taken(p: Any, x: Any, words: Any, meaning: Any, outs: list[Any], count: int) -> None:
    """values and indices: the first `count` of each row, in the order of the words."""
    step = x.spec.strides[-1]
    shape = (*x.spec.shape[:-1], count)
    source = x.seen((shape, (*x.spec.strides[:-1], 0), 0))
    first = words.seen((shape, words.spec.strides, 0))

    def body(_: Expr, word: Expr) -> tuple[Expr, Expr]:
        at = meaning(word)
        return ir.load(0, x.spec.dtype, at * p.fixed(step, int64)), at

    p.flat(body, [source, first], outs)


def _results(p: Any, self: Any, d: int, count: int, strides: Any = None) -> list[Any]:
    """The two results, of `count` along the dimension, seen with the dimension last."""
    shape = tuple(self.spec.shape)
    if shape:
        shape = (*shape[:d], count, *shape[d + 1:])
    outs = [p.result(spec(t, shape, strides, p.device)) for t in (self.spec.dtype, int64)]
    if not shape:
        return [o.seen(((1,), (1,), 0)) for o in outs]
    return [o.seen(algebra.movedim(o.spec, (d,), (-1,))) for o in outs]


def _sort(p: Any, self: Any, dim: int, descending: bool) -> None:
    x, d, outer, size = _line(p, self, dim)
    outs = _results(p, self, d, size, kept(self.spec))
    words, meaning = _ordered(p, x, outer, size, descending)
    _taken(p, x, words, meaning, outs, size)


def _put_back(ops: Any, grad: Any, result1: Any, self_spec: Any, dim: int) -> Any:
    if self_spec.ndim == 0:
        return ops.reshape(grad, ())
    return ops.gather_backward(grad, result1, tuple(self_spec.shape), dim)


rows("sort_order(Tensor self, int dim, bool descending) -> (Tensor, Tensor)", _sort, kind="sort",
     method=False, node_name="SortBackward0", backward={"self": _put_back})


def _sort_public(ops: Any, self: Any, dim: Any, descending: bool, stable: Any) -> Any:
    if isinstance(dim, bool):
        raise TypeError("sort(): argument 'dim' (position 2) must be int, not bool")
    return ops.named("sort", ops.sort_order(self, dim, bool(descending)))


composite("sort(Tensor self, int dim=-1, bool descending=False, *, bool? stable=None) -> "
          "(Tensor, Tensor)", _sort_public, out=True,
          doc="The values in order along dim, and where they come from; always stable.")
composite("argsort(Tensor self, int dim=-1, bool descending=False, *, bool stable=False) -> "
          "Tensor", lambda ops, self, dim, descending, stable: ops.sort_order(
              self, dim, bool(descending))[1],
          doc="The indices that sort along dim.")
composite("msort(Tensor self) -> Tensor", lambda ops, self: ops.sort_order(self, 0, False)[0],
          out=True, doc="The values in order along the first dimension.")


def _topk(p: Any, self: Any, k: int, dim: int, largest: bool) -> None:
    x, d, outer, size = _line(p, self, dim)
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range: k is {k}, dimension {d} has size "
                           f"{size}")
    outs = _results(p, self, d, k)
    words, meaning = _ordered(p, x, outer, size, largest, k)
    _taken(p, x, words, meaning, outs, k)


rows("topk_order(Tensor self, int k, int dim, bool largest) -> (Tensor, Tensor)", _topk,
     kind="sort", method=False, node_name="TopkBackward0", backward={"self": _put_back})
composite("topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> "
          "(Tensor, Tensor)", lambda ops, self, k, dim, largest, sorted: ops.named(
              "topk", ops.topk_order(self, int(k), dim, bool(largest))), out=True,
          doc="The k largest (or smallest) values along dim, in order, and where they are.")


# ---- one value of an order -------------------------------------------------------------------

def _one(p: Any, self: Any, d: int, keepdim: bool) -> list[Any]:
    shape = tuple(self.spec.shape)
    if shape:
        shape = (*shape[:d], *((1,) if keepdim else ()), *shape[d + 1:])
    plain = tuple(n for k, n in enumerate(self.spec.shape) if k != d)
    outs = [p.result(spec(t, shape, None, p.device)) for t in (self.spec.dtype, int64)]
    return [o.seen((plain, spec(int64, plain).strides, 0)).as_rows() for o in outs]


def _order_value(p: Any, self: Any, dim: int, keepdim: bool, which: str, k: int) -> None:
    """The k-th smallest value; the median (NaN if there is one), or that of the numbers."""
    x, d, outer, size = _line(p, self, dim)
    if size == 0:
        raise IndexError(f"{which}(): Expected reduction dim {d} to have non-zero size.")
    if which == "kthvalue" and not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    outs = _one(p, self, d, keepdim)
    words, meaning = _ordered(p, x, outer, size, False, k if which == "kthvalue" else None)
    step = x.spec.strides[-1]

    def body(value: Expr, _: Expr, __: Expr) -> tuple[Expr, Expr]:
        value = cast(value, compute_dtype(value.dtype))
        numbers = fold("sum", cast(value.eq(value), int64))
        if which == "kthvalue":
            place = p.fixed(k - 1, int64)
        elif which == "median":
            place = where(numbers < p.fixed(size, int64), numbers, p.fixed((size - 1) // 2, int64))
        else:
            place = where(numbers.eq(0), const(0, int64),
                          ir.operate("idiv", numbers - 1, const(2, int64)))
        at = meaning(ir.load(1, words.spec.dtype, place))
        return ir.load(2, x.spec.dtype, at * p.fixed(step, int64)), at

    first = x.seen((tuple(outer), x.spec.strides[:-1], 0)).as_rows()
    line = words.seen((tuple(outer), words.spec.strides[:-1], 0)).as_rows()
    p.rows(body, [x, line, first], outs, outer, size)


def _place_back(ops: Any, grad: Any, result1: Any, self_spec: Any, dim: int, keepdim: bool) -> Any:
    if self_spec.ndim == 0:
        return grad
    if not keepdim:
        grad, result1 = ops.unsqueeze(grad, dim), ops.unsqueeze(result1, dim)
    return ops.gather_backward(grad, result1, tuple(self_spec.shape), dim)


def _wrapped(dim: int, self: Any) -> int:
    return algebra.wrap_dim(dim, self.dim())


for _name in ("kthvalue", "median", "nanmedian"):
    rows(f"{_name}_order(Tensor self, int dim, bool keepdim, int k) -> (Tensor, Tensor)",
         lambda p, self, dim, keepdim, k, which=_name: _order_value(
             p, self, dim, keepdim, which, k), kind="sort", method=False,
         node_name=f"{_name.capitalize()}Backward{int(_name != 'kthvalue')}",
         backward={"self": _place_back})
for _name in ("median", "nanmedian"):
    rows(f"{_name}_all(Tensor self) -> (Tensor, Tensor)",
         lambda p, self, which=_name: _order_value(p, self, 0, False, which, 0),
         kind="sort", method=False, node_name=f"{_name.capitalize()}Backward0",
         backward={"self": lambda ops, grad, self, result0: shared_by_all(
             ops, grad, self, result0)})
composite("kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
          lambda ops, self, k, dim, keepdim: ops.named("kthvalue", ops.kthvalue_order(
              self, _wrapped(dim, self), keepdim, int(k))), out=True,
          doc="The k-th smallest value along dim, and where it is.")


def _median(name: str) -> Any:
    def body(ops: Any, self: Any, dim: Any, keepdim: bool) -> Any:
        if dim is not None:
            return ops.named(name, getattr(ops, f"{name}_order")(
                self, _wrapped(dim, self), keepdim, 0))
        if self.numel() == 0:
            return ops.full((), float("nan"), dtype=self.dtype, device=self.device)
        return getattr(ops, f"{name}_all")(ops.reshape(self, (-1,)))[0]
    return body


for _name in ("median", "nanmedian"):
    composite(f"{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
              _median(_name), out=True, doc="The lower of the middle values"
              + (", NaN if there is one." if _name == "median" else ", NaN left out."))


def _mode(p: Any, self: Any, dim: int, keepdim: bool) -> None:
    """The longest run of equal values in sorted order; the smallest value wins a tie."""
    x, d, outer, size = _line(p, self, dim)
    if size == 0:
        raise IndexError(f"mode(): Expected reduction dim {d} to have non-zero size.")
    outs = _one(p, self, d, keepdim)
    words, meaning = _ordered(p, x, outer, size, False)
    step = x.spec.strides[-1]
    flat = x.seen(((*outer, size), (*x.spec.strides[:-1], 0), 0))
    lengths = p.temporary((*outer, size), int64)
    wide = compute_dtype(x.spec.dtype)

    def runs(word: Expr, _: Expr) -> Expr:
        i = coord("inner")
        before = meaning(ir.load(0, words.spec.dtype, where(i.eq(0), const(0, int64),
                                                            const(-1, int64))))
        mine, other = (cast(ir.load(1, x.spec.dtype, at * p.fixed(step, int64)), wide)
                       for at in (meaning(word), before))
        new = i.eq(0) | mine.ne(other)
        return i - scan("max", where(new, i, const(0, int64)))

    p.rows(runs, [words, flat], [lengths], outer, size)

    def body(length: Expr, _: Expr, __: Expr) -> tuple[Expr, Expr]:
        at = meaning(ir.load(1, words.spec.dtype, fold("argmax", length)))
        return ir.load(2, x.spec.dtype, at * p.fixed(step, int64)), at

    first = x.seen((tuple(outer), x.spec.strides[:-1], 0)).as_rows()
    line = words.seen((tuple(outer), words.spec.strides[:-1], 0)).as_rows()
    p.rows(body, [lengths, line, first], outs, outer, size)


rows("mode_order(Tensor self, int dim, bool keepdim) -> (Tensor, Tensor)", _mode, kind="sort",
     method=False, node_name="ModeBackward0", backward={"self": _place_back})
composite("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
          lambda ops, self, dim, keepdim: ops.named("mode", ops.mode_order(
              self, _wrapped(dim, self), keepdim)), out=True,
          doc="The most frequent value along dim, and where it is last.")


# ---- running extremes ------------------------------------------------------------------------

def _running(kind: str) -> Any:
    def program(p: Any, self: Any, dim: int) -> None:
        x, d, outer, size = _line(p, self, dim)
        outs = _results(p, self, d, size)
        wide = compute_dtype(self.spec.dtype)

        step = x.spec.strides[-1]

        def body(load: Expr, _: Expr) -> tuple[Expr, Expr]:
            value = cast(load, wide)
            best = scan(kind, value)
            hit = value.eq(best) | isnan(value)
            at = scan("max", where(hit, coord("inner"), const(0, int64)))
            # The value at the index: of equal zeros, `best` may have the other's sign.
            return ir.load(1, x.spec.dtype, at * p.fixed(step, int64)), at

        first = x.seen((tuple(outer), x.spec.strides[:-1], 0)).as_rows()
        p.rows(body, [x, first], outs, outer, size)
    return program


for _kind in ("max", "min"):
    rows(f"cum{_kind}_order(Tensor self, int dim) -> (Tensor, Tensor)", _running(_kind),
         kind="scan", method=False, node_name=f"Cum{_kind}Backward0",
         backward={"self": _put_back})
    composite(f"cum{_kind}(Tensor self, int dim) -> (Tensor, Tensor)",
              lambda ops, self, dim, name=f"cum{_kind}": ops.named(
                  name, getattr(ops, f"{name}_order")(self, _wrapped(dim, self))), out=True,
              doc=f"The {_kind}imum so far along dim, and where it is.")
