"""`torch.cpu.amp`: the former names of `torch.amp` for the CPU."""

from __future__ import annotations

from typing import Any

from ...base import absent
from ...base.frames import warn
from ...amp import GradScaler as _GradScaler
from ...amp import autocast as _autocast
from ...base.naming import lives_in
from ...core.dtypes import bfloat16

__all__ = ["autocast", "GradScaler"]


def _deprecated(name: str) -> None:
    warn(f"`torch.cpu.amp.{name}(args...)` is deprecated. "
         f"Please use `torch.amp.{name}('cpu', args...)` instead.",
         FutureWarning)


@lives_in("torch.cpu.amp.autocast_mode")
class autocast(_autocast):
    """`torch.amp.autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16,
                 cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


@lives_in("torch.cpu.amp.grad_scaler")
class GradScaler(_GradScaler):
    """`torch.amp.GradScaler("cpu", ...)`."""

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000,
                 enabled: bool = True) -> None:
        _deprecated("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval,
                         enabled)


__getattr__ = absent.names_of(__name__)
