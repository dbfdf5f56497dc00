"""The pack kernel: copies A and B, whatever their strides, into panels to be read in order.

A panel holds `width` lanes (rows of A, or columns of B) for all of K: element (k, lane) lies at
`k * width + lane`. Half types become float32 on the way. Three ways in, all by run-time strides:
lanes side by side (copy vectors), K side by side (transpose squares in registers), neither (one by
one).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .products_text import (
    ITEM_BYTES, LLVM_TYPE, PLAINEST, Code, ProductTarget, Vectors, compute_dtype, widen,
)  # fmt: skip

# The parameter words of one operand; the kernel takes those of A, then those of B. A unit is one
# (batch, panel, chunk of K), chunks fastest; where rows are copied, panels are (`panels_first`), so
# that long rows are read from end to end.
PACK_WORDS = (
    "source", "goal", "units",
    "lanes", "inner", "lane_stride", "inner_stride", "batch_stride",
    "width", "panels", "panel_stride", "goal_batch", "chunks", "chunk_inner",
    "panels_first",
)  # fmt: skip
PACK = {name: place for place, name in enumerate(PACK_WORDS)}


def pack_kernel(name: str, target: ProductTarget, dtype: str) -> str:
    """The pack kernel of one dtype."""
    code = Code(f"define void @{name}(ptr noalias %words, i64 %lo, i64 %hi) {target.attributes()}")
    goal_size = Vectors(None, PLAINEST, dtype).size
    with code.loop("%lo", "%hi", "1") as loop:
        unit = operand_unit(code, loop.index, goal_size)
        pitch = code.mul(unit.width, str(goal_size))
        fill_panel(code, name, unit.goal, pitch, unit.source, unit.strides, unit.count, unit.lanes)
    return panel_functions(name, target, dtype) + code.text()


def panel_functions(name: str, target: ProductTarget, dtype: str) -> str:
    """What `fill_panel` calls, for a kernel of this name."""
    code = Code(_HEADER.format(
        f"{name}_panel", "i64 %lane_stride, i64 %inner_stride", target.attributes()))
    side_by_side = code.value(f"icmp eq i64 %lane_stride, {ITEM_BYTES[dtype]}")
    upright = code.value(f"icmp eq i64 %inner_stride, {ITEM_BYTES[dtype]}")
    given = "ptr %goal, i64 %pitch, ptr %source, i64 {}, i64 %count, i64 %lanes"
    code.do(f"br i1 {side_by_side}, label %copy, label %other")
    code.label("copy")
    code.do(f"call void @{name}_copy({given.format('%inner_stride')})")
    code.do("ret void")
    code.label("other")
    code.do(f"br i1 {upright}, label %upright, label %single")
    code.label("upright")
    code.do(f"call void @{name}_transpose({given.format('%lane_stride')})")
    code.do("ret void")
    code.label("single")
    code.do(f"call void @{name}_single({given.format('%lane_stride, i64 %inner_stride')})")
    ways = _copy(name, target, dtype) + _transpose(name, target, dtype) + _single(name, dtype)
    return ways + code.text()


def fill_panel(code: Code, name: str, goal: str, pitch: str, source: str,
               strides: tuple[str, str], count: str, lanes: str) -> None:
    """Emit the filling of a panel: `count` steps of K, of pitch bytes, from `lanes` lanes.

    The strides are those of the source, from lane to lane and along K.
    """
    code.do(f"call void @{name}_panel(ptr {goal}, i64 {pitch}, ptr {source}, i64 {strides[0]}, "
            f"i64 {strides[1]}, i64 {count}, i64 {lanes})")


def copy_lanes(code: Code, name: str, goal: str, source: str, lanes: str) -> None:
    """Emit the copying of lanes that lie side by side: one step of a panel."""
    code.do(f"call void @{name}_copy(ptr {goal}, i64 0, ptr {source}, i64 0, i64 1, i64 {lanes})")


@dataclass(frozen=True)
class OperandUnit:
    """What a unit of packing copies: `count` steps of K of `lanes` lanes."""

    first: str  # whether the operand is A
    source: str
    goal: str
    strides: tuple[str, str]  # of the source, from lane to lane and along K
    count: str
    lanes: str
    width: str  # lanes of the panel


def operand_unit(code: Code, unit: str, goal_size: int) -> OperandUnit:
    """Emit the finding of a unit's part of its operand, and of the panel that it goes to.

    goal_size: bytes of a packed element.
    """
    count_first = code.word("%words", PACK["units"])
    second = code.at("%words", str(8 * len(PACK_WORDS)))
    first = code.value(f"icmp slt i64 {unit}, {count_first}")
    operand = code.value(f"select i1 {first}, ptr %words, ptr {second}")
    unit = code.sub(unit, code.value(f"select i1 {first}, i64 0, i64 {count_first}"))
    words = {word: code.word(operand, place) for word, place in PACK.items() if place > 1}
    turned = code.value(f"icmp ne i64 {words['panels_first']}, 0")

    def either(one: str, other: str) -> str:
        return code.value(f"select i1 {turned}, i64 {one}, i64 {other}")

    inner, outer = (either(*pair) for pair in ((words["panels"], words["chunks"]),
                                               (words["chunks"], words["panels"])))
    upper = code.value(f"udiv i64 {unit}, {inner}")
    low = code.sub(unit, code.mul(upper, inner))
    batch = code.value(f"udiv i64 {upper}, {outer}")
    high = code.sub(upper, code.mul(batch, outer))
    panel, chunk = either(low, high), either(high, low)
    start = code.mul(chunk, words["chunk_inner"])
    lane = code.mul(panel, words["width"])
    source = code.at(code.word(operand, 0, "ptr"), code.mul(batch, words["batch_stride"]))
    source = code.at(source, code.mul(lane, words["lane_stride"]))
    source = code.at(source, code.mul(start, words["inner_stride"]))
    goal = code.at(code.word(operand, 1, "ptr"), code.mul(batch, words["goal_batch"]))
    goal = code.at(goal, code.mul(panel, words["panel_stride"]))
    goal = code.at(goal, code.mul(start, code.mul(words["width"], str(goal_size))))
    count = code.smaller(code.sub(words["inner"], start), words["chunk_inner"])
    lanes = code.smaller(code.sub(words["lanes"], lane), words["width"])
    strides = (words["lane_stride"], words["inner_stride"])
    return OperandUnit(first, source, goal, strides, count, lanes, words["width"])


_HEADER = "define internal void @{}(ptr %goal, i64 %pitch, ptr %source, {}, "
_HEADER += "i64 %count, i64 %lanes) noinline {}"


def _copy(name: str, target: ProductTarget, dtype: str) -> str:
    """Lanes side by side: steps of full panels in one go, others by strips of whole vectors."""
    code = Code(_HEADER.format(f"{name}_copy", "i64 %stride", target.attributes()))
    if target.mask_registers and ITEM_BYTES[dtype] != 2:
        _copy_masked(code, Vectors(code, target, dtype), dtype)
        return code.text()
    for width in sorted(set(target.tile(dtype))):
        full = code.value(f"icmp eq i64 %lanes, {width}")
        ends = code.fresh("full"), code.fresh("ragged")
        code.do(f"br i1 {full}, label %{ends[0]}, label %{ends[1]}")
        code.label(ends[0])
        _copy_steps(code, target, dtype, "0", _pieces(target, dtype, width))
        code.do("ret void")
        code.label(ends[1])
    lanes = target.lanes(dtype)
    whole = code.value(f"and i64 %lanes, {-lanes}")
    with code.loop("0", whole, str(lanes)) as lane:
        _copy_steps(code, target, dtype, lane.index, [lanes])
    while lanes > 1:
        lanes //= 2  # the digits of what is left
        digit = code.value(f"and i64 %lanes, {lanes}")
        with code.when(code.value(f"icmp ne i64 {digit}, 0")):
            first = code.value(f"and i64 %lanes, {-2 * lanes}")
            _copy_steps(code, target, dtype, first, [lanes])
    return code.text()


def _pieces(target: ProductTarget, dtype: str, width: int) -> list[int]:
    """A width as vectors and powers of two: stores of these are exact without masks."""
    lanes = target.lanes(dtype)
    made = [lanes] * (width // lanes)
    while lanes > 1:
        lanes //= 2
        made += [lanes] * (width // lanes % 2)
    return made


def _copy_steps(code: Code, target: ProductTarget, dtype: str, first: str,
                pieces: list[int]) -> None:
    """Emit the copying of all steps of K, from lane `first` on, as pieces of so many lanes."""
    size, goal_size = ITEM_BYTES[dtype], ITEM_BYTES[compute_dtype(dtype)]
    source = code.at("%source", code.mul(first, str(size)))
    goal = code.at("%goal", code.mul(first, str(goal_size)))
    with code.loop("0", "%count", "1", [("ptr", source), ("ptr", goal)]) as row:
        read, write = row.values
        place = 0
        for lanes in pieces:
            vector = Vectors(code, replace(target, vector_bytes=lanes * goal_size), dtype)
            value = vector.read(dtype, code.at(read, str(place * size)))
            vector.store(value, code.at(write, str(place * goal_size)))
            place += lanes
        row.carry([code.at(read, "%stride"), code.at(write, "%pitch")])


def _copy_masked(code: Code, vector: Vectors, dtype: str) -> None:
    """Emit the copying of whole vectors, then, behind a mask, of what is left of the lanes."""
    size = ITEM_BYTES[dtype]
    whole = code.value(f"and i64 %lanes, {-vector.lanes}")
    rest = code.sub("%lanes", whole)
    mask = vector.mask(rest)
    ragged = code.value(f"icmp ne i64 {rest}, 0")
    with code.loop("0", "%count", "1") as row:
        read = code.at("%source", code.mul(row.index, "%stride"))
        write = code.at("%goal", code.mul(row.index, "%pitch"))
        with code.loop("0", whole, str(vector.lanes)) as lane:
            value = vector.load(code.at(read, code.mul(lane.index, str(size))))
            vector.store(value, code.at(write, code.mul(lane.index, str(vector.size))))
        with code.when(ragged):
            value = vector.load(code.at(read, code.mul(whole, str(size))), mask)
            vector.store(value, code.at(write, code.mul(whole, str(vector.size))), mask)


def _transpose(name: str, target: ProductTarget, dtype: str) -> str:
    """K side by side: squares of vectors transposed in registers; the rest of K one by one."""
    code = Code(_HEADER.format(f"{name}_transpose", "i64 %stride", target.attributes()))
    vector = Vectors(code, target, dtype)
    lanes, size = vector.lanes, ITEM_BYTES[dtype]
    whole = code.value(f"and i64 %count, {-lanes}")
    width = code.value(f"udiv i64 %pitch, {vector.size}")
    last = code.sub("%lanes", "1")
    with code.loop("0", "%lanes", str(lanes)) as group:
        pointers = []
        for place in range(lanes):  # past the last lane: that lane again, its copies are never used
            lane = code.smaller(code.add(group.index, str(place)), last)
            pointers.append(code.at("%source", code.mul(lane, "%stride")))
        goal = code.at("%goal", code.mul(group.index, str(vector.size)))
        room = code.sub(width, group.index)
        narrow = target.tile(dtype)[0] % lanes  # lanes in the last vector of A's panels
        if target.mask_registers or not narrow:
            mask = vector.mask(room) if narrow else None
            _squares(code, vector, dtype, pointers, goal, whole, mask=mask)
        else:  # masked stores of vectors would take longer than all else
            fits = code.value(f"icmp sge i64 {room}, {lanes}")
            for condition, used in ((fits, lanes), (code.value(f"xor i1 {fits}, true"), narrow)):
                with code.when(condition):
                    _squares(code, vector, dtype, pointers, goal, whole, used)
    with code.when(code.value(f"icmp ne i64 {whole}, %count")):
        source = code.at("%source", code.mul(whole, str(size)))
        goal = code.at("%goal", code.mul(whole, "%pitch"))
        code.do(
            f"call void @{name}_single(ptr {goal}, i64 %pitch, ptr {source}, i64 %stride, "
            f"i64 {size}, i64 {code.sub('%count', whole)}, i64 %lanes)"
        )
    return code.text()


def _squares(code: Code, vector: Vectors, dtype: str, pointers: list[str], goal: str, whole: str,
             used: int = 0, mask: str | None = None) -> None:
    """Emit the transposing of the lanes at `pointers`, up to step `whole` of K.

    Stored are the lanes of `mask`, or the first `used`, or all.
    """
    target, used = vector.target, used or vector.lanes
    with code.loop("0", whole, str(vector.lanes)) as inner:
        offset = code.mul(inner.index, str(ITEM_BYTES[dtype]))
        rows = [vector.read(dtype, code.at(pointer, offset)) for pointer in pointers]
        start = code.at(goal, code.mul(inner.index, "%pitch"))
        for step, row in enumerate(square(code, vector, rows)):
            write = code.at(start, code.mul("%pitch", str(step)))
            if used == vector.lanes:
                vector.store(row, write, mask)
                continue
            place = 0
            for lanes in _pieces(target, dtype, used):
                part = Vectors(code, replace(target, vector_bytes=lanes * vector.size), dtype)
                picked = code.shuffle(vector.kind, row, row, list(range(place, place + lanes)))
                part.store(picked, code.at(write, str(place * vector.size)))
                place += lanes


def square(code: Code, vector: Vectors, rows: list[str]) -> list[str]:
    """Transpose a square of vectors: swap the off-diagonal blocks, halving the block each time.

    What machines swap by one instruction are blocks of 8 bytes and more; pairs of floats are
    instead laid alternately, which does the work of both smaller blocks.
    """
    lanes, rows = vector.lanes, list(rows)
    smallest = 16 // vector.size if vector.size == 4 else 1
    block = lanes // 2
    while block >= smallest:
        upper = [lane + lanes - block if lane & block else lane for lane in range(lanes)]
        lower = [lane + lanes if lane & block else lane + block for lane in range(lanes)]
        for place in range(lanes):
            if not place & block:
                pair = rows[place], rows[place + block]
                rows[place] = code.shuffle(vector.kind, *pair, upper)
                rows[place + block] = code.shuffle(vector.kind, *pair, lower)
        block //= 2
    return _interleaved(code, vector, rows) if vector.size == 4 else rows


def _interleaved(code: Code, vector: Vectors, rows: list[str]) -> list[str]:
    """Transpose the squares of four floats in each 16 bytes of four vectors."""
    lanes = vector.lanes
    quads = range(0, lanes, 4)
    single = [[at + half + place for at in quads for place in (0, lanes, 1, lanes + 1)]
              for half in (0, 2)]  # fmt: skip
    double = [[at + half + place for at in quads for place in (0, 1, lanes, lanes + 1)]
              for half in (0, 2)]  # fmt: skip
    made = []
    for first in range(0, lanes, 4):
        one, two, three, four = rows[first : first + 4]
        for half in single:
            upper = code.shuffle(vector.kind, one, two, half)
            lower = code.shuffle(vector.kind, three, four, half)
            made += [code.shuffle(vector.kind, upper, lower, picks) for picks in double]
    return made


def _single(name: str, dtype: str) -> str:
    """Any strides, one element at a time."""
    strides = "i64 %lane_stride, i64 %stride"
    code = Code(_HEADER.format(f"{name}_single", strides, "nounwind"))
    vector = Vectors(code, PLAINEST, dtype)
    size = ITEM_BYTES[dtype]
    with code.loop("0", "%count", "1") as row:
        read = code.at("%source", code.mul(row.index, "%stride"))
        write = code.at("%goal", code.mul(row.index, "%pitch"))
        with code.loop("0", "%lanes", "1") as lane:
            item = code.at(read, code.mul(lane.index, "%lane_stride"))
            value = code.load(LLVM_TYPE[dtype], item, size)
            if size == 2:
                value = widen(code, PLAINEST, dtype, value, "", "")
            goal = code.at(write, code.mul(lane.index, str(vector.size)))
            code.do(f"store {vector.scalar} {value}, ptr {goal}, align {vector.size}")
    return code.text()
