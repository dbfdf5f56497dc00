"""L D L^T: factors, pivots, solutions, and what is refused."""

import numpy as np
import pytest

import yesca as torch
from yesca import linalg

REAL, COMPLEX = (torch.float32, torch.float64), (torch.complex64, torch.complex128)


def symmetric(size: int, dtype: torch.dtype, hermitian: bool, hollow: bool) -> torch.Tensor:
    torch.manual_seed(size)
    made = torch.randn(2, size, size, dtype=dtype)
    made = made + (made.mH if hermitian else made.mT)
    return made - torch.diag_embed(torch.diagonal(made, 0, -2, -1)) if hollow else made


@pytest.mark.parametrize("hollow", [False, True])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_systems(size: int, dtype: torch.dtype, hermitian: bool, hollow: bool) -> None:
    a = symmetric(size, dtype, hermitian, hollow and size > 1)
    packed, pivots = linalg.ldl_factor(a, hermitian=hermitian)
    assert pivots.dtype is torch.int32 and pivots.shape == (2, size)
    assert torch.equal(packed, packed.tril())
    assert not hollow or size == 1 or bool((pivots < 0).any())  # blocks of 2
    b = torch.randn(2, size, 3, dtype=dtype)
    x = linalg.ldl_solve(packed, pivots, b, hermitian=hermitian)
    wanted = np.linalg.solve(a.numpy().astype(complex), b.numpy())
    wide = dtype in (torch.float64, torch.complex128)
    assert np.allclose(x.numpy(), wanted, rtol=1e-8 if wide else 1e-2, atol=1e-9 if wide else 1e-3)
    assert x.stride() == (3 * size, 1, size)


def test_blocks_and_exchanges() -> None:
    """By hand: |1| is too small beside 3, a block of 2 takes the rows 0 and 2."""
    a = torch.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 4.0], [3.0, 4.0, 0.0]])
    made = linalg.ldl_factor_ex(a)
    assert made.pivots.tolist() == [-3, -3, 3] and made.info.item() == 0
    assert torch.allclose(made.LD, torch.tensor(
        [[1.0, 0, 0], [3.0, 0, 0], [4 / 3, 2 / 9, -23 / 9]]))
    assert linalg.ldl_factor_ex(torch.eye(3).triu()).LD.tolist() == torch.eye(3).tolist()


def test_matrices_that_broadcast_and_none_at_all() -> None:
    pivots = torch.tensor([1, 2], dtype=torch.int32)
    assert linalg.ldl_solve(torch.eye(2), pivots, torch.ones(3, 2, 1)).shape == (3, 2, 1)
    assert linalg.ldl_factor_ex(torch.zeros(0, 2, 2)).pivots.shape == (0, 2)
    assert linalg.ldl_factor_ex(torch.zeros(0, 0)).info.item() == 0
    assert linalg.ldl_factor(torch.empty(3, 3, device="meta")).LD.shape == (3, 3)


def test_zeros_of_d() -> None:
    made = linalg.ldl_factor_ex(torch.zeros(2, 2))
    assert made.info.item() == 1 and made.pivots.tolist() == [1, 2]
    for call in (lambda: linalg.ldl_factor(torch.zeros(2, 2)),
                 lambda: linalg.ldl_factor_ex(torch.zeros(2, 2), check_errors=True)):
        with pytest.raises(RuntimeError, match=r"D\[1,1\] is zero and using it on ldl_solve"):
            call()


PIVOTS = torch.tensor([1, 2], dtype=torch.int32)


@pytest.mark.parametrize("error,call,message", [
    (RuntimeError, lambda: linalg.ldl_factor(torch.ones(2, 3)), "batches of square matrices"),
    (RuntimeError, lambda: linalg.ldl_factor(torch.ones(3)), "must have at least 2 dimensions"),
    (RuntimeError, lambda: linalg.ldl_factor(torch.ones(2, 2).long()), "Expected a floating point"),
    (NotImplementedError, lambda: linalg.ldl_factor(torch.ones(2, 2).bfloat16()),
     "\"ldl_factor_kernel_cpu\" not implemented for 'BFloat16'"),
    (RuntimeError, lambda: linalg.ldl_solve(torch.eye(2), PIVOTS.float(), torch.ones(2, 1)),
     "Expected pivots to be integers. Got Float"),
    (RuntimeError, lambda: linalg.ldl_solve(torch.eye(2), PIVOTS[None], torch.ones(2, 1)),
     r"but got pivots with shape \[1, 2\] instead"),
    (RuntimeError, lambda: linalg.ldl_solve(torch.eye(2), PIVOTS, torch.ones(3, 1)),
     "each A matrix is 2 by 2 but each b matrix is 3 by 1"),
    (RuntimeError, lambda: linalg.ldl_solve(torch.eye(2), PIVOTS, torch.ones(2, 1).double()),
     "found b of type Double and A of type Float"),
    (IndexError, lambda: linalg.ldl_solve(torch.eye(2), PIVOTS, torch.ones(2)), "out of range"),
    (RuntimeError, lambda: linalg.ldl_solve(torch.eye(2), PIVOTS + 1, torch.ones(2, 1)),
     "Pivots given to ldl_solve must all satisfy"),
    (RuntimeError, lambda: linalg.ldl_factor(torch.eye(2).requires_grad_()).LD.sum().backward(),
     "derivative for aten::linalg_ldl_factor_ex is not implemented"),
    (RuntimeError, lambda: linalg.ldl_solve(
        torch.eye(2), PIVOTS, torch.ones(2, 1, requires_grad=True)).sum().backward(),
     "derivative for aten::linalg_ldl_solve is not implemented")])
def test_refused(error, call, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
