"""One machine function `void symbol(ptr words, i64 lo, i64 hi)` as LLVM text: words and loops."""

from __future__ import annotations

from collections.abc import Callable

from ..core.dtypes import DType, bool_, float32, float64
from .llvm_values import Text, Value, scalar_type


class FunctionText:
    """Writes a function; what it computes is for subclasses."""

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol
        self.text = Text()
        self.allocas: list[str] = []

    def word(self, index: int | str, kind: str = "i64") -> str:
        place = self.text.let(f"getelementptr i64, ptr %w, i64 {index}")
        return self.text.let(f"load {kind}, ptr {place}")

    def argument(self, word: int, dtype: DType) -> Value:
        if dtype.is_floating_point:
            wide = Value(self.word(word, "double"), float64)
            if dtype is float32:
                return Value(self.text.let(f"fptrunc {wide.typed} to float"), float32)
            return wide
        value = self.word(word)
        if dtype is bool_:
            return Value(self.text.let(f"icmp ne i64 {value}, 0"), dtype)
        if dtype.itemsize < 8:
            value = self.text.let(f"trunc i64 {value} to {scalar_type(dtype)}")
        return Value(value, dtype)

    # ---- loops ---------------------------------------------------------------------------

    def alloca(self, kind: str) -> str:
        name = self.text.fresh("a")
        self.allocas.append(f"  {name} = alloca {kind}")
        return name

    def loop(self, start: str, bound: str, step: str, body: Callable[[str], object],
             parallel: bool = False) -> None:
        """for i = start; i < bound; i += step (or what `body` returns)."""
        text = self.text
        place = self.alloca("i64")
        head, inside, done = (text.label(s) for s in ("head", "body", "done"))
        text.line(f"store i64 {start}, ptr {place}")
        text.line(f"br label %{head}")
        text.block(head)
        index = text.let(f"load i64, ptr {place}", "i")
        more = text.let(f"icmp slt i64 {index}, {bound}")
        text.line(f"br i1 {more}, label %{inside}, label %{done}")
        text.block(inside)
        advance = body(index)
        following = text.let(f"add nsw i64 {index}, {advance or step}")
        text.line(f"store i64 {following}, ptr {place}")
        text.line(f"br label %{head}, !llvm.loop !{1 if parallel else 4}")
        text.block(done)

    def branch(self, condition: str, then: Callable[[], object],
               otherwise: Callable[[], object] | None = None) -> None:
        text = self.text
        yes, no, end = (text.label(s) for s in ("yes", "no", "end"))
        text.line(f"br i1 {condition}, label %{yes}, label %{no}")
        text.block(yes)
        then()
        text.line(f"br label %{end}")
        text.block(no)
        if otherwise is not None:
            otherwise()
        text.line(f"br label %{end}")
        text.block(end)

    def smaller(self, a: str, b: str) -> str:
        less = self.text.let(f"icmp slt i64 {a}, {b}")
        return self.text.let(f"select i1 {less}, i64 {a}, i64 {b}")

    def finish(self) -> str:
        lines = [f"define void @{self.symbol}(ptr %w, i64 %lo, i64 %hi) #0 {{", "entry:"]
        return "\n".join([*lines, *self.allocas, *self.text.lines, "  ret void", "}"])
