"""Automatic augmentation: several operations of random kinds and strengths."""

from __future__ import annotations

from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...base import absent
from ...nn.modules.module import Module
from . import functional as F
from .interpolation import InterpolationMode
from .policies import AUTO, MIX, MIX_PARTIAL, RAND, WIDE, AutoAugmentPolicy, Space, apply, policies
from .warping import fill_for

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

_NEAREST = InterpolationMode.NEAREST
_WHITE = 255.0  # strengths are those for bytes


def _drawn(space: Space) -> str:
    """The name of one of the operations."""
    names = space.names.split()
    return names[ops.randint(len(names), (1,)).item()]


def _strength(space: Space, name: str, levels: Tensor | None, level: int) -> float:
    """A strength, of a random sign where it has one."""
    strength = 0.0 if levels is None else float(levels[level].item())
    return -strength if space.signed(name) and ops.randint(2, (1,)) else strength


class AutoAugment(Module):
    """Two operations, drawn from the pairs that were found best for a data set.

    Args:
        policy: which data set.
        interpolation: of operations that move pixels.
        fill: the colour beyond the image: a number, one for each channel, or None for black.

    Tensors are bytes (..., 1 or 3, H, W).
    """

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
                 interpolation: InterpolationMode = _NEAREST, fill: Any = None) -> None:
        super().__init__()
        self.policy = policy
        self.interpolation = interpolation
        self.fill = fill
        self.policies = policies(policy)

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """Which pair, two numbers from 0 to 1 to compare with its chances, and two signs."""
        return (ops.randint(transform_num, (1,)).item(), ops.rand((2,)), ops.randint(2, (2,)))

    def forward(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        fill = fill_for(img, self.fill)
        which, chances, signs = self.get_params(len(self.policies))
        for i, (name, chance, level) in enumerate(self.policies[which]):
            if chances[i] <= chance:
                strength = 0.0
                if level is not None:
                    strength = float(AUTO.strengths(name, 10, height, width, _WHITE)[level])
                if AUTO.signed(name) and signs[i] == 0:
                    strength *= -1.0
                img = apply(F, img, name, strength, self.interpolation, fill)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(policy={self.policy}, fill={self.fill})"


class RandAugment(Module):
    """`num_ops` random operations, all of the same strength.

    Args:
        magnitude: which of `num_magnitude_bins` strengths.
        interpolation, fill: as in `AutoAugment`.
    """

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: InterpolationMode = _NEAREST, fill: Any = None) -> None:
        super().__init__()
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        fill = fill_for(img, self.fill)
        for _ in range(self.num_ops):
            name = _drawn(RAND)
            levels = RAND.strengths(name, self.num_magnitude_bins, height, width, _WHITE)
            strength = _strength(RAND, name, levels, self.magnitude)
            img = apply(F, img, name, strength, self.interpolation, fill)
        return img

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(num_ops={self.num_ops}, magnitude={self.magnitude}, "
                f"num_magnitude_bins={self.num_magnitude_bins}, "
                f"interpolation={self.interpolation}, fill={self.fill})")


class TrivialAugmentWide(Module):
    """One random operation of a random strength, out of `num_magnitude_bins`."""

    def __init__(self, num_magnitude_bins: int = 31, interpolation: InterpolationMode = _NEAREST,
                 fill: Any = None) -> None:
        super().__init__()
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        fill = fill_for(img, self.fill)
        name = _drawn(WIDE)
        levels = WIDE.strengths(name, self.num_magnitude_bins, height, width, _WHITE)
        level = 0 if levels is None else ops.randint(len(levels), (1,)).item()
        strength = _strength(WIDE, name, levels, level)
        return apply(F, img, name, strength, self.interpolation, fill)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(num_magnitude_bins={self.num_magnitude_bins}, "
                f"interpolation={self.interpolation}, fill={self.fill})")


class AugMix(Module):
    """A random mixture of an image and of chains of operations on it.

    Args:
        severity: from 1 to 10: the greatest strength.
        mixture_width: how many chains; chain_depth: their length, -1 for random ones of 1 to 3.
        alpha: of the Dirichlet distribution of the weights.
        all_ops: whether brightness, contrast, colour and sharpness are among the operations.
        interpolation, fill: as in `AutoAugment`.
    """

    def __init__(self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1,
                 alpha: float = 1.0, all_ops: bool = True,
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 fill: Any = None) -> None:
        super().__init__()
        set_mixing(self, severity, mixture_width, chain_depth, alpha, all_ops)
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, orig_img: Any) -> Any:
        fill = fill_for(orig_img, self.fill)
        space = MIX if self.all_ops else MIX_PARTIAL
        is_tensor = isinstance(orig_img, Tensor)

        def step(img: Tensor) -> Tensor:
            *_, height, width = img.shape
            name = _drawn(space)
            levels = space.strengths(name, self._PARAMETER_MAX, height, width, _WHITE)
            level = 0 if levels is None else ops.randint(self.severity, (1,)).item()
            strength = _strength(space, name, levels, level)
            return apply(F, img, name, strength, self.interpolation, fill)

        img = orig_img if is_tensor else F.pil_to_tensor(orig_img)
        mixed = mixture(img, self, step, 4)
        return mixed if is_tensor else F.to_pil_image(mixed)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(severity={self.severity}, "
                f"mixture_width={self.mixture_width}, chain_depth={self.chain_depth}, "
                f"alpha={self.alpha}, all_ops={self.all_ops}, "
                f"interpolation={self.interpolation}, fill={self.fill})")


def set_mixing(transform: Any, severity: int, mixture_width: int, chain_depth: int, alpha: float,
               all_ops: bool) -> None:
    """Check and keep what an `AugMix` of either version is told of its chains."""
    transform._PARAMETER_MAX = 10
    if not 1 <= severity <= transform._PARAMETER_MAX:
        raise ValueError(f"The severity must be between [1, {transform._PARAMETER_MAX}]. "
                         f"Got {severity} instead.")
    transform.severity = severity
    transform.mixture_width = mixture_width
    transform.chain_depth = chain_depth
    transform.alpha = alpha
    transform.all_ops = all_ops


def mixture(image: Tensor, options: Any, step: Any, dimensions: int) -> Tensor:
    """An image mixed with `options.mixture_width` chains of random steps from it.

    Args:
        options: an `AugMix` of either version.
        step: one random operation.
        dimensions: of a batch; an image of fewer is taken for a batch of one.
    """
    shape = image.shape
    batch = image.reshape(*((1,) * (dimensions - image.ndim)), *shape)
    each = (batch.shape[0], *((1,) * (batch.ndim - 1)))
    alpha = ops.tensor([options.alpha], device=image.device)
    pair = ops._sample_dirichlet(alpha.expand(2).expand(each[0], -1))
    weights = ops._sample_dirichlet(alpha.expand(options.mixture_width).expand(each[0], -1))
    weights = weights * pair[:, 1].reshape(each[0], 1)
    mixed = pair[:, 0].reshape(each) * batch
    for i in range(options.mixture_width):
        changed = batch
        depth = options.chain_depth
        for _ in range(depth if depth > 0 else ops.randint(1, 4, (1,)).item()):
            changed = step(changed)
        mixed.add_(weights[:, i].reshape(each) * changed)
    return mixed.reshape(shape).to(image.dtype)


__getattr__ = absent.names_of(__name__)
