"""Transforms of vectors and matrices, and of pieces side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import functional as ops
from .. import linalg
from .._tensor import Tensor
from ..core.numeric_limits import limits_of
from ..core.spec import Size
from ..nn.functional import logsigmoid, pad
from . import constraints
from ._elementwise import clipped_sigmoid, log_slope_of_tanh
from ._transform import Plain, Transform, check_dimensions
from .constraints import _require
from .utils import _sum_rightmost, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix


class ReshapeTransform(Transform):
    """The last dimensions in another shape, of as many elements.

    >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.zeros(3, 4)).shape
    torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int],
                 cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    def _arguments(self) -> tuple[Any, ...]:
        return self.in_shape, self.out_shape

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Size) -> Size:
        return self._reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Size) -> Size:
        return self._reshaped(shape, self.out_shape, self.in_shape)

    @staticmethod
    def _reshaped(shape: Size, old: Size, new: Size) -> Size:
        check_dimensions(shape, len(old))
        cut = len(shape) - len(old)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return Size((*shape[:cut], *new))


# ---- vectors ----------------------------------------------------------------------------------

class SoftmaxTransform(Plain):
    """y = exp(x) / sum(exp(x)). The inverse, log(y), is one of many.

    >>> torch.distributions.SoftmaxTransform()(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return ops.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Size) -> Size:
        check_dimensions(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Plain):
    """n numbers to n + 1 shares: each is a part, given by a logistic function, of what is left.

    Zeros give equal shares.

    >>> torch.distributions.StickBreakingTransform()(torch.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _left(x: Tensor) -> Tensor:
        """log(n), ..., log(1): how many shares still come after each."""
        return ops.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        parts = clipped_sigmoid(x - self._left(x))
        remaining = (1 - parts).cumprod(-1)
        return pad(parts, [0, 1], value=1) * pad(remaining, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        remaining = (1 - shares.cumsum(-1)).clamp(min=limits_of(y.dtype).tiny)
        return shares.log() - remaining.log() + self._left(shares)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (y[..., :-1].log() + logsigmoid(self._left(x) - x)).sum(-1)

    def forward_shape(self, shape: Size) -> Size:
        check_dimensions(shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Size) -> Size:
        check_dimensions(shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


# ---- matrices ---------------------------------------------------------------------------------

class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers to the Cholesky factor (n, n) of a correlation matrix.

    tanh of the numbers are partial correlations; each is a part of the length that its row has
    left, whose diagonal gets the rest, so that all rows have length 1.

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = limits_of(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        remaining = (1 - partial**2).sqrt().cumprod(-1)[..., :-1]
        identity = ops.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return (partial + identity) * pad(remaining, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        remaining = pad(1 - (y * y).cumsum(-1)[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(remaining, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        remaining = 1 - (y * y).cumsum(-1)  # squares of lengths, before the next element
        of_parts = 0.5 * tril_matrix_to_vec(remaining, diag=-2).log().sum(-1)
        return of_parts + log_slope_of_tanh(x).sum(-1)

    def forward_shape(self, shape: Size) -> Size:
        check_dimensions(shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Size) -> Size:
        check_dimensions(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def _with_diagonal(matrix: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """The lower triangle with a function of the diagonal in its place."""
    diagonal = function(matrix.diagonal(dim1=-2, dim2=-1))
    return matrix.tril(-1) + ops.diag_embed(diagonal)


class LowerCholeskyTransform(Plain):
    """Square matrices to lower triangles with a positive diagonal, exp of the old one.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return _with_diagonal(x, ops.exp)

    def _inverse(self, y: Tensor) -> Tensor:
        return _with_diagonal(y, ops.log)


class PositiveDefiniteTransform(Plain):
    """Square matrices to positive definite ones: L @ L.mT with L of `LowerCholeskyTransform`.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = _with_diagonal(x, ops.exp)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return _with_diagonal(linalg.cholesky(y), ops.log)


# ---- pieces side by side ----------------------------------------------------------------------

class Joined(Transform):
    """Transforms of pieces side by side along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        _require(all(isinstance(t, Transform) for t in tseq),
                 "All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _split(self, tensor: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _join(self, pieces: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _size(self) -> tuple[str, int]:
        """What the size of the dimension must be: its name, and the number."""
        raise NotImplementedError

    def _pieces(self, name: str, tensor: Tensor) -> list[Tensor]:
        _require(-tensor.dim() <= self.dim < tensor.dim(),
                 f"dim {self.dim} out of range for tensor with {tensor.dim()} dimensions")
        size, (what, expected) = tensor.size(self.dim), self._size()
        _require(size == expected,
                 f"{name}.size({self.dim}) = {size} must equal {what} {expected}")
        return self._split(tensor)

    def _call(self, x: Tensor) -> Tensor:
        return self._join([t(piece) for t, piece in zip(self.transforms, self._pieces("x", x))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([t.inv(piece) for t, piece in zip(self.transforms, self._pieces("y", y))])

    def _changes(self, x: Tensor, y: Tensor) -> list[Tensor]:
        return [t.log_abs_det_jacobian(a, b)
                for t, a, b in zip(self.transforms, self._pieces("x", x), self._pieces("y", y))]


class CatTransform(Joined):
    """Transforms of pieces of given lengths (1 each, if none are given) along a dimension.

    >>> T = torch.distributions
    >>> T.CatTransform([T.ExpTransform(), T.identity_transform], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0,
                 lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        _require(len(self.lengths) == len(self.transforms),
                 f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim, self.lengths

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def _size(self) -> tuple[str, int]:
        return "length", self.length

    def _split(self, tensor: Tensor) -> list[Tensor]:
        return list(ops.split(tensor, self.lengths, self.dim))

    def _join(self, pieces: list[Tensor]) -> Tensor:
        return ops.cat(pieces, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        changes = [_sum_rightmost(change, self.event_dim - t.event_dim)
                   for t, change in zip(self.transforms, self._changes(x, y))]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return ops.cat(changes, dim) if dim < 0 else sum(changes)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Joined):
    """Transforms of slices along a dimension, one each.

    >>> T = torch.distributions
    >>> T.StackTransform([T.ExpTransform(), T.identity_transform])(torch.zeros(2, 3))
    tensor([[1., 1., 1.],
            [0., 0., 0.]])
    """

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim

    def _size(self) -> tuple[str, int]:
        return "len(transforms)", len(self.transforms)

    def _split(self, tensor: Tensor) -> list[Tensor]:
        return list(ops.unbind(tensor, self.dim))

    def _join(self, pieces: list[Tensor]) -> Tensor:
        return ops.stack(pieces, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._join(self._changes(x, y))

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
