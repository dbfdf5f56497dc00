"""`torch.backends.kleidiai`: KleidiAI is not used."""

from __future__ import annotations


def is_available() -> bool:
    """Whether KleidiAI is used: False."""
    return False
