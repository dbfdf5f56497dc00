"""Parametrizations ready for use: orthogonal, of a given length, of spectral norm 1."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ... import functional as ops
from ... import linalg
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...base import absent
from ...core.layouts import contiguous_format
from ...core.numeric_limits import finfo
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


# ---- orthogonal --------------------------------------------------------------------------------


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.size(-2), Q.size(-1)
    identity = ops.eye(k, dtype=Q.dtype, device=Q.device)
    return ops.allclose(Q.mH @ Q, identity, atol=10.0 * n * finfo(Q.dtype).eps)


def _make_orthogonal(A: Tensor) -> Tensor:
    """The Q of A = QR (no wider than high), where the diagonal of R is real and not negative."""
    X, tau = ops.geqrf(A)
    Q = linalg.householder_product(X, tau)
    Q *= X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return Q


class _Orthogonal(Module):
    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        transposed = X.size(-2) < X.size(-1)
        if transposed:
            X = X.mT
        if self.orthogonal_map == _OrthMaps.householder:
            Q = _reflected(X)
        else:
            Q = _mapped(X, self.orthogonal_map)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        transposed = Q.size(-2) < Q.size(-1)
        tall = Q.mT if transposed else Q
        if hasattr(self, "base"):
            self.base = _base(tall)
            start = ops.zeros_like(Q)  # minus the identity: the maps give the identity for it
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map != _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        A, tau = ops.geqrf(tall)
        # The diagonal has room for the sign of each column: +1 or -1, never 0.
        A.diagonal(dim1=-2, dim2=-1).sign_()
        A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return A.mT if transposed else A


def _reflected(X: Tensor) -> Tensor:
    """The product of the Householder reflections that X holds below its diagonal."""
    A = X.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
    Q = linalg.householder_product(A, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _mapped(X: Tensor, by: _OrthMaps) -> Tensor:
    """A map of the skew-symmetric matrix that X holds on and below its diagonal."""
    n, k = X.size(-2), X.size(-1)
    X = X.tril()
    if n != k:
        X = ops.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
    A = X - X.mH
    if by == _OrthMaps.matrix_exp:
        Q = ops.matrix_exp(A)
    else:
        identity = ops.eye(n, dtype=A.dtype, device=A.device)
        Q = linalg.solve(ops.add(identity, A, alpha=-0.5), ops.add(identity, A, alpha=0.5))
    return Q[..., :k] if n != k else Q


def _base(Q: Tensor) -> Tensor:
    """An orthogonal square matrix whose first columns are those of Q, made orthogonal."""
    n, k = Q.size(-2), Q.size(-1)
    if n == k:
        return Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
    others = ops.randn(*Q.size()[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
    return _make_orthogonal(ops.cat([Q, others], dim=-1))


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix (or the matrices of a batch) orthogonal, or unitary if complex.

    Its columns are orthonormal, or its rows where it is wider than high.

    Args:
        module: has a parameter or buffer `name` of 2 or more dimensions.
        orthogonal_map: `"matrix_exp"` (by default for square and complex ones), `"cayley"` or
            `"householder"`: the function of an unconstrained matrix that it is.
        use_trivialization: multiply by a fixed orthogonal matrix, `base`, so that the maps work
            near the identity. Without it only `"householder"` can be assigned to.

    Returns the module. Raises ValueError if there is no such tensor, or for another map.

    >>> import yesca as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 3))
    >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(2), atol=1e-6)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            "Expected a matrix or batch of matrices. "
            f"Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# ---- weight norm ------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return ops._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return ops.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its length and its direction, each a parameter; returns the module.

    Lengths are those of the parts along `dim`, or, where it is None, the whole weight's. They are
    `parametrizations.<name>.original0`, directions `original1`. States that were saved with
    `torch.nn.utils.weight_norm` can be loaded.

    >>> import yesca as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        held = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in held):
            for i, key in enumerate(held):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


# ---- spectral norm ----------------------------------------------------------------------------


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] "
                f"but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            drawn = [matrix.new_empty(size).normal_(0, 1) for size in matrix.size()]
            for name, vector in zip(("_u", "_v"), drawn):
                self.register_buffer(name, F.normalize(vector, dim=0, eps=eps))
            self._power_method(matrix, 15)  # near enough to go on with one step a use

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        # In place, so that copies of the module on several devices see the new vectors.
        for _ in range(n_power_iterations):
            F.normalize(ops.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
            F.normalize(ops.mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next use changes the vectors, and backward wants these.
        u = self._u.clone(memory_format=contiguous_format)
        v = self._v.clone(memory_format=contiguous_format)
        return weight / ops.vdot(u, ops.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Keep a weight's largest singular value near 1, by dividing by it; returns the module.

    The weight is seen as a matrix whose rows are its parts along `dim` (0 by default; 1 for
    transposed convolutions); a vector is divided by its norm. The value is followed by
    `n_power_iterations` steps of the power method at each use in training.

    Raises ValueError if there is no such tensor, or without steps.

    >>> import yesca as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> bool(torch.linalg.matrix_norm(layer.weight, 2) < 1.1)
    True
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, _TRANSPOSED) else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)


__getattr__ = absent.names_of(__name__)
