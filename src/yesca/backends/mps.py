"""`torch.backends.mps`: Apple's GPUs are not used."""

from __future__ import annotations

from ..base import absent


def is_built() -> bool:
    """Whether the package has the MPS backend: False."""
    return False


def is_available() -> bool:
    """Whether there is an MPS device: False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is at least this macOS, asked of the MPS backend: False without it."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether the system is at least macOS 13, asked of the MPS backend: False without it."""
    return False


__getattr__ = absent.names_of(__name__)
