"""Instance normalisation."""

from __future__ import annotations

from ...base import absent
from ...base.frames import warn
from ..._tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase
from .module import weight_and_bias

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    _unbatched: int  # the rank of an input without a batch dimension

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        rank = self._unbatched
        if input.dim() not in (rank, rank + 1):
            raise ValueError(f"expected {rank}D or {rank + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        channel = input.dim() - self._unbatched
        if input.size(channel) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channel} to match num_features "
                    f"({self.num_features}), but got: {input.size(channel)}."
                )
            warn(
                f"input's size at dim={channel} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
            )
        batched = channel == 1
        result = F.instance_norm(
            input if batched else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            *weight_and_bias(self),
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result if batched else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, L) or (C, L) over its length."""

    _unbatched = 2


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, H, W) or (C, H, W) over space."""

    _unbatched = 3


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, D, H, W) or (C, D, H, W) over space."""

    _unbatched = 4


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):  # type: ignore[misc]
    """An `InstanceNorm1d` of as many features as its first input has channels; then it is one.

    Unlike that one it has weights and running statistics unless it is told not to.
    """

    cls_to_become = InstanceNorm1d
    _unbatched = InstanceNorm1d._unbatched


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):  # type: ignore[misc]
    """An `InstanceNorm2d` of as many features as its first input has channels; then it is one.

    Unlike that one it has weights and running statistics unless it is told not to.
    """

    cls_to_become = InstanceNorm2d
    _unbatched = InstanceNorm2d._unbatched


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):  # type: ignore[misc]
    """An `InstanceNorm3d` of as many features as its first input has channels; then it is one.

    Unlike that one it has weights and running statistics unless it is told not to.
    """

    cls_to_become = InstanceNorm3d
    _unbatched = InstanceNorm3d._unbatched


__getattr__ = absent.names_of(__name__)
