"""ctc_loss, and losses that compare every class with every other; composed of other operators."""

from __future__ import annotations

from array import array
from typing import Any

from ..core.dtypes import INTEGRAL, int64
from ..core.tensor_base import TensorBase
from .kinds import composite
from .losses import reduction_name
from .norms import norm_slope

NOTHING = float("-inf")


# ---- connectionist temporal classification ---------------------------------------------------

def _lengths(values: Any, count: int, name: str) -> list[int]:
    made: Any = values
    if isinstance(values, TensorBase):
        if values._spec.dtype.category != INTEGRAL:
            raise RuntimeError(f"{name} must be integral")
        made = values.tolist()  # type: ignore[attr-defined]
    made = [made] if isinstance(made, int) else [int(n) for n in made]
    if len(made) != count:
        raise RuntimeError(f"{name} must be of size batch_size")
    if made and min(made) < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(made)}"
                           f" {_WHILE}")
    return made


_WHILE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _check_targets(targets: Any, lengths: list[int]) -> None:
    """Refuse targets that do not hold as many labels as the lengths say."""
    shape = tuple(targets.shape)
    if len(shape) not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {len(shape)}-dimensional tensor "
                           f"for argument #2 'targets' {_WHILE}")
    wanted = len(lengths) if len(shape) == 2 else sum(lengths)
    longest = max(lengths, default=0)
    if shape[0] != wanted:
        raise RuntimeError(f"Expected tensor to have size {wanted} at dimension 0, but got size "
                           f"{shape[0]} for argument #2 'targets' {_WHILE}")
    if len(shape) == 2 and shape[1] < longest:
        raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but "
                           f"got size {shape[1]} for argument #2 'targets' {_WHILE}")


def _labels(targets: Any, lengths: list[int], blank: int, classes: int) -> list[list[int]]:
    """The labels of each sample, from rows or from one vector of all."""
    values = targets.tolist()
    if targets.dim() == 1:
        rows, start = [], 0
        for n in lengths:
            rows.append(values[start:start + n])
            start += n
    else:
        rows = [row[:n] for row, n in zip(values, lengths, strict=True)]
    for row in rows:
        if blank in row:
            raise RuntimeError(f"ctc_loss: target {row} contains the blank label {blank}")
        if any(not 0 <= label < classes for label in row):
            raise RuntimeError(f"ctc_loss: labels must lie in [0, {classes}), got {row}")
    return rows


def _paths(labels: list[list[int]], blank: int) -> tuple[list[list[int]], list[list[float]]]:
    """Labels with blanks between, and 0 where a path may leave out the blank before, else -inf."""
    width = 2 * max((len(row) for row in labels), default=0) + 1
    places, skips = [], []
    for row in labels:
        path = [blank] * width
        path[1:2 * len(row):2] = row
        places.append(path)
        skips.append([0.0 if k % 2 and k >= 3 and path[k] != path[k - 2] or k == 1 else NOTHING
                      for k in range(width)])
    return places, skips


def _shifted(ops: Any, alpha: Any, steps: int, gap: Any) -> Any:
    """alpha moved along the path by `steps`, nothing before it."""
    width = alpha.shape[1]
    if width <= steps:
        return ops.full_like(alpha, NOTHING)
    return ops.cat([ops.narrow(gap, 1, 0, steps), ops.narrow(alpha, 1, 0, width - steps)], 1)


def _forward_variables(ops: Any, emitted: Any, skips: Any) -> Any:
    """(T, N, L): the logarithm of all paths' weight up to each time and place."""
    steps, samples, width = emitted.shape
    options = dict(dtype=emitted.dtype, device=emitted.device)
    gap = ops.full((samples, 2), NOTHING, **options)
    begin = ops.tensor([[0.0 if k < 2 else NOTHING for k in range(width)]], **options)
    alpha = ops.add(ops.select(emitted, 0, 0), begin)
    every = [alpha]
    for t in range(1, steps):
        ways = ops.stack([alpha, _shifted(ops, alpha, 1, gap),
                          ops.add(_shifted(ops, alpha, 2, gap), skips)], 0)
        alpha = ops.add(ops.logsumexp(ways, 0), ops.select(emitted, 0, t))
        every.append(alpha)
    return ops.stack(every, 0)


def _ctc(ops: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
         blank: int, reduction: Any, zero_infinity: bool) -> Any:
    reduction = reduction_name(reduction)
    batched = log_probs.dim() == 3
    if not batched:
        log_probs = ops.unsqueeze(log_probs, 1)
        targets = ops.reshape(targets, (1, -1))
    steps, samples, classes = log_probs.shape
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    times = _lengths(input_lengths, samples, "input_lengths")
    if any(t > steps for t in times):
        raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value "
                           f"{max(times)}")
    counts = _lengths(target_lengths, samples, "target_lengths")
    _check_targets(targets, counts)
    places, skips = _paths(_labels(targets, counts, blank, classes), blank)
    options = dict(dtype=log_probs.dtype, device=log_probs.device)
    width = len(places[0]) if places else 1
    index = ops.tensor(places, dtype=int64, device=log_probs.device)
    emitted = ops.gather(log_probs, 2, ops.expand(ops.unsqueeze(index, 0),
                                                  (steps, samples, width)))
    variables = _forward_variables(ops, emitted, ops.tensor(skips, **options))
    flat = ops.reshape(variables, (-1,))
    ends = [(max(t - 1, 0) * samples + n) * width for n, t in enumerate(times)]
    # the last label, or the blank after it; without labels only the blank
    pairs = [[end + 2 * c, end + max(2 * c - 1, 0)] for end, c in zip(ends, counts, strict=True)]
    last = ops.gather(flat, 0, ops.tensor([p for pair in pairs for p in pair], dtype=int64))
    last = ops.reshape(last, (samples, 2))
    only = ops.tensor([[0.0, 0.0 if c else NOTHING] for c in counts], **options)
    losses = ops.neg(ops.logsumexp(ops.add(last, only), 1))
    losses = ops.add(losses, _of_frames(ops, log_probs, times))
    if zero_infinity:
        losses = ops.select_where(ops.isinf(losses), 0.0, losses)
    return _reduced(ops, losses, reduction, counts, batched)


def _of_frames(ops: Any, log_probs: Any, times: list[int]) -> Any:
    """Zero; its gradient is each frame's distribution, which PyTorch's gradient includes."""
    steps = log_probs.shape[0]
    kept = ops.tensor([[1.0 if t < n else 0.0 for n in times] for t in range(steps)],
                      dtype=log_probs.dtype, device=log_probs.device)
    total = ops.sum(ops.mul(ops.sum(ops.exp(log_probs), (2,)), kept), (0,))
    return ops.sub(total, total.detach())


def _reduced(ops: Any, losses: Any, reduction: str, counts: list[int], batched: bool) -> Any:
    if reduction == "mean":
        lengths = ops.tensor([float(max(c, 1)) for c in counts], dtype=losses.dtype,
                             device=losses.device)
        return ops.mean(ops.div(losses, lengths))
    if reduction == "sum":
        return ops.sum(losses)
    return losses if batched else ops.squeeze(losses, 0)


composite("ctc_loss(Tensor log_probs, Tensor targets, any input_lengths, any target_lengths, "
          "int blank=0, any reduction='mean', bool zero_infinity=False) -> Tensor", _ctc,
          method=False, autocast="float32",
          doc="-log of the weight of all alignments of targets to frames.")


# ---- margins ---------------------------------------------------------------------------------

def _multilabel(ops: Any, input: Any, target: Any, reduction: Any) -> Any:
    reduction = reduction_name(reduction)
    if input.dim() > 2 or input.dim() and input.shape[-1] == 0:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, "
                           f"but got: {list(input.shape)}")
    if tuple(input.shape) != tuple(target.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: "
                           f"{list(input.shape)}")
    flat = input.dim() < 2
    x, t = (ops.reshape(v, (1, -1)) if flat else v for v in (input, target))
    listed = ops.cumprod(ops.to_dtype(ops.ge(t, 0), int64), 1)  # up to the first -1
    index = ops.mul(t, listed)
    weights = ops.to_dtype(listed, x.dtype)
    chosen = ops.clamp(ops.scatter_add(ops.zeros_like(x), 1, index, weights), 0, 1)
    picked = ops.gather(x, 1, index)
    apart = ops.add(ops.sub(ops.unsqueeze(x, 1), ops.unsqueeze(picked, 2)), 1.0)  # (N, target, C)
    hinge = ops.mul(ops.relu(apart), ops.mul(ops.unsqueeze(weights, 2),
                                             ops.unsqueeze(ops.rsub(chosen, 1.0), 1)))
    losses = ops.div(ops.sum(hinge, (1, 2)), x.shape[1])
    if reduction == "none":
        return ops.reshape(losses, ()) if flat else losses
    return ops.mean(losses) if reduction == "mean" else ops.sum(losses)


composite("multilabel_margin_loss(Tensor self, Tensor target, any reduction='mean') -> Tensor",
          lambda ops, self, target, reduction: _multilabel(ops, self, target, reduction),
          method=False, autocast="float32",
          doc="The hinge loss between listed classes and all others.")


def _pdist(ops: Any, self: Any, p: float) -> Any:
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    apart = ops.sub(*(ops.index_select(self, 0, which) for which in _pairs(ops, self)))
    made = ops.norm(apart, p, 1)
    # a count of non-zeros has the gradient zero, not none
    return ops.add(made, ops.sum(ops.mul(apart, 0), 1)) if p == 0 else made


def _pairs(ops: Any, self: Any) -> tuple[Any, Any]:
    """The numbers of the rows of each pair."""
    count = self.shape[0]
    if count < 2:
        return (ops.zeros((0,), dtype=int64, device=self.device),) * 2
    made = []
    for which in ([i for i in range(count) for _ in range(i + 1, count)],
                  [j for i in range(count) for j in range(i + 1, count)]):
        numbers = ops.frombuffer(array("q", which), dtype=int64)  # no list is read one by one
        made.append(numbers if numbers.device == self.device else
                    ops.empty_like(numbers, device=self.device))
    return made[0], made[1]


def _pdist_back(ops: Any, grad: Any, self: Any, p: float, result: Any) -> Any:
    if p == 0:
        return ops.zeros_like(self)
    first, second = _pairs(ops, self)
    if not ops.has_derivative(grad, self):
        count = self.shape[0]
        index = ops.add(ops.mul(first, count), second)

        def table(values: Any) -> Any:
            """By both rows of a pair, in both orders."""
            flat = ops.scatter(ops.zeros((count * count,), dtype=self.dtype, device=self.device),
                               0, index, values)
            made = ops.reshape(flat, (count, count))
            return ops.add(made, ops.transpose(made, 0, 1))

        return ops.cdist_slopes(table(grad), self, self, table(result), float(p))
    apart = ops.sub(ops.index_select(self, 0, first), ops.index_select(self, 0, second))
    slope = norm_slope(ops, apart, ops.unsqueeze(result, 1), p)
    share = ops.mul(ops.unsqueeze(grad, 1), slope)
    made = ops.index_add(ops.zeros_like(self), 0, first, share)
    return ops.index_add(made, 0, second, share, alpha=-1)


composite("pdist(Tensor self, float p=2) -> Tensor", _pdist, method=False,
          backward={"self": _pdist_back},
          doc="The p-norms of the differences of all pairs of rows.")
