"""Products of bfloat16 by machines that multiply pairs: tiles of AMX, or AVX-512 with BF16.

Such an instruction takes two steps of K at once, the first factor's lying side by side and the
second's laid pair by pair: (K / 2, columns, 2). Panels are SIDE lanes wide and blocks of K SIDE
steps deep, filled up with zeros; a block of a panel, of either factor, has BLOCK_BYTES. A unit
computes blocks of C of SIDE x SIDE, all of K at once, in a room on its stack, from where they are
scaled, added to, rounded and stored. The first factor is read where it lies if its rows lie along
K and few panels of the second want it, except for a last, lower panel.

Sums are float32; subnormal factors count as zero, as these instructions have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from .products_pack import operand_unit, square
from .products_text import Code, ProductTarget, Vectors

SIDE = 32  # lanes of a panel, and steps of K in a block
HALF = 16  # ... in a register or a tile
BLOCK_BYTES = SIDE * SIDE * 2
LINE = SIDE * 2  # bytes of a lane's steps in a block
PITCH = SIDE * 4  # bytes of the pairs of a block, and of a row of sums
LOW = 8  # rows that the registers hold, where there are no tiles

# The parameter words of the kernel. From the row `tail_from` on, A is packed panels at "tail".
# "step" leads from one block of K to the next; if narrow is not 0, C is bfloat16, else float32.
PAIRS_WORDS = (
    "c", "d", "a", "b", "tail",
    "rows", "columns", "blocks",
    "c_row", "c_batch", "d_row", "d_batch",
    "a_row", "a_step", "a_batch", "tail_from", "tail_panel", "tail_batch", "b_panel", "b_batch",
    "alpha", "beta", "floor", "narrow",
    "block_rows", "block_columns", "row_blocks", "column_blocks",
)  # fmt: skip
PAIRS = {name: place for place, name in enumerate(PAIRS_WORDS)}
_FLOATS, _WORDS, _SHORTS = (f"<{HALF} x {kind}>" for kind in ("float", "i32", "i16"))


def declared(text: str) -> str:
    """Declarations of what these kernels call."""
    known = {
        "llvm.smin.i64": "i64 @{}(i64, i64)", "llvm.smax.i64": "i64 @{}(i64, i64)",
        "llvm.x86.ldtilecfg": "void @{}(ptr)", "llvm.x86.tilerelease": "void @{}()",
        "llvm.x86.tilezero": "void @{}(i8)", "llvm.x86.tdpbf16ps": "void @{}(i8, i8, i8)",
        "llvm.x86.tileloadd64": "void @{}(i8, ptr, i64)",
        "llvm.x86.tilestored64": "void @{}(i8, ptr, i64)",
        "llvm.x86.avx512bf16.dpbf16ps.512":
            f"{_FLOATS} @{{}}({_FLOATS}, <{SIDE} x bfloat>, <{SIDE} x bfloat>)",
        "llvm.fma.v16f32": f"{_FLOATS} @{{}}({_FLOATS}, {_FLOATS}, {_FLOATS})",
    }  # fmt: skip
    for kind, name in ((_FLOATS, "v16f32"), (_SHORTS, "v16i16"), (f"<{SIDE} x i16>", "v32i16")):
        mask = re.sub("x .*", "x i1>", kind)
        known[f"llvm.masked.load.{name}.p0"] = f"{kind} @{{}}(ptr, i32, {mask}, {kind})"
        known[f"llvm.masked.store.{name}.p0"] = f"void @{{}}({kind}, ptr, i32, {mask})"
    names = sorted(set(re.findall(r"@(llvm\.[\w.]+)\(", text)))
    return "".join(f"declare {known[name].format(name)}\n" for name in names)


# ---- packing ---------------------------------------------------------------------------------

def pairs_pack_kernel(name: str, target: ProductTarget) -> str:
    """The kernel that packs A, B or both: the words of `products_pack`, A's before B's."""
    code = Code(f"define void @{name}(ptr noalias %words, i64 %lo, i64 %hi) {target.attributes()}")
    with code.loop("%lo", "%hi", "1") as loop:
        unit = operand_unit(code, loop.index, 2)
        lane, step = unit.strides
        across = code.value(f"icmp eq i64 {lane}, 2")
        along = code.value(f"icmp eq i64 {step}, 2")
        given = f"ptr {unit.goal}, ptr {unit.source}, {{}}, i64 {unit.count}, i64 {unit.lanes}"
        with _either(code, unit.first) as factors:
            for factor, begin in zip("ab", factors, strict=True):
                begin()
                with _either(code, across) as layouts:
                    layouts[0]()
                    code.do(f"call void @{name}_across_{factor}({given.format(f'i64 {step}')})")
                    layouts[1]()
                    with _either(code, along) as others:
                        others[0]()
                        code.do(f"call void @{name}_along_{factor}({given.format(f'i64 {lane}')})")
                        others[1]()
                        both = f"i64 {lane}, i64 {step}"
                        code.do(f"call void @{name}_single_{factor}({given.format(both)})")
    ways = "".join(_squares(name, target, way, factor) for way in ("across", "along")
                   for factor in "ab") + "".join(_single(name, factor) for factor in "ab")
    return ways + code.text()


@contextmanager
def _either(code: Code, condition: str) -> Iterator[tuple]:
    """Two branches: call the first of what this gives where the one begins, then the second."""
    stem = code.fresh("e")
    code.do(f"br i1 {condition}, label %{stem}.yes, label %{stem}.no")

    def yes() -> None:
        code.label(f"{stem}.yes")

    def no() -> None:
        code.do(f"br label %{stem}.end")
        code.label(f"{stem}.no")

    yield yes, no
    code.do(f"br label %{stem}.end")
    code.label(f"{stem}.end")


def _header(name: str, way: str, factor: str, strides: str, attributes: str) -> Code:
    return Code(f"define internal void @{name}_{way}_{factor}(ptr %goal, ptr %source, {strides}, "
                f"i64 %count, i64 %lanes) noinline {attributes}")


def _squares(name: str, target: ProductTarget, way: str, factor: str) -> str:
    """Squares of HALF lanes by HALF pairs, a vector a lane ("along") or a pair ("across").

    A's are stored by lanes, B's by pairs: what is loaded the other way is transposed.
    """
    code = _header(name, way, factor, "i64 %stride", target.attributes())
    vector = Vectors(code, target, "float32")
    with code.loop("0", "%count", str(SIDE)) as inner, code.loop("0", str(SIDE), str(HALF)) as part:
        lanes, steps = code.sub("%lanes", part.index), code.sub("%count", inner.index)
        if way == "across":
            rows = _pairs_across(code, inner.index, part.index, lanes, steps)
        else:
            rows = _lanes_along(code, inner.index, part.index, lanes, steps)
        turned = (way == "across") == (factor == "a")
        if turned:
            rows = square(code, vector, rows)
        pitch, half = (LINE, HALF * LINE) if factor == "a" else (PITCH, HALF * 4)
        goal = code.at("%goal", code.mul(inner.index, str(BLOCK_BYTES // SIDE)))
        goal = code.at(goal, code.mul(part.index, str(half // HALF)))
        for place, row in enumerate(rows):
            vector.store(row, code.at(goal, str(place * pitch)))
    return code.text()


def _pairs_across(code: Code, inner: str, part: str, lanes: str, steps: str) -> list[str]:
    """HALF vectors of pairs: two rows of HALF lanes laid alternately."""
    full = code.mask(HALF, 16, lanes)
    none = f"<{HALF} x i1> zeroinitializer"
    base = code.at("%source", code.add(code.mul(inner, "%stride"), code.mul(part, "2")))
    turns = [at for lane in range(HALF) for at in (lane, HALF + lane)]
    found = []
    for pair in range(HALF):
        two = []
        for step in (2 * pair, 2 * pair + 1):
            there = code.value(f"icmp sgt i64 {steps}, {step}")
            mask = code.value(f"select i1 {there}, <{HALF} x i1> {full}, {none}")
            row = code.at(base, code.mul("%stride", str(step)))
            two.append(_masked_load(code, HALF, row, mask))
        row = code.shuffle(_SHORTS, *two, turns)
        found.append(code.value(f"bitcast <{SIDE} x i16> {row} to {_FLOATS}"))
    return found


def _lanes_along(code: Code, inner: str, part: str, lanes: str, steps: str) -> list[str]:
    """HALF vectors of lanes: SIDE steps of K of each."""
    full = code.mask(SIDE, 16, steps)
    none = f"<{SIDE} x i1> zeroinitializer"
    base = code.at("%source", code.add(code.mul(part, "%stride"), code.mul(inner, "2")))
    found = []
    for lane in range(HALF):
        there = code.value(f"icmp sgt i64 {lanes}, {lane}")
        mask = code.value(f"select i1 {there}, <{SIDE} x i1> {full}, {none}")
        row = _masked_load(code, SIDE, code.at(base, code.mul("%stride", str(lane))), mask)
        found.append(code.value(f"bitcast <{SIDE} x i16> {row} to {_FLOATS}"))
    return found


def _masked_load(code: Code, lanes: int, pointer: str, mask: str) -> str:
    kind = f"<{lanes} x i16>"
    return code.value(f"call {kind} @llvm.masked.load.v{lanes}i16.p0(ptr {pointer}, i32 2, "
                      f"<{lanes} x i1> {mask}, {kind} zeroinitializer)")


def _single(name: str, factor: str) -> str:
    """Any strides, one element at a time."""
    code = _header(name, "single", factor, "i64 %lane_stride, i64 %stride", "nounwind")
    blocks = code.value(f"and i64 {code.add('%count', str(SIDE - 1))}, {-SIDE}")
    with code.loop("0", blocks, "1") as step, code.loop("0", str(SIDE), "1") as lane:
        kept = code.value(f"icmp slt i64 {step.index}, %count")
        inside = code.value(f"icmp slt i64 {lane.index}, %lanes")
        inside = code.value(f"and i1 {kept}, {inside}")
        offset = code.add(code.mul(lane.index, "%lane_stride"), code.mul(step.index, "%stride"))
        offset = code.value(f"select i1 {inside}, i64 {offset}, i64 0")
        item = code.load("i16", code.at("%source", offset), 2)
        item = code.value(f"select i1 {inside}, i16 {item}, i16 0")
        block = code.value(f"and i64 {step.index}, {-SIDE}")
        within = code.sub(step.index, block)
        goal = code.mul(block, str(BLOCK_BYTES // SIDE))
        if factor == "a":
            place = code.add(code.mul(lane.index, str(LINE)), code.mul(within, "2"))
        else:
            odd = code.value(f"and i64 {within}, 1")
            place = code.add(code.mul(code.sub(within, odd), str(PITCH // 2)),
                             code.mul(lane.index, "4"))
            place = code.add(place, code.mul(odd, "2"))
        code.do(f"store i16 {item}, ptr {code.at('%goal', code.add(goal, place))}, align 2")
    return code.text()


# ---- multiplying -----------------------------------------------------------------------------

def pairs_kernel(name: str, target: ProductTarget) -> str:
    """The kernel: units are (batch, row block, column block), column blocks fastest."""
    text = (_tile_sums if target.tiles else _register_sums)(name, target) + _finish(name, target)
    code = Code(f"define void @{name}(ptr noalias %words, i64 %lo, i64 %hi) {target.attributes()}")
    words = {word: code.word("%words", place) for word, place in PAIRS.items() if place > 4}
    for word in ("c", "d", "a", "b", "tail"):
        words[word] = code.word("%words", PAIRS[word], "ptr")
    words["room"] = code.value(f"alloca [{SIDE * PITCH} x i8], align 64")
    if target.tiles:
        text += _tile_shapes(name)
        code.do(f"call void @llvm.x86.ldtilecfg(ptr @{name}_shapes)")
    with code.loop("%lo", "%hi", "1") as unit:
        _unit(code, name, words, unit.index)
    if target.tiles:
        code.do("call void @llvm.x86.tilerelease()")
    return text + code.text()


def _tile_shapes(name: str) -> str:
    """The configuration of the tiles: all of HALF rows of LINE bytes."""
    content = [0] * 64
    content[0] = 1
    for tile in range(8):
        content[16 + 2 * tile], content[48 + tile] = LINE, HALF
    text = "".join(f"\\{byte:02X}" for byte in content)
    return f'@{name}_shapes = internal constant [64 x i8] c"{text}", align 64\n'


def _unit(code: Code, name: str, words: dict[str, str], unit: str) -> None:
    """Emit one unit: each panel of B meets all of the unit's panels of A."""
    upper = code.value(f"udiv i64 {unit}, {words['column_blocks']}")
    column_block = code.sub(unit, code.mul(upper, words["column_blocks"]))
    batch = code.value(f"udiv i64 {upper}, {words['row_blocks']}")
    row_block = code.sub(upper, code.mul(batch, words["row_blocks"]))
    first = code.mul(row_block, words["block_rows"])
    left = code.mul(column_block, words["block_columns"])
    end = code.smaller(code.add(first, words["block_rows"]), words["rows"])
    right = code.smaller(code.add(left, words["block_columns"]), words["columns"])
    at = {matrix: code.at(words[matrix], code.mul(batch, words[f"{matrix}_batch"]))
          for matrix in ("a", "b", "c", "d", "tail")}
    narrow = code.value(f"icmp ne i64 {words['narrow']}, 0")
    item = code.value(f"select i1 {narrow}, i64 2, i64 4")
    absent = code.value(f"icmp eq ptr {words['d']}, null")
    with code.loop(left, right, str(SIDE)) as column:
        panel = code.value(f"udiv i64 {column.index}, {SIDE}")
        b = code.at(at["b"], code.mul(panel, words["b_panel"]))
        wide = code.sub(words["columns"], column.index)
        with code.loop(first, end, str(SIDE)) as row:
            low = code.value(f"icmp sge i64 {row.index}, {words['tail_from']}")
            a = code.at(at["a"], code.mul(row.index, words["a_row"]))
            below = code.value(f"udiv i64 {code.sub(row.index, words['tail_from'])}, {SIDE}")
            tail = code.at(at["tail"], code.mul(below, words["tail_panel"]))
            a = code.value(f"select i1 {low}, ptr {tail}, ptr {a}")
            a_row = code.value(f"select i1 {low}, i64 {LINE}, i64 {words['a_row']}")
            a_step = code.value(f"select i1 {low}, i64 {BLOCK_BYTES}, i64 {words['a_step']}")
            code.do(f"call void @{name}_sums(ptr {a}, i64 {a_row}, i64 {a_step}, ptr {b}, "
                    f"i64 {words['blocks']}, ptr {words['room']})")
            c = code.at(at["c"], code.mul(row.index, words["c_row"]))
            c = code.at(c, code.mul(column.index, item))
            d = code.at(at["d"], code.mul(row.index, words["d_row"]))
            d = code.at(d, code.mul(column.index, "4"))
            d = code.value(f"select i1 {absent}, ptr null, ptr {d}")
            high = code.smaller(code.sub(words["rows"], row.index), str(SIDE))
            code.do(f"call void @{name}_finish(ptr %words, ptr {words['room']}, ptr {c}, ptr {d}, "
                    f"i64 {high}, i64 {wide}, i1 {narrow})")


_SUMS = ("define internal void @{}_sums(ptr %a, i64 %a_row, i64 %a_step, ptr %b, i64 %blocks, "
         "ptr noalias %room) noinline {}")


def _tile_sums(name: str, target: ProductTarget) -> str:
    """Four tiles of sums; a block of K is two tiles of A and two of B."""
    code = Code(_SUMS.format(name, target.attributes()))
    for tile in range(4):
        code.do(f"call void @llvm.x86.tilezero(i8 {tile})")
    below = code.mul("%a_row", str(HALF))
    with code.loop("0", "%blocks", "1", [("ptr", "%a"), ("ptr", "%b")]) as loop:
        a, b = loop.values
        operands = {4: (a, "%a_row"), 5: (code.at(a, below), "%a_row"),
                    6: (b, PITCH), 7: (code.at(b, str(LINE)), PITCH)}
        for tile in range(4):  # each operand is loaded when it is first needed
            pair = 4 + tile // 2, 6 + tile % 2
            for operand in pair:
                if operand in operands:
                    pointer, stride = operands.pop(operand)
                    code.do(f"call void @llvm.x86.tileloadd64(i8 {operand}, ptr {pointer}, "
                            f"i64 {stride})")
            code.do(f"call void @llvm.x86.tdpbf16ps(i8 {tile}, i8 {pair[0]}, i8 {pair[1]})")
        loop.carry([code.at(a, "%a_step"), code.at(b, str(BLOCK_BYTES))])
    for tile in range(4):
        goal = code.at("%room", str(tile // 2 * HALF * PITCH + tile % 2 * LINE))
        code.do(f"call void @llvm.x86.tilestored64(i8 {tile}, ptr {goal}, i64 {PITCH})")
    return code.text()


def _register_sums(name: str, target: ProductTarget) -> str:
    """LOW rows at a time in registers; a pair of A meets two vectors of B's pairs."""
    code = Code(_SUMS.format(name, target.attributes()))
    kind = f"<{SIDE} x bfloat>"
    with code.loop("0", str(SIDE), str(LOW)) as part:
        start = code.at("%a", code.mul(part.index, "%a_row"))
        carried = [("ptr", start), ("ptr", "%b")] + [(_FLOATS, "zeroinitializer")] * (2 * LOW)
        with code.loop("0", "%blocks", "1", carried) as outer:
            inside = [("ptr", outer.values[1]),
                      *((_FLOATS, value) for value in outer.values[2:])]
            with code.loop("0", str(LINE), "4", inside) as pair:
                b, sums = pair.values[0], list(pair.values[1:])
                right = [code.load(kind, code.at(b, str(place)), 4) for place in (0, LINE)]
                for row in range(LOW):
                    at = code.add(code.mul("%a_row", str(row)), pair.index)
                    left = code.load("i32", code.at(outer.values[0], at), 4)
                    left = code.splat("i32", HALF, left)
                    left = code.value(f"bitcast {_WORDS} {left} to {kind}")
                    for place in range(2):
                        sums[2 * row + place] = code.value(
                            f"call {_FLOATS} @llvm.x86.avx512bf16.dpbf16ps.512({_FLOATS} "
                            f"{sums[2 * row + place]}, {kind} {left}, {kind} {right[place]})")
                pair.carry([code.at(b, str(PITCH)), *sums])
            outer.carry([code.at(outer.values[0], "%a_step"), *pair.values])
        goal = code.at("%room", code.mul(part.index, str(PITCH)))
        for place, value in enumerate(outer.values[2:]):
            code.do(f"store {_FLOATS} {value}, ptr {code.at(goal, str(place * LINE))}, align 64")
    return code.text()


def _finish(name: str, target: ProductTarget) -> str:
    """Scale a block of sums, add to it, bound it from below; store it in C's dtype."""
    code = Code(
        f"define internal void @{name}_finish(ptr noalias %words, ptr noalias %room, ptr %c, "
        f"ptr %d, i64 %high, i64 %wide, i1 %narrow) noinline {target.attributes()}")
    vector = Vectors(code, target, "float32")
    alpha, beta, floor = (vector.splat(code.word("%words", PAIRS[word], "float"))
                          for word in ("alpha", "beta", "floor"))
    c_row, d_row = (code.word("%words", PAIRS[word]) for word in ("c_row", "d_row"))
    plain = code.value("icmp eq ptr %d, null")
    halves = []
    for place in range(2):
        left = code.sub("%wide", str(place * HALF))
        halves.append((place * LINE, vector.mask(left)))
    with code.loop("0", "%high", "1") as row:
        sums = code.at("%room", code.mul(row.index, str(PITCH)))
        goal = code.at("%c", code.mul(row.index, c_row))
        added = code.at("%d", code.mul(row.index, d_row))
        for offset, mask in halves:
            total = vector.load(code.at(sums, str(offset)))
            total = code.value(f"fmul {_FLOATS} {total}, {alpha}")
            with _merged(code, plain, _FLOATS, total) as result:
                more = vector.load(code.at(added, str(offset)), mask)
                result.append(vector.fma(more, beta, total))
            total = vector.floor(floor, result[1])
            with _either(code, "%narrow") as (short, long):
                short()
                value = code.value(f"fptrunc {_FLOATS} {total} to <{HALF} x bfloat>")
                value = code.value(f"bitcast <{HALF} x bfloat> {value} to {_SHORTS}")
                code.do(f"call void @llvm.masked.store.v{HALF}i16.p0({_SHORTS} {value}, ptr "
                        f"{code.at(goal, str(offset // 2))}, i32 2, <{HALF} x i1> {mask})")
                long()
                vector.store(total, code.at(goal, str(offset)), mask)
    return code.text()


@contextmanager
def _merged(code: Code, skipped: str, kind: str, value: str) -> Iterator[list[str]]:
    """`value`, or where not `skipped` what is appended inside; the result is the second item."""
    stem, before, made = code.fresh("m"), code.block, []
    code.do(f"br i1 {skipped}, label %{stem}.end, label %{stem}.then")
    code.label(f"{stem}.then")
    yield made
    code.do(f"br label %{stem}.end")
    last = code.block
    code.label(f"{stem}.end")
    made.append(code.value(f"phi {kind} [ {value}, %{before} ], [ {made[0]}, %{last} ]"))
