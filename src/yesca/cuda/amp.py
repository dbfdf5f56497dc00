"""`torch.cuda.amp`: the former names of `torch.amp` for CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import absent
from ..base.frames import warn
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd as _custom_bwd
from ..amp import custom_fwd as _custom_fwd
from ..base.naming import lives_in

__all__ = ["autocast", "custom_fwd", "custom_bwd", "GradScaler"]


def _deprecated(old: str, new: str) -> None:
    warn(
        f"`torch.cuda.amp.{old}(args...)` is deprecated. "
        f"Please use `torch.amp.{new}('cuda', args...)` instead.",
        FutureWarning,
    )


@lives_in("torch.cuda.amp.autocast_mode")
class autocast(_autocast):  # type: ignore[misc, unused-ignore]
    """`torch.amp.autocast("cuda", ...)`."""

    def __init__(
        self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True
    ) -> None:
        _deprecated("autocast", "autocast")
        from ..core.dtypes import float16

        super().__init__("cuda", dtype or float16, enabled, cache_enabled)


@lives_in("torch.cuda.amp.grad_scaler")
class GradScaler(_GradScaler):  # type: ignore[misc, unused-ignore]
    """`torch.amp.GradScaler("cuda", ...)`."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler", "GradScaler")
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Any:
    """`torch.amp.custom_fwd(..., device_type="cuda")`."""
    _of_device("custom_fwd")
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """`torch.amp.custom_bwd(..., device_type="cuda")`."""
    _of_device("custom_bwd")
    return _custom_bwd(bwd, device_type="cuda")


def _of_device(name: str) -> None:
    warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. "
        f"Please use `torch.amp.{name}(args..., device_type='cuda')` instead.",
        FutureWarning,
    )


__getattr__ = absent.names_of(__name__)
