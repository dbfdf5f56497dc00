"""`torch.backends.mkl`: MKL is not used."""

from __future__ import annotations

from .mkldnn import verbose as verbose

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether MKL is used: False."""
    return False
