"""`torch.linalg`: factorisations, solvers, norms and functions of matrices, batched.

Each function is an operator whose name starts with `linalg_` (`operators/factorisations.py`,
`lu_factors.py`, `ldl_factors.py`, `solvers.py`, `matrix_norms.py`, `matrix_functions.py`).

>>> import yesca as torch
>>> torch.linalg.det(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
tensor(5.)
"""

from __future__ import annotations

from typing import Any

from ..base import absent
from ..base.errors import LinAlgError

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor",
    "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr",
    "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]
_NAMES = frozenset(__all__)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise absent.error(__name__, name)
    from .. import functional

    made = globals()[name] = getattr(functional, f"linalg_{name}")
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
