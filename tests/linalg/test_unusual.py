"""Matrices that are not finite, pivots that are none, and how gradients of factorisations lie."""

import pytest

import yesca as torch
from yesca import linalg

NAN, INF = float("nan"), float("inf")
UNKNOWN = torch.full((2, 2), NAN)
ENDLESS = torch.full((2, 2), INF)
BATCH = torch.stack([torch.eye(2), UNKNOWN])


@pytest.mark.parametrize("matrix", [UNKNOWN, ENDLESS])
@pytest.mark.parametrize("compute", [lambda a: linalg.eigh(a)[0], lambda a: linalg.eigh(a)[1],
                                     linalg.eigvalsh, lambda a: linalg.pinv(a, hermitian=True)])
def test_symmetric_matrices_that_are_not_finite(compute, matrix):
    assert compute(matrix).isnan().all()
    made = compute(torch.stack([torch.eye(2), matrix]))
    assert made[0].isfinite().all() and made[1].isnan().all()


@pytest.mark.parametrize("compute", [linalg.svd, linalg.svdvals, linalg.pinv, linalg.cond,
                                     linalg.matrix_rank, linalg.matrix_norm])
def test_singular_values_of_unknown_matrices(compute):
    if compute is linalg.matrix_norm:
        def compute(a):
            return linalg.matrix_norm(a, 2)
    text = "The algorithm failed to converge because the input matrix contained non-finite values."
    for matrix, place in ((UNKNOWN, ""), (BATCH, "(Batch element 1): ")):
        with pytest.raises(linalg.LinAlgError) as caught:
            compute(matrix)
        assert str(caught.value) == f"linalg.svd: {place}{text}"


def test_singular_values_of_endless_matrices():
    assert linalg.svdvals(ENDLESS).isnan().all() and linalg.svd(ENDLESS)[0].isnan().all()
    assert linalg.pinv(ENDLESS).isnan().all() and linalg.cond(ENDLESS).isnan()
    assert linalg.matrix_rank(ENDLESS) == 0


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_what_is_not_finite(upper):
    for matrix, order in ((UNKNOWN, 1), (ENDLESS, 2)):
        with pytest.raises(linalg.LinAlgError, match=f"minor of order {order} is not positive"):
            linalg.cholesky(matrix, upper=upper)
    with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 1\).*minor of order 1"):
        linalg.cholesky(BATCH, upper=upper)
    wide = torch.tensor([[4.0, 2.0, 0.0], [2.0, 5.0, NAN], [0.0, NAN, 1.0]])
    factor, info = linalg.cholesky_ex(wide, upper=upper)
    assert info == 3 and factor[:2, :2].tolist() == (
        [[2.0, 1.0], [0.0, 2.0]] if upper else [[2.0, 0.0], [1.0, 2.0]])


# ---- pivots ----------------------------------------------------------------------------------

MATRIX = (torch.arange(9.0) ** 2).reshape(3, 3).sin()
PACKED, PIVOTS = linalg.lu_factor(MATRIX)


@pytest.mark.parametrize("pivots, solving", [
    ([0, 1, 2], "greater or equal to 1"), ([1, -1, 3], "greater or equal to 1"),
    ([1, 2, 9], r"smaller or equal to LU.size\(-2\)")])
def test_pivots_out_of_bounds(pivots, solving):
    pivots = torch.tensor(pivots, dtype=torch.int32)
    with pytest.raises(RuntimeError, match=f"Pivots given to lu_solve must all be {solving}. Did"):
        linalg.lu_solve(PACKED, pivots, torch.ones(3, 1))
    with pytest.raises(RuntimeError, match=r"pivots passed to lu_unpack must be between 1 and LU"):
        torch.lu_unpack(PACKED, pivots)


@pytest.mark.parametrize("given, message", [
    ((PACKED, PIVOTS[None], torch.ones(3, 1)), r"got pivots with shape \[1, 3\] instead"),
    ((PACKED[:2], PIVOTS, torch.ones(3, 1)), "^torch.linalg.lu_solve: A must be batches of square"),
    ((PACKED, PIVOTS, torch.ones(3, 1).double()), "found LU of type Float and B of type Double")])
def test_equations_that_do_not_fit(given, message):
    with pytest.raises(RuntimeError, match=message):
        linalg.lu_solve(*given)


def test_more_pivots_than_rows():
    assert torch.equal(torch.lu_unpack(PACKED, torch.cat([PIVOTS, PIVOTS]))[0],
                       torch.lu_unpack(PACKED, PIVOTS)[0])
    with pytest.raises(RuntimeError, match=r"Expected tensor with 2 or more dimensions. Got size"):
        torch.lu_unpack(PACKED[0], PIVOTS)


# ---- gradients -------------------------------------------------------------------------------

@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_of_eigenvectors_are_symmetric(dtype, uplo):
    a = torch.arange(9.0, dtype=torch.float64).reshape(3, 3).sin()
    a = torch.complex(a, a.cos()) if dtype.is_complex else a
    a = (a + a.mH).requires_grad_()
    values, vectors = linalg.eigh(a, uplo)
    weights = torch.arange(1.0, 10.0, dtype=torch.float64).reshape(3, 3).cos()
    found, = torch.autograd.grad((vectors.abs() ** 2 * weights).sum() + values.exp().sum(), a)
    assert torch.allclose(found, found.mH, atol=1e-12)


def test_gradient_of_eigenvectors_against_pytorch():
    a = torch.arange(9.0, dtype=torch.float64).reshape(3, 3).sin()
    a = (a + a.mT).requires_grad_()
    weights = torch.arange(1.0, 10.0, dtype=torch.float64).reshape(3, 3).cos()
    found, = torch.autograd.grad((linalg.eigh(a)[1] ** 2 * weights).sum(), a)
    expected = torch.tensor([[-0.2377, 0.1706, 0.0935], [0.1706, 0.2719, -0.0430],
                             [0.0935, -0.0430, -0.0342]], dtype=torch.float64)
    assert torch.allclose(found, expected, rtol=0, atol=5e-5)


@pytest.mark.parametrize("compute", [
    linalg.det, torch.logdet, lambda a: linalg.slogdet(a)[1], linalg.cholesky])
def test_gradients_lie_columns_first(compute):
    a = (MATRIX @ MATRIX.mT + torch.eye(3)).requires_grad_()
    found, = torch.autograd.grad(compute(a).sum(), a)
    assert found.stride() == (1, 3)
