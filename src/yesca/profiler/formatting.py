"""Times, bytes and shares as the tables show them."""

from __future__ import annotations

_TIMES = {"s": 1e6, "ms": 1e3, "us": 1.0}
_BYTES = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def time(microseconds: float, unit: str | None = None) -> str:
    """A time in the unit that fits it, or in the given one.

    >>> time(1234.5), time(2e6), time(1234.5, "us")
    ('1.234ms', '2.000s', '1234.500us')
    """
    if unit is None:
        unit = next((u for u, size in _TIMES.items() if microseconds >= size), "us")
    if unit not in _TIMES:
        raise ValueError(f"time_unit must be one of {list(_TIMES)}, but got {unit!r}")
    return f"{microseconds / _TIMES[unit]:.3f}{unit}"


def share(part: float, whole: float) -> str:
    """A part in per cent of the whole.

    >>> share(1, 3)
    '33.33%'
    """
    return "NaN" if whole == 0 else f"{part * 100.0 / whole:.2f}%"


def memory(nbytes: int) -> str:
    """A number of bytes.

    >>> memory(-1536), memory(12)
    ('-1.50 KB', '12 B')
    """
    for unit, size in _BYTES:
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def flops_unit(counts: list[int]) -> tuple[str, float]:
    """The unit of a column of counts, which its smallest fits, and the unit's size.

    >>> flops_unit([5_000_000, 0, 7_000])
    ('KFLOPs', 1000.0)
    """
    least = min((count for count in counts if count > 0), default=0)
    power = 0
    while power < len(_FLOPS) - 1 and least >= 1000 ** (power + 1):
        power += 1
    return _FLOPS[power], 1000.0 ** power
