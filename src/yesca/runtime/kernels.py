"""Stages to machine code: lower, hash, compile or load. One address per stage and variant."""

from __future__ import annotations

from ..loops.ir import Stage
from ..loops.printer import describe
from ..targets.llvm import GENERAL, Variant, emit_module
from . import machine

VERSION = "2"  # raise it when the same stage gives other LLVM text
_addresses: dict[tuple[Stage, Variant], int] = {}


def address(stage: Stage, variant: Variant = GENERAL, name: str = "kernel") -> int:
    """The address of the stage's machine function."""
    found = _addresses.get((stage, variant))
    if found is None:
        found = _addresses[stage, variant] = _load(stage, variant, name)
    return found


def _load(stage: Stage, variant: Variant, name: str) -> int:
    text = f"{describe(stage)}\n{variant.pattern} {variant.columns}"
    key = machine.hash_key("stage", VERSION, text)
    symbol = machine.symbol("kernel", key)  # equal stages of two records are one kernel

    def source() -> str:
        from ..passes.pipeline import lower

        return emit_module([(lower(stage), symbol, variant)])

    return machine.load(name, source, key).address(symbol)


def count() -> int:
    """How many distinct kernels this process has loaded."""
    return len(_addresses)
