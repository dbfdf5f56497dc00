"""`torch.autograd.grad_mode`: the grad modes under PyTorch's module name."""

from __future__ import annotations

from ..base import absent
from .modes import (
    enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled,
)

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode",
           "set_multithreading_enabled"]


__getattr__ = absent.names_of(__name__)
