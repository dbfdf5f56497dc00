"""Factors of low rank: against the whole decomposition, in every shape, and their errors."""

import pytest

import yesca as torch


def of_rank(rank, *shape, dtype):
    """A matrix (or a batch of them) of a known rank, from a generator of its own."""
    drawn = torch.Generator().manual_seed(3)
    left = torch.randn(*shape[:-1], rank, dtype=dtype, generator=drawn)
    return left @ torch.randn(*shape[:-2], rank, shape[-1], dtype=dtype, generator=drawn)


@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (2, 3, 6, 4), (4, 4)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_matrix_of_low_rank_is_given_back(shape, dtype):
    A = of_rank(2, *shape, dtype=dtype)
    U, S, V = torch.svd_lowrank(A, q=3)
    assert (U.shape, S.shape, V.shape) == (
        (*shape[:-1], 3), (*shape[:-2], 3), (*shape[:-2], shape[-1], 3))
    torch.testing.assert_close((U * S.unsqueeze(-2)) @ V.mH, A)
    torch.testing.assert_close(S, torch.linalg.svdvals(A)[..., :3])
    eye = torch.eye(2, dtype=dtype).expand(*shape[:-2], 2, 2)
    for factor in (U[..., :2], V[..., :2]):
        torch.testing.assert_close(factor.mH @ factor, eye)


def test_what_is_subtracted_and_the_seed():
    A = of_rank(1, 8, 5, dtype=torch.float64) + torch.arange(5.0)
    torch.manual_seed(5)
    U, S, V = torch.svd_lowrank(A, 2, 1, torch.arange(5.0, dtype=torch.float64))
    torch.testing.assert_close((U * S) @ V.mT + torch.arange(5.0), A)
    torch.manual_seed(5)
    again = torch.svd_lowrank(A, 2, 1, torch.arange(5.0, dtype=torch.float64))
    assert all(torch.equal(a, b) for a, b in zip((U, S, V), again))


@pytest.mark.parametrize("center", [True, False])
def test_principal_components(center):
    A = of_rank(3, 10, 6, dtype=torch.float64) + 1
    centred = A - A.mean(0) if center else A
    U, S, V = torch.pca_lowrank(A, center=center)
    assert S.shape == (6,)
    torch.testing.assert_close(S, torch.linalg.svdvals(centred))
    torch.testing.assert_close((U * S) @ V.mT, centred)


def test_gradients_go_through_the_factors():
    A = of_rank(4, 5, 4, dtype=torch.float64).requires_grad_()
    torch.svd_lowrank(A, q=4)[1].sum().backward()
    whole = A.detach().clone().requires_grad_()
    torch.linalg.svdvals(whole).sum().backward()
    torch.testing.assert_close(A.grad, whole.grad)


def test_errors():
    A = torch.ones(3, 4)
    with pytest.raises(ValueError, match=r"q\(=4\) must be .* not greater than min\(m, n\)=3"):
        torch.pca_lowrank(A, q=4)
    with pytest.raises(ValueError, match=r"niter\(=-1\) must be non-negative integer"):
        torch.pca_lowrank(A, niter=-1)
    with pytest.raises(ValueError, match="not enough values to unpack"):
        torch.svd_lowrank(torch.ones(3))


def test_whole_numbers():
    with pytest.raises(RuntimeError, match="m1 and m2 to have the same dtype, but got: long int"):
        torch.svd_lowrank(torch.ones(3, 3, dtype=torch.int64))
