"""Factorisations of matrices: QR, SVD, eigenvalues, Cholesky.

The numbers come from LAPACK (`runtime/library/lapack.py`). The derivatives are written out, after
Giles (Collected matrix derivative results, 2008), Seeger et al. (Auto-differentiating linear
algebra, 2017) and Murray (Differentiation of the Cholesky decomposition, 2016). In comments,
g stands for the gradient of what follows it: gQ, gR.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import missing_derivative
from ..core.dtypes import complex64, complex128, float32, float64, int32, promote
from ..core.memory_formats import columns_first
from ..core.spec import spec
from .kinds import composite, rows
from .matrices import (
    check_floating, check_kernel, check_matrix, check_square, h, mirrored, raise_where,
)


def library(text: str, program: Any, **options: Any) -> Any:
    """A record whose numbers a function of `runtime.library` makes."""
    return rows(text, program, kind="library", method=False, holomorphic=False,
                **{"takes": "bifc", **options})


def results(p: Any, a: Any, *shapes: tuple[int, ...], dtype: Any = None, turned: bool = True
            ) -> list[Any]:
    """Results of a's dtype (or of another); the shapes follow a's batch.

    Matrices lie columns first, as what LAPACK has computed does, unless `turned` is false.
    """
    return [matrices(p, dtype or a.spec.dtype, (*a.spec.shape[:-2], *shape),
                     turned and len(shape) == 2) for shape in shapes]


def matrices(p: Any, dtype: Any, shape: tuple[int, ...], turned: bool = True) -> Any:
    """A result; `turned`: a batch of matrices, columns first."""
    return p.result(spec(dtype, shape, columns_first(shape) if turned else None, p.device))


def real_of(dtype: Any) -> Any:
    """The dtype of absolute values."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


# ---- QR ----------------------------------------------------------------------------------------

def _qr(p: Any, A: Any, mode: str) -> None:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' "
                           "(default), 'r', or 'complete'")
    check_floating("linalg.qr", A.spec.dtype)
    check_matrix("linalg.qr", A)
    check_kernel("geqrf_cpu", A.spec.dtype)
    m, n = A.spec.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    if mode == "r":
        p.result(spec(A.spec.dtype, (0,), None, p.device))
        p.host("qr", [A, *results(p, A, (k, n))], mode="r")
    else:
        p.host("qr", [A, *results(p, A, (m, k), (k, n))], mode=mode)


def _qr_back(ops: Any, grads: Any, A_spec: Any, result0: Any, result1: Any, mode: str) -> Any:
    """With M = R gR^H - gQ^H Q: gA = (gQ + Q copyltu(M)) R^-H for tall matrices."""
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when "
                           "mode='r'. Please use linalg.qr(A, mode='reduced') if you are going "
                           "to differentiate through linalg.qr.")
    m, n = A_spec.shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and "
                           "nrows > ncols.")
    grad_q, grad_r = grads
    if m >= n:
        return _tall_qr_back(ops, grad_q, grad_r, result0, result1)
    # A = (X, Y), R = (U, V): Y = Q V
    left = ops.narrow(result1, -1, 0, m)
    right = ops.matmul(result0, ops.narrow(result1, -1, m, n - m))
    if grad_r is None:
        made = _tall_qr_back(ops, grad_q, None, result0, left)
        return ops.cat([made, ops.zeros_like(right)], -1)
    grad_left, grad_right = ops.narrow(grad_r, -1, 0, m), ops.narrow(grad_r, -1, m, n - m)
    more = ops.matmul(right, h(ops, grad_right))
    grad_q = more if grad_q is None else ops.add(grad_q, more)
    made = _tall_qr_back(ops, grad_q, grad_left, result0, left)
    return ops.cat([made, ops.matmul(result0, grad_right)], -1)


def _tall_qr_back(ops: Any, grad_q: Any, grad_r: Any, q: Any, r: Any) -> Any:
    middle = None
    if grad_r is not None:
        middle = ops.matmul(r, h(ops, grad_r))
    if grad_q is not None:
        inner = ops.matmul(h(ops, grad_q), q)
        middle = ops.neg(inner) if middle is None else ops.sub(middle, inner)
    made = ops.matmul(q, mirrored(ops, middle))
    if grad_q is not None:
        made = ops.add(grad_q, made)
    return ops.linalg_solve_triangular(h(ops, r), made, upper=False, left=False)


library("linalg_qr_parts(Tensor A, str mode) -> (Tensor, Tensor)", _qr,
        node_name="LinalgQrBackward0", backward={"A": _qr_back})
composite("linalg_qr(Tensor A, str mode='reduced') -> (Tensor, Tensor)",
          lambda ops, A, mode: ops.named("linalg_qr", ops.linalg_qr_parts(A, mode)), out=True,
          method=False, autocast="float32", doc="A = Q R with orthonormal columns in Q.")
composite("qr(Tensor self, bool some=True) -> (Tensor, Tensor)",
          lambda ops, self, some: ops.named(
              "qr", ops.linalg_qr_parts(self, "reduced" if some else "complete")), out=True,
          autocast="float32", doc="Q and R; see torch.linalg.qr.")


def _geqrf(p: Any, self: Any) -> None:
    check_matrix("torch.geqrf", self, "input")
    check_kernel("geqrf_cpu", self.spec.dtype)
    m, n = self.spec.shape[-2:]
    p.host("geqrf", [self, *results(p, self, (m, n), (min(m, n),))])


def _geqrf_back(grads: Any) -> Any:
    raise missing_derivative("geqrf")


library("geqrf_parts(Tensor self) -> (Tensor, Tensor)", _geqrf, backward={"self": _geqrf_back},
        node_name="GeqrfBackward0")
composite("geqrf(Tensor self) -> (Tensor, Tensor)",
          lambda ops, self: ops.named("geqrf", ops.geqrf_parts(self)), out=True,
          autocast="float32", doc="R, and the reflectors that make Q.")


# ---- SVD ---------------------------------------------------------------------------------------

def _svd(p: Any, A: Any, full_matrices: bool) -> None:
    _check_svd(A)
    m, n = A.spec.shape[-2:]
    k = min(m, n)
    rows_, columns = (m, n) if full_matrices else (k, k)
    u, = results(p, A, (m, rows_))
    s, = results(p, A, (k,), dtype=real_of(A.spec.dtype))
    p.host("svd", [A, u, s, *results(p, A, (columns, n))], full_matrices=bool(full_matrices))


def _check_svd(A: Any) -> None:
    check_floating("linalg.svd", A.spec.dtype)
    check_matrix("linalg.svd", A)
    check_kernel("linalg_svd_cpu", A.spec.dtype)


def _skew(ops: Any, x: Any) -> Any:
    return ops.sub(x, h(ops, x))


def _gaps(ops: Any, values: Any) -> Any:
    """values[j] - values[i], with 1 on the diagonal."""
    apart = ops.sub(ops.unsqueeze(values, -2), ops.unsqueeze(values, -1))
    one = ops.eye(values.shape[-1], dtype=values.dtype, device=values.device)
    return ops.add(apart, one)


def _svd_back(ops: Any, grads: Any, A_spec: Any, result0: Any, result1: Any, result2: Any) -> Any:
    """U ((skew(U^H gU) / E) S + S (skew(V^H gV) / E) + gS) V^H, E[i, j] = S[j]^2 - S[i]^2, and
    what leaves the spans of U and V."""
    grad_u, grad_s, grad_vh = grads
    m, n = A_spec.shape[-2:]
    k = min(m, n)
    u, s, vh = ops.narrow(result0, -1, 0, k), result1, ops.narrow(result2, -2, 0, k)
    down, across = ops.unsqueeze(s, -1), ops.unsqueeze(s, -2)
    gaps = None if grad_u is None and grad_vh is None else _gaps(ops, ops.mul(s, s))
    middle = None if grad_s is None else ops.diag_embed(grad_s)
    outside = None
    if grad_u is not None:
        grad_u = ops.narrow(grad_u, -1, 0, k)
        own = ops.matmul(h(ops, u), grad_u)
        turned = _skew(ops, own)
        if turned.dtype.is_complex:  # its diagonal is imaginary: the phases, which U and V share
            phases = ops.diagonal(turned, 0, -2, -1)
            turned = ops.sub(turned, ops.diag_embed(phases))
            middle = _plus(ops, middle, ops.diag_embed(ops.div(phases, ops.mul(s, 2))))
        middle = _plus(ops, middle, ops.mul(ops.div(turned, gaps), across))
        if m > k:
            lost = ops.div(ops.sub(grad_u, ops.matmul(u, own)), across)
            outside = ops.matmul(lost, vh)
    if grad_vh is not None:
        grad_vh = ops.narrow(grad_vh, -2, 0, k)
        own = ops.matmul(vh, h(ops, grad_vh))
        turned = _skew(ops, own)
        if turned.dtype.is_complex:
            turned = ops.sub(turned, ops.diag_embed(ops.diagonal(turned, 0, -2, -1)))
        middle = _plus(ops, middle, ops.mul(ops.div(turned, gaps), down))
        if n > k:
            lost = ops.div(ops.sub(grad_vh, ops.matmul(h(ops, own), vh)), down)
            outside = _plus(ops, outside, ops.matmul(u, lost))
    return _plus(ops, outside, ops.matmul(_matmul(ops, u, middle), vh))


def _matmul(ops: Any, a: Any, b: Any) -> Any:
    """A product in which one side may be complex."""
    dtype = promote(a.dtype, b.dtype)
    a, b = (x if x.dtype is dtype else ops.to_dtype(x, dtype) for x in (a, b))
    return ops.matmul(a, b)


def _plus(ops: Any, a: Any, b: Any) -> Any:
    return b if a is None else ops.add(a, b)


library("linalg_svd_parts(Tensor A, bool full_matrices) -> (Tensor, Tensor, Tensor)", _svd,
        node_name="LinalgSvdBackward0", backward={"A": _svd_back})


def _svd_public(ops: Any, A: Any, full_matrices: bool, driver: Any) -> Any:
    _check_driver(driver)
    return ops.named("linalg_svd", ops.linalg_svd_parts(A, full_matrices))


def _check_driver(driver: Any) -> None:
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on "
                           "CUDA inputs with cuSOLVER backend.")


composite("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> "
          "(Tensor, Tensor, Tensor)", _svd_public, out=True, method=False, autocast="float32",
          doc="A = U diag(S) Vh, singular values largest first.")


def _svd_former(ops: Any, self: Any, some: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        m, n = self.shape[-2:]
        batch, values = tuple(self.shape[:-2]), ops.linalg_svdvals(self)
        options = {"dtype": self.dtype, "device": self.device}
        return ops.named("svd", (ops.zeros((*batch, m, m), **options), values,
                                 h(ops, ops.zeros((*batch, n, n), **options))))
    u, s, vh = ops.linalg_svd_parts(self, not some)
    return ops.named("svd", (u, s, h(ops, vh)))


composite("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor, Tensor, Tensor)",
          _svd_former, out=True, autocast="float32",
          doc="U, S and V (not its transpose); see torch.linalg.svd.")


def _svdvals(p: Any, A: Any) -> None:
    _check_svd(A)
    p.host("svdvals", [A, *results(p, A, (min(A.spec.shape[-2:]),),
                                   dtype=real_of(A.spec.dtype))])


library("linalg_svd_values(Tensor A) -> Tensor", _svdvals)


def _svdvals_public(ops: Any, A: Any, driver: Any) -> Any:
    """Where a derivative follows, the vectors that it needs are found at once."""
    _check_driver(driver)
    return ops.linalg_svd_parts(A, False)[1] if ops.has_derivative(A) else \
        ops.linalg_svd_values(A)


composite("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", _svdvals_public, out=True,
          method=False, autocast="float32", doc="The singular values, largest first.")


# ---- eigenvalues -------------------------------------------------------------------------------

def _check_eigh(A: Any, UPLO: str) -> str:
    check_square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", A.spec.dtype)
    return UPLO.upper()


def _eigh(p: Any, A: Any, UPLO: str) -> None:
    uplo = _check_eigh(A, UPLO)
    n = A.spec.shape[-1]
    values, = results(p, A, (n,), dtype=real_of(A.spec.dtype))
    p.host("eigh", [A, values, *results(p, A, (n, n))], uplo=uplo)


def _eigh_back(ops: Any, grads: Any, result0: Any, result1: Any) -> Any:
    """V (gL + skew(V^H gV) / 2 E) V^H, E[i, j] = L[j] - L[i], the diagonal left out."""
    grad_values, grad_vectors = grads
    middle = None if grad_values is None else ops.diag_embed(grad_values)
    if grad_vectors is not None:
        turned = _skew(ops, ops.matmul(h(ops, result1), grad_vectors))
        own = ops.div(ops.mul(turned, 0.5), _gaps(ops, result0))
        middle = _plus(ops, middle, ops.add(ops.tril(own, -1), ops.triu(own, 1)))
    return ops.matmul(_matmul(ops, result1, middle), h(ops, result1))


library("linalg_eigh_parts(Tensor A, str UPLO) -> (Tensor, Tensor)", _eigh,
        node_name="LinalgEighBackward0", backward={"A": _eigh_back})
composite("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor, Tensor)",
          lambda ops, A, UPLO: ops.named("linalg_eigh", ops.linalg_eigh_parts(A, UPLO)),
          out=True, method=False, autocast="float32",
          doc="Eigenvalues in rising order and eigenvectors of symmetric matrices.")


def _eigvalsh(p: Any, A: Any, UPLO: str) -> None:
    uplo = _check_eigh(A, UPLO)
    p.host("eigvalsh", [A, *results(p, A, (A.spec.shape[-1],), dtype=real_of(A.spec.dtype))],
           uplo=uplo)


library("linalg_eigh_values(Tensor A, str UPLO) -> Tensor", _eigvalsh)
composite("linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor",
          lambda ops, A, UPLO: ops.linalg_eigh_parts(A, UPLO)[0] if ops.has_derivative(A)
          else ops.linalg_eigh_values(A, UPLO), out=True, method=False, autocast="float32",
          doc="The eigenvalues of symmetric matrices in rising order.")


def _eig(vectors: bool) -> Any:
    name = "linalg.eig" if vectors else "linalg.eigvals"

    def program(p: Any, A: Any) -> None:
        check_square(name, A)
        check_kernel("linalg_eig_out_cpu", A.spec.dtype)
        n = A.spec.shape[-1]
        wide = complex64 if real_of(A.spec.dtype) is float32 else complex128
        batch = tuple(A.spec.shape[:-2])
        outs = [matrices(p, wide, (*batch, *shape), len(shape) == 2)
                for shape in ([(n,), (n, n)] if vectors else [(n,)])]
        p.host("eig", [A, *outs])
    return program


def _eig_back(ops: Any, grads: Any, A_spec: Any, result0: Any, result1: Any) -> Any:
    """V^-H (gL + (V^H gV - V^H V Re(diag(V^H gV))) / conj(E)) V^H for columns of length 1."""
    grad_values, grad_vectors = grads
    turned = h(ops, result1)
    middle = None if grad_values is None else ops.diag_embed(grad_values)
    if grad_vectors is not None:
        own = ops.matmul(turned, grad_vectors)
        lengths = ops.real(ops.diagonal(own, 0, -2, -1))
        own = ops.sub(own, ops.mul(ops.matmul(turned, result1), ops.unsqueeze(lengths, -2)))
        own = ops.div(own, ops.conj(_gaps(ops, result0)))
        middle = _plus(ops, middle, ops.add(ops.tril(own, -1), ops.triu(own, 1)))
    made = ops.linalg_solve(turned, ops.matmul(middle, turned))
    return made if A_spec.dtype.is_complex else ops.real(made)


def _eigvals_back(ops: Any, grad: Any, self: Any) -> Any:
    vectors = h(ops, ops.linalg_eig_parts(self)[1])
    made = ops.linalg_solve(vectors, ops.mul(ops.unsqueeze(grad, -1), vectors))
    return made if self.dtype.is_complex else ops.real(made)


library("linalg_eig_parts(Tensor A) -> (Tensor, Tensor)", _eig(True),
        node_name="LinalgEigBackward0", backward={"A": _eig_back})
composite("linalg_eig(Tensor self) -> (Tensor, Tensor)",
          lambda ops, A: ops.named("linalg_eig", ops.linalg_eig_parts(A)), out=True,
          method=False, autocast="float32", doc="Complex eigenvalues and eigenvectors.")
library("linalg_eigvals(Tensor self) -> Tensor", _eig(False), out=True, autocast="float32",
        node_name="LinalgEigBackward0", backward={"self": _eigvals_back},
        doc="Complex eigenvalues.")


# ---- Cholesky ----------------------------------------------------------------------------------

def _cholesky(p: Any, A: Any, upper: bool) -> None:
    check_floating("linalg.cholesky", A.spec.dtype)
    check_square("linalg.cholesky", A)
    check_kernel("cholesky_cpu", A.spec.dtype)
    factor, = results(p, A, tuple(A.spec.shape[-2:]))
    info = p.result(spec(int32, tuple(A.spec.shape[:-2]), None, p.device))
    p.host("cholesky", [A, factor, info], upper=bool(upper))


def _cholesky_back(ops: Any, grads: Any, result0: Any, upper: bool) -> Any:
    """L^-H phi(L^H gL) L^-1, made hermitian; phi: lower triangle, half of the diagonal."""
    grad, factor = (h(ops, grads[0]), h(ops, result0)) if upper else (grads[0], result0)
    inner = ops.matmul(h(ops, factor), grad)
    both = mirrored(ops, inner)  # 2 * hermitian part of phi
    made = ops.linalg_solve_triangular(h(ops, factor), both, upper=True)
    made = ops.linalg_solve_triangular(factor, made, upper=False, left=False)
    return ops.mul(made, 0.5)


library("linalg_cholesky_parts(Tensor A, bool upper) -> (Tensor, Tensor)", _cholesky, carriers=1,
        node_name="LinalgCholeskyExBackward0", backward={"A": _cholesky_back})


def raise_not_positive(info: Any) -> None:
    """The error of a matrix that is not positive-definite."""
    raise_where(info, lambda place, number: (
        f"linalg.cholesky: {place}The factorization could not be completed because the input is "
        f"not positive-definite (the leading minor of order {number} is not positive-definite)."))


def _cholesky_ex(ops: Any, A: Any, upper: bool, check_errors: bool) -> Any:
    made = ops.linalg_cholesky_parts(A, upper)
    if check_errors:
        raise_not_positive(made[1])
    return ops.named("linalg_cholesky_ex", made)


composite("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
          "(Tensor, Tensor)", _cholesky_ex, out=True, method=False, autocast="float32",
          doc="The Cholesky factor, and 0 or the order of the minor where it failed.")


def _cholesky_public(ops: Any, A: Any, upper: bool) -> Any:
    made, info = ops.linalg_cholesky_parts(A, upper)
    if info._spec.device.type != "meta":
        raise_not_positive(info)
    return made


composite("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", _cholesky_public, out=True,
          method=False, autocast="float32", doc="The lower L of A = L L^T (upper: U of U^T U).")
composite("cholesky(Tensor self, bool upper=False) -> Tensor", _cholesky_public, out=True,
          autocast="float32", doc="torch.linalg.cholesky.")


__all__ = ["library", "matrices", "raise_not_positive", "real_of", "results"]
