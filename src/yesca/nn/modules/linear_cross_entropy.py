"""The cross entropy of a linear layer, as one module."""

from __future__ import annotations

import math

from ..._tensor import Tensor
from ...base.naming import lives_in
from .. import functional as F
from ._loss_bases import _WeightedLoss
from .linear import Linear
from .linear_cross_entropy_options import LinearCrossEntropyOptions


@lives_in("torch.nn.modules.loss")
class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the cross entropy of its outputs; see `F.linear_cross_entropy`.

    Args:
        in_features, num_classes, bias: of the layer, which is called `linear`.
        out_features: further dimensions of the logits (N, C, *out_features).
        weight: (num_classes), a factor for each class.
        ignore_index: a class number that counts for nothing; by default -100.
        options: work in chunks (`LinearCrossEntropyOptions`).

    >>> import yesca as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(5, 10, out_features=(4,))
    >>> loss(torch.zeros(2, 5), torch.zeros(2, 4, dtype=torch.int64))
    tensor(2.3026, grad_fn=<NllLoss2DBackward0>)
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]
    num_classes: int
    out_features: tuple[int, ...]
    ignore_index: int | None
    label_smoothing: float
    options: LinearCrossEntropyOptions | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device=None,
        dtype=None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if label_smoothing < 0 or label_smoothing > 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, None, None, reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
