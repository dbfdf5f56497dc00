"""Many samples at once, where that gives what taking them one by one gives.

A loader asks for a batch; images in memory that only become tensors (`ToTensor`, perhaps
`Normalize` after it) need not become PIL images on the way, and are scaled in one pass.
"""

from __future__ import annotations

import sys
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import get_default_dtype, uint8

__all__ = ["at", "batch_of"]


def at(values: Any, index: Any) -> Any:
    """`values[index]`, of a tensor as a NumPy array or number, which is made sooner than a view."""
    if not isinstance(values, Tensor):  # what a program has put in its place
        return values[index]
    if type(values) is not Tensor or values.requires_grad:
        return values[index].numpy(force=True)
    try:
        return values.numpy()[index]
    except IndexError:
        return values[index].numpy()  # whose error has the words that are known


def _steps(transform: Any) -> list[Any] | None:
    """The normalisations after `ToTensor`; None if a transform is anything else."""
    known = sys.modules.get(f"{__name__.rpartition('.datasets')[0]}.transforms.values")
    if known is None:  # a transform of another make
        return None
    from .. import transforms

    steps = transform.transforms if type(transform) is transforms.Compose else [transform]
    if not isinstance(steps, (list, tuple)) or not steps:
        return None
    first, *rest = steps
    plain = type(first) is transforms.ToTensor and all(
        type(step) is transforms.Normalize and not step._forward_hooks
        and not step._forward_pre_hooks for step in rest)
    return rest if plain else None


def batch_of(images: Any, indices: Any, transform: Any) -> Tensor | None:
    """Images as a loader's batch has them, (N, C, H, W); None if that takes one by one.

    Args:
        images: all there are, bytes (N, H, W) or (N, H, W, C), a tensor or a NumPy array.
        indices: a list of int.
        transform: the transform of each.
    """
    if type(indices) is not list or not indices or set(map(type, indices)) != {int}:
        return None
    rest = _steps(transform)
    if rest is None:
        return None
    if type(images) is Tensor and images.dtype is uint8 and images.ndim == 3:
        chosen = images[ops.tensor(indices)].unsqueeze(1)
    else:
        numpy = sys.modules.get("numpy")
        if numpy is None or type(images) is not numpy.ndarray or images.dtype != numpy.uint8:
            return None
        if images.ndim not in (3, 4):
            return None
        taken = ops.from_numpy(images[indices])
        chosen = taken.unsqueeze(1) if images.ndim == 3 else taken.permute(0, 3, 1, 2)
    made = ops.empty(chosen.shape, dtype=get_default_dtype())
    ops.div(chosen, 255, out=made)
    for step in rest:
        made = step(made)
    return made
