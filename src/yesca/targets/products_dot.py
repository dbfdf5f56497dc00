"""The dot kernels: small or thin products of A by rows and B by columns, read where they lie.

Both matrices have K side by side, so a micro-tile is `rows` x `columns` dot products along vectors
of K; at the end the lanes of all sums are added by one tree. Nothing is packed: this is the way of
matrices times a vector, and of few rows times transposed weights.
"""

from __future__ import annotations

from .products_text import ITEM_BYTES, Code, ProductTarget, Vectors

# The parameter words of the dot kernels, in order. Strides are bytes.
DOT_WORDS = (
    "c", "d", "a", "b",  # pointers; d is null where nothing is added
    "rows", "columns", "inner",
    "c_row", "c_batch", "d_row", "d_batch", "a_row", "a_batch", "b_column", "b_batch",
    "alpha", "beta", "floor",  # in the compute dtype; floor is -inf, or 0 for relu
    "block_rows", "block_columns", "row_blocks", "column_blocks",
)  # fmt: skip
DOT = {name: place for place, name in enumerate(DOT_WORDS)}


def dot_kernel(name: str, target: ProductTarget, dtype: str, tile: tuple[int, int, int]) -> str:
    """A dot kernel whose micro-tile is (rows, columns, vectors of K at a time)."""
    text = _micro_dot(name, target, dtype, tile)
    code = Code(f"define void @{name}(ptr noalias %words, i64 %lo, i64 %hi) {target.attributes()}")
    words = {word: code.word("%words", place) for word, place in DOT.items() if place > 3}
    for word in "cdab":
        words[word] = code.word("%words", DOT[word], "ptr")
    with code.loop("%lo", "%hi", "1") as unit:
        row_column = code.value(f"udiv i64 {unit.index}, {words['column_blocks']}")
        column_block = code.sub(unit.index, code.mul(row_column, words["column_blocks"]))
        batch = code.value(f"udiv i64 {row_column}, {words['row_blocks']}")
        row_block = code.sub(row_column, code.mul(batch, words["row_blocks"]))
        base = {matrix: _batched(code, words, matrix, batch) for matrix in "cdab"}
        start = code.mul(row_block, words["block_rows"])
        stop = code.smaller(code.add(start, words["block_rows"]), words["rows"])
        left = code.mul(column_block, words["block_columns"])
        right = code.smaller(code.add(left, words["block_columns"]), words["columns"])
        with (code.loop(start, stop, str(tile[0])) as row,
              code.loop(left, right, str(tile[1])) as column):
            given = ", ".join(f"ptr {base[matrix]}" for matrix in "cdab")
            code.do(
                f"call void @{name}_tile(ptr %words, {given}, i64 {row.index}, "
                f"i64 {column.index})"
            )
    return text + code.text()


def _batched(code: Code, words: dict, matrix: str, batch: str) -> str:
    """The matrix of this batch; null stays null."""
    moved = code.at(words[matrix], code.mul(batch, words[f"{matrix}_batch"]))
    null = code.value(f"icmp eq ptr {words[matrix]}, null")
    return code.value(f"select i1 {null}, ptr null, ptr {moved}")


def _micro_dot(name: str, target: ProductTarget, dtype: str, tile: tuple[int, int, int]) -> str:
    """One micro-tile: rows and columns past the end repeat the last one and are not stored."""
    rows, columns, deep = tile
    code = Code(
        f"define internal void @{name}_tile(ptr noalias %words, ptr %c, ptr %d, ptr %a, ptr %b, "
        f"i64 %row, i64 %column) noinline {target.attributes()}"
    )
    vector = Vectors(code, target, dtype)
    results = code.value(f"alloca [{rows * columns} x {vector.scalar}], align 64")
    lines = []
    for pointer, first, count, stride, number in (
        ("%a", "%row", "rows", "a_row", rows), ("%b", "%column", "columns", "b_column", columns)
    ):  # fmt: skip
        last = code.sub(code.word("%words", DOT[count]), "1")
        step = code.word("%words", DOT[stride])
        for place in range(number):
            line = code.smaller(code.add(first, str(place)), last)
            lines.append(code.at(pointer, code.mul(line, step)))
    sums = _sums(code, vector, dtype, deep, lines[rows:], lines[:rows])
    for place, sum_ in enumerate(_across(code, vector, sums)):
        used = min(vector.lanes, rows * columns - place * vector.lanes)
        kind = f"<{used} x {vector.scalar}>"
        part = code.shuffle(vector.kind, sum_, sum_, list(range(used)))
        offset = str(place * vector.lanes * vector.size)
        code.do(f"store {kind} {part}, ptr {code.at(results, offset)}, align {vector.size}")
    _finish(code, vector, tile, results)
    return code.text()


def _sums(
    code: Code, vector: Vectors, dtype: str, deep: int, rights: list, lefts: list
) -> list[str]:
    """Emit the loops over K: `deep` vectors at a time, then one, then what is left."""
    lanes, size = vector.lanes, ITEM_BYTES[dtype]
    inner = code.word("%words", DOT["inner"])
    sums = ["zeroinitializer"] * (len(lefts) * len(rights) * deep)
    start, masked = "0", vector.target.masked and size > 2
    stages = [(deep * lanes, deep, False), (lanes, 1, False), (lanes if masked else 1, 1, True)]
    for step, vectors, ragged in stages[deep == 1 :]:
        stop = inner if ragged else code.value(f"and i64 {inner}, {-step}")
        mask = vector.mask(code.sub(inner, start)) if ragged and masked else None
        with code.loop(start, stop, str(step), [(vector.kind, sum_) for sum_ in sums]) as loop:
            sums = list(loop.values)
            for depth in range(vectors):
                offset = code.mul(loop.index, str(size))
                offset = code.add(offset, str(depth * lanes * size))

                def read(line: str, step=step, offset=offset, mask=mask) -> str:
                    if step == 1:
                        return vector.read_one(dtype, code.at(line, offset))
                    return vector.read(dtype, code.at(line, offset), mask)

                b = [read(line) for line in rights]
                place = depth * len(lefts) * len(rights)
                for line in lefts:
                    a = read(line)
                    for right in b:
                        sums[place] = vector.fma(a, right, sums[place])
                        place += 1
            loop.carry(sums)
        sums, start = loop.values, stop
    count = len(lefts) * len(rights)
    totals = sums[:count]
    for depth in range(1, deep):
        more = sums[depth * count : (depth + 1) * count]
        totals = [
            code.value(f"fadd {vector.kind} {one}, {two}") for one, two in zip(totals, more)
        ]
    return totals


def _across(code: Code, vector: Vectors, sums: list[str]) -> list[str]:
    """Add the lanes of every sum: vectors whose lane i is the total of sum i."""
    lanes = vector.lanes
    sums = sums + ["zeroinitializer"] * (-len(sums) % lanes)
    while lanes > 1:
        pairs = zip(sums[::2], sums[1::2])
        lanes //= 2
        both = range(2 * vector.lanes)
        sums = [
            "zeroinitializer" if left == right == "zeroinitializer" else code.value(
                f"fadd {vector.kind} {code.shuffle(vector.kind, left, right, list(both[::2]))}, "
                f"{code.shuffle(vector.kind, left, right, list(both[1::2]))}"
            )
            for left, right in pairs
        ]
    return sums


def _finish(code: Code, vector: Vectors, tile: tuple[int, int, int], results: str) -> None:
    """Emit the end of a micro-tile: C = floor(alpha * sum + beta * D), row by row."""
    rows, columns, _ = tile
    scalar, size = vector.scalar, vector.size
    null = code.value("icmp eq ptr %d, null")
    nothing = code.value(f"alloca [{columns} x {scalar}], align 64")  # D where there is none
    for place in range(columns):
        item = code.at(nothing, str(place * size))
        code.do(f"store {scalar} 0.0, ptr {item}, align {size}")
    alpha, beta, floor = (code.word("%words", DOT[w], scalar) for w in ("alpha", "beta", "floor"))
    beta = code.value(f"select i1 {null}, {scalar} 1.0, {scalar} {beta}")
    c_row, d_row = code.word("%words", DOT["c_row"]), code.word("%words", DOT["d_row"])
    d_row = code.value(f"select i1 {null}, i64 0, i64 {d_row}")
    across = code.mul("%column", str(size))
    d_across = code.value(f"select i1 {null}, i64 0, i64 {across}")
    d_base = code.value(f"select i1 {null}, ptr {nothing}, ptr %d")
    high = code.smaller(code.sub(code.word("%words", DOT["rows"]), "%row"), str(rows))
    wide = code.sub(code.word("%words", DOT["columns"]), "%column")
    wide = code.smaller(wide, str(columns))
    whole = code.value(f"icmp eq i64 {wide}, {columns}")
    with code.loop("0", high, "1") as row:
        line = code.add("%row", row.index)
        c = code.at("%c", code.add(code.mul(line, c_row), across))
        d = code.at(d_base, code.add(code.mul(line, d_row), d_across))
        result = code.at(results, code.mul(row.index, str(columns * size)))
        factors = (alpha, beta, floor)
        if columns > 1:
            with code.when(whole):
                _elements(code, vector, columns, (result, c, d), factors)
            wide = code.value(f"select i1 {whole}, i64 0, i64 {wide}")
        with code.loop("0", wide, "1") as column:
            offset = code.mul(column.index, str(size))
            pointers = tuple(code.at(pointer, offset) for pointer in (result, c, d))
            _elements(code, vector, 1, pointers, factors)


def _elements(
    code: Code, vector: Vectors, lanes: int, pointers: tuple[str, str, str], factors: tuple
) -> None:
    """Emit C = floor(alpha * sum + beta * D) for `lanes` elements side by side."""
    scalar, size = vector.scalar, vector.size
    kind = scalar if lanes == 1 else f"<{lanes} x {scalar}>"
    suffix = ("" if lanes == 1 else f"v{lanes}") + f"f{8 * size}"
    result, c, d = pointers
    if lanes > 1:
        factors = tuple(code.splat(scalar, lanes, factor) for factor in factors)
    alpha, beta, floor = factors
    added = code.value(f"fmul {kind} {code.load(kind, d, size)}, {beta}")
    total = vector.fma(code.load(kind, result, size), alpha, added, kind, suffix)
    total = vector.floor(floor, total, kind)
    code.do(f"store {kind} {total}, ptr {c}, align {size}")
