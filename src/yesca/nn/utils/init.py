"""Modules without starting values."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """`module_cls(*args, **kwargs)` with parameters and buffers of memory that nobody has filled.

    For modules whose values are about to be loaded, or set in another way. The class must take a
    `device`; it is made on the meta device, where starts cost nothing, and moved from there.

    >>> import yesca as torch
    >>> layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2, bias=False)
    >>> layer.weight.shape, layer.weight.device
    (torch.Size([2, 3]), device(type='cpu'))
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
