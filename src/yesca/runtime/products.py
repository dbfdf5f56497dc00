"""Matrix products in a plan: operands to kernels of `targets.products`, appended as launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..core import dtypes
from ..core.devices import META
from ..core.dtypes import DType
from ..core.views import collapse, expand_strides
from ..loops import ir
from ..loops.cost import Cost
from ..targets.products import (
    ProductPlan, pairs_pay, plan_product, product_kernel, product_target,
)
from . import kernels, machine

FEW_LAUNCHES = 8  # batches that do not join are launched one by one up to this many,
LAUNCH_FLOPS = 1 << 18  # or where each is worth its launch; else their operands are copied

_planned = lru_cache(1024)(plan_product)
_addresses: dict[tuple[str, str], int] = {}
_target: Any = None


@dataclass(frozen=True)
class Factor:
    """alpha or beta: a number that the plan knows, or the call's argument at `position`."""

    value: Any = 1
    position: int | None = None


ONE = Factor()
WHOLE = ((0,), (0,))  # operands in one piece


def target() -> Any:
    """The shape of this machine, as far as products see it."""
    global _target
    if _target is None:
        _target = product_target(*machine.shaping_features())
    return _target


def kernel_address(kind: str, dtype: str) -> int:
    """The address of a product kernel, compiled or loaded when first asked for."""
    found = _addresses.get((kind, dtype))
    if found is None:
        shape = target()
        key = machine.hash_key("product", kernels.compiler_version(), kind, dtype, repr(shape))
        name = machine.symbol(f"product_{kind}_{dtype}", key)
        module = machine.load(f"product_{kind}_{dtype}",
                              lambda: product_kernel(kind, dtype, shape, name), key)
        found = _addresses[kind, dtype] = module.address(name)
    return found


def compute_dtype(dtype: DType) -> DType:
    """Where sums are kept: float32 for half types."""
    return dtypes.float32 if dtype in dtypes.NARROW_FLOATS else dtype


def product(p: Any, a: Any, b: Any, c: Any, initial: Any = None, alpha: Any = ONE,
            beta: Any = ONE) -> None:
    """c = alpha * a @ b + beta * initial, appended to the program `p`.

    a is (*batch, M, K), b (*batch, K, N), c (*batch, M, N); a, b and `initial` broadcast to c.
    All have one dtype; c may be what `initial` is. Without `initial`, beta is not read. alpha and
    beta are numbers, or what `p.factor` gives: numbers that come with each call.
    """
    alpha, beta = (f if isinstance(f, Factor) else Factor(f) for f in (alpha, beta))
    shape = tuple(c.spec.shape)
    if c.spec.dtype.is_complex:
        from . import complex_products

        complex_products.product(p, a, b, c, initial, alpha, beta)
        return
    if math.prod(shape) == 0 or p.device is META:
        return
    if c.spec.dtype.category != dtypes.FLOATING:
        _integers(p, a, b, c, initial, alpha, beta)
        return
    wide = compute_dtype(c.spec.dtype)
    goal = c
    if c.spec.dtype in dtypes.SMALL_FLOATS:
        a, b = (_widened(p, x, wide) for x in (a, b))
    rounds = pairs_pay(c.spec.dtype.name, *shape[-2:], a.spec.shape[-1], target())
    stored = c.spec.dtype if rounds else wide
    if stored is not c.spec.dtype or not _side_by_side(c, shape):
        goal = p.temporary(shape, stored)
    if initial is not None:
        initial = _initial(p, initial, shape, wide)
    _floats(p, a, b, goal, initial, alpha, beta)
    if goal is not c:
        p.flat(lambda v: v, [goal], [c])


def gathered(p: Any, a: Any, b: Any, c: Any, rows: Sequence[int] = (0,),
             steps: Sequence[int] = (0,)) -> None:
    """c = a @ b, where an operand lies in equal pieces, appended to the program `p`.

    a is (*batch, M / len(rows), K), b (*batch, K / len(steps), N), c (*batch, M, N), all of one
    dtype, no half type, c's columns side by side. rows: elements from `a` to each piece of A's
    rows, which lie along K; steps: from `b` to each piece of B's rows.
    """
    if c.spec.dtype.category == dtypes.FLOATING:
        a, b = a.moved(rows[0]), b.moved(steps[0])
        pieces = tuple(tuple(at - own[0] for at in own) for own in (rows, steps))
        _floats(p, a, b, c, None, ONE, ONE, pieces)
        return
    *batch, m, n = c.spec.shape
    k, part = a.spec.shape[-1] // len(steps), m // len(rows)
    (*outer, a_row, a_step), own = a.spec.strides, tuple(c.spec.strides)
    for at, first in enumerate(rows):
        into = c.seen(((*batch, part, n), own, at * part * own[-2]))
        for step, start in enumerate(steps):
            left = a.seen(((*batch, part, k), (*outer, a_row, a_step), first + step * k * a_step))
            product(p, left, b.moved(start), into, into if step else None)


def _side_by_side(ref: Any, shape: Sequence[int]) -> bool:
    return shape[-1] == 1 or expand_strides(ref.spec.shape, ref.spec.strides, shape)[-1] == 1


def _widened(p: Any, x: Any, wide: DType) -> Any:
    """An operand in the compute dtype."""
    if x.spec.dtype is wide:
        return x
    made = p.temporary(tuple(x.spec.shape), wide)
    p.flat(lambda v: v, [x], [made])
    return made


def _initial(p: Any, initial: Any, shape: tuple[int, ...], wide: DType) -> Any:
    """What is added, in the compute dtype, its columns side by side."""
    own = tuple(initial.spec.shape)
    initial = _widened(p, initial, wide)
    if _side_by_side(initial, shape):
        return initial
    rows = own[-2] if len(own) > 1 else 1
    made = p.temporary((*own[:-2], rows, shape[-1]), wide)
    p.flat(lambda v: v, [initial], [made])
    return made


def _integers(p: Any, a: Any, b: Any, c: Any, initial: Any, alpha: Factor, beta: Factor) -> None:
    """One row per element of c: a sum along K that wraps around as integers do."""
    dtype = c.spec.dtype
    outer = tuple(c.spec.shape)
    *batch, m, n = outer
    k = a.spec.shape[-1]
    steps = expand_strides(a.spec.shape, a.spec.strides, (*batch, m, k))
    left = a.seen(((*outer, k), (*steps[:-1], 0, steps[-1]), 0))
    steps = expand_strides(b.spec.shape, b.spec.strides, (*batch, k, n))
    right = b.seen(((*outer, k), (*steps[:-2], 0, steps[-1], steps[-2]), 0))
    inputs = [left, right]
    if initial is not None:
        steps = expand_strides(initial.spec.shape, initial.spec.strides, outer)
        inputs.append(initial.seen((outer, steps, 0)).as_rows())

    def number(factor: Factor) -> Any:
        if factor.position is not None:
            return p.argument(factor.position, dtype)
        return ir.const(int(factor.value), dtype)

    def body(x: Any, y: Any, *rest: Any) -> Any:
        made = ir.cast(ir.fold("sum", x * y), dtype) * number(alpha)
        for start in rest:
            made = made + start * number(beta)
        return made

    p.rows(body, inputs, [c.as_rows()], outer, k)


def _floats(p: Any, a: Any, b: Any, c: Any, initial: Any, alpha: Factor, beta: Factor,
            pieces: tuple[tuple[int, ...], ...] = WHOLE) -> None:
    """Plan one batch of products, or several where the batch dimensions do not join."""
    *batch, m, n = c.spec.shape
    k = a.spec.shape[-1]
    refs = [_expanded(a, (*batch, m // len(pieces[0]), k)),
            _expanded(b, (*batch, k // len(pieces[1]), n)), c]
    if initial is not None:
        refs.append(_expanded(initial, (*batch, m, n)))
    sizes, steps = _batches(batch, refs)
    if pieces == WHOLE and math.prod(sizes[1:]) > FEW_LAUNCHES and \
            2 * sizes[0] * m * n * k < LAUNCH_FLOPS:
        refs = [_joined(p, r, batch) for r in refs]
        sizes, steps = _batches(batch, refs)
    items = [r.spec.dtype.itemsize for r in refs]
    inner = [[s[0] * i, r.spec.strides[-2] * i, r.spec.strides[-1] * i]
             for s, i, r in zip(steps, items, refs, strict=True)]
    plan = _planned(
        a.spec.dtype.name, sizes[0], m, n, k, tuple(inner[0]), tuple(inner[1]),
        (inner[2][0], inner[2][1]), target=target(), alpha=float(alpha.value),
        beta=float(beta.value),
        initial_strides=(inner[3][0], inner[3][1]) if initial is not None else None,
        a_pieces=tuple(at * items[0] for at in pieces[0]),
        b_pieces=tuple(at * items[1] for at in pieces[1]),
        narrow=c.spec.dtype is dtypes.bfloat16)
    scratch = p.temporary((plan.scratch_bytes,), dtypes.uint8) if plan.scratch_bytes else None
    for place in _places(sizes[1:]):
        moved = [r.moved(sum(at * s for at, s in zip(place, step[1:], strict=True)))
                 for r, step in zip(refs, steps, strict=True)]
        roles = dict(zip(("a", "b", "c", "initial"), moved, strict=False))
        _append(p, plan, {**roles, "scratch": scratch}, {"alpha": alpha, "beta": beta})


def _expanded(ref: Any, shape: tuple[int, ...]) -> Any:
    return ref.seen((shape, expand_strides(ref.spec.shape, ref.spec.strides, shape), 0))


def _batches(batch: Sequence[int], refs: Sequence[Any]) -> tuple[list[int], list[list[int]]]:
    """The batch dimensions joined as far as all operands allow, innermost first."""
    sizes, steps = collapse(list(batch), [list(r.spec.strides[:len(batch)]) for r in refs])
    if not sizes:
        return [1], [[0] for _ in refs]
    return list(sizes), [list(s) for s in steps]


def _joined(p: Any, ref: Any, batch: Sequence[int]) -> Any:
    """The operand, copied if its batch dimensions cannot be one."""
    sizes, _ = collapse(list(batch), [list(ref.spec.strides[:len(batch)])])
    if len(sizes) <= 1:
        return ref
    made = p.temporary(tuple(ref.spec.shape), ref.spec.dtype)
    p.flat(lambda v: v, [ref], [made])
    return made


def _places(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for size in reversed(sizes):
        places = [(at, *rest) for rest in places for at in range(size)]
    return places


def _append(p: Any, plan: ProductPlan, roles: dict[str, Any], factors: dict[str, Factor]) -> None:
    """The launches of a plan, pointers and run-time numbers bound to the call's tensors."""
    total = Cost(plan.bytes_read, plan.bytes_written, plan.flops)
    for index, stage in enumerate(plan.stages):
        words = list(stage.words)
        pointers = []
        for place, role in stage.pointers:
            ref = roles[role]
            beyond, uneven = divmod(words[place], ref.spec.dtype.itemsize)
            assert not uneven
            words[place] = 0
            pointers.append((place, ref.moved(beyond)))
        numbers = tuple(
            (place, p.ordinal(factors[name].position), "f" if stage.dtype == "float64" else "s")
            for place, name in stage.scalars if factors[name].position is not None)
        p.raw(kernel_address(stage.kernel, stage.dtype), words, pointers, stage.units,
              stage.grain, f"product_{stage.kernel}", numbers, None if index else total,
              tuple(place for place, role in stage.pointers if role == stage.goal),
              stage.blocks)
