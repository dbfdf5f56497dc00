"""`torch.backends.mha`: the switch of the fused encoder layer."""

from __future__ import annotations

_fastpath = True


def get_fastpath_enabled() -> bool:
    """Whether the fused path may be taken."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid the fused path."""
    global _fastpath
    _fastpath = value
