"""The loss that looks at what is hard."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor
from ...nn import functional as F
from ._utils import reduced

__all__ = ["sigmoid_focal_loss"]


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Binary cross entropy of logits, where what is right already counts little.

    Args:
        targets: 0 or 1, of the shape of `inputs`.
        alpha: weight of the ones, that of the zeros being 1 - alpha; -1 for none.
        gamma: power of the probability of being wrong that multiplies the loss.

    Raises:
        ValueError: `alpha` outside 0..1 and not -1, or an unknown `reduction`.

    >>> from yesca.vision.ops import sigmoid_focal_loss
    >>> sigmoid_focal_loss(torch.tensor([0.0, 4.0]), torch.tensor([1.0, 1.0]))
    tensor([4.3322e-02, 1.4679e-06])
    """
    if not 0 <= alpha <= 1 and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 "
                         "for ignore.")
    p = ops.sigmoid(inputs)
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = entropy * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction, guard=False)
