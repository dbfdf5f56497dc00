"""scaled_dot_product_attention: softmax(scale * q @ k.T + mask) @ v, by tiles of the scores.

The scores of a tile (some heads, some rows of q, all keys) are made, scaled to weights and used
while they lie in the cache; then the next tile takes their place. Memory grows with the length of
the sequences, not with its square. What backward needs of the weights is one number a row, the
logarithm of the sum: it makes each tile anew. Tiles follow from sizes only, and each one's products
are bitwise the same for any number of threads.

Scores, sums and what is added up are in the compute dtype. Factors of products in bfloat16 stay in
it, weights included, as machines have units for such products; those in float16 are widened.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, bfloat16, bool_, int64
from ..core.memory_formats import pointwise
from ..core.spec import spec
from ..core.views import broadcast_shapes, collapse, expand_strides
from ..loops.ir import Expr, cast, const, coord, fold
from ..loops.scalar import exp, log, where
from .kinds import composite, compute_dtype, rows
from .products import spoken, turned

TILE = 1 << 18  # scores in a tile: 1 MiB of float32
TILES = 256  # more tiles than this make larger ones
CAUSAL_ROWS = 112  # with a causal mask a tile's later keys are skipped: fewer rows skip more
SCATTERED = 1 << 16  # scores of heads that lie evenly, below which a launch does too little
GOALS = ("out", "sums", "dquery", "dkey", "dvalue")  # written, not read
INFINITY = float("inf")


@dataclass(frozen=True)
class _Tile:
    """A place in the joined batch dimensions but the last, heads of the last, rows of q, keys."""

    place: tuple[int, ...]
    heads: tuple[int, int]
    rows: tuple[int, int]
    keys: int


class _Batches:
    """Operands of (*batch, x, y), their batch dimensions joined as far as all allow."""

    def __init__(self, batch: Sequence[int], refs: dict[str, Any]) -> None:
        strides = {}
        for name, ref in refs.items():
            full = (*batch, *ref.spec.shape[-2:])
            strides[name] = expand_strides(ref.spec.shape, ref.spec.strides, full)
        count = len(batch)
        sizes, steps = collapse(list(batch), [s[:count] for s in strides.values()])
        self.sizes = sizes or [1]
        self.refs = refs
        self.steps = {name: list(s) or [0] for name, s in zip(refs, steps, strict=True)}
        self.last = {name: s[count:] for name, s in strides.items()}

    def tile(self, name: str, tile: _Tile, first: tuple[int, int] | None = None,
             second: int | None = None) -> Any:
        """(heads, x, y) of one operand: x from `first`, y up to `second`."""
        ref, steps, (row, column) = self.refs[name], self.steps[name], self.last[name]
        shape = ref.spec.shape[-2:]
        start, stop = first or (0, shape[0])
        beyond = tile.heads[0] * steps[0] + start * row + sum(
            at * s for at, s in zip(tile.place, steps[1:], strict=True))
        return ref.seen(((tile.heads[1] - tile.heads[0], stop - start,
                          shape[1] if second is None else second),
                         (steps[0], row, column), beyond))


def _tiles(sizes: Sequence[int], length: int, keys: int, causal: bool) -> Iterator[_Tile]:
    """Cut the scores of all batches; `sizes` are the batch dimensions, innermost first."""
    scores = math.prod(sizes) * length * keys
    goal = max(TILE, scores // TILES)
    height = max(1, min(length, goal // max(keys, 1)))
    if causal:
        height = min(height, CAUSAL_ROWS)
    heads = max(1, min(sizes[0], goal // max(height * keys, 1)))
    places: list[tuple[int, ...]] = [()]
    for size in reversed(sizes[1:]):
        places = [(at, *rest) for rest in places for at in range(size)]
    for place in places:
        for head in range(0, sizes[0], heads):
            for row in range(0, length, height):
                stop = min(row + height, length)
                yield _Tile(place, (head, min(head + heads, sizes[0])), (row, stop),
                            min(keys, stop) if causal else keys)


# ---- scores and weights of a tile ------------------------------------------------------------

@dataclass(frozen=True)
class _Problem:
    """What both directions share: the operands, the batch, the mask's rule."""

    batches: _Batches
    batch: tuple[int, ...]
    length: int
    keys: int
    wide: Any  # the dtype of scores and sums
    low: Any  # ... of the products' factors
    scale: float
    causal: bool
    masked: bool
    positions: Any  # the number of each row of q, for causal masks

    def tiles(self) -> Iterator[_Tile]:
        return _tiles(self.batches.sizes, self.length, self.keys, self.causal)

    def largest(self) -> int:
        """The scores of the largest tile."""
        return max(((t.heads[1] - t.heads[0]) * (t.rows[1] - t.rows[0]) * t.keys
                    for t in self.tiles()), default=0)


def _low(dtype: Any) -> Any:
    """The dtype in which operands of this one are factors of products."""
    return dtype if dtype is bfloat16 else compute_dtype(dtype)


def _kept(p: Any, ref: Any, dtype: Any, dense: bool = False) -> Any:
    """The operand in a dtype, and row-major if it must be."""
    kept = ref.spec.dtype is dtype or ref.spec.dtype is bool_
    if kept and (ref.spec.contiguous or not dense):
        return ref
    made = p.temporary(tuple(ref.spec.shape), ref.spec.dtype if kept else dtype)
    p.flat(lambda v: v, [ref], [made])
    return made


def _problem(p: Any, operands: dict[str, Any], mask: Any, causal: bool, scale: float) -> _Problem:
    q, k, v = (operands[n] for n in ("query", "key", "value"))
    wide, low = compute_dtype(q.spec.dtype), _low(q.spec.dtype)
    batch = broadcast_shapes(q.spec.shape[:-2], k.spec.shape[:-2], v.spec.shape[:-2])
    length, keys = q.spec.shape[-2], k.spec.shape[-2]
    dense = _scattered(batch, q, k)
    refs = {name: ref if name in GOALS else _kept(p, ref, wide if name == "along" else low, dense)
            for name, ref in operands.items()}
    if mask is not None:
        full = (*batch, length, keys)
        steps = expand_strides(mask.spec.shape, mask.spec.strides, full)
        refs["mask"] = _kept(p, mask, wide)
        if refs["mask"] is not mask:
            steps = expand_strides(mask.spec.shape, refs["mask"].spec.strides, full)
        refs["mask"] = refs["mask"].seen((full, steps, 0))
    positions = None
    if causal:
        positions = p.temporary((length,), int64)
        p.flat(lambda: coord("point"), [], [positions])
    return _Problem(_Batches(batch, refs), batch, length, keys, wide, low, scale, causal,
                    mask is not None, positions)


def _scattered(batch: tuple[int, ...], query: Any, key: Any) -> bool:
    """Whether batches that do not lie evenly are so small that copies cost less than launches."""
    length, keys = query.spec.shape[-2], key.spec.shape[-2]
    sizes = _Batches(batch, {"query": query}).sizes
    return len(sizes) > 1 and sizes[0] * length * keys < SCATTERED


def _rooms(p: Any, problem: _Problem, count: int) -> list[tuple[Any, Any]]:
    """Memory for scores of one tile, and for the factors made of them: the same, or narrower."""
    made = []
    for _ in range(count):
        wide = p.temporary((problem.largest(),), problem.wide)
        made.append((wide, wide if problem.low is problem.wide else
                     p.temporary((problem.largest(),), problem.low)))
    return made


def _scores(p: Any, problem: _Problem, room: Any, tile: _Tile) -> Any:
    """scale * q @ k.T of one tile."""
    b = problem.batches
    made = _shaped(room, tile)
    p.product(b.tile("query", tile, tile.rows), turned(b.tile("key", tile, (0, tile.keys))), made,
              alpha=problem.scale)
    return made


def _shaped(room: Any, tile: _Tile) -> Any:
    shape = (tile.heads[1] - tile.heads[0], tile.rows[1] - tile.rows[0], tile.keys)
    return room.seen((shape, (shape[1] * shape[2], shape[2], 1), 0))


def _mask_operands(problem: _Problem, tile: _Tile) -> list[Any]:
    """What the mask's rule reads beside the scores."""
    made = []
    if problem.masked:
        made.append(problem.batches.tile("mask", tile, tile.rows, tile.keys))
    if problem.causal:
        start, stop = tile.rows
        heads = tile.heads[1] - tile.heads[0]
        made.append(problem.positions.seen(((heads, stop - start), (0, 1), start)).as_rows())
    return made


def _masked(problem: _Problem, score: Expr, rest: Sequence[Expr]) -> Expr:
    """The score where the masks let it through, -inf elsewhere."""
    away = const(-INFINITY, score.dtype)
    for x in rest:
        if x.dtype is bool_:
            score = where(x, score, away)
        elif x.dtype is int64:
            score = where(coord("inner") <= x, score, away)
        else:
            score = score + x
    return score


# ---- forward ---------------------------------------------------------------------------------

def _attention(p: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float
               ) -> None:
    operands = {"query": query, "key": key, "value": value}
    batch = broadcast_shapes(*(r.spec.shape[:-2] for r in operands.values()))
    shape = (*batch, query.spec.shape[-2], value.spec.shape[-1])
    order = pointwise([query.spec], shape) if tuple(query.spec.shape) == shape else None
    if order is not None and order[-1] != 1:
        order = None
    out = p.result(spec(query.spec.dtype, shape, order, p.device))
    wide = compute_dtype(query.spec.dtype)
    sums = p.result(spec(wide, (*shape[:-1], 1), None, p.device))
    apart = _scattered(batch, query, key) and not out.spec.contiguous
    low = _low(query.spec.dtype)
    goal = out if low is query.spec.dtype and not apart else p.temporary(shape, low)
    problem = _problem(p, {**operands, "out": goal, "sums": sums}, mask, causal, scale)
    ((room, other),) = _rooms(p, problem, 1)
    for tile in problem.tiles():
        weights = _shaped(other, tile)
        _to_weights(p, problem, tile, _scores(p, problem, room, tile), weights)
        b = problem.batches
        p.product(weights, b.tile("value", tile, (0, tile.keys)), b.tile("out", tile, tile.rows))
    if goal is not out:
        p.flat(lambda v: v, [goal], [out])


def _to_weights(p: Any, problem: _Problem, tile: _Tile, scores: Any, weights: Any) -> None:
    """exp of the scores, scaled to sum to 1 in each row; a row that is masked whole gives zeros."""

    def body(score: Expr, *rest: Expr) -> tuple[Expr, Expr]:
        score = _masked(problem, score, rest)
        top = fold("max", score)
        zero = const(0, score.dtype)
        empty = top.eq(-INFINITY)
        safe = where(empty, zero, top)
        raised = exp(score - safe)
        total = fold("sum", raised)
        weight = raised / where(empty, const(1, score.dtype), total)
        return weight, where(empty, top, log(total) + safe)

    heads, length, keys = scores.spec.shape
    sums = problem.batches.tile("sums", tile, tile.rows)
    flat = sums.seen(((heads, length), tuple(sums.spec.strides[:2]), 0)).as_rows()
    p.rows(body, [scores, *_mask_operands(problem, tile)], [weights, flat], (heads, length), keys)


# ---- backward --------------------------------------------------------------------------------

def _attention_slopes(p: Any, grad: Any, query: Any, key: Any, value: Any, mask: Any, output: Any,
                      sums: Any, causal: bool, scale: float) -> None:
    """The gradients of q, k and v, those of k and v for each head of q."""
    batch = tuple(output.spec.shape[:-2])
    wide, low = compute_dtype(query.spec.dtype), _low(query.spec.dtype)
    given = {"query": query, "key": key, "value": value}
    made, goals = [], {}
    for name, ref in given.items():
        shape = (*batch, *ref.spec.shape[-2:])
        made.append(p.result(spec(ref.spec.dtype, shape, None, p.device)))
        kept = low if name == "query" else wide
        goals["d" + name] = made[-1] if ref.spec.dtype is kept else p.temporary(shape, kept)
    for name in ("dkey", "dvalue"):  # tiles of rows add to them
        p.flat(lambda: const(0, wide), [], [goals[name]])
    along = p.temporary((*batch, query.spec.shape[-2], 1), wide)
    _row_products(p, grad, output, along, wide)
    problem = _problem(p, {**given, **goals, "grad": grad, "sums": sums, "along": along}, mask,
                       causal, scale)
    rooms = _rooms(p, problem, 2)
    for tile in problem.tiles():
        _slopes_of(p, problem, tile, *rooms)
    for goal, out in zip(goals.values(), made, strict=True):
        if goal is not out:
            p.flat(lambda v: v, [goal], [out])


def _row_products(p: Any, grad: Any, output: Any, along: Any, wide: Any) -> None:
    """The sum of grad * output of each row: what the softmax's gradient takes off."""
    shape = tuple(output.spec.shape)
    flat = along.seen((shape[:-1], tuple(along.spec.strides[:-1]), 0)).as_rows()
    p.rows(lambda g, o: fold("sum", cast(g, wide) * cast(o, wide)), [grad, output], [flat],
           shape[:-1], shape[-1])


def _slopes_of(p: Any, problem: _Problem, tile: _Tile, room: tuple[Any, Any],
               other: tuple[Any, Any]) -> None:
    """One tile: weights anew, their gradient, and what both give to q, k and v."""
    b = problem.batches
    scores = _scores(p, problem, room[0], tile)
    grad = b.tile("grad", tile, tile.rows)
    pulls, weights, slopes = (_shaped(each, tile) for each in (other[0], room[1], other[1]))
    p.product(grad, turned(b.tile("value", tile, (0, tile.keys))), pulls)
    heads, length, keys = weights.spec.shape
    numbers = [b.tile(name, tile, tile.rows) for name in ("sums", "along")]
    numbers = [n.seen(((heads, length), tuple(n.spec.strides[:2]), 0)).as_rows() for n in numbers]

    def body(score: Expr, slope: Expr, total: Expr, taken: Expr, *rest: Expr
             ) -> tuple[Expr, Expr]:
        score = _masked(problem, score, rest)
        zero = const(0, score.dtype)
        weight = where(total.eq(-INFINITY), zero, exp(score - total))
        return weight, weight * (slope - taken)

    p.rows(body, [scores, pulls, *numbers, *_mask_operands(problem, tile)], [weights, slopes],
           (heads, length), keys)
    keyed = (0, tile.keys)
    for name, left, right, alpha in (("dvalue", weights, grad, 1.0), (
            "dkey", slopes, b.tile("query", tile, tile.rows), problem.scale)):
        goal = b.tile(name, tile, keyed)
        p.product(turned(left), right, goal, initial=goal, alpha=alpha)
    p.product(slopes, b.tile("key", tile, keyed), b.tile("dquery", tile, tile.rows),
              alpha=problem.scale)


rows("attention_slopes(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? mask, "
     "Tensor output, Tensor sums, bool causal, any scale) -> (Tensor, Tensor, Tensor)",
     _attention_slopes, kind="contraction", method=False)


def _attention_back(ops: Any, grads: Any, query: Any, key: Any, value: Any, mask: Any,
                    result0: Any, result1: Any, causal: bool, scale: float) -> Any:
    grad = grads[0]
    if ops.has_derivative(grad, query, key, value):
        return _differentiable(ops, grad, query, key, value, mask, causal, scale)
    made = ops.attention_slopes(grad, query, key, value, mask, result0, result1, causal, scale)
    return tuple(ops.sum_to_size(g, tuple(t.shape))
                 for g, t in zip(made, (query, key, value), strict=True))


def _differentiable(ops: Any, grad: Any, query: Any, key: Any, value: Any, mask: Any,
                    causal: bool, scale: float) -> Any:
    """The same by operators of the tape: for gradients of gradients."""
    weights = _weights(ops, query, key, mask, causal, scale)
    slope = ops.matrix_product(grad, value, False, True, 1)
    taken = ops.sum(ops.mul(slope, weights), (-1,), True)
    slope = ops.mul(weights, ops.sub(slope, taken))
    made = (ops.matrix_product(slope, key, False, False, scale),
            ops.matrix_product(slope, query, True, False, scale),
            ops.matrix_product(weights, grad, True, False, 1))
    return tuple(ops.sum_to_size(g, tuple(t.shape))
                 for g, t in zip(made, (query, key, value), strict=True))


def _node_name(plan: Any) -> str:
    rank = plan.results[0].ndim
    return {4: "ScaledDotProductFlashAttentionForCpuBackward0", 2: "MmBackward0"}.get(
        rank, "UnsafeViewBackward0")


rows("attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, any scale) -> "
     "(Tensor, Tensor)", _attention, kind="contraction", method=False, node_name=_node_name,
     backward={("query", "key", "value"): _attention_back})


# ---- the public function ---------------------------------------------------------------------

def _weights(ops: Any, query: Any, key: Any, mask: Any, causal: bool, scale: float) -> Any:
    """softmax(scale * q @ k.T + mask) as a tensor; rows that are masked whole are zeros."""
    scores = ops.matrix_product(query, key, False, True, scale)
    if causal:
        length, keys = scores.shape[-2:]
        mask = ops.le(ops.arange(keys), ops.unsqueeze(ops.arange(length), -1))
    if mask is None:
        return ops.softmax(scores, -1)
    if mask.dtype is bool_:
        scores = ops.select_where(mask, scores, -INFINITY)
    else:
        scores = ops.add(scores, mask if mask.dtype is scores.dtype
                         else ops.to_dtype(mask, scores.dtype))
    empty = ops.eq(ops.amax(scores, (-1,), True), -INFINITY)
    made = ops.softmax(ops.select_where(empty, 0.0, scores), -1)
    return ops.select_where(empty, 0.0, made)


class _Named:
    """A tensor's spec where messages name dtypes."""

    def __init__(self, tensor: Any) -> None:
        self.spec = tensor._spec


def _check(query: Any, key: Any, value: Any, mask: Any, causal: bool) -> None:
    given = (query, key, value)
    if any(t.dim() < 2 for t in given):
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead.")
    if query.dtype is not key.dtype or key.dtype is not value.dtype:
        q, k, v = (spoken(_Named(t)) for t in given)
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got "
                           f"query.dtype: {q} key.dtype: {k} and value.dtype: {v} instead.")
    if query.dtype.category != FLOATING:
        raise RuntimeError("expected scalar type Float but found "
                           f"{SCALAR_NAMES[query.dtype]}")
    if mask is None:
        return
    if causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set "
                           "when is_causal=True")
    if mask.dtype is not bool_ and mask.dtype is not query.dtype and \
            mask.dtype.name != "float32":
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {spoken(_Named(mask))} and  query.dtype: "
            f"{spoken(_Named(query))} instead.")


def _check_sizes(query: Any, key: Any, value: Any) -> tuple[int, ...]:
    batch = broadcast_shapes(*(t.shape[:-2] for t in (query, key, value)))
    count = math.prod(batch)
    if query.shape[-1] != key.shape[-1]:
        if query.dim() == 2 and key.dim() == 2:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied "
                               f"({query.shape[0]}x{query.shape[1]} and "
                               f"{key.shape[1]}x{key.shape[0]})")
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"{[count, query.shape[-1]]} but got: {[count, key.shape[-1]]}.")
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"{[count, key.shape[-2]]} but got: {[count, value.shape[-2]]}.")
    return tuple(batch)


def _grouped(ops: Any, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """Heads of q in groups that share a head of k and v: one more batch dimension."""
    heads = query.shape[-3]
    for t in (key, value):
        if not t.shape[-3] or heads % t.shape[-3] or t.shape[-3] != key.shape[-3]:
            raise RuntimeError("Number of heads in key and value must divide the number of heads "
                               f"in query, got {key.shape[-3]}, {value.shape[-3]} and {heads}")
    shared = key.shape[-3]
    q = ops.reshape(query, (*query.shape[:-3], shared, heads // shared, *query.shape[-2:]))
    return q, ops.unsqueeze(key, -3), ops.unsqueeze(value, -3)


def _attend(ops: Any, query: Any, key: Any, value: Any, mask: Any, dropout_p: float, causal: bool,
            scale: float | None, grouped: bool) -> Any:
    _check(query, key, value, mask, causal)
    if not 0 <= dropout_p <= 1:
        raise RuntimeError("dropout probability has to be between 0 and 1, but got "
                           f"{dropout_p:g}")
    heads = tuple(query.shape)
    grouped = grouped and query.dim() >= 3 and query.shape[-3] != key.shape[-3]
    if grouped:
        query, key, value = _grouped(ops, query, key, value)
        if mask is not None and mask.dim() >= 3:
            head = mask.shape[-3]
            mask = ops.unsqueeze(mask, -3) if head == 1 else ops.reshape(
                mask, (*mask.shape[:-3], *query.shape[-4:-2], *mask.shape[-2:]))
    batch = _check_sizes(query, key, value)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    if mask is not None:
        ops.expand(mask, (*batch, query.shape[-2], key.shape[-2]))
    if dropout_p or (mask is not None and ops.has_derivative(mask)):
        weights = _weights(ops, query, key, mask, causal, float(scale))
        if dropout_p:
            weights = ops.dropout(weights, dropout_p, True)
        made = ops.matmul(weights, value)
    else:
        made = ops.attention(query, key, value, mask, causal, float(scale))[0]
    return ops.reshape(made, (*heads[:-1], made.shape[-1])) if grouped else made


composite("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask="
          "None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, "
          "bool enable_gqa=False) -> Tensor", _attend, method=False, autocast="lower",
          doc="softmax(query @ key.T * scale + attn_mask) @ value over the last two dimensions.")
