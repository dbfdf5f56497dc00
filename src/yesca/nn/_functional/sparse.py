"""Look-ups in a table of rows, and one-hot encoding."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...base.errors import argument_error
from ...core.dtypes import int32, int64
from ...dispatch.levels import beside
from ...operators.argument_types import whole


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` at the indices `input`.

    Args:
        input: integer indices of any shape.
        weight: (V, D); the result has shape (*input.shape, D).
        padding_idx: a row that gets no gradient.
        max_norm: rows looked up whose `norm_type`-norm is larger are scaled down, in place.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        sparse: the gradient of `weight` is a sparse tensor with a row for each index, as
            `optim.SparseAdam`, `optim.SGD` and `optim.Adagrad` take it.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_renorm_(
    input: Tensor, indices: Tensor, max_norm: float, norm_type: float
) -> Tensor:
    """Scale the rows of `input` (V, D) that are looked up to a norm of at most `max_norm`.

    In place. Raises RuntimeError for indices that are neither int32 nor int64.

    >>> import yesca as torch
    >>> torch.embedding_renorm_(torch.full((3, 1), 4.0), torch.tensor([1, 1]), 2.0, 2.0)
    tensor([[4.], [2.], [4.]])
    """
    if indices.dtype not in (int32, int64):
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {indices.type()} instead (while checking arguments for "
            "embedding_renorm_)"
        )
    used = indices.reshape(-1).unique()
    rows = input[used]  # (U, D)
    norms = rows.norm(norm_type, 1, keepdim=True)
    factors = ops.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
    input[used] = rows * factors
    return input


_shorten_rows = no_grad()(embedding_renorm_)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of `weight`.

    Args:
        input: (B, N), one bag a row; or (N), bags starting at `offsets`.
        weight: (V, D); the result is (number of bags, D).
        mode: `"sum"`, `"mean"` or `"max"`.
        sparse: the gradient of `weight` is a sparse tensor with a row for each index; not for
            `"max"`.
        per_sample_weights: of the shape of `input`, factors of the rows; with `"sum"` only.
        include_last_offset: the last entry of `offsets` is the end of the last bag.
        padding_idx: entries equal to it count for nothing.
    """
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    _check_bag_mode(mode, scale_grad_by_freq, sparse, per_sample_weights)
    if input.dim() == 2:
        include_last_offset = False
    input, offsets = _flat_bags(input, offsets)
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    modes = ("sum", "mean", "max")
    return ops.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        modes.index(mode),
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


def _flat_bags(input: Tensor, offsets: Tensor | None) -> tuple[Tensor, Tensor]:
    """All indices in one row, and where each bag starts."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        starts = ops.arange(
            0, input.numel(), input.size(1), dtype=input.dtype, device=input.device
        )
        return input.reshape(-1), starts
    if input.dim() != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if offsets is None or offsets.dim() != 1:
        given = " but got None" if offsets is None else ""
        raise ValueError(f"offsets has to be a 1D Tensor{given}")
    return input, offsets


def _check_bag_mode(mode: str, scale_grad_by_freq: bool, sparse: bool, sample_weights) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')."
        )


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dimension that is 1 at the class and 0 elsewhere.

    Args:
        tensor: int64 classes, at least 0.
        num_classes: the size of the new dimension; the largest class plus one if negative.

    >>> import yesca as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if not isinstance(tensor, Tensor):
        raise argument_error("one_hot", "input", 1, "Tensor", tensor)
    num_classes = whole("one_hot", "num_classes", 2, num_classes)
    if tensor.dtype != int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor; got "
            f"{tensor.dtype}, convert it with .long()."
        )
    every = tensor._all_examples()
    if every is not tensor and num_classes <= 0:
        raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit "
                           "positive num_classes argument.")
    if every.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif not tensor.is_meta:
        if int(every.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        largest = int(every.max())
        if num_classes == -1:
            num_classes = largest + 1
        elif largest >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    if num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    result = ops.zeros((*tensor.shape, num_classes), dtype=int64, device=tensor.device)
    return beside(tensor, result).scatter_(-1, tensor.unsqueeze(-1), 1)
