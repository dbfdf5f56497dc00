"""The order in memory of the weights of convolutions."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _converted(module: Any, kinds: tuple[type, ...], memory_format: Any) -> Any:
    for part in module.modules():
        if isinstance(part, kinds):
            weight = part.weight
            made = weight.detach().clone(memory_format=memory_format)
            weight.data = made.resize_(made.size(), memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay out the weights of all Conv2d and ConvTranspose2d of a module anew, and no others'.

    >>> import yesca as torch
    >>> layer = torch.nn.Conv2d(4, 2, 3)
    >>> torch.nn.utils.convert_conv2d_weight_memory_format(layer, torch.channels_last) is layer
    True
    >>> layer.weight.stride()
    (36, 1, 12, 4)
    """
    return _converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """As `convert_conv2d_weight_memory_format`, for Conv3d and ConvTranspose3d."""
    return _converted(module, (Conv3d, ConvTranspose3d), memory_format)
