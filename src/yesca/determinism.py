"""Switches for determinism and for the precision of float32 products.

yesca's kernels give bitwise equal results for any number of threads, so the first switch changes
nothing here; it is kept so that programs which set and ask for it go on.
"""

from __future__ import annotations

from .base.frames import warn


__all__ = [
    "use_deterministic_algorithms", "are_deterministic_algorithms_enabled",
    "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode",
    "get_deterministic_debug_mode", "set_float32_matmul_precision",
    "get_float32_matmul_precision", "set_flush_denormal",
]

_MODES = {"default": 0, "warn": 1, "error": 2}
_PRECISIONS = ("highest", "high", "medium")

_mode = 0
_precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for operators that give the same result in each run. All of yesca's do."""
    global _mode
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, "
            f"not {type(mode).__name__}"
        )
    _mode = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on."""
    return _mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it is on with `warn_only=True`."""
    return _mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same switch by number or name: 0 `default`, 1 `warn`, 2 `error`."""
    global _mode
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, "
                f"but got {debug_mode}"
            )
        _mode = _MODES[debug_mode]
    elif isinstance(debug_mode, int):
        if debug_mode not in _MODES.values():
            raise RuntimeError(
                f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
            )
        _mode = int(debug_mode)
    else:
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` takes them."""
    return _mode


def set_float32_matmul_precision(precision: str) -> None:
    """`highest`, `high` or `medium`; products of float32 are computed in float32 in any case."""
    global _precision
    if precision not in _PRECISIONS:
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
            "setFloat32MatmulPrecision call has no effect."
        )
        return
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` has set."""
    return _precision


def set_flush_denormal(mode: bool) -> bool:
    """Denormal numbers are kept: True if `mode` asks for that, False as it cannot be changed."""
    return not mode
