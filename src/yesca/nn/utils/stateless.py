"""`torch.nn.utils.stateless`: the former place of `torch.func.functional_call`."""

from __future__ import annotations

from typing import Any

from ...base.frames import warn
from ...func import functional_call as _functional_call

__all__ = ["functional_call"]


def functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:
    """As `torch.func.functional_call`, which is its name now."""
    warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
         "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
         "which is a drop-in replacement.", FutureWarning)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights,
                            strict=strict)
