"""`torch.backends.cusparselt`: cuSPARSELt is not used."""

from __future__ import annotations


def version() -> int | None:
    """The version of cuSPARSELt: None."""
    return None


def is_available() -> bool:
    """Whether cuSPARSELt is there: False."""
    return False


def get_max_alg_id() -> int | None:
    """The number of its algorithms: None."""
    return None
