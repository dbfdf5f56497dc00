"""`torch.backends.mkldnn`: oneDNN is not used."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from . import _switches

_MODULE = "yesca.backends.mkldnn"
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

enabled = True
deterministic = False
allow_tf32: bool | None = None
fp32_precision = "none"
conv = _switches.FP32Precision()
matmul = _switches.FP32Precision()
rnn = _switches.FP32Precision()


def is_available() -> bool:
    """Whether oneDNN is used: False."""
    return False


def is_acl_available() -> bool:
    """Whether the Arm Compute Library is used: False."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Set several switches; their former values."""
    return _switches.set_all(
        _MODULE, enabled=_enabled, deterministic=_deterministic, allow_tf32=_allow_tf32,
        fp32_precision=_fp32_precision,
    )


def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """A context with these switches."""
    return _switches.changed(
        _MODULE, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
    )


class verbose:
    """Context manager that would make oneDNN report its calls."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""
