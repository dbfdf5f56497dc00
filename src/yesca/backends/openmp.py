"""`torch.backends.openmp`: OpenMP is not used."""

from __future__ import annotations


def is_available() -> bool:
    """Whether OpenMP is used: False."""
    return False
