"""Factorisations and solvers for records, by the LAPACK that NumPy carries.

A function takes arrays over the operands and then over the results, which it fills; leading
dimensions are a batch. What NumPy does not offer (LU with its pivots, triangular solves, the
matrix exponential) is written here in terms of whole blocks of the batch.

Results that report failures (`info`) hold 0 where all went well, else LAPACK's number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.errors import LinAlgError

_PANEL = 32  # columns that are factored or solved one by one before a product does the rest


def _refuse_nan(name: str, a: Any) -> None:
    """Refuse matrices with nan. (Infinities alone make nan of all results.)"""
    bad = np.isnan(a).any(axis=(-2, -1))
    if bad.any():
        place = f"(Batch element {int(bad.reshape(-1).argmax())}): " if bad.ndim else ""
        raise LinAlgError(f"{name}: {place}The algorithm failed to converge because the input "
                          "matrix contained non-finite values.")


def _finite(a: Any) -> tuple[Any, Any]:
    """The matrices, with zeros for those that are not finite, and a function that makes nan of
    these ones' results."""
    bad = ~np.isfinite(a).all(axis=(-2, -1))
    if not bad.any():
        return a, lambda *outs: None

    def spoil(*outs: Any) -> None:
        for out in outs:
            out[bad] = np.nan

    return np.where(bad[..., None, None], 0, a), spoil


# ---- orthogonal factors ------------------------------------------------------------------------

def qr(a: Any, *outs: Any, mode: str) -> None:
    """q, r of a = q r; only r where mode is "r"."""
    made = np.linalg.qr(a, mode)
    for out, value in zip(outs, (made,) if mode == "r" else made, strict=True):
        out[...] = value


def geqrf(a: Any, packed: Any, tau: Any) -> None:
    """r on and above the diagonal, the reflectors that make q below it."""
    raw, tau[...] = np.linalg.qr(a, "raw")
    packed[...] = np.swapaxes(raw, -1, -2)


def svd(a: Any, u: Any, s: Any, vh: Any, *, full_matrices: bool) -> None:
    """a = u diag(s) vh."""
    _refuse_nan("linalg.svd", a)
    a, spoil = _finite(a)
    u[...], s[...], vh[...] = np.linalg.svd(a, full_matrices)
    spoil(u, s, vh)


def svdvals(a: Any, s: Any) -> None:
    """The singular values, largest first."""
    _refuse_nan("linalg.svd", a)
    a, spoil = _finite(a)
    s[...] = np.linalg.svd(a, compute_uv=False)
    spoil(s)


def eigh(a: Any, values: Any, vectors: Any, *, uplo: str) -> None:
    """The eigenvalues of a symmetric matrix in rising order, and their vectors."""
    a, spoil = _finite(a)
    values[...], vectors[...] = np.linalg.eigh(a, uplo)
    spoil(values, vectors)


def eigvalsh(a: Any, values: Any, *, uplo: str) -> None:
    """The eigenvalues of a symmetric matrix in rising order."""
    a, spoil = _finite(a)
    values[...] = np.linalg.eigvalsh(a, uplo)
    spoil(values)


def eig(a: Any, values: Any, *vectors: Any) -> None:
    """The complex eigenvalues of a matrix, and their vectors if asked for."""
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    if vectors:
        values[...], vectors[0][...] = np.linalg.eig(a)
    else:
        values[...] = np.linalg.eigvals(a)


# ---- Cholesky ----------------------------------------------------------------------------------

def cholesky(a: Any, factor: Any, info: Any, *, upper: bool) -> None:
    """a = l l^T, or u^T u; info: the order of the first leading minor that is not positive."""
    info[...] = 0
    try:
        made = np.linalg.cholesky(a, upper=upper) if np.isfinite(a).all() else None
    except np.linalg.LinAlgError:
        made = None
    if made is None:
        made = np.empty_like(factor)
        for place in np.ndindex(a.shape[:-2]):
            info[place] = _first_bad_minor(a[place], upper)
            fits = info[place] == 0
            made[place] = np.linalg.cholesky(a[place], upper=upper) if fits else \
                _partial_cholesky(a[place], info[place] - 1, upper)
    factor[...] = made


def _first_bad_minor(a: Any, upper: bool) -> int:
    """By bisection: a minor after a bad one is bad as well. 0 if there is none."""
    if not np.isfinite(a).all():
        return _first_unknown_minor(a.conj().T if upper else a)
    good, bad = 0, a.shape[-1] + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            np.linalg.cholesky(a[:middle, :middle], upper=upper)
            good = middle
        except np.linalg.LinAlgError:
            bad = middle
    return bad if bad <= a.shape[-1] else 0


def _first_unknown_minor(a: Any) -> int:
    """The same where LAPACK's comparisons meet infinities and nan."""
    factor = np.tril(a)
    with np.errstate(all="ignore"):
        for k in range(len(a)):
            pivot = (factor[k, k] - np.vdot(factor[k, :k], factor[k, :k])).real
            if not pivot > 0:
                return k + 1
            factor[k, k] = np.sqrt(pivot)
            rest = factor[k + 1:, :k] @ factor[k, :k].conj()
            factor[k + 1:, k] = (factor[k + 1:, k] - rest) / factor[k, k]
    return 0


def _partial_cholesky(a: Any, done: int, upper: bool) -> Any:
    """The factor's leading part, the rest as it was, as LAPACK leaves it."""
    made = np.triu(a) if upper else np.tril(a)
    made[:done, :done] = np.linalg.cholesky(a[:done, :done], upper=upper)
    return made


# ---- LU ----------------------------------------------------------------------------------------

def lu_factor(a: Any, packed: Any, pivots: Any, info: Any) -> None:
    """Partial pivoting (Golub and Van Loan, Matrix Computations, 3.4), panel by panel.

    packed: u on and above the diagonal, l below it; pivots: from 1, as LAPACK counts.
    """
    work = np.array(a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:]))
    rows, columns = work.shape[-2:]
    small = min(rows, columns)
    swaps = np.empty((len(work), small), np.int64)
    batch = np.arange(len(work))
    with np.errstate(all="ignore"):
        for start in range(0, small, _PANEL):
            stop = min(start + _PANEL, small)
            for k in range(start, stop):
                _eliminate(work, swaps, batch, k, stop)
            if stop < columns:
                head = work[:, start:stop, stop:]
                head[...] = substitute(work[:, start:stop, start:stop], head, False, True)
                work[:, stop:, stop:] -= work[:, stop:, start:stop] @ head
    diagonal = np.diagonal(work, 0, -2, -1)
    packed[...] = work.reshape(a.shape)
    pivots[...] = (swaps + 1).reshape(pivots.shape)
    info[...] = _first_zero(diagonal).reshape(info.shape)


def _eliminate(work: Any, swaps: Any, batch: Any, k: int, stop: int) -> None:
    """Column k of a panel that ends at `stop`: pivot, exchange whole rows, subtract."""
    size = np.abs(work[:, k:, k].real) + np.abs(work[:, k:, k].imag)  # as LAPACK measures
    pivot = k + np.argmax(np.where(np.isnan(size), -1.0, size), axis=-1)
    swaps[:, k] = pivot
    kept = work[batch, pivot]
    work[batch, pivot] = work[:, k]
    work[:, k] = kept
    head = work[:, k, k]
    column = work[:, k + 1:, k]
    column[...] = np.where((head == 0)[:, None], column, column / head[:, None])
    work[:, k + 1:, k + 1:stop] -= column[:, :, None] * work[:, None, k, k + 1:stop]


def _first_zero(diagonal: Any) -> Any:
    """The place, from 1, of the first zero in each row; 0 if there is none."""
    zero = diagonal == 0
    return np.where(zero.any(-1), zero.argmax(-1) + 1 if zero.shape[-1] else 0, 0)


def permutation(pivots: Any, size: int) -> Any:
    """The order of rows that the exchanges make: row i of l u is row order[i] of the matrix."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])[:, :size]
    order = np.tile(np.arange(size), (len(flat), 1))
    batch = np.arange(len(flat))
    for k in range(flat.shape[-1]):
        other = flat[:, k] - 1
        kept = order[batch, other]
        order[batch, other] = order[:, k]
        order[:, k] = kept
    return order.reshape(*pivots.shape[:-1], size)


def _check_pivots(pivots: Any, size: int, solving: bool) -> None:
    low, high = bool((pivots < 1).any()), bool((pivots > size).any())
    if not solving and (low or high):
        raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                           "Did you properly pass the result of lu_factor?")
    if low or high:
        most = "greater or equal to 1" if low else "smaller or equal to LU.size(-2)"
        raise RuntimeError(f"Pivots given to lu_solve must all be {most}. Did you properly pass "
                           "the result of lu_factor?")


def lu_permutation(pivots: Any, p: Any, *, solving: bool) -> None:
    """The matrix p of a = p l u."""
    size = p.shape[-1]
    _check_pivots(pivots, size, solving)
    order = permutation(pivots, size)
    p[...] = 0
    np.put_along_axis(np.swapaxes(p, -1, -2), order[..., None], 1, -1)


# ---- solvers -----------------------------------------------------------------------------------

def substitute(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """a^-1 b for a triangular a: halves, until a block is small, then row by row."""
    size = a.shape[-1]
    if size > _PANEL:
        half = size // 2
        first, second = (slice(half, None), slice(half)) if upper else \
            (slice(half), slice(half, None))
        head = substitute(a[..., first, first], b[..., first, :], upper, unit)
        rest = b[..., second, :] - a[..., second, first] @ head
        tail = substitute(a[..., second, second], rest, upper, unit)
        return np.concatenate((tail, head) if upper else (head, tail), -2)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    made = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), order="C")
    for k in reversed(range(size)) if upper else range(size):
        done = slice(k + 1, None) if upper else slice(k)
        made[..., k, :] -= (a[..., k, None, done] @ made[..., done, :])[..., 0, :]
        if not unit:
            made[..., k, :] /= a[..., k, k, None]
    return made


def solve_triangular(a: Any, b: Any, x: Any, *, upper: bool, unit: bool) -> None:
    """x of a x = b; only one triangle of a is read."""
    with np.errstate(all="ignore"):
        x[...] = substitute(a, b, upper, unit)


def cholesky_solve(b: Any, factor: Any, x: Any, *, upper: bool) -> None:
    """x of l l^T x = b, or of u^T u x = b."""
    turned = np.swapaxes(factor, -1, -2).conj()
    lower, higher = (turned, factor) if upper else (factor, turned)
    with np.errstate(all="ignore"):
        x[...] = substitute(higher, substitute(lower, b, False, False), True, False)


def solve(a: Any, b: Any, x: Any, info: Any) -> None:
    """x of a x = b; where a is singular, info says at which diagonal element of its u."""
    info[...] = 0
    try:
        x[...] = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        info[...] = _singular(a)
        with np.errstate(all="ignore"):
            wide = np.broadcast_to(b, x.shape)
            for place in np.ndindex(x.shape[:-2]):
                whole = np.broadcast_to(a, (*x.shape[:-2], *a.shape[-2:]))[place]
                x[place] = np.linalg.solve(whole, wide[place]) if not np.broadcast_to(
                    info, x.shape[:-2])[place] else np.nan


def inv(a: Any, made: Any, info: Any) -> None:
    """The inverse; info as for `solve`."""
    info[...] = 0
    try:
        made[...] = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        info[...] = _singular(a)
        for place in np.ndindex(a.shape[:-2]):
            made[place] = np.nan if info[place] else np.linalg.inv(a[place])


def _singular(a: Any) -> Any:
    """For each matrix: the first zero on the diagonal of u, from 1, or 0."""
    packed, info = np.empty_like(a), np.zeros(a.shape[:-2], np.int32)
    lu_factor(a, packed, np.empty(a.shape[:-1], np.int32), info)
    return info


def lstsq(a: Any, b: Any, x: Any, rank: Any, singular: Any, *, rcond: float) -> None:
    """The x of least length among those that make |a x - b| smallest, matrix by matrix."""
    for place in np.ndindex(a.shape[:-2]):
        x[place], _, rank[place], found = np.linalg.lstsq(a[place], b[place], rcond=rcond)
        singular[place] = found


def pinv(a: Any, atol: Any, rtol: Any, made: Any, *, hermitian: bool) -> None:
    """The pseudo-inverse: singular values up to max(atol, rtol * largest) count as zero."""
    if not a.size:
        made[...] = 0
        return
    if not hermitian:
        _refuse_nan("linalg.svd", a)
    a, spoil = _finite(a)
    if hermitian:
        values, vectors = np.linalg.eigh(a)
        left, right = vectors, np.swapaxes(vectors, -1, -2).conj()
    else:
        u, values, vh = np.linalg.svd(a, full_matrices=False)
        left, right = np.swapaxes(vh, -1, -2).conj(), np.swapaxes(u, -1, -2).conj()
    size = np.abs(values)
    least = np.maximum(atol, rtol * size.max(-1))[..., None]
    turned = np.where(size > least, 1 / np.where(size > least, values, 1), 0)
    made[...] = (left * turned[..., None, :]) @ right
    spoil(made)


# ---- determinants ------------------------------------------------------------------------------

def det(a: Any, made: Any) -> None:
    """The determinant."""
    with np.errstate(all="ignore"):
        made[...] = np.linalg.det(a)


def slogdet(a: Any, sign: Any, logabsdet: Any) -> None:
    """The determinant's sign and the logarithm of its size."""
    with np.errstate(all="ignore"):
        made, logabsdet[...] = np.linalg.slogdet(a)
        unknown = np.isnan(logabsdet) & (not np.iscomplexobj(a))  # a real NaN has no sign
        sign[...] = np.where(unknown, 0, made)


def cofactors(a: Any, made: Any) -> None:
    """The derivative of the determinant, det(a) a^-T, exact for singular matrices too.

    With a = u s vh it is det(u) det(vh) u d vh, where d_i is the product of all other s.
    """
    size = a.shape[-1]
    if not a.size:
        return
    u, s, vh = np.linalg.svd(a)
    others = np.where(np.eye(size, dtype=bool), 1, s[..., None, :]).prod(-1)
    sign = np.linalg.det(u) * np.linalg.det(vh)  # of size 1
    made[...] = sign[..., None, None] * ((u * others[..., None, :]) @ vh).conj()


# ---- the exponential ---------------------------------------------------------------------------

_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
         129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
         40840800.0, 960960.0, 16380.0, 182.0, 1.0)
_REACH = 5.371920351148152  # norms up to which the approximant of degree 13 is exact in float64


def matrix_exp(a: Any, made: Any) -> None:
    """By scaling and squaring of the Pade approximant of degree 13 (Higham 2005)."""
    if not a.size:
        return
    wide = a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)
    norm = np.abs(wide).sum(-2).max(-1)
    finite = np.isfinite(norm)
    norm = np.where(finite, norm, 0)
    steps = np.maximum(0, np.ceil(np.log2(np.maximum(norm, 1e-300) / _REACH))).astype(int)
    wide = np.where(finite[..., None, None], wide, 0) / (2.0 ** steps)[..., None, None]
    value = _pade(wide)
    with np.errstate(all="ignore"):
        for k in range(int(steps.max(initial=0))):
            more = (steps > k)[..., None, None]
            value = np.where(more, value @ value, value)
        made[...] = np.where(finite[..., None, None], value, np.nan)


def _pade(a: Any) -> Any:
    one = np.eye(a.shape[-1])
    two = a @ a
    four = two @ two
    six = two @ four
    c = _PADE
    odd = a @ (six @ (c[13] * six + c[11] * four + c[9] * two)
               + c[7] * six + c[5] * four + c[3] * two + c[1] * one)
    even = (six @ (c[12] * six + c[10] * four + c[8] * two)
            + c[6] * six + c[4] * four + c[2] * two + c[0] * one)
    return np.linalg.solve(even - odd, even + odd)


