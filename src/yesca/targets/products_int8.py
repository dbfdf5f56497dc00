"""The kernel of rows of bytes times packed int8 weights, summed in int32.

C = (A @ W - zero * sums) * (scale * scales) + bias: A holds uint8 (`zero` and `scale` are those of
its quantisation, found at run time), W int8, `sums` its column sums. The weights of 16 columns lie
together in a panel, four steps of K of each at a time; behind them lie the columns' sums (int32)
and scales (float32), which take as many bytes. With AVX-512 VNNI one instruction multiplies 64
bytes by four bytes of a row, which are repeated, and adds each column's four products. AVX2's
instruction for bytes saturates at 16 bits; without VNNI products are therefore 16 bits wide, which
holds each of them, and are added in pairs to sums of 32.
"""

from __future__ import annotations

from dataclasses import dataclass

from .products_text import Code

LANES = 16  # columns of a panel
DEPTH = 4  # steps of K that lie together
GROUP = LANES * DEPTH  # bytes of a panel for DEPTH steps of K
EXTRAS = 2  # groups behind those of the weights: sums and scales
UNIT_PANELS = 4  # of a unit: what one row of A is multiplied by before the next

# The parameter words, in order. Strides are bytes; `range` holds A's scale and zero point, float32.
INT8_WORDS = (
    "c", "a", "weight", "bias", "range",  # pointers; bias is null without one
    "rows", "columns", "groups",  # groups: of DEPTH steps of K
    "a_row", "c_row", "block_rows", "column_blocks",
)  # fmt: skip
_WORD = {name: place for place, name in enumerate(INT8_WORDS)}
_SUMS, _BYTES = f"<{LANES} x i32>", f"<{GROUP} x i8>"
_FLOATS, _MASK = f"<{LANES} x float>", f"<{LANES} x i1>"


@dataclass(frozen=True)
class Int8Target:
    """What of a machine shapes the kernel.

    vnni   bits of the vectors that the instruction for four products takes; 0: there is none
    wide   whether vectors have 512 bits, and there are 32 of them
    """

    vnni: int
    wide: bool
    vector_bits: int

    def attributes(self) -> str:
        """Function attributes that let LLVM use the full vector width."""
        width = f'"prefer-vector-width"="{self.vector_bits}" ' \
                f'"min-legal-vector-width"="{self.vector_bits}"'
        return f"nounwind {width}" if self.vector_bits > 128 else "nounwind"


def int8_target(triple: str, features: str) -> Int8Target:
    """Read the machine's shape from LLVM's target triple and feature string (`+avx2,-fma,...`)."""
    have = {name[1:] for name in features.split(",") if name.startswith("+")}
    if not triple.startswith(("x86_64", "i686")):
        return Int8Target(0, False, 128)
    if {"avx512f", "avx512vl", "avx512bw"} <= have:
        return Int8Target(512 if "avx512vnni" in have else 0, True, 512)
    if "avx2" in have:
        return Int8Target(256 if "avxvnni" in have else 0, False, 256)
    return Int8Target(0, False, 128)


def int8_kernel(target: Int8Target, name: str) -> str:
    """The LLVM module of the kernel, its entry called `name`: `void name(ptr words, i64 lo, hi)`.

    A unit is `block_rows` rows of A times UNIT_PANELS panels of the weights.
    """
    high = 4 if target.wide else 2
    wide = UNIT_PANELS if target.wide else 1
    tiles = {(rows, panels): f"{name}_{rows}x{panels}"
             for rows in (1, high) for panels in sorted({1, wide})}
    text = "".join(_tile(target, symbol, *size) for size, symbol in tiles.items())
    code = Code(f"define void @{name}(ptr noalias %words, i64 %lo, i64 %hi) {target.attributes()}")
    columns, blocks = (code.word("%words", _WORD[w]) for w in ("columns", "column_blocks"))
    rows, block_rows = (code.word("%words", _WORD[w]) for w in ("rows", "block_rows"))
    panels = code.value(f"udiv i64 {code.add(columns, str(LANES - 1))}, {LANES}")
    with code.loop("%lo", "%hi", "1") as unit:
        row_block = code.value(f"udiv i64 {unit.index}, {blocks}")
        column_block = code.sub(unit.index, code.mul(row_block, blocks))
        start = code.mul(row_block, block_rows)
        stop = code.smaller(code.add(start, block_rows), rows)
        left = code.mul(column_block, str(UNIT_PANELS))
        right = code.smaller(code.add(left, str(UNIT_PANELS)), panels)
        for row, end, tall in _pieces(code, start, stop, high):
            for panel, last, broad in _pieces(code, left, right, wide):
                with (code.loop(row, end, str(tall)) as at,
                      code.loop(panel, last, str(broad)) as across):
                    code.do(f"call void @{tiles[tall, broad]}(ptr %words, i64 {at.index}, "
                            f"i64 {across.index})")
    return _declarations(target) + text + code.text()


def _pieces(code: Code, start: str, stop: str, step: int) -> list[tuple[str, str, int]]:
    """[start, stop) in full steps, and what is left one by one."""
    if step == 1:
        return [(start, stop, 1)]
    span = code.value(f"and i64 {code.sub(stop, start)}, {-step}")
    middle = code.add(start, span)
    return [(start, middle, step), (middle, stop, 1)]


def _declarations(target: Int8Target) -> str:
    lines = [
        "declare i64 @llvm.smin.i64(i64, i64)", "declare i64 @llvm.smax.i64(i64, i64)",
        f"declare {_FLOATS} @llvm.masked.load.v{LANES}f32.p0(ptr, i32 immarg, {_MASK}, {_FLOATS})",
        f"declare void @llvm.masked.store.v{LANES}f32.p0({_FLOATS}, ptr, i32 immarg, {_MASK})",
    ]
    if target.vnni:
        part = f"<{target.vnni // 32} x i32>"
        lines.append(f"declare {part} @llvm.x86.avx512.vpdpbusd.{target.vnni}({part}, {part}, "
                     f"{part})")
    return "\n".join(lines) + "\n"


def _tile(target: Int8Target, name: str, rows: int, panels: int) -> str:
    """`rows` rows times `panels` panels: sums in registers all along K."""
    code = Code(f"define internal void @{name}(ptr noalias %words, i64 %row, i64 %panel) noinline "
                f"{target.attributes()}")
    groups, a_row = (code.word("%words", _WORD[w]) for w in ("groups", "a_row"))
    a, weight = (code.word("%words", _WORD[w], "ptr") for w in ("a", "weight"))
    behind = code.mul(groups, str(GROUP))
    stride = code.add(behind, str(EXTRAS * GROUP))
    lines = [code.at(a, code.mul(code.add("%row", str(k)), a_row)) for k in range(rows)]
    ways = [code.at(weight, code.mul(code.add("%panel", str(k)), stride)) for k in range(panels)]
    # Sums of few vectors would wait for one another: several of each, added in the end.
    deep = max(1, 8 // (rows * panels)) if target.wide else 1
    totals = _accumulate(code, target, lines, ways, groups, deep)
    _finish(code, totals, [code.at(way, behind) for way in ways])
    return code.text()


def _accumulate(code: Code, target: Int8Target, lines: list[str], ways: list[str], groups: str,
                deep: int) -> list[list[str]]:
    """Emit the loops over K; the int32 sums of each line with each way."""
    kind = _SUMS if target.vnni else f"<{2 * LANES} x i32>"
    count = len(lines) * len(ways)
    sums = ["zeroinitializer"] * (count * deep)
    start = "0"
    for step in sorted({deep, 1}, reverse=True):
        stop = groups if step == 1 else code.value(f"and i64 {groups}, {-step}")
        with code.loop(start, stop, str(step), [(kind, one) for one in sums]) as loop:
            sums = list(loop.values)
            for ahead in range(step):
                group = code.add(loop.index, str(ahead))
                offset, beyond = code.mul(group, str(DEPTH)), code.mul(group, str(GROUP))
                weights = [code.load(_BYTES, code.at(way, beyond), 1) for way in ways]
                place = ahead * count
                for line in lines:
                    four = code.splat("i32", LANES, code.load("i32", code.at(line, offset), 1))
                    for bytes_ in weights:
                        sums[place] = _four_products(code, target, sums[place], four, bytes_)
                        place += 1
            loop.carry(sums)
        sums, start = loop.values, stop
    while len(sums) > count:
        sums = [code.value(f"add {kind} {one}, {two}")
                for one, two in zip(sums[::2], sums[1::2], strict=True)] if count == 1 else [
            code.value(f"add {kind} {sums[k]}, {sums[k + len(sums) // 2]}")
            for k in range(len(sums) // 2)]
    if not target.vnni:
        sums = [code.value(f"add {_SUMS} {code.shuffle(kind, one, one, _every(2, 0))}, "
                           f"{code.shuffle(kind, one, one, _every(2, 1))}") for one in sums]
    return [sums[k:k + len(ways)] for k in range(0, count, len(ways))]


def _every(step: int, first: int, count: int = LANES) -> list[int]:
    return [first + step * lane for lane in range(count)]


def _four_products(code: Code, target: Int8Target, total: str, four: str, weights: str) -> str:
    """total + the products of the row's four bytes with each column's."""
    if target.vnni:
        return _vnni(code, target.vnni, total, four, weights)
    pairs, long = f"<{GROUP} x i16>", f"<{2 * LANES} x i32>"
    row = code.value(f"bitcast {_SUMS} {four} to {_BYTES}")
    a = code.value(f"zext {_BYTES} {row} to {pairs}")
    b = code.value(f"sext {_BYTES} {weights} to {pairs}")
    products = []
    for first in (0, 1):
        sides = [code.value(f"sext <{2 * LANES} x i16> "
                            f"{code.shuffle(pairs, one, one, _every(2, first, 2 * LANES))} "
                            f"to {long}") for one in (a, b)]
        products.append(code.value(f"mul nsw {long} {sides[0]}, {sides[1]}"))
    both = code.value(f"add nsw {long} {products[0]}, {products[1]}")
    return code.value(f"add {long} {total}, {both}")


def _vnni(code: Code, bits: int, total: str, four: str, weights: str) -> str:
    """vpdpbusd, in parts where vectors are shorter than a panel is wide."""
    words = code.value(f"bitcast {_BYTES} {weights} to {_SUMS}")
    lanes = bits // 32
    part, parts = f"<{lanes} x i32>", []
    for first in range(0, LANES, lanes):
        own = [code.shuffle(_SUMS, one, one, list(range(first, first + lanes)))
               for one in (total, four, words)]
        parts.append(code.value(f"call {part} @llvm.x86.avx512.vpdpbusd.{bits}({part} {own[0]}, "
                                f"{part} {own[1]}, {part} {own[2]})"))
    return parts[0] if len(parts) == 1 else code.shuffle(part, *parts, list(range(LANES)))


def _finish(code: Code, totals: list[list[str]], extras: list[str]) -> None:
    """Emit C = (sum - zero * column's sum) * (scale * column's scale) + bias, panel by panel."""
    pointer = {w: code.word("%words", _WORD[w], "ptr") for w in ("c", "bias", "range")}
    c_row, columns = (code.word("%words", _WORD[w]) for w in ("c_row", "columns"))
    scale = code.splat("float", LANES, code.load("float", pointer["range"], 4))
    zero = code.load("float", code.at(pointer["range"], "4"), 4)
    zero = code.splat("i32", LANES, code.value(f"fptosi float {zero} to i32"))
    null = code.value(f"icmp eq ptr {pointer['bias']}, null")
    numbers = ", ".join(f"i64 {lane}" for lane in range(LANES))
    for panel, extra in enumerate(extras):
        first = code.mul(code.add("%panel", str(panel)), str(LANES))
        across = code.mul(first, "4")
        left = code.splat("i64", LANES, code.sub(columns, first))
        mask = code.value(f"icmp slt <{LANES} x i64> <{numbers}>, {left}")
        given = code.splat("i1", LANES, null)
        added = code.value(f"select {_MASK} {given}, {_MASK} zeroinitializer, {_MASK} {mask}")
        bias = code.value(f"call {_FLOATS} @llvm.masked.load.v{LANES}f32.p0(ptr "
                          f"{code.at(pointer['bias'], across)}, i32 4, {_MASK} {added}, {_FLOATS} "
                          "zeroinitializer)")
        factor = code.load(_FLOATS, code.at(extra, str(GROUP)), 4)
        factor = code.value(f"fmul {_FLOATS} {scale}, {factor}")
        shift = code.load(_SUMS, extra, 4)
        shift = code.value(f"mul {_SUMS} {shift}, {zero}")
        for row, sums in enumerate(totals):
            exact = code.value(f"sub {_SUMS} {sums[panel]}, {shift}")
            value = code.value(f"sitofp {_SUMS} {exact} to {_FLOATS}")
            value = code.value(f"fmul {_FLOATS} {value}, {factor}")
            value = code.value(f"fadd {_FLOATS} {value}, {bias}")
            line = code.at(pointer["c"], code.mul(code.add("%row", str(row)), c_row))
            code.do(f"call void @llvm.masked.store.v{LANES}f32.p0({_FLOATS} {value}, ptr "
                    f"{code.at(line, across)}, i32 4, {_MASK} {mask})")
