"""What every product kernel is written with: the shape of a machine and LLVM text, line by line.

A `ProductTarget` says how wide vectors are and how many registers hold a tile. A `Code` collects
the text of one function; its loops are context managers, so the emitted nest reads like Python.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from collections.abc import Iterator

ITEM_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
LLVM_TYPE = {"float64": "double", "float32": "float", "bfloat16": "i16", "float16": "i16"}
LLVM_SUFFIX = {"float64": "f64", "float32": "f32"}


def compute_dtype(dtype: str) -> str:
    """The dtype sums are kept in: half types are products of float32."""
    return "float64" if dtype == "float64" else "float32"


@dataclass(frozen=True)
class Blocking:
    """The sizes of the units that products with a packed A are cut into."""

    packed_panels: int  # of A, in a full unit: L2 holds them while all of the unit's B passes by
    packing_panels: int  # of B, in a full unit that packs A: so often is its packing used
    room_bytes: int  # for A's panels that a unit packs, on the stack of whatever thread runs it
    upright_panels: int  # of A, in a unit that packs B, each panel when its turn comes,
    spared_panels: int  # ... if B is too large to be packed and read again in L2; else of A


@dataclass(frozen=True)
class ProductTarget:
    """The part of a machine's description that shapes a product kernel."""

    vector_bytes: int
    vector_registers: int
    fma: bool
    masked: bool  # masked loads and stores are single instructions (AVX2, AVX-512)
    mask_registers: bool  # ... that cost no vector register: masks may stay in the inner loop
    half: bool  # float16 is converted by an instruction
    pairs: bool = False  # pairs of bfloat16 are multiplied and added to float32,
    tiles: bool = False  # ... and so are tiles of them (AMX)

    def lanes(self, dtype: str) -> int:
        """Elements of the compute dtype in one vector."""
        return self.vector_bytes // ITEM_BYTES[compute_dtype(dtype)]

    def tile(self, dtype: str) -> tuple[int, int]:
        """Rows and columns of the micro-tile that the registers hold."""
        lanes = self.lanes(dtype)
        if self.mask_registers:
            return 14, 2 * lanes  # 28 sums, 2 of B, 2 spare, out of 32
        if self.vector_registers >= 32:
            return 8, 3 * lanes  # NEON: 24 sums, 3 of B; multiples of 4 need no masks to pack
        return (6 if self.masked else 4), 2 * lanes

    @property
    def blocking(self) -> Blocking:
        """How products are cut: low micro-tiles need more panels for as high a unit."""
        if self.vector_registers >= 32:
            return Blocking(8, 32, 1 << 17, *((10, 2) if self.mask_registers else (0, 0)))
        return Blocking(22, 64, 3 << 16, 44, 44)

    def dot_tile(self, dtype: str) -> tuple[int, int]:
        """Rows and columns of the tile of dot products whose sums the registers hold."""
        columns = min(4, self.lanes(dtype))
        return (4 if self.vector_registers >= 32 else 2), columns

    def attributes(self) -> str:
        """Function attributes that let LLVM use the full vector width."""
        bits = self.vector_bytes * 8
        width = f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
        return f"nounwind {width}" if bits > 128 else "nounwind"


def product_target(triple: str, features: str) -> ProductTarget:
    """Read the machine's shape from LLVM's target triple and feature string (`+avx2,-fma,...`)."""
    have = {name[1:] for name in features.split(",") if name.startswith("+")}
    if triple.startswith(("aarch64", "arm64")):
        return ProductTarget(16, 32, fma=True, masked=False, mask_registers=False, half=True)
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"} <= have:
        tiles = {"avx512bf16", "amx-tile", "amx-bf16"} <= have
        # Intel's vectors of pairs take twice as long as those of floats, so nothing is won;
        # sse4a tells AMD's machines, where they take the same time.
        pairs = tiles or {"avx512bf16", "sse4a"} <= have
        return ProductTarget(64, 32, fma=True, masked=True, mask_registers=True, half=True,
                             pairs=pairs, tiles=tiles)
    if {"avx2", "fma"} <= have:
        half = "f16c" in have
        return ProductTarget(32, 16, fma=True, masked=True, mask_registers=False, half=half)
    return ProductTarget(16, 16, fma=False, masked=False, mask_registers=False, half=False)


def declarations(text: str) -> str:
    """Declare the intrinsics that `text` calls."""
    lines = []
    for name in sorted(set(re.findall(r"@(llvm\.[\w.]+)\(", text))):
        parts = name.split(".")
        if parts[1] in ("smin", "smax"):
            lines.append(f"declare i64 @{name}(i64, i64)")
            continue
        if parts[1] == "prefetch":
            lines.append(f"declare void @{name}(ptr, i32, i32, i32)")
            continue
        suffix = parts[-2 if parts[-1] == "p0" else -1]
        lanes, bits = re.fullmatch(r"(?:v(\d+))?f(\d+)", suffix).groups()
        scalar = {"64": "double", "32": "float"}[bits]
        kind = f"<{lanes} x {scalar}>" if lanes else scalar
        mask = f"<{lanes} x i1>"
        if parts[1] == "fma":
            lines.append(f"declare {kind} @{name}({kind}, {kind}, {kind})")
        elif parts[2] == "load":
            lines.append(f"declare {kind} @{name}(ptr, i32 immarg, {mask}, {kind})")
        else:
            lines.append(f"declare void @{name}({kind}, ptr, i32 immarg, {mask})")
    return "\n".join(lines) + "\n"


PLAINEST = ProductTarget(16, 16, fma=False, masked=False, mask_registers=False, half=False)


class Loop:
    """One emitted loop: its index, the values it carries, and their final values after it."""

    def __init__(self, index: str, values: list[str]):
        self.index = index
        self.values = values
        self.following = values

    def carry(self, values: list[str]) -> None:
        """State the carried values of the next round."""
        self.following = values


class Code:
    """The text of one LLVM function, with numbered values and labels."""

    def __init__(self, header: str):
        self.header = header
        self.block = "entry"
        self.lines: list[str] = []
        self.count = 0

    def fresh(self, stem: str) -> str:
        """A name not used before in this function."""
        self.count += 1
        return f"{stem}{self.count}"

    def do(self, text: str) -> None:
        """Emit an instruction without a result."""
        self.lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """Emit an instruction and name its result."""
        name = self.fresh("%v")
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Start a basic block; what came before must have ended in a branch."""
        self.lines.append(f"{name}:")
        self.block = name

    def add(self, left: str, right: str) -> str:
        """left + right of i64."""
        return self.value(f"add i64 {left}, {right}")

    def sub(self, left: str, right: str) -> str:
        """left - right of i64."""
        return self.value(f"sub i64 {left}, {right}")

    def mul(self, left: str, right: str) -> str:
        """left * right of i64."""
        return self.value(f"mul i64 {left}, {right}")

    def smaller(self, left: str, right: str) -> str:
        """The smaller of two i64."""
        return self.value(f"call i64 @llvm.smin.i64(i64 {left}, i64 {right})")

    def at(self, pointer: str, offset: str) -> str:
        """The pointer `offset` bytes further."""
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, kind: str, pointer: str, align: int) -> str:
        """Load one value of the LLVM type `kind`."""
        return self.value(f"load {kind}, ptr {pointer}, align {align}")

    def prefetch(self, pointer: str) -> None:
        """Have the line at `pointer` come into L1; any address will do."""
        self.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")

    def word(self, words: str, index: int, kind: str = "i64") -> str:
        """Parameter word `index`, read as `kind`; floats lie in the word's low bytes."""
        return self.load(kind, self.at(words, str(8 * index)), 8)

    def splat(self, kind: str, lanes: int, scalar: str) -> str:
        """A vector of `lanes` copies of `scalar`."""
        one = self.value(f"insertelement <{lanes} x {kind}> poison, {kind} {scalar}, i32 0")
        return self.value(
            f"shufflevector <{lanes} x {kind}> {one}, <{lanes} x {kind}> poison, "
            f"<{lanes} x i32> zeroinitializer"
        )

    def mask(self, lanes: int, bits: int, count: str) -> str:
        """The first `count` of lanes of so many bits (an i64, perhaps negative or too many)."""
        top = self.value(f"call i64 @llvm.smin.i64(i64 {count}, i64 {lanes})")
        low = self.value(f"call i64 @llvm.smax.i64(i64 {top}, i64 0)")
        narrow = low if bits == 64 else self.value(f"trunc i64 {low} to i{bits}")
        limit = self.splat(f"i{bits}", lanes, narrow)
        numbers = ", ".join(f"i{bits} {lane}" for lane in range(lanes))
        return self.value(f"icmp ult <{lanes} x i{bits}> <{numbers}>, {limit}")

    def shuffle(self, kind: str, left: str, right: str, lanes: list[int]) -> str:
        """Lanes picked from two equal vectors of type `kind`, numbered left then right."""
        picks = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.value(
            f"shufflevector {kind} {left}, {kind} {right}, <{len(lanes)} x i32> <{picks}>"
        )

    @contextmanager
    def loop(
        self, start: str, stop: str, step: str, carried: list[tuple[str, str]] = ()
    ) -> Iterator[Loop]:
        """`for index in range(start, stop, step)`, carrying (type, first value) pairs."""
        stem = self.fresh("l")
        before = self.block
        self.do(f"br label %{stem}.head")
        self.label(f"{stem}.head")
        loop = Loop(f"%{stem}", [f"%{stem}.{place}" for place in range(len(carried))])
        phis = len(self.lines)
        test = self.value(f"icmp slt i64 {loop.index}, {stop}")
        self.do(f"br i1 {test}, label %{stem}.body, label %{stem}.exit")
        self.label(f"{stem}.body")
        yield loop
        following = self.add(loop.index, step)
        last = self.block
        self.do(f"br label %{stem}.head")
        pairs = [("i64", start, loop.index, following)]
        for (kind, first), name, after in zip(carried, loop.values, loop.following):
            pairs.append((kind, first, name, after))
        self.lines[phis:phis] = [
            f"  {name} = phi {kind} [ {first}, %{before} ], [ {after}, %{last} ]"
            for kind, first, name, after in pairs
        ]
        self.label(f"{stem}.exit")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """`if condition:`"""
        stem = self.fresh("w")
        self.do(f"br i1 {condition}, label %{stem}.then, label %{stem}.end")
        self.label(f"{stem}.then")
        yield
        self.do(f"br label %{stem}.end")
        self.label(f"{stem}.end")

    def text(self) -> str:
        """The whole function."""
        return "\n".join([self.header + " {", "entry:", *self.lines, "  ret void", "}", ""])


def widen(code: Code, target: ProductTarget, dtype: str, bits: str, left: str, right: str) -> str:
    """The float32 value of bfloat16 or float16 bits; left and right dress the scalar types."""
    short, word, single = (f"{left}{kind}{right}" for kind in ("i16", "i32", "float"))

    def number(value: int, kind: str) -> str:
        if not left:
            return str(value)
        scalar = kind[len(left) : -len(right)]
        lanes = int(left[1:].split(" ")[0])
        return "<" + ", ".join([f"{scalar} {value}"] * lanes) + ">"

    if dtype == "bfloat16":
        long = code.value(f"zext {short} {bits} to {word}")
        high = code.value(f"shl {word} {long}, {number(16, word)}")
        return code.value(f"bitcast {word} {high} to {single}")
    if target.half:
        half = f"{left}half{right}"
        value = code.value(f"bitcast {short} {bits} to {half}")
        return code.value(f"fpext {half} {value} to {single}")
    # No instruction: move the fields, rescale by 2^112, then give infinity and NaN their exponent.
    long = code.value(f"zext {short} {bits} to {word}")
    sign = code.value(f"and {word} {long}, {number(0x8000, word)}")
    sign = code.value(f"shl {word} {sign}, {number(16, word)}")
    rest = code.value(f"and {word} {long}, {number(0x7FFF, word)}")
    fields = code.value(f"shl {word} {rest}, {number(13, word)}")
    small = code.value(f"bitcast {word} {fields} to {single}")
    scale = code.value(f"bitcast {word} {number(0x77800000, word)} to {single}")
    value = code.value(f"fmul {single} {small}, {scale}")
    value = code.value(f"bitcast {single} {value} to {word}")
    special = code.value(f"icmp uge {word} {rest}, {number(0x7C00, word)}")
    test = f"{left}i1{right}"
    full = code.value(f"or {word} {fields}, {number(0x7F800000, word)}")
    value = code.value(f"select {test} {special}, {word} {full}, {word} {value}")
    value = code.value(f"or {word} {value}, {sign}")
    return code.value(f"bitcast {word} {value} to {single}")


class Vectors:
    """Arithmetic on one machine's vectors of one compute dtype, emitted into a `Code`."""

    def __init__(self, code: Code, target: ProductTarget, dtype: str):
        dtype = compute_dtype(dtype)
        self.code, self.target = code, target
        self.lanes = target.lanes(dtype)
        self.scalar = LLVM_TYPE[dtype]
        self.size = ITEM_BYTES[dtype]
        self.kind = f"<{self.lanes} x {self.scalar}>"
        self.suffix = f"v{self.lanes}{LLVM_SUFFIX[dtype]}"
        self.lane_bits = 8 * self.size

    def load(self, pointer: str, mask: str | None = None) -> str:
        """Load one vector, only the lanes of `mask` if given (the others are 0)."""
        if mask is None:
            return self.code.load(self.kind, pointer, self.size)
        return self.code.value(
            f"call {self.kind} @llvm.masked.load.{self.suffix}.p0(ptr {pointer}, "
            f"i32 {self.size}, <{self.lanes} x i1> {mask}, {self.kind} zeroinitializer)"
        )

    def read(self, dtype: str, pointer: str, mask: str | None = None) -> str:
        """Load one vector of `dtype`, half types widened to float32 (they take no mask)."""
        if ITEM_BYTES[dtype] != 2:
            return self.load(pointer, mask)
        bits = self.code.load(f"<{self.lanes} x i16>", pointer, 2)
        return widen(self.code, self.target, dtype, bits, f"<{self.lanes} x ", ">")

    def read_one(self, dtype: str, pointer: str) -> str:
        """One element of `dtype` in the first lane, 0 in the others."""
        item = self.code.load(LLVM_TYPE[dtype], pointer, ITEM_BYTES[dtype])
        if ITEM_BYTES[dtype] == 2:
            item = widen(self.code, PLAINEST, dtype, item, "", "")
        return self.code.value(
            f"insertelement {self.kind} zeroinitializer, {self.scalar} {item}, i32 0"
        )

    def store(self, vector: str, pointer: str, mask: str | None = None) -> None:
        """Store one vector, only the lanes of `mask` if given."""
        if mask is None:
            self.code.do(f"store {self.kind} {vector}, ptr {pointer}, align {self.size}")
            return
        self.code.do(
            f"call void @llvm.masked.store.{self.suffix}.p0({self.kind} {vector}, "
            f"ptr {pointer}, i32 {self.size}, <{self.lanes} x i1> {mask})"
        )

    def mask(self, count: str) -> str:
        """The first `count` lanes (an i64, perhaps negative or more than there are)."""
        return self.code.mask(self.lanes, self.lane_bits, count)

    def splat(self, scalar: str) -> str:
        """All lanes equal to a scalar of the compute dtype."""
        return self.code.splat(self.scalar, self.lanes, scalar)

    def fma(self, left: str, right: str, addend: str, kind: str = "", suffix: str = "") -> str:
        """left * right + addend, rounded once where the machine can."""
        kind, suffix = kind or self.kind, suffix or self.suffix
        if self.target.fma:
            return self.code.value(
                f"call {kind} @llvm.fma.{suffix}({kind} {left}, {kind} {right}, {kind} {addend})"
            )
        product = self.code.value(f"fmul {kind} {left}, {right}")
        return self.code.value(f"fadd {kind} {product}, {addend}")

    def floor(self, bound: str, vector: str, kind: str = "") -> str:
        """The larger of bound and vector; NaN stays (bound -inf changes nothing)."""
        kind = kind or self.kind
        lanes = kind[1:].split(" ")[0] if kind.startswith("<") else ""
        test = f"<{lanes} x i1>" if lanes else "i1"
        below = self.code.value(f"fcmp ogt {kind} {bound}, {vector}")
        return self.code.value(f"select {test} {below}, {kind} {bound}, {kind} {vector}")
