"""Linear algebra of normal distributions of vectors."""

from __future__ import annotations

from .. import functional as ops
from .. import linalg
from .._tensor import Tensor


def matvec(matrix: Tensor, vector: Tensor) -> Tensor:
    """matrix @ vector for batches of both: (..., m, n), (..., n)."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def solve(tril: Tensor, right: Tensor) -> Tensor:
    """tril⁻¹ right, for a lower triangle."""
    return linalg.solve_triangular(tril, right, upper=False)


def squared_norm(matrix: Tensor) -> Tensor:
    """The sum of the squares of all elements: the trace of matrix @ matrix.mT."""
    return matrix.pow(2).sum((-2, -1))


def half_log_det(tril: Tensor) -> Tensor:
    """log of the determinant of a lower triangle, half of that of tril @ tril.mT."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def squared_distance(tril: Tensor, away: Tensor) -> Tensor:
    """|tril⁻¹ away|² (the square of Mahalanobis's distance): (..., n, n), (more, ..., n).

    What `away` has more dimensions becomes columns, so that the triangle is not copied.
    """
    more = away.dim() - (tril.dim() - 1)
    columns = away.flatten(0, more - 1) if more else away.unsqueeze(0)
    solved = solve(tril, columns.movedim(0, -1))
    return solved.pow(2).sum(-2).movedim(-1, 0).reshape(away.shape[:-1])


def scale_of_precision(precision: Tensor) -> Tensor:
    """The lower triangle L with (L @ L.mT)⁻¹ = precision.

    Upside down, a Cholesky factor of the precision is one of the inverse from the other side.
    """
    flipped = linalg.cholesky(ops.flip(precision, (-2, -1)))
    upper = ops.flip(flipped, (-2, -1)).mT
    identity = ops.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve(upper, identity)


class LowRank:
    """A covariance matrix factor @ factor.mT + diag(diagonal), of which only what is small is
    computed: `core` is a triangle of 1 + factor.mT @ diag(diagonal)⁻¹ @ factor."""

    def __init__(self, factor: Tensor, diagonal: Tensor) -> None:
        self.factor, self.diagonal = factor, diagonal
        self.scaled = factor.mT / diagonal.unsqueeze(-2)
        gram = self.scaled @ factor
        identity = ops.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
        self.core = linalg.cholesky(gram + identity)

    def log_det(self) -> Tensor:
        """log of the determinant, by the lemma on determinants."""
        return 2 * half_log_det(self.core) + self.diagonal.log().sum(-1)

    def squared_distance(self, away: Tensor) -> Tensor:
        """away.T @ covariance⁻¹ @ away, by Woodbury's formula."""
        direct = (away.pow(2) / self.diagonal).sum(-1)
        return direct - squared_distance(self.core, matvec(self.scaled, away))

    def squared_norm(self, matrix: Tensor) -> Tensor:
        """The trace of matrix.mT @ covariance⁻¹ @ matrix."""
        direct = squared_norm(matrix * self.diagonal.rsqrt().unsqueeze(-1))
        return direct - squared_norm(solve(self.core, self.scaled) @ matrix)
