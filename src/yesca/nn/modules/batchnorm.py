"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from ...base import absent
from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import int64
from .. import functional as F
from .. import init
from ..parameter import UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module, weight_and_bias
from .normalization import _set_scale_and_shift

__all__ = [
    "BatchNorm1d",
    "LazyBatchNorm1d",
    "BatchNorm2d",
    "LazyBatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Scale, shift and running statistics, one number for each channel."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        _set_scale_and_shift(self, num_features, affine, bias, options)
        mean = variance = count = None
        if track_running_stats:
            mean = ops.zeros(num_features, **options)
            variance = ops.ones(num_features, **options)
            count = ops.tensor(0, dtype=int64, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to 0, the running variance to 1 and the count to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the statistics, the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            # Files of version 1 have no count of batches.
            count = self.num_batches_tracked
            if count is None or count.is_meta:
                count = ops.tensor(0, dtype=int64)
            state_dict.setdefault(prefix + "num_batches_tracked", count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    _dimensions: tuple[int, ...]

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._dimensions:
            expected = " or ".join(f"{rank}D" for rank in self._dimensions)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches so far
                momentum = 1.0 / float(self.num_batches_tracked)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            *weight_and_bias(self),
            use_batch,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) over the batch.

    In training the batch's own mean and variance serve and the running ones follow them, by
    `momentum` (None: as plain averages over all batches); in evaluation the running ones serve.

    >>> import yesca as torch
    >>> list(torch.nn.BatchNorm1d(2).state_dict())
    ['weight', 'bias', 'running_mean', 'running_var', 'num_batches_tracked']
    """

    _dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of (N, C, H, W) over batch and space; see `BatchNorm1d`."""

    _dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of (N, C, D, H, W) over batch and space; see `BatchNorm1d`."""

    _dimensions = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes: of the only one, here.

    Takes (N, C, ...) of any rank, and `process_group`, which it keeps; see `BatchNorm1d`.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        options = {"device": device, "dtype": dtype, "bias": bias}
        super().__init__(num_features, eps, momentum, affine, track_running_stats, **options)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group=None) -> Module:
        """The module with a SyncBatchNorm of the same state for each batch normalisation in it.

        >>> import yesca as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1].weight is model[1].weight
        True
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group, bias=module.bias is not None,
            )
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _LazyNormBase(LazyModuleMixin):
    """A normalisation whose `num_features` is the number of channels of its first input."""

    def __init__(
        self: Any,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**options)
            self.running_var = UninitializedBuffer(**options)
            self.num_batches_tracked = ops.tensor(0, dtype=int64, device=device)

    def reset_parameters(self: Any) -> None:
        """Reset statistics, weight and bias, once they have shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Take `num_features` from `input`; shapes that were loaded stay."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):  # type: ignore[misc]
    """A `BatchNorm1d` of as many features as its first input has channels; then it is one."""

    cls_to_become = BatchNorm1d
    _dimensions = BatchNorm1d._dimensions


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):  # type: ignore[misc]
    """A `BatchNorm2d` of as many features as its first input has channels; then it is one."""

    cls_to_become = BatchNorm2d
    _dimensions = BatchNorm2d._dimensions


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):  # type: ignore[misc]
    """A `BatchNorm3d` of as many features as its first input has channels; then it is one."""

    cls_to_become = BatchNorm3d
    _dimensions = BatchNorm3d._dimensions


__getattr__ = absent.names_of(__name__)
