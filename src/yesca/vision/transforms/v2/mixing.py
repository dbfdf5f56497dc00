"""Batches whose images and labels are mixed with those of their neighbours."""

from __future__ import annotations

import math
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....nn.functional import one_hot
from ....utils._pytree import tree_flatten, tree_unflatten
from ... import tv_tensors
from ..kernels.measures import is_pure_tensor
from ..kernels.pillow import is_pil
from .base import Transform
from .samples import has_any, labels_from, query_size

__all__ = ["CutMix", "MixUp"]

_PICTURES = (tv_tensors.Image, tv_tensors.Video)


class _Mixing(Transform):
    """Args:
        alpha: of the Beta distribution of the share.
        num_classes: of labels that are numbers of classes (N,).
        labels_getter: a function from the sample to its labels, or "default" (the second of two,
            or the entry "labels" of a dictionary).
    """

    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None,
                 labels_getter: Any = "default") -> None:
        from ....distributions import Beta

        super().__init__()
        self.alpha = float(alpha)
        self._dist = Beta(ops.tensor([alpha]), ops.tensor([alpha]))
        self.num_classes = num_classes
        self._labels_getter = labels_from(labels_getter)

    def _checked_labels(self, sample: Any) -> Tensor:
        labels = self._labels_getter(sample)
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError("labels should be index based with shape (batch_size,) or "
                             "probability based with shape (batch_size, num_classes), but got a "
                             f"tensor of shape {labels.shape} instead.")
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")
        if labels.ndim == 2 and self.num_classes not in (None, labels.shape[-1]):
            raise ValueError("When passing 2D labels, the number of elements in last dimension "
                             f"must match num_classes: {labels.shape[-1]} != {self.num_classes}. "
                             "You can Leave num_classes to None.")
        return labels

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, spec = tree_flatten(sample)
        needs = self._needs_transform_list(flat)
        if has_any(flat, is_pil, tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints):
            raise ValueError(f"{type(self).__name__}() does not support PIL images, bounding "
                             "boxes, keypoints and masks.")
        labels = self._checked_labels(sample)
        params = {"labels": labels, "batch_size": labels.shape[0],
                  **self.make_params([inpt for inpt, need in zip(flat, needs) if need])}
        needs[next(i for i, inpt in enumerate(flat) if inpt is labels)] = True
        made = [self.transform(inpt, params) if need else inpt for inpt, need in zip(flat, needs)]
        return tree_unflatten(made, spec)

    def _mixed(self, inpt: Tensor, params: dict[str, Any]) -> Tensor:
        raise NotImplementedError

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if inpt is params["labels"]:
            return self._mixed_labels(inpt, params["lam"])
        if not isinstance(inpt, _PICTURES) and not is_pure_tensor(inpt):
            return inpt
        expected = 5 if isinstance(inpt, tv_tensors.Video) else 4
        if inpt.ndim != expected:
            raise ValueError(f"Expected a batched input with {expected} dims, but got {inpt.ndim} "
                             "dimensions instead.")
        if inpt.shape[0] != params["batch_size"]:
            raise ValueError("The batch size of the image or video does not match the batch size "
                             f"of the labels: {inpt.shape[0]} != {params['batch_size']}.")
        made = self._mixed(inpt.as_subclass(Tensor), params)
        return tv_tensors.wrap(made, like=inpt) if isinstance(inpt, _PICTURES) else made

    def _mixed_labels(self, label: Tensor, share: float) -> Tensor:
        if label.ndim == 1:
            label = one_hot(label, num_classes=self.num_classes)
        if not label.is_floating_point():
            label = label.float()
        return label.roll(1, 0).mul_(1.0 - share).add_(label.mul(share))


class MixUp(_Mixing):
    """Each image and label mixed with the one before it in the batch (Zhang et al. 2018, arXiv
    1710.09412). Arguments: alpha, num_classes, labels_getter.

    >>> from yesca.vision.transforms import v2
    >>> images, labels = v2.MixUp(num_classes=3)(torch.zeros(2, 1, 4, 4), torch.tensor([0, 2]))
    >>> labels.sum(1)
    tensor([1., 1.])
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"lam": float(self._dist.sample(()))}

    def _mixed(self, inpt: Tensor, params: dict[str, Any]) -> Tensor:
        share = params["lam"]
        return inpt.roll(1, 0).mul_(1.0 - share).add_(inpt.mul(share))


class CutMix(_Mixing):
    """A random part of each image replaced by that of the one before it in the batch, and labels
    mixed by the area (Yun et al. 2019, arXiv 1905.04899). Arguments: alpha, num_classes,
    labels_getter."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        share = float(self._dist.sample(()))
        height, width = query_size(flat_inputs)
        x, y = ops.randint(width, (1,)).item(), ops.randint(height, (1,)).item()
        half = 0.5 * math.sqrt(1.0 - share)
        across, down = int(half * width), int(half * height)
        x1, y1 = max(x - across, 0), max(y - down, 0)
        x2, y2 = min(x + across, width), min(y + down, height)
        left = 1.0 - (x2 - x1) * (y2 - y1) / (width * height)
        return {"box": (x1, y1, x2, y2), "lam": left, "lam_adjusted": left}

    def _mixed(self, inpt: Tensor, params: dict[str, Any]) -> Tensor:
        x1, y1, x2, y2 = params["box"]
        made = inpt.clone()
        made[..., y1:y2, x1:x2] = inpt.roll(1, 0)[..., y1:y2, x1:x2]
        return made
