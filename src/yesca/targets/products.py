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
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .products_dot import DOT_WORDS, dot_kernel
from .products_micro import GATHER_ROWS, TILE_WORDS, tile_kernel
from .products_pack import PACK_WORDS, pack_kernel
from .products_sizes import ALIGN, Packed, Product, ahead, block_inner, panel_bytes, word_of
from .products_text import Blocking, ProductTarget, compute_dtype, declarations, product_target

__all__ = ["ProductPlan", "Stage", "plan_product", "product_kernel", "product_target"]

CHUNK_FLOPS = 1 << 20  # about 8 µs of one core: smaller pieces are not worth another thread
CHUNK_BYTES = 1 << 17
BLOCK_PANELS = 8  # panels of A, and of B, in a full unit that reads A where it lies: few lines
NEAR_BYTES = 1 << 19  # a B that stays in L2 while other things pass by
UPRIGHT_BYTES = 7 << 16  # an A that stays in L2 while a panel of B after the other is packed in L1
FEW_UNITS = 8  # so few that not all threads have something to do
FEWEST_UNITS = 20  # smaller blocks make more: the last ones, when some threads have ended, are few
PACK_A_FROM = 512  # columns of C beyond which a packed A is read often enough,
PACK_UPRIGHT_FROM = 255  # ... if its rows lie side by side, so that packing is copying
PACK_B_FROM = 256  # rows of C beyond which a packed B is read often enough
PACK_FAR_FROM = 127  # both, where the steps of K lie so far apart that each is on another page:
FAR_BYTES = 2048  # there few of a panel's lines fit into the sets of a cache that they share,
FAR_STEPS = 96  # ... if the steps are more than the pages that a machine knows at once
DOT_ROWS = 32  # rows of C up to which transposed B is read where it lies, K being long
SMALL_INNER = 32  # steps of K up to which a product is the writing of C
SMALL_PRODUCT = 1 << 12  # multiplications up to which launches cost more than anything else
GATHER_STEPS = 256  # of K, at least, in a block of rows that lie in pieces
TURN_ELEMENTS = 1 << 16  # elements of B that may be transposed by one thread
PACK_INNER = 256  # steps of K in one unit of packing,
PACK_ROWS = 32  # ... where rows are copied: all panels take their part of these before the next


@dataclass(frozen=True)
class Stage:
    """One launch: `kernel` of `dtype` over `units`, `grain` at a time, behind a barrier.

    `words` are the parameter words; for each (place, role) of `pointers` the address of that role
    ("a", "b", "c", "initial" or "scratch") is added to the word, which holds a byte offset. The
    words of `scalars` ("alpha", "beta") may be set anew for a run: the float of the compute dtype
    in the low bytes.
    """

    kernel: str
    dtype: str
    units: int
    grain: int
    words: tuple[int, ...]
    pointers: tuple[tuple[int, str], ...]
    scalars: tuple[tuple[int, str], ...] = ()


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

    `kind` and `dtype` are those of a `Stage`: "pack", "tile", "row", "dot" or "dots". The entry is
    `void name(ptr words, i64 lo, i64 hi)`.
    """
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
    else:
        stages, scratch = _choose(_simplify(product), target)
    return ProductPlan(stages, scratch, flops, read, written)


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
    pack = _pack_stage(p, None, (packed, p.roles[1], p.k, 0, p.b[1], p.b[2], 0))
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


def _work(p: Product, once: bool) -> int:
    """What an element of C costs, in operations; reading counts where operands are read `once`."""
    read = p.size * p.k * (p.m + p.n) // (p.m * p.n) if once else 0
    return max(2 * max(p.k, 8), read * (CHUNK_FLOPS // CHUNK_BYTES))


def _blocks(p: Product, tile: tuple[int, int], work: int,
            most: tuple[int, int] = (BLOCK_PANELS, BLOCK_PANELS), packs: str = ""
            ) -> dict[str, int]:
    """Cut C into units: full blocks, or smaller ones while they are few and worthwhile.

    work: what an element costs. A full block has `most` panels of A and of B. Units that pack A
    are rather low than narrow, those that pack B rather narrow than low.
    """
    panels = [-(-p.m // tile[0]), -(-p.n // tile[1])]
    block = [min(pair) for pair in zip(panels, most)]
    short = p.k <= SMALL_INNER and not p.gathers
    if short:
        block = [1, min(panels[1], 8 * BLOCK_PANELS)]  # write C in the order it lies

    def units() -> int:
        return p.batch * -(-panels[0] // block[0]) * -(-panels[1] // block[1])

    while units() < FEWEST_UNITS and block != [1, 1] and not short:
        if work * block[0] * block[1] * tile[0] * tile[1] < 2 * CHUNK_FLOPS:
            break
        wider = int(block[1] > 1 and block[1] * 2 >= block[0])
        if packs:
            wider = int(block[1] > 1 if packs == "b" else block[0] <= 2)
        block[wider] = -(-block[wider] // 2)
    counts = [-(-panel // part) for panel, part in zip(panels, block)]
    block = [-(-panel // count) for panel, count in zip(panels, counts)]  # even blocks
    return {
        "block_rows": block[0] * tile[0],
        "block_columns": block[1] * tile[1],
        "row_blocks": -(-panels[0] // block[0]),
        "column_blocks": -(-panels[1] // block[1]),
    }


def _compute_stage(
    p: Product, kernel: str, names: tuple, values: dict, blocks: dict, work: int
) -> Stage:
    """A stage whose units are blocks of C; work: what an element costs."""
    d = p.d or (0, 0)
    values = {
        "c": 0, "d": 0, "a": 0, "b": 0, "rows": p.m, "columns": p.n, "inner": p.k,
        "c_batch": p.c[0], "c_row": p.c[1], "d_batch": d[0], "d_row": d[1],
        "alpha": word_of(p, p.alpha), "beta": word_of(p, p.beta), "floor": word_of(p, p.floor),
        **blocks, **values,
    }  # fmt: skip
    pointers = [(0, "c"), (2, p.roles[0]), (3, p.roles[1])] + [(1, "initial")] * (p.d is not None)
    units = p.batch * blocks["row_blocks"] * blocks["column_blocks"]
    cost = max(1, p.batch * p.m * p.n * work // units)
    grain = max(1, min(units, CHUNK_FLOPS // cost))
    words = tuple(values[name] for name in names)
    if names is TILE_WORDS:
        words += p.a_pieces + p.b_pieces
    dtype = p.dtype if kernel in ("dot", "dots") else compute_dtype(p.dtype)
    scalars = tuple((names.index(name), name) for name in ("alpha", "beta"))
    return Stage(kernel, dtype, units, grain, words, tuple(pointers), scalars)


def _dots(p: Product) -> tuple[tuple[Stage, ...], int]:
    """A matrix with K side by side times one column, packed first if its elements lie apart."""
    if p.b[1] == p.size:
        return (_dot_stage(p, "dots", (4, 1)),), 0
    packed = Packed(p.k, 1, p.batch if p.b[0] else 1, 1, p.goal)
    pack = _pack_stage(p, None, (packed, p.roles[1], p.n, p.b[0], p.b[2], p.b[1], 0))
    p = replace(p, b=(packed.batch_stride, p.size, p.size), roles=(p.roles[0], "scratch"))
    return (pack, _dot_stage(p, "dots", (4, 1))), packed.total


def _dot_stage(p: Product, kernel: str, tile: tuple[int, int]) -> Stage:
    """The stage of a dot kernel."""
    values = {"a_row": p.a[1], "a_batch": p.a[0], "b_column": p.b[2], "b_batch": p.b[0]}
    step = (tile[0] * 4, tile[1] * 4) if tile[1] > 1 else (tile[0] * 8, 1)
    work = _work(p, once=True)
    return _compute_stage(p, kernel, DOT_WORDS, values, _blocks(p, step, work), work)


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
    work = _work(p, once=kernel == "row")
    blocks = _blocks(p, tile, work, most, packs)
    return _compute_stage(p, kernel, TILE_WORDS, values, blocks, work)


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


def _units_pack(p: Product, target: ProductTarget, tile: tuple[int, int]) -> bool:
    """Whether units may pack A for themselves: it must not cost much to do it for each.

    Low units read B often, so it has to be near; high ones must be enough without cutting the
    columns, as each piece of these packs anew.
    """
    if p.k * p.n * p.size <= NEAR_BYTES:
        return p.k > 0
    high = min(target.blocking.room_bytes // panel_bytes(p, tile), BLOCK_PANELS) * tile[0]
    return p.batch * -(-p.m // high) >= FEW_UNITS


def _pack_stage(p: Product, *operands: tuple | None) -> Stage:
    """The stage that packs A, B or both.

    An operand is (layout, role, lanes, batch stride, lane stride, inner stride, scratch offset).
    """
    words, pointers, units, total = [], [], 0, 0
    for operand in operands:
        if operand is None:
            words += [0] * len(PACK_WORDS)
            continue
        packed, role, lanes, batch_stride, lane_stride, inner_stride, offset = operand
        copied = lane_stride == p.size
        chunk = PACK_ROWS if copied else PACK_INNER
        chunks = -(-packed.inner // chunk)
        count = packed.batches * packed.panels * chunks
        values = {
            "source": 0, "goal": offset, "units": count, "lanes": lanes, "inner": packed.inner,
            "lane_stride": lane_stride, "inner_stride": inner_stride, "batch_stride": batch_stride,
            "width": packed.width, "panels": packed.panels, "panel_stride": packed.panel_stride,
            "goal_batch": packed.batch_stride, "chunks": chunks, "chunk_inner": chunk,
            "panels_first": int(copied),
        }  # fmt: skip
        pointers += [(len(words), role), (len(words) + 1, "scratch")]
        words += [values[name] for name in PACK_WORDS]
        units += count
        total += packed.total
    grain = max(1, min(units, CHUNK_BYTES * units // max(total, 1)))
    return Stage("pack", p.dtype, units, grain, tuple(words), tuple(pointers))


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
    packs: list[tuple | None] = [None, None]
    changes: dict[str, int] = {}
    often = half or p.n > _pack_from(p, a[2], a[1], PACK_A_FROM, PACK_UPRIGHT_FROM)
    often = often and len(p.a_pieces) == 1
    beyond = _pack_from(p, b[1], b[2], PACK_B_FROM, PACK_B_FROM)
    b_often = half or b[2] != p.size or not even or p.m > beyond or p.gathers
    by_units = ""
    if p.gathers or b_often and not half and 0 < p.m <= rows * target.blocking.upright_panels:
        by_units = "b"
    elif often and not half and _units_pack(p, target, tile):
        by_units = "a"
    if often and by_units != "a":
        packed = Packed(p.k, rows, p.batch if a[0] else 1, -(-p.m // rows), p.goal)
        packs[0] = (packed, a_role, p.m, *a, scratch)
        changes |= {"a": scratch, "a_panel": packed.panel_stride}
        a, a_role = (packed.batch_stride, p.goal, rows * p.goal), "scratch"
        scratch += packed.total
    if b_often and by_units != "b":
        packed = Packed(p.k, columns, p.batch if b[0] else 1, -(-p.n // columns), p.goal)
        packs[1] = (packed, b_role, p.n, b[0], b[2], b[1], scratch)
        changes |= {"b": scratch, "b_panel": packed.panel_stride}
        b, b_role = (packed.batch_stride, columns * p.goal, p.goal), "scratch"
        scratch += packed.total
    stage = _tile_stage(replace(p, roles=(a_role, b_role)), target, "tile", tile, a, b, by_units)
    words = dict(zip(TILE_WORDS, stage.words)) | changes
    stage = replace(stage, words=(*words.values(), *stage.words[len(words):]))
    if any(packs) and p.k:
        return (_pack_stage(p, *packs), stage), scratch
    return (stage,), scratch
