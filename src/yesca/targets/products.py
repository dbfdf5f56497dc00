"""Matrix products: C[b] = activation(alpha * A[b] @ B[b] + beta * D[b]).

`plan_product` looks at sizes and strides only and says which kernels to launch, over how many
units; `product_kernel` gives a kernel's LLVM text. Each element is summed by one thread in one
order, so the result is the same bits for any number of threads. The ways:

dots   one row or one column, the matrix read along K: dot products
row    few rows: B read where it lies, in long pieces
dot    few rows or few columns, both operands lying along K: small tiles of dot products
tile   everything else: micro-tiles in registers, after "pack" where reading in place does not pay;
       of the compute dtype, A is packed by the units themselves, a few panels at a time, or B,
       panel by panel, where the rows are so few that each unit has all or half of them;
       so they do with operands in pieces, each of which begins at an offset of its own
pairs  bfloat16 where the machine multiplies pairs of it, after "pairs_pack"
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .products_dot import DOT_WORDS, dot_kernel
from .products_micro import GATHER_ROWS, TILE_WORDS, tile_kernel
from .products_pack import pack_kernel
from .products_pairs import PAIRS_WORDS, SIDE, declared, pairs_kernel, pairs_pack_kernel
from .products_sizes import ALIGN, Packed, Product, ahead, block_inner, panel_bytes
from .products_stages import (
    BLOCK_PANELS, SMALL_INNER, Operand, Stage, compute_stage, cut, element_cost, pack_stage,
)
from .products_text import Blocking, ProductTarget, declarations, product_target

__all__ = ["ProductPlan", "Stage", "pairs_pay", "plan_product", "product_kernel",
           "product_target"]

NEAR_BYTES = 1 << 19  # a B that stays in L2 while other things pass by
FAR_B_BYTES = 1 << 20  # a B that does not stay in L2 from its packing to its use
UPRIGHT_BYTES = 7 << 16  # an A that stays in L2 while a panel of B after the other is packed in L1
FEW_UNITS = 8  # so few that not all threads have something to do
PACK_A_FROM = 512  # columns of C beyond which a packed A is read often enough,
PACK_UPRIGHT_FROM = 255  # ... if its rows lie side by side, so that packing is copying
PACK_B_FROM = 256  # rows of C beyond which a packed B is read often enough
PACK_FAR_FROM = 127  # both, where the steps of K lie so far apart that each is on another page:
FAR_BYTES = 2048  # there few of a panel's lines fit into the sets of a cache that they share,
FAR_STEPS = 96  # ... if the steps are more than the pages that a machine knows at once
DOT_ROWS = 32  # rows of C up to which transposed B is read where it lies, K being long
SMALL_PRODUCT = 1 << 12  # multiplications up to which launches cost more than anything else
GATHER_STEPS = 256  # of K, at least, in a block of rows that lie in pieces
PAIRS_LEAST = 9  # rows, columns and steps of K, and multiplications,
PAIRS_PRODUCT = 1 << 15  # ... from which on products of pairs pay
PAIRS_IN_PLACE = 128  # columns of C up to which A is read where it lies: lines far apart are slow
PAIRS_SPEED = 6  # how much faster they are
PAIRS_NEAR = 3 << 18  # bytes of A that stay in L2 while panels of B pass by
TURN_ELEMENTS = 1 << 16  # elements of B that may be transposed by one thread


@dataclass(frozen=True)
class ProductPlan:
    """The launches of one product, and what they cost."""

    stages: tuple[Stage, ...]
    scratch_bytes: int  # aligned to 64
    flops: int
    bytes_read: int
    bytes_written: int


def product_kernel(kind: str, dtype: str, target: ProductTarget, name: str) -> str:
    """The LLVM module of one kernel of a plan's stages, its entry called `name`.

    `kind` and `dtype` are those of a `Stage`: "pack", "tile", "row", "dot", "dots", "pairs_pack"
    or "pairs". The entry is `void name(ptr words, i64 lo, i64 hi)`.
    """
    if kind in ("pairs", "pairs_pack"):
        text = (pairs_kernel if kind == "pairs" else pairs_pack_kernel)(name, target)
        return declared(text) + text
    if kind == "pack":
        text = pack_kernel(name, target, dtype)
    elif kind == "tile":
        text = tile_kernel(name, target, dtype, target.tile(dtype))
    elif kind == "row":
        text = tile_kernel(name, target, dtype, _row_tile(target, dtype))
    elif kind == "dot":
        text = dot_kernel(name, target, dtype, (*target.dot_tile(dtype), 1))
    elif kind == "dots":
        text = dot_kernel(name, target, dtype, (4, 1, 4 if target.vector_registers >= 32 else 2))
    else:
        raise ValueError(f"[product_kernel] no kernel is called {kind!r}")
    return declarations(text) + text


def _row_tile(target: ProductTarget, dtype: str) -> tuple[int, int]:
    """The micro-tile for few rows: wide, so that B is read in long pieces."""
    lanes = target.lanes(dtype)
    if target.mask_registers:
        return 4, 6 * lanes
    return (4 if target.vector_registers >= 32 else 2), 4 * lanes


def plan_product(
    dtype: str,
    batch: int,
    m: int,
    n: int,
    k: int,
    a_strides: tuple[int, int, int],
    b_strides: tuple[int, int, int],
    c_strides: tuple[int, int],
    *,
    target: ProductTarget,
    initial_strides: tuple[int, int] | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    activation: str = "none",
    a_pieces: tuple[int, ...] = (0,),
    b_pieces: tuple[int, ...] = (0,),
    narrow: bool = False,
) -> ProductPlan:
    """Plan C[b] = activation(alpha * A[b] @ B[b] + beta * D[b]).

    A is (m, k), B is (k, n), C and D are (m, n) with columns side by side; all strides are bytes.
    A and B are of `dtype`, C and D of its compute dtype (float64, else float32).

    Parameters
    ----------
    a_strides, b_strides : (batch, row, column); a batch stride of 0 repeats one matrix
    c_strides, initial_strides : (batch, row); D is absent if `initial_strides` is None or beta is
        0, it may be C itself, and a row stride of 0 makes it a bias vector
    alpha, beta : the words of `Stage.scalars`; if beta is 0 here, D is never read
    activation : "none" or "relu"; NaN stays NaN
    a_pieces, b_pieces : offsets in bytes at which equal parts of A's rows, of B's rows begin; the
        strides are those within a part. Not for half types; A's rows in parts lie along K

    >>> target = product_target("x86_64-unknown-linux-gnu", "+avx2,+fma")
    >>> plan = plan_product("float32", 1, 8, 64, 64, (0, 256, 4), (0, 4, 256), (0, 256),
    ...                     target=target)
    >>> [stage.kernel for stage in plan.stages], plan.flops
    (['dot'], 65536)
    """
    floor = {"none": float("-inf"), "relu": 0.0}[activation]
    if beta == 0:
        initial_strides = None
    product = Product(
        dtype, batch, m, n, k, tuple(a_strides), tuple(b_strides), tuple(c_strides),
        initial_strides, alpha, beta, floor, a_pieces=a_pieces, b_pieces=b_pieces,
    )  # fmt: skip
    flops = 2 * batch * m * n * k
    read, written = batch * product.size * (m * k + k * n), batch * product.goal * m * n
    if batch * m * n == 0:
        return ProductPlan((), 0, flops, read, written)
    if product.gathers and k:
        stages, scratch = _tiled(product, target)
    elif pairs_pay(dtype, m, n, k, target):
        stages, scratch = _paired(product, target, narrow)
    else:
        stages, scratch = _choose(_simplify(product), target)
    return ProductPlan(stages, scratch, flops, read, written)


def pairs_pay(dtype: str, m: int, n: int, k: int, target: ProductTarget) -> bool:
    """Whether a product is worth packing for instructions that multiply pairs of bfloat16."""
    return (target.pairs and dtype == "bfloat16" and min(m, n, k) >= PAIRS_LEAST
            and m * n * k >= PAIRS_PRODUCT)


def _paired(p: Product, target: ProductTarget, narrow: bool) -> tuple[tuple[Stage, ...], int]:
    """Pairs of steps of K at once. B is packed, and A, unless its rows lie in whole blocks of K and
    few panels of B want them: then only its last rows, where they are no whole panel."""
    if p.batch > 1 and p.b[0] == 0:
        p = _simplify(p)
    blocks = -(-p.k // SIDE)
    batches = [p.batch if own else 1 for own in (p.a[0], p.b[0])]
    b = Packed(p.k, SIDE, batches[1], -(-p.n // SIDE), p.size, SIDE)
    from_b = Operand(b, p.roles[1], p.n, (p.b[0], p.b[2], p.b[1]), 0)
    packs_all = p.a[2] != p.size or p.k % SIDE != 0 or p.n > PAIRS_IN_PLACE
    whole = 0 if packs_all else p.m // SIDE * SIDE
    panels = -(-(p.m - whole) // SIDE)
    a = Packed(p.k, SIDE, batches[0], panels, p.size, SIDE)
    from_a = Operand(a, p.roles[0], p.m - whole, p.a, b.total, whole * p.a[1])
    values = {
        "b": 0, "tail": b.total, "blocks": blocks, "narrow": int(narrow),
        "b_panel": b.panel_stride, "b_batch": b.batch_stride,
        "a_row": p.a[1], "a_step": SIDE * p.size, "a_batch": p.a[0],
        "tail_from": whole, "tail_panel": a.panel_stride, "tail_batch": a.batch_stride,
    }  # fmt: skip
    work = max(1, element_cost(p, once=False) // PAIRS_SPEED)
    most = max(1, min(BLOCK_PANELS, PAIRS_NEAR // a.panel_stride))
    units = cut(p, (SIDE, SIDE), work, (most, BLOCK_PANELS))
    stage = compute_stage(replace(p, roles=(p.roles[0], "scratch")), "pairs", PAIRS_WORDS, values,
                          units, work)
    stage = replace(stage, pointers=(*stage.pointers, (PAIRS_WORDS.index("tail"), "scratch")))
    pack = pack_stage(p, from_a if panels else None, from_b, kernel="pairs_pack")
    return (pack, stage), b.total + (a.total if panels else 0)


def _simplify(p: Product) -> Product:
    """Give sizes of 1 the strides that suit, and make rows of batches where the layout allows."""
    rows = p.m
    together = p.batch > 1 and p.b[0] == 0 and p.c[0] == rows * p.c[1] and p.a[0] == rows * p.a[1]
    if together and (p.d is None or p.d[0] == rows * p.d[1]):
        p = replace(p, batch=1, m=p.batch * rows)
    a, b = p.a, p.b
    if p.k == 1:
        a = (a[0], a[1], p.size if p.m == 1 or a[1] != p.size else a[2])
        b = (b[0], p.size if p.n == 1 or b[2] != p.size else b[1], b[2])
    if p.n == 1:
        b = (b[0], b[1], p.size)
    if p.m == 1:
        a = (a[0], p.size, a[2])
    return replace(p, a=a, b=b)


def _choose(p: Product, target: ProductTarget) -> tuple[tuple[Stage, ...], int]:
    """Pick the kernels."""
    plain = p.size == p.goal
    if p.n == 1 and p.a[2] == p.size and (plain or p.b[1] == p.size):
        return _dots(p)
    if p.m == 1 and p.b[1] == p.size and (plain or p.a[2] == p.size):
        return _dots(_turned(p))
    if plain and p.n == 1 and p.a[1] == p.size and _upright(p):
        p = _turned(p)
    few = _row_tile(target, p.dtype)
    even = target.mask_registers or p.n % few[1] == 0
    if plain and p.m <= few[0] and p.b[2] == p.size and even:
        return (_tile_stage(p, target, "row", few, p.a, p.b),), 0
    if p.a[2] == p.size and _dot_pays(p, target):
        return _dot(p, target)
    return _tiled(p, target)


def _dot_pays(p: Product, target: ProductTarget) -> bool:
    """Whether dot products cost less than packing B and computing full micro-tiles.

    Both reach the same speed on long K, but a dot product adds its lanes at the end.
    """
    lanes = target.lanes(p.dtype)
    few_columns = p.n <= target.tile(p.dtype)[1] // 2 and p.k >= 4 * lanes
    if p.b[1] == p.size:
        short = p.m <= 8 or p.m * p.n * p.k <= SMALL_PRODUCT  # one launch is better than two
        return short or few_columns or p.m * (p.k + 16 * lanes) <= DOT_ROWS * p.k
    plain = p.size == p.goal and p.batch == 1
    return plain and few_columns and p.m >= 128 and p.k * p.n <= TURN_ELEMENTS


def _dot(p: Product, target: ProductTarget) -> tuple[tuple[Stage, ...], int]:
    """Dot products; the few columns of a B that lies by rows are laid side by side first."""
    tile = target.dot_tile(p.dtype)
    if p.b[1] == p.size:
        return (_dot_stage(p, "dot", tile),), 0
    packed = Packed(p.n, p.k, 1, 1, p.goal)
    pack = pack_stage(p, None, Operand(packed, p.roles[1], p.k, (0, *p.b[1:]), 0))
    p = replace(p, b=(0, p.goal, p.k * p.goal), roles=(p.roles[0], "scratch"))
    return (pack, _dot_stage(p, "dot", tile)), packed.total


def _upright(p: Product) -> bool:
    """A single column of C (and of D) that lies as a row would."""
    return p.c[1] == p.goal and (p.d is None or p.d[1] == p.goal)


def _turned(p: Product) -> Product:
    """The same product as its transpose; only for a single row or column."""
    a = (p.b[0], p.b[2], p.b[1])
    b = (p.a[0], p.a[2], p.a[1])
    c, d = (p.c[0], p.goal), p.d and (p.d[0], p.goal)
    return replace(p, m=p.n, n=p.m, a=a, b=b, c=c, d=d, roles=p.roles[::-1])


def _dots(p: Product) -> tuple[tuple[Stage, ...], int]:
    """A matrix with K side by side times one column, packed first if its elements lie apart."""
    if p.b[1] == p.size:
        return (_dot_stage(p, "dots", (4, 1)),), 0
    packed = Packed(p.k, 1, p.batch if p.b[0] else 1, 1, p.goal)
    pack = pack_stage(p, None, Operand(packed, p.roles[1], p.n, (p.b[0], p.b[2], p.b[1]), 0))
    p = replace(p, b=(packed.batch_stride, p.size, p.size), roles=(p.roles[0], "scratch"))
    return (pack, _dot_stage(p, "dots", (4, 1))), packed.total


def _dot_stage(p: Product, kernel: str, tile: tuple[int, int]) -> Stage:
    """The stage of a dot kernel."""
    values = {"a_row": p.a[1], "a_batch": p.a[0], "b_column": p.b[2], "b_batch": p.b[0]}
    step = (tile[0] * 4, tile[1] * 4) if tile[1] > 1 else (tile[0] * 8, 1)
    work = element_cost(p, once=True)
    return compute_stage(p, kernel, DOT_WORDS, values, cut(p, step, work), work)


def _tile_stage(p: Product, target: ProductTarget, kernel: str, tile: tuple[int, int], a: tuple,
                b: tuple, packs: str = "") -> Stage:
    """The stage of a tile kernel over plain operands; units may pack "a" or "b"."""
    inner = max(1, p.k) if kernel == "row" else block_inner(p.k)
    values = {
        "a_batch": a[0], "a_row": a[1], "a_inner": a[2], "a_panel": tile[0] * a[1],
        "b_batch": b[0], "b_inner": b[1], "b_panel": tile[1] * b[2],
        "a_ahead": ahead(a[2]), "b_ahead": ahead(b[1]),
        "block_inner": inner, "a_packs": int(packs == "a"), "a_lane": a[1], "a_step": a[2],
        "b_packs": int(packs == "b"), "b_lane": b[2], "b_step": b[1],
        "a_piece": max(1, p.m // len(p.a_pieces)), "b_piece": max(1, p.k // len(p.b_pieces)),
        "b_offsets": len(TILE_WORDS) + len(p.a_pieces),
    }  # fmt: skip
    full, most = target.blocking, (BLOCK_PANELS, BLOCK_PANELS)
    if packs == "b":
        step = tile[1] * p.goal
        values |= {"b_inner": step, "b_panel": 0, "b_ahead": ahead(step)}
        upright = full.upright_panels or full.packed_panels
        high = min(upright, UPRIGHT_BYTES // panel_bytes(p, tile))
        if len(p.a_pieces) > 1:
            inner, high = _gathered_block(p, full, tile[0])
            pitch = Packed(inner, 1, 1, 1, p.goal).panel_stride
            values |= {"a_packs": GATHER_ROWS, "a_row": pitch, "a_inner": p.goal,
                       "a_panel": tile[0] * pitch, "a_ahead": ahead(p.goal), "block_inner": inner}
        most = (high, BLOCK_PANELS)
    elif packs == "a":
        panel, step = panel_bytes(p, tile), tile[0] * p.goal
        values |= {"a_row": p.goal, "a_inner": step, "a_panel": panel, "a_ahead": ahead(step)}
        most = (min(full.room_bytes // panel, full.packed_panels), full.packing_panels)
    elif p.roles[0] == "scratch":
        most = (full.packed_panels, full.packed_panels)
    work = element_cost(p, once=kernel == "row")
    blocks = cut(p, tile, work, most, packs)
    return compute_stage(p, kernel, TILE_WORDS, values, blocks, work)


def _gathered_block(p: Product, full: Blocking, rows: int) -> tuple[int, int]:
    """Steps of K and panels of A in a block of rows that units copy.

    Rather many rows than many steps: pieces overlap, so they are read once for all of them, and
    what is packed of B serves them all.
    """
    most = full.room_bytes // Packed(GATHER_STEPS, rows, 1, 1, p.goal).panel_stride
    panels = -(-p.m // rows)
    high = -(-panels // -(-panels // most))
    steps = (full.room_bytes // (high * rows) - 2 * ALIGN) // p.goal // 16 * 16
    return min(steps, block_inner(p.k)), high


def _low(p: Product, full: Blocking, rows: int) -> bool:
    """Whether units may pack B: the rows are so few that each unit has all or half of them."""
    large = p.k * p.n * p.size > FAR_B_BYTES
    return 0 < p.m <= rows * (full.upright_panels if large else full.spared_panels)


def _units_pack(p: Product, target: ProductTarget, tile: tuple[int, int]) -> bool:
    """Whether units may pack A for themselves: it must not cost much to do it for each.

    Low units read B often, so it has to be near; high ones must be enough without cutting the
    columns, as each piece of these packs anew. Where each step of K lies on another page, wide
    machines wait for pages: a stage of packing reads rows from end to end.
    """
    far = p.a[1] == p.size and abs(p.a[2]) >= FAR_BYTES and p.k >= FAR_STEPS
    if far and p.n > PACK_UPRIGHT_FROM and target.vector_registers >= 32:
        return False
    if p.k * p.n * p.size <= NEAR_BYTES:
        return p.k > 0
    high = min(target.blocking.room_bytes // panel_bytes(p, tile), BLOCK_PANELS) * tile[0]
    return p.batch * -(-p.m // high) >= FEW_UNITS


def _pack_from(p: Product, step: int, across: int, plain: int, upright: int) -> int:
    """How often an operand must be read for packing to pay, by the strides of its panels.

    step, across: the strides along K and along the panel.
    """
    if across != p.size or p.k <= SMALL_INNER:
        return plain
    return PACK_FAR_FROM if abs(step) >= FAR_BYTES and p.k >= FAR_STEPS else upright


def _tiled(p: Product, target: ProductTarget) -> tuple[tuple[Stage, ...], int]:
    """Micro-tiles; A or B are packed where it pays, or where they cannot be read in place.

    Packed in scratch memory they are whole. Units that pack A for themselves do it once for each
    of their columns' blocks, units that pack B once for each of their rows' blocks, but next to
    their core, and without waiting for others.
    """
    rows, columns = tile = target.tile(p.dtype)
    a, b, (a_role, b_role), scratch = p.a, p.b, p.roles, 0
    half = p.size != p.goal
    even = target.mask_registers or p.n % columns == 0
    packs: list[Operand | None] = [None, None]
    changes: dict[str, int] = {}
    often = half or p.n > _pack_from(p, a[2], a[1], PACK_A_FROM, PACK_UPRIGHT_FROM)
    often = often and len(p.a_pieces) == 1
    beyond = _pack_from(p, b[1], b[2], PACK_B_FROM, PACK_B_FROM)
    b_often = half or b[2] != p.size or not even or p.m > beyond or p.gathers
    by_units = ""
    if p.gathers or b_often and not half and _low(p, target.blocking, rows):
        by_units = "b"
    elif often and not half and _units_pack(p, target, tile):
        by_units = "a"
    if often and by_units != "a":
        packed = Packed(p.k, rows, p.batch if a[0] else 1, -(-p.m // rows), p.goal)
        packs[0] = Operand(packed, a_role, p.m, a, scratch)
        changes |= {"a": scratch, "a_panel": packed.panel_stride}
        a, a_role = (packed.batch_stride, p.goal, rows * p.goal), "scratch"
        scratch += packed.total
    if b_often and by_units != "b":
        packed = Packed(p.k, columns, p.batch if b[0] else 1, -(-p.n // columns), p.goal)
        packs[1] = Operand(packed, b_role, p.n, (b[0], b[2], b[1]), scratch)
        changes |= {"b": scratch, "b_panel": packed.panel_stride}
        b, b_role = (packed.batch_stride, columns * p.goal, p.goal), "scratch"
        scratch += packed.total
    stage = _tile_stage(replace(p, roles=(a_role, b_role)), target, "tile", tile, a, b, by_units)
    words = dict(zip(TILE_WORDS, stage.words)) | changes
    stage = replace(stage, words=(*words.values(), *stage.words[len(words):]))
    if any(packs) and p.k:
        return (pack_stage(p, *packs), stage), scratch
    return (stage,), scratch
