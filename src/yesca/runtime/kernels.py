"""Stages to machine code: lower, hash, compile or load. One address per stage and variant."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from ..base import settings
from ..loops.ir import Stage
from ..loops.printer import describe
from ..loops.verify import verify
from ..targets.llvm import GENERAL, Variant, emit_module
from . import machine

_SOURCES = (
    "core/dtypes.py", "core/small_floats.py", "loops", "loops/elementary", "passes", "targets")
_addresses: dict[tuple[Stage, Variant], int] = {}


def address(stage: Stage, variant: Variant = GENERAL, name: str = "kernel") -> int:
    """The address of the stage's machine function."""
    found = _addresses.get((stage, variant))
    if found is None:
        found = _addresses[stage, variant] = _load(stage, variant, name)
    return found


def compiler_sources() -> list[Path]:
    """The files that make LLVM text of a stage."""
    root = Path(__file__).parent.parent
    return sorted(f for name in _SOURCES for f in
                  ((root / name).glob("*.py") if (root / name).is_dir() else [root / name]))


@cache
def compiler_version() -> str:
    """A hash of everything that makes LLVM text of a stage: other text, other cache entries."""
    return machine.hash_key(*(f.read_bytes() for f in compiler_sources()))


def _load(stage: Stage, variant: Variant, name: str) -> int:
    text = f"{describe(stage)}\n{variant}"
    key = machine.hash_key("stage", compiler_version(), text)
    symbol = machine.symbol("kernel", key)  # equal stages of two records are one kernel

    if settings.DEBUG.get() >= 3:
        print(f"{name} {key} {variant}\n{describe(stage)}", file=sys.stderr)
    if settings.VERIFY.get():
        verify(stage)

    def source() -> str:
        from ..passes.pipeline import lower

        lowered = lower(stage)
        if settings.VERIFY.get():
            verify(lowered, lowered=True)
        return emit_module([(lowered, symbol, variant)])

    return machine.load(name, source, key).address(symbol)


def stored(symbol: str) -> int:
    """The address of a kernel that is loaded or on disk, by its symbol; else 0."""
    module = machine.stored(symbol.removeprefix("kernel_"))
    return 0 if module is None else module.address(symbol)


def loaded() -> list[tuple[Stage, Variant]]:
    """The kernels that this process has loaded, oldest first."""
    return list(_addresses)


def count() -> int:
    """How many distinct kernels this process has loaded."""
    return len(_addresses)
