"""The tile kernel: C = floor(alpha * A @ B + beta * D), by micro-tiles held in registers.

A micro-kernel keeps its tile's sums in registers over one block of K. It reads A by two run-time
strides and B by one (columns lie side by side), so packed panels and plain matrices are the same
code: packing only changes strides. A unit may pack its rows of A by itself, into a room on its
stack: the panels stay close to the core that reads them, and need no memory and no barrier. Sums
of one element are added in the order of K, and blocks of K are added in order by one thread, hence
results do not depend on threads.
"""

from __future__ import annotations

from dataclasses import dataclass

from .products_pack import copy_lanes, fill_panel, panel_functions
from .products_sizes import MOST_INNER
from .products_text import Code, ProductTarget, Vectors

STEPS = 4  # of K in a round of a full micro-kernel

# The parameter words of the tile kernel, in order. Strides are bytes. "panel" strides lead from one
# panel (a micro-tile's rows of A, or columns of B) to the next, "ahead" is how far to prefetch.
# If a_packs is not 0, units pack A, whose own strides are a_lane and a_step; a_row, a_inner and
# a_panel are those in the room. Likewise b_packs.
#
# What units copy may lie in pieces: every a_piece rows of A (if a_packs is GATHER_ROWS), and every
# b_piece steps of K of B, begin at an offset of their own. The offsets follow the words: A's, then,
# from word b_offsets on, B's. An operand in one piece has the offset 0.
TILE_WORDS = (
    "c", "d", "a", "b",  # pointers; d is null where nothing is added
    "rows", "columns", "inner",
    "c_row", "c_batch", "d_row", "d_batch",
    "a_row", "a_inner", "a_panel", "a_batch",
    "b_inner", "b_panel", "b_batch", "a_ahead", "b_ahead",
    "alpha", "beta", "floor",  # in the compute dtype; floor is -inf, or 0 for relu
    "block_rows", "block_columns", "block_inner", "row_blocks", "column_blocks",
    "a_packs", "a_lane", "a_step", "b_packs", "b_lane", "b_step",
    "a_piece", "b_piece", "b_offsets",
)  # fmt: skip
GATHER_ROWS = 2  # the a_packs of rows that lie along K and are copied as they are
TILE = {name: place for place, name in enumerate(TILE_WORDS)}


@dataclass(frozen=True)
class Tile:
    """A micro-tile, and what its functions are called."""

    name: str
    target: ProductTarget
    dtype: str
    rows: int
    columns: int

    @property
    def vectors(self) -> int:
        """Vectors in one row."""
        return self.columns // self.target.lanes(self.dtype)

    @property
    def ways(self) -> tuple[str, ...]:
        """The strides of A for which full micro-kernels are specialised."""
        return ("across", "along") if self.target.vector_registers == 16 else ()

    def arithmetic(self, code: Code | None = None) -> Vectors:
        """Vector arithmetic of this dtype, emitted into `code`."""
        return Vectors(code, self.target, self.dtype)


def sub_rows(rows: int) -> list[int]:
    """Heights of the micro-kernels: the full tile, then powers of two for what remains."""
    return [rows] + [1 << bit for bit in reversed(range((rows - 1).bit_length()))]


def micro_kernel(tile: Tile, rows: int, way: str = "") -> str:
    """One micro-kernel: `rows` rows of the tile, over `count` steps of K.

    `way` names the stride of A that is one element: "across" (a_row), "along" (a_inner), or "" if
    there need not be one.
    """
    kind = tile.arithmetic().scalar
    code = Code(
        f"define internal void @{tile.name}_{rows}{way}(ptr noalias %words, ptr %a, ptr %b, "
        f"ptr %c, i64 %c_row, ptr %d, i64 %d_row, i64 %count, i64 %columns, {kind} %beta, "
        f"{kind} %floor) noinline {tile.target.attributes()}"
    )
    vector, vectors = tile.arithmetic(code), tile.vectors
    width = vector.lanes * vector.size
    masks = [None] * vectors
    if tile.target.mask_registers:
        masks = [
            vector.mask(code.sub("%columns", str(place * vector.lanes))) for place in range(vectors)
        ]
    if rows == tile.rows:  # C is read or written after the loop: have it come meanwhile
        for row in range(rows):
            for place in range(0, vectors, max(1, 64 // width)):
                offset = code.add(code.mul("%c_row", str(row)), str(place * width))
                code.prefetch(code.at("%c", offset))
    if way:
        sums = _rounds(code, vector, rows, vectors, way)
    else:
        sums = _sums(code, vector, rows, vectors, masks)
    alpha = vector.splat(code.word("%words", TILE["alpha"], kind))
    beta, floor = vector.splat("%beta"), vector.splat("%floor")

    def finish(row: int, place: int, added: str | None) -> None:
        total = sums[row * vectors + place]
        if added is None:
            total = code.value(f"fmul {vector.kind} {total}, {alpha}")
        else:
            total = vector.fma(
                total, alpha, code.value(f"fmul {vector.kind} {added}, {beta}")
            )
        pointer = code.at("%c", code.add(code.mul("%c_row", str(row)), str(place * width)))
        vector.store(vector.floor(floor, total), pointer, masks[place])

    plain = code.value("icmp eq ptr %d, null")
    code.do(f"br i1 {plain}, label %plain, label %adding")
    code.label("plain")
    for row in range(rows):
        for place in range(vectors):
            finish(row, place, None)
    code.do("ret void")
    code.label("adding")
    for row in range(rows):
        for place in range(vectors):
            offset = code.add(code.mul("%d_row", str(row)), str(place * width))
            finish(row, place, vector.load(code.at("%d", offset), masks[place]))
    return code.text()


def _sums(code: Code, vector: Vectors, rows: int, vectors: int, masks: list) -> list[str]:
    """Emit the loop over K; return the names of the sums, row by row."""
    a_row = code.word("%words", TILE["a_row"])
    a_inner = code.word("%words", TILE["a_inner"])
    b_inner = code.word("%words", TILE["b_inner"])
    twice = code.mul(a_row, "2")
    a_ahead, b_ahead = (code.word("%words", TILE[word]) for word in ("a_ahead", "b_ahead"))
    # one moving pointer serves three rows: x86 addresses base + stride and base + 2 * stride
    bases = [code.at("%a", code.mul(a_row, str(row))) for row in range(0, rows, 3)]
    carried = [("ptr", base) for base in bases] + [("ptr", "%b")]
    carried += [(vector.kind, "zeroinitializer")] * (rows * vectors)
    width = vector.lanes * vector.size
    with code.loop("0", "%count", "1", carried) as loop:
        moving, b = loop.values[: len(bases)], loop.values[len(bases)]
        sums = list(loop.values[len(bases) + 1 :])
        # packed panels are read in order, but a page's end stops the machine's own prefetching
        code.prefetch(code.at(moving[0], a_ahead))
        for place in range(0, vectors, max(1, 64 // width)):
            code.prefetch(code.at(code.at(b, b_ahead), str(place * width)))
        right = [
            vector.load(code.at(b, str(place * width)), masks[place]) for place in range(vectors)
        ]
        for row in range(rows):
            base = moving[row // 3]
            pointer = [base, None, None][row % 3] or code.at(base, (a_row, twice)[row % 3 - 1])
            left = vector.splat(code.load(vector.scalar, pointer, vector.size))
            for place in range(vectors):
                at = row * vectors + place
                sums[at] = vector.fma(left, right[place], sums[at])
        loop.carry([code.at(base, a_inner) for base in moving] + [code.at(b, b_inner)] + sums)
    return loop.values[len(bases) + 1 :]


def _rounds(code: Code, vector: Vectors, rows: int, vectors: int, way: str) -> list[str]:
    """Emit the loop over K in rounds of STEPS, then the rest; return the sums, row by row.

    One stride of A being one element, all that a round reads is addressed as a pointer that moves
    once a round, plus a register or two or four times it, plus a constant: no instruction but
    loads and multiply-adds. That tells where two threads share a core.
    """
    stride = code.word("%words", TILE["a_inner" if way == "across" else "a_row"])
    b_inner = code.word("%words", TILE["b_inner"])
    ahead = code.word("%words", TILE["b_ahead"])
    far = code.mul(stride, "3")
    b_far = code.mul(b_inner, "3")
    bases = ["%a"] if way == "across" else [code.at("%a", code.mul(stride, str(row)))
                                            for row in range(0, rows, 3)]
    width = vector.lanes * vector.size

    def left(moving: list[str], row: int, step: int) -> str:
        """The address of A's element in this row and step of a round."""
        count, place = (step, row) if way == "across" else (row % 3, step)
        base = moving[0] if way == "across" else moving[row // 3]
        if count:
            base = code.at(base, far if count == 3 else code.mul(stride, str(count)))
        return code.at(base, str(place * vector.size))

    def loop_over(start: str, stop: str, steps: int, carried: list[str]) -> list[str]:
        kinds = ["ptr"] * (len(bases) + 1) + [vector.kind] * (rows * vectors)
        with code.loop(start, stop, str(steps), list(zip(kinds, carried))) as loop:
            # Known as multiples of the loop's index, pointers would be made of it, one by one.
            moving = [code.value(f'call ptr asm "", "=r,0"(ptr {pointer})')
                      for pointer in loop.values[: len(bases) + 1]]
            sums = list(loop.values[len(bases) + 1 :])
            for step in range(steps):
                b = moving[-1]
                if step:
                    b = code.at(b, b_far if step == 3 else code.mul(b_inner, str(step)))
                code.prefetch(code.at(b, ahead))
                right = [vector.load(code.at(b, str(place * width))) for place in range(vectors)]
                for row in range(rows):
                    one = code.load(vector.scalar, left(moving[:-1], row, step), vector.size)
                    one = vector.splat(one)
                    for place in range(vectors):
                        at = row * vectors + place
                        sums[at] = vector.fma(one, right[place], sums[at])
            a_step = code.mul(stride, str(steps)) if way == "across" else str(steps * vector.size)
            after = [code.at(base, a_step) for base in moving[:-1]]
            loop.carry([*after, code.at(moving[-1], code.mul(b_inner, str(steps))), *sums])
        return list(loop.values)

    whole = code.value(f"and i64 %count, {-STEPS}")
    values = [*bases, "%b"] + ["zeroinitializer"] * (rows * vectors)
    values = loop_over("0", whole, STEPS, values)
    values = loop_over(whole, "%count", 1, values)
    return values[len(bases) + 1 :]


def tile_kernel(name: str, target: ProductTarget, dtype: str, tile: tuple[int, int]) -> str:
    """The tile kernel: units are (batch, row block, column block), column blocks fastest."""
    shape = Tile(name, target, dtype, *tile)
    text = "".join(micro_kernel(shape, height) for height in sub_rows(shape.rows))
    if shape.ways:
        text += "".join(micro_kernel(shape, shape.rows, way) for way in shape.ways)
    text += panel_functions(name, target, dtype)
    if not target.mask_registers:
        text += _edge(shape)
    code = Code(f"define void @{name}(ptr noalias %words, i64 %lo, i64 %hi) {target.attributes()}")
    words = {word: code.word("%words", place) for word, place in TILE.items() if place > 3}
    for word in ("c", "d", "a", "b"):
        words[word] = code.word("%words", TILE[word], "ptr")
    scalar = shape.arithmetic().scalar
    for word in ("alpha", "beta", "floor"):
        words[word] = code.word("%words", TILE[word], scalar)
    words["room"] = code.value(f"alloca [{target.blocking.room_bytes} x i8], align 64")
    words["packs"] = code.value(f"icmp ne i64 {words['a_packs']}, 0")
    room = MOST_INNER * shape.columns * shape.arithmetic().size
    words["panel"] = code.value(f"alloca [{room} x i8], align 64")
    words["packs_b"] = code.value(f"icmp ne i64 {words['b_packs']}, 0")
    words["a_table"] = code.at("%words", str(8 * len(TILE_WORDS)))
    words["b_table"] = code.at("%words", code.mul(words["b_offsets"], "8"))
    words["micro"] = f"@{name}_{shape.rows}"
    for way in shape.ways:
        stride = words["a_row" if way == "across" else "a_inner"]
        one = code.value(f"icmp eq i64 {stride}, {shape.arithmetic().size}")
        words["micro"] = code.value(
            f"select i1 {one}, ptr @{name}_{shape.rows}{way}, ptr {words['micro']}")
    with code.loop("%lo", "%hi", "1") as unit:
        _unit(code, shape, words, unit.index)
    return text + code.text()


def _unit(code: Code, tile: Tile, words: dict, unit: str) -> None:
    """Emit one unit: find its block of C, then walk the blocks of K over it."""
    row_column = code.value(f"udiv i64 {unit}, {words['column_blocks']}")
    column_block = code.sub(unit, code.mul(row_column, words["column_blocks"]))
    batch = code.value(f"udiv i64 {row_column}, {words['row_blocks']}")
    row_block = code.sub(row_column, code.mul(batch, words["row_blocks"]))
    place = {
        "row": code.mul(row_block, words["block_rows"]),
        "column": code.mul(column_block, words["block_columns"]),
        "d_null": code.value(f"icmp eq ptr {words['d']}, null"),
    }
    place["row_end"] = code.smaller(code.add(place["row"], words["block_rows"]), words["rows"])
    place["column_end"] = code.smaller(
        code.add(place["column"], words["block_columns"]), words["columns"]
    )
    for matrix in "abcd":
        place[matrix] = code.at(words[matrix], code.mul(batch, words[f"{matrix}_batch"]))
    once = code.value(f"call i64 @llvm.smax.i64(i64 {words['inner']}, i64 1)")  # K = 0 still stores
    with code.loop("0", once, words["block_inner"]) as inner:
        _block(code, tile, words, place, inner.index)


def _block(code: Code, tile: Tile, words: dict, place: dict, inner: str) -> None:
    """Emit one block of K of a unit: the first block adds beta * D, later ones what C holds."""
    scalar, size = tile.arithmetic().scalar, str(tile.arithmetic().size)
    rows, columns = tile.rows, tile.columns
    left = code.sub(words["inner"], inner)
    count = code.smaller(left, words["block_inner"])
    first = code.value(f"icmp eq i64 {inner}, 0")
    last = code.value(f"icmp sle i64 {left}, {words['block_inner']}")
    absent = code.value(f"and i1 {first}, {place['d_null']}")
    d_row = code.value(f"select i1 {first}, i64 {words['d_row']}, i64 {words['c_row']}")
    beta = code.value(f"select i1 {first}, {scalar} {words['beta']}, {scalar} 1.0")
    lowest = "0xFFF0000000000000"
    floor = code.value(f"select i1 {last}, {scalar} {words['floor']}, {scalar} {lowest}")
    d_base = code.value(f"select i1 {first}, ptr {place['d']}, ptr {place['c']}")
    a_base = code.at(place["a"], code.mul(inner, words["a_inner"]))
    panel = code.value(f"udiv i64 {place['row']}, {rows}")
    a_base = code.at(a_base, code.mul(panel, words["a_panel"]))
    gathers = code.value(f"icmp eq i64 {words['a_packs']}, {GATHER_ROWS}")
    with code.when(gathers):
        _gather_rows(code, tile, words, place, inner, count)
    with code.when(code.value(f"xor i1 {gathers}, {words['packs']}")):
        _pack_rows(code, tile, words, place, inner, count)
    a_base = code.value(f"select i1 {words['packs']}, ptr {words['room']}, ptr {a_base}")
    b_base = code.at(place["b"], code.mul(inner, words["b_inner"]))
    with code.loop(place["column"], place["column_end"], str(columns)) as column:
        panel = code.value(f"udiv i64 {column.index}, {columns}")
        b = code.at(b_base, code.mul(panel, words["b_panel"]))
        wide = code.smaller(code.sub(words["columns"], column.index), str(columns))
        with code.when(words["packs_b"]):
            _pack_columns(code, tile, words, place, (inner, column.index), count, wide)
        b = code.value(f"select i1 {words['packs_b']}, ptr {words['panel']}, ptr {b}")
        across = code.mul(column.index, size)
        with code.loop(place["row"], place["row_end"], str(rows)) as row:
            panel = code.value(f"udiv i64 {code.sub(row.index, place['row'])}, {rows}")
            a = code.at(a_base, code.mul(panel, words["a_panel"]))
            c = code.at(place["c"], code.add(code.mul(row.index, words["c_row"]), across))
            d = code.at(d_base, code.add(code.mul(row.index, d_row), across))
            d = code.value(f"select i1 {absent}, ptr null, ptr {d}")
            high = code.smaller(code.sub(words["rows"], row.index), str(rows))
            call = (c, words["c_row"], d, d_row, count, wide, beta, floor)
            _heights(code, tile, words["a_row"], (a, b, *call), high, words["micro"])


def _pack_rows(code: Code, tile: Tile, words: dict, place: dict, inner: str, count: str) -> None:
    """Emit the packing of a unit's rows of A, for one block of K, into its room."""
    rows, pitch = tile.rows, str(tile.rows * tile.arithmetic().size)
    start = code.at(place["a"], code.mul(inner, words["a_step"]))
    with code.loop(place["row"], place["row_end"], str(rows)) as row:
        panel = code.value(f"udiv i64 {code.sub(row.index, place['row'])}, {rows}")
        goal = code.at(words["room"], code.mul(panel, words["a_panel"]))
        source = code.at(start, code.mul(row.index, words["a_lane"]))
        lanes = code.smaller(code.sub(place["row_end"], row.index), str(rows))
        strides = (words["a_lane"], words["a_step"])
        fill_panel(code, tile.name, goal, pitch, source, strides, count, lanes)


def _gather_rows(code: Code, tile: Tile, words: dict, place: dict, inner: str,
                 count: str) -> None:
    """Emit the copying of a unit's rows of A, for one block of K, into its room."""
    start = code.mul(inner, words["a_step"])
    with code.loop(place["row"], place["row_end"], "1") as row:
        piece = code.value(f"udiv i64 {row.index}, {words['a_piece']}")
        lane = code.sub(row.index, code.mul(piece, words["a_piece"]))
        source = _piece(code, place["a"], words["a_table"], piece)
        source = code.at(source, code.add(start, code.mul(lane, words["a_lane"])))
        below = code.sub(row.index, place["row"])
        copy_lanes(code, tile.name, code.at(words["room"], code.mul(below, words["a_row"])),
                   source, count)


def _piece(code: Code, base: str, table: str, index: str) -> str:
    """Where a piece of an operand begins."""
    return code.at(base, code.load("i64", code.at(table, code.mul(index, "8")), 8))


def _pack_columns(code: Code, tile: Tile, words: dict, place: dict, start: tuple[str, str],
                  count: str, wide: str) -> None:
    """Emit the packing of a panel of B, for one block of K: it stays in L1 for all of the rows."""
    inner, length = start[0], words["b_piece"]
    end = code.add(inner, count)
    across = code.mul(start[1], words["b_lane"])
    pitch = str(tile.columns * tile.arithmetic().size)
    strides = (words["b_lane"], words["b_step"])
    first = code.value(f"udiv i64 {inner}, {length}")
    last = code.value(f"udiv i64 {code.add(end, code.sub(length, '1'))}, {length}")
    with code.loop(first, last, "1") as piece:
        own = code.mul(piece.index, length)
        begin = code.value(f"call i64 @llvm.smax.i64(i64 {own}, i64 {inner})")
        many = code.sub(code.smaller(code.add(own, length), end), begin)
        source = _piece(code, place["b"], words["b_table"], piece.index)
        source = code.at(source, code.mul(code.sub(begin, own), words["b_step"]))
        goal = code.at(words["panel"], code.mul(code.sub(begin, inner), pitch))
        fill_panel(code, tile.name, goal, pitch, code.at(source, across), strides, many, wide)


def _heights(code: Code, tile: Tile, a_row: str, call: tuple, high: str, full_micro: str) -> None:
    """Emit the calls that cover `high` rows: the full tile, or the binary digits of the rest."""
    name, scalar = tile.name, tile.arithmetic().scalar
    full, columns = tile.rows, tile.columns
    kinds = ("ptr", "ptr", "ptr", "i64", "ptr", "i64", "i64", "i64", scalar, scalar)

    def emit(height: int, values: tuple) -> None:
        given = ", ".join(f"{kind} {value}" for kind, value in zip(kinds, values))
        micro = full_micro if height == full else f"@{name}_{height}"
        if tile.target.mask_registers:
            code.do(f"call void {micro}(ptr %words, {given})")
            return
        whole = code.value(f"icmp eq i64 {call[7]}, {columns}")
        with code.when(whole):
            code.do(f"call void {micro}(ptr %words, {given})")
        ragged = code.value(f"xor i1 {whole}, true")
        with code.when(ragged):
            code.do(f"call void @{name}_edge(i64 {height}, ptr %words, {given})")

    with code.when(code.value(f"icmp eq i64 {high}, {full}")):
        emit(full, call)
    with code.when(code.value(f"icmp ne i64 {high}, {full}")):
        for height in sub_rows(full)[1:]:
            digit = code.value(f"and i64 {high}, {height}")
            with code.when(code.value(f"icmp ne i64 {digit}, 0")):
                # rows below: the higher digits of `high`
                above = code.value(f"and i64 {high}, {-2 * height}")
                a, b, c, c_row, d, d_row, *rest = call
                a, c = code.at(a, code.mul(above, a_row)), code.at(c, code.mul(above, c_row))
                moved = code.at(d, code.mul(above, d_row))
                gone = code.value(f"icmp eq ptr {d}, null")
                d = code.value(f"select i1 {gone}, ptr null, ptr {moved}")
                emit(height, (a, b, c, c_row, d, d_row, *rest))


def _edge(tile: Tile) -> str:
    """A micro-tile at the right edge, for machines without mask registers: through a full tile."""
    name, rows, columns = tile.name, tile.rows, tile.columns
    scalar, size = tile.arithmetic().scalar, tile.arithmetic().size
    pitch = columns * size
    code = Code(
        f"define internal void @{name}_edge(i64 %height, ptr noalias %words, ptr %a, ptr %b, "
        f"ptr %c, i64 %c_row, ptr %d, i64 %d_row, i64 %count, i64 %columns, {scalar} %beta, "
        f"{scalar} %floor) noinline {tile.target.attributes()}"
    )
    room = code.value(f"alloca [{rows * columns} x {scalar}], align 64")

    def copy(source: str, source_row: str, goal: str, goal_row: str) -> None:
        with code.loop("0", "%height", "1") as row:
            read = code.at(source, code.mul(row.index, source_row))
            write = code.at(goal, code.mul(row.index, goal_row))
            with code.loop("0", "%columns", "1") as column:
                offset = code.mul(column.index, str(size))
                item = code.load(scalar, code.at(read, offset), size)
                code.do(f"store {scalar} {item}, ptr {code.at(write, offset)}, align {size}")

    plain = code.value("icmp eq ptr %d, null")
    added = code.value(f"select i1 {plain}, ptr null, ptr {room}")
    with code.when(code.value("icmp ne ptr %d, null")):
        copy("%d", "%d_row", room, str(pitch))
    given = (
        f"ptr %words, ptr %a, ptr %b, ptr {room}, i64 {pitch}, ptr {added}, i64 {pitch}, "
        f"i64 %count, i64 {columns}, {scalar} %beta, {scalar} %floor"
    )
    for height in sub_rows(rows):
        with code.when(code.value(f"icmp eq i64 %height, {height}")):
            code.do(f"call void @{name}_{height}({given})")
    copy(room, str(pitch), "%c", "%c_row")
    return code.text()
