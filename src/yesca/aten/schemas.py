"""Signatures of PyTorch's own operators: facts, kept as a table of text (`schemas.txt`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..library import _schemas
from ..library._schemas import Argument, FunctionSchema

#: Letters of the table -> names in `torch.Tag`.
TAGS = {
    "c": "core", "p": "pointwise", "t": "pt2_compliant_tag", "v": "inplace_view", "i": "inplace",
    "r": "nondeterministic_seeded", "d": "data_dependent_output", "s": "dynamic_output_shape",
    "m": "maybe_aliasing_or_mutating", "b": "nondeterministic_bitwise", "g": "generated",
    "q": "reduction", "o": "out", "w": "view_copy", "x": "needs_exact_strides",
    "f": "needs_fixed_stride_order",
}


@dataclass(frozen=True)
class AtenSchema(FunctionSchema):
    """A signature as PyTorch writes it."""

    text: str = ""

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _converted(self, argument: Argument, number: int, value: Any) -> Any:
        if argument.type == "Tensor" and isinstance(value, (int, float, complex)):
            return value  # a number stands for a tensor of it
        return super()._converted(argument, number, value)

    @property
    def is_view(self) -> bool:
        """Whether a result may share an operand's memory without a write."""
        arguments = self.text.partition("->")[0]
        return "(a)" in arguments or "(a -> *)" in arguments


def parse(text: str) -> AtenSchema:
    """Read a signature; RuntimeError where it has types that yesca has not got."""
    made = _schemas.parse(text)
    return AtenSchema(f"aten::{made.name}", made.overload_name, made.arguments, made.returns,
                      made.returns_list, f"aten::{text}")


@cache
def table() -> dict[str, list[tuple[str, str]]]:
    """Name -> (letters, signature) of its overloads."""
    made: dict[str, list[tuple[str, str]]] = {}
    text = Path(__file__).with_name("schemas.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        letters, _, signature = line.partition(" ")
        name = signature[:min(signature.find("("), signature.find(".") % len(signature))]
        made.setdefault(name, []).append((letters, signature))
    return made
