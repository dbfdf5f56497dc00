"""L D L^T factorisations for records, with the pivoting of Bunch and Kaufman.

After Bunch and Kaufman, Some stable methods for calculating inertia and solving symmetric linear
systems (1977); results are packed as LAPACK's sytrf and hetrf pack them for lower triangles:
L below the blocks of D, whose sizes are 1 and 2; pivots count from 1 and are negative, twice, for
a block of 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SHARE = (1 + math.sqrt(17)) / 8  # bounds the growth of elements best


def ldl_factor(a: Any, packed: Any, pivots: Any, info: Any, *, hermitian: bool) -> None:
    """a = L D L^T (or L D L^H); info: the place, from 1, of the first block of D that is 0."""
    hermitian = hermitian and np.iscomplexobj(a)
    for place in np.ndindex(a.shape[:-2]):
        work = np.tril(a[place])
        with np.errstate(all="ignore"):
            info[place] = _factor(work, pivots[place], hermitian)
        packed[place] = work


def _sizes(x: Any) -> Any:
    """Absolute values, as LAPACK measures them."""
    return np.abs(x.real) + np.abs(x.imag)


def _factor(work: Any, pivots: Any, hermitian: bool) -> int:
    size, k, failed = len(work), 0, 0
    while k < size:
        if hermitian:
            np.fill_diagonal(work, work.diagonal().real)
        pivot, step = _choose(work, k)
        if pivot < 0:
            failed, pivot = failed or k + 1, k
        else:
            _exchange(work, k, k + step - 1, pivot, hermitian)
            (_eliminate if step == 1 else _eliminate_two)(work, k, hermitian)
        pivots[k:k + step] = pivot + 1 if step == 1 else -pivot - 1
        k += step
    return failed


def _choose(work: Any, k: int) -> tuple[int, int]:
    """The row to exchange with and the size of the block; -1 where there is nothing but zeros."""
    head = _sizes(work[k, k])
    below = _sizes(work[k + 1:, k])
    row = k + 1 + int(np.argmax(below)) if below.size else k
    largest = below.max() if below.size else 0
    if max(head, largest) == 0:
        return -1, 1
    if not below.size or head >= _SHARE * largest:
        return k, 1
    others = np.concatenate((_sizes(work[row, k:row]), _sizes(work[row + 1:, row])))
    beside = others.max()
    if head >= _SHARE * largest * (largest / beside):
        return k, 1
    return row, 1 if _sizes(work[row, row]) >= _SHARE * beside else 2


def _exchange(work: Any, k: int, a: int, b: int, hermitian: bool) -> None:
    """Rows and columns a < b of the part that begins at k, of which the lower triangle counts."""
    if a == b:
        return
    turned = np.conj if hermitian else np.asarray
    work[b + 1:, [a, b]] = work[b + 1:, [b, a]]
    between = work[a + 1:b, a].copy()
    work[a + 1:b, a] = turned(work[b, a + 1:b])
    work[b, a + 1:b] = turned(between)
    work[b, a] = turned(work[b, a])
    work[a, a], work[b, b] = work[b, b], work[a, a]
    if a > k:
        work[a, k], work[b, k] = work[b, k], work[a, k]


def _eliminate(work: Any, k: int, hermitian: bool) -> None:
    column = work[k + 1:, k].copy()
    factors = column / (work[k, k].real if hermitian else work[k, k])
    work[k + 1:, k + 1:] -= np.tril(np.outer(factors, column.conj() if hermitian else column))
    work[k + 1:, k] = factors


def _eliminate_two(work: Any, k: int, hermitian: bool) -> None:
    turned = np.conj if hermitian else np.asarray
    right = turned(work[k + 2:, k:k + 2].T)
    factors = turned(_by_block(work[k:k + 2, k:k + 2], right, hermitian).T)
    work[k + 2:, k + 2:] -= np.tril(factors @ right)
    work[k + 2:, k:k + 2] = factors


def _by_block(block: Any, right: Any, hermitian: bool) -> Any:
    """The solution of a system of two equations, scaled by what is beside the diagonal."""
    beside = block[1, 0]
    above = np.conj(beside) if hermitian else beside
    first, second = block[0, 0] / above, block[1, 1] / beside
    scale = first * second - 1
    top, bottom = right[0] / above, right[1] / beside
    return np.stack(((second * top - bottom) / scale, (first * bottom - top) / scale))


def ldl_solve(packed: Any, pivots: Any, b: Any, out: Any, *, hermitian: bool) -> None:
    """The x of a x = b, a given by `ldl_factor`."""
    size = packed.shape[-1]
    if ((np.abs(pivots) > size) | (pivots == 0)).any():
        raise RuntimeError("Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did "
                           "you properly pass the result of ldl_factor?")
    hermitian = hermitian and np.iscomplexobj(packed)
    batch = out.shape[:-2]
    packed = np.broadcast_to(packed, (*batch, size, size))
    pivots = np.broadcast_to(pivots, (*batch, size))
    out[...] = b
    for place in np.ndindex(batch):
        with np.errstate(all="ignore"):
            out[place] = _solve(packed[place], pivots[place], np.array(out[place]), hermitian)


def _solve(packed: Any, pivots: Any, x: Any, hermitian: bool) -> Any:
    size, k = len(packed), 0
    while k < size:  # L and D
        step = 1 if pivots[k] > 0 else 2
        last = k + step
        _swap(x, last - 1, abs(int(pivots[k])) - 1)
        x[last:] -= packed[last:, k:last] @ x[k:last]
        x[k:last] = x[k:last] / packed[k, k] if step == 1 else \
            _by_block(packed[k:last, k:last], x[k:last], hermitian)
        k = last
    while k > 0:  # L^T
        step = 1 if pivots[k - 1] > 0 else 2
        below = packed[k:, k - step:k]
        x[k - step:k] -= (below.conj() if hermitian else below).T @ x[k:]
        _swap(x, k - 1, abs(int(pivots[k - 1])) - 1)
        k -= step
    return x


def _swap(x: Any, a: int, b: int) -> None:
    if a != b:
        x[[a, b]] = x[[b, a]]
