"""`torch.backends.cudnn`, without cuDNN: the switches keep what is set."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from . import _switches

_MODULE = "yesca.backends.cudnn"

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
depthwise_kernel = "auto"
conv = _switches.FP32Precision()
rnn = _switches.FP32Precision()


def version() -> int | None:
    """The version of cuDNN: None."""
    return None


def is_available() -> bool:
    """Whether there is a cuDNN: False."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN can work on a tensor: False."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Set several switches; their former values."""
    return _switches.set_all(
        _MODULE, enabled=_enabled, benchmark=_benchmark, benchmark_limit=_benchmark_limit,
        deterministic=_deterministic, allow_tf32=_allow_tf32, fp32_precision=_fp32_precision,
    )


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """A context with these switches."""
    return _switches.changed(
        _MODULE, enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit,
        deterministic=deterministic, allow_tf32=allow_tf32, fp32_precision=fp32_precision,
    )
