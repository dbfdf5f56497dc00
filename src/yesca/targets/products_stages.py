"""How products are cut: units of C, units of packing, and the stages that launch them."""

from __future__ import annotations

from dataclasses import dataclass

from .products_micro import TILE_WORDS
from .products_pack import PACK_WORDS
from .products_sizes import Packed, Product, word_of
from .products_text import compute_dtype

CHUNK_FLOPS = 1 << 20  # about 8 µs of one core: smaller pieces are not worth another thread
CHUNK_BYTES = 1 << 17
BLOCK_PANELS = 8  # panels of A, and of B, in a full unit that reads A where it lies: few lines
FEWEST_UNITS = 20  # smaller blocks make more: the last ones, when some threads have ended, are few
SMALL_INNER = 32  # steps of K up to which a product is the writing of C
PACK_INNER = 256  # steps of K in one unit of packing,
PACK_ROWS = 32  # ... where rows are copied: all panels take their part of these before the next


@dataclass(frozen=True)
class Blocks:
    """What a stage's units write: blocks of C, those of a row of blocks one after the other.

    rows, columns: of each of C's matrices; strides: from matrix to matrix, from row to row
    """

    rows: int
    columns: int
    strides: tuple[int, int]
    block_rows: int
    block_columns: int
    row_blocks: int
    column_blocks: int


@dataclass(frozen=True)
class Stage:
    """One launch: `kernel` of `dtype` over `units`, `grain` at a time, behind a barrier.

    `words` are the parameter words; for each (place, role) of `pointers` the address of that role
    ("a", "b", "c", "initial" or "scratch") is added to the word, which holds a byte offset. The
    words of `scalars` ("alpha", "beta") may be set anew for a run: the float of the compute dtype
    in the low bytes. `goal` is the role that the launch writes, its first pointer; `blocks` says
    which part of C each unit writes, all steps of K at once.
    """

    kernel: str
    dtype: str
    units: int
    grain: int
    words: tuple[int, ...]
    pointers: tuple[tuple[int, str], ...]
    scalars: tuple[tuple[int, str], ...] = ()
    goal: str = "c"
    blocks: Blocks | None = None


def element_cost(p: Product, once: bool) -> int:
    """What an element of C costs, in operations; reading counts where operands are read `once`."""
    read = p.size * p.k * (p.m + p.n) // (p.m * p.n) if once else 0
    return max(2 * max(p.k, 8), read * (CHUNK_FLOPS // CHUNK_BYTES))


def cut(p: Product, tile: tuple[int, int], work: int,
        most: tuple[int, int] = (BLOCK_PANELS, BLOCK_PANELS), packs: str = "") -> dict[str, int]:
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


def compute_stage(
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
    pointers = [(names.index(name), role)
                for name, role in zip("cab", ("c", *p.roles), strict=True)]
    pointers += [(names.index("d"), "initial")] * (p.d is not None)
    units = p.batch * blocks["row_blocks"] * blocks["column_blocks"]
    cost = max(1, p.batch * p.m * p.n * work // units)
    grain = max(1, min(units, CHUNK_FLOPS // cost))
    words = tuple(values[name] for name in names)
    if names is TILE_WORDS:
        words += p.a_pieces + p.b_pieces
    dtype = compute_dtype(p.dtype) if kernel in ("tile", "row") else p.dtype
    scalars = tuple((names.index(name), name) for name in ("alpha", "beta"))
    return Stage(kernel, dtype, units, grain, words, tuple(pointers), scalars,
                 blocks=Blocks(p.m, p.n, p.c, **blocks))


@dataclass(frozen=True)
class Operand:
    """What a stage of packing makes of A or B; strides of the source are bytes."""

    packed: Packed
    role: str
    lanes: int
    strides: tuple[int, int, int]  # from batch to batch, from lane to lane, along K
    goal: int  # where it begins in scratch memory
    source: int = 0  # where what is packed begins


def pack_stage(p: Product, *operands: Operand | None, kernel: str = "pack") -> Stage:
    """The stage that packs A, B or both."""
    words, pointers, units, total = [], [], 0, 0
    for operand in operands:
        if operand is None:
            words += [0] * len(PACK_WORDS)
            continue
        packed = operand.packed
        batch_stride, lane_stride, inner_stride = operand.strides
        copied = lane_stride == p.size
        chunk = PACK_ROWS if copied else PACK_INNER
        chunks = -(-packed.inner // chunk)
        count = packed.batches * packed.panels * chunks
        values = {
            "source": operand.source, "goal": operand.goal, "units": count,
            "lanes": operand.lanes, "inner": packed.inner,
            "lane_stride": lane_stride, "inner_stride": inner_stride, "batch_stride": batch_stride,
            "width": packed.width, "panels": packed.panels, "panel_stride": packed.panel_stride,
            "goal_batch": packed.batch_stride, "chunks": chunks, "chunk_inner": chunk,
            "panels_first": int(copied),
        }  # fmt: skip
        pointers += [(len(words), operand.role), (len(words) + 1, "scratch")]
        words += [values[name] for name in PACK_WORDS]
        units += count
        total += packed.total
    grain = max(1, min(units, CHUNK_BYTES * units // max(total, 1)))
    return Stage(kernel, p.dtype, units, grain, tuple(words), tuple(pointers),
                 goal="scratch")
