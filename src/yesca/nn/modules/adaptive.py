"""A softmax over many classes, of which the rare ones have layers of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ... import functional as ops
from ..._tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """What the module gives: logarithms of the targets' probabilities (N), and the mean loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes in clusters by how frequent they are.

    E. Grave, A. Joulin, M. Cissé, D. Grangier, H. Jégou, Efficient softmax approximation for
    GPUs, arXiv:1609.04309. Classes are numbered from the most frequent on. The head tells apart
    the first `cutoffs[0]` of them and the clusters; the classes of cluster k, from `cutoffs[k]`
    to the next cutoff, are told apart after a projection to in_features / div_value ** (k + 1).

    Shapes: input (N, in_features) and target (N), or (in_features) and (). Gives `output`, the
    log-probability of each target, and `loss`, minus their mean.

    Raises ValueError for cutoffs that are not increasing whole numbers from 1 to n_classes - 1,
    RuntimeError for shapes that do not fit and targets out of range.

    >>> import yesca as torch
    >>> model = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
    >>> made = model(torch.zeros(3, 8), torch.tensor([0, 7, 19]))
    >>> made.output.shape, model.log_prob(torch.zeros(3, 8)).shape
    (torch.Size([3]), torch.Size([3, 20]))
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        limits = list(cutoffs)
        if not limits:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if any(int(c) != c or not 0 < c < n_classes for c in limits) or any(
                a >= b for a, b in zip(limits, limits[1:], strict=False)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in "
                             "an increasing order, where each value is between 1 and n_classes-1")
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*limits, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = limits[0], len(limits)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for k, (low, high) in enumerate(zip(limits, self.cutoffs[1:], strict=True), start=1):
            inner = int(in_features // div_value ** k)
            self.tail.append(Sequential(Linear(in_features, inner, bias=False, **options),
                                        Linear(inner, high - low, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for projection, scores in self.tail:
            projection.reset_parameters()
            scores.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check_shapes(input_, target_)
        single = target_.dim() == 0
        input, target = (t.unsqueeze(0) if single else t for t in (input_, target_))
        head = F.log_softmax(self.head(input), dim=1)
        column = target.clamp(max=self.shortlist_size - 1)  # of the head: a class or a cluster
        inside = ops.zeros_like(head[:, 0])
        known = target < self.shortlist_size
        for k, (low, high) in enumerate(self._clusters()):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            known = known.index_fill(0, rows, True)
            column = column.index_fill(0, rows, self.shortlist_size + k)
            own = F.log_softmax(self.tail[k](input.index_select(0, rows)), dim=1)
            chosen = own.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            inside = inside.index_copy(0, rows, chosen.to(inside.dtype))
        if not bool((known & (target >= 0)).all()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. ")
        output = head.gather(1, column.unsqueeze(1)).squeeze(1) + inside
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _check_shapes(self, input: Tensor, target: Tensor) -> None:
        if target.dim() == 1:
            if input.shape[0] != target.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch "
                                   "dimension.")
            if input.dim() != 2:
                raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs "
                                   f"with size {tuple(input.shape)}")
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs "
                                   f"with size {tuple(input.shape)}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")

    def _clusters(self) -> list[tuple[int, int]]:
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities (N, n_classes) of all classes for an input (N, in_features)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, :self.shortlist_size]]
        for k in range(self.n_clusters):
            own = F.log_softmax(self.tail[k](input), dim=1)
            cluster = self.shortlist_size + k
            parts.append(own + head[:, cluster:cluster + 1])
        return ops.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class (N) for each row of an input (N, in_features)."""
        return self.log_prob(input).argmax(dim=1)
