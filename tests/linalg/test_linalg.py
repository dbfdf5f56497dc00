"""torch.linalg: values against NumPy, gradients and second gradients by differences, errors."""

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values

import yesca as torch
from yesca import linalg


def general(shape, seed=0):
    """Matrices of full rank."""
    return values(shape, seed) + 2 * np.eye(*shape[-2:])


def positive(a):
    """A symmetric positive-definite matrix from any square one, differentiably."""
    n = a.shape[-1]
    return a @ a.mT + torch.eye(n, dtype=a.dtype)


SHAPES = [(3, 3), (2, 4, 4), (4, 2), (2, 3, 5), (0, 0), (2, 0, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_factorisations_multiply_back(shape):
    a = tensor(values(shape))
    m, n = shape[-2:]
    q, r = linalg.qr(a)
    u, s, vh = linalg.svd(a, full_matrices=False)
    p, lower, upper = linalg.lu(a)
    for made in (q @ r, u @ torch.diag_embed(s) @ vh, p @ lower @ upper):
        assert np.allclose(array(made), array(a), atol=1e-12)
    assert np.allclose(array(q.mT @ q), np.eye(min(m, n)), atol=1e-12)
    assert np.allclose(array(linalg.svdvals(a)), array(s))
    assert linalg.qr(a, "r").R.shape == r.shape
    assert linalg.svd(a).U.shape[-1] == m


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 0)])
def test_square_matrices(shape):
    a, n = tensor(general(shape)), shape[-1]
    assert np.allclose(array(linalg.inv(a) @ a), np.eye(n), atol=1e-12)
    assert np.allclose(array(linalg.det(a)), np.linalg.det(array(a)))
    assert np.allclose(array(linalg.slogdet(a).logabsdet), np.linalg.slogdet(array(a))[1])
    assert np.allclose(array(linalg.matrix_power(a, -2) @ a @ a), np.eye(n), atol=1e-12)
    b = positive(a)
    low = linalg.cholesky(b)
    assert np.allclose(array(low @ low.mT), array(b))
    assert np.allclose(array(linalg.cholesky(b, upper=True)), array(low.mT))
    values_, vectors = linalg.eigh(b)
    assert np.allclose(array(vectors * values_.unsqueeze(-2)), array(b @ vectors))
    assert np.allclose(array(linalg.eigvalsh(b)), array(values_))


def test_large_lu_and_triangular():
    a = np.cos(np.arange(100 * 90) ** 1.5).reshape(100, 90)
    p, lower, upper = linalg.lu(tensor(a))
    assert np.allclose(array(p @ lower @ upper), a, atol=1e-10)
    square, right = tensor(a[:90] + 9 * np.eye(90)), tensor(a[:90, :3])
    packed, pivots = linalg.lu_factor(square)
    assert np.allclose(array(square @ linalg.lu_solve(packed, pivots, right)), array(right))
    turned = linalg.lu_solve(packed, pivots, right.mT, left=False)
    assert np.allclose(array(turned @ square), array(right.mT))
    for upper_ in (True, False):
        kept = square.triu() if upper_ else square.tril()
        x = linalg.solve_triangular(square, right, upper=upper_)
        assert np.allclose(array(kept @ x), array(right))


def test_solve_takes_vectors_batches_and_sides():
    a, b = tensor(general((2, 3, 3))), tensor(values((2, 3)))
    assert np.allclose(array(linalg.solve(a, b)),
                       np.linalg.solve(array(a), array(b)[..., None])[..., 0])
    wide = tensor(values((4, 3)))
    assert np.allclose(array(linalg.solve(a, wide, left=False) @ a),
                       np.broadcast_to(array(wide), (2, 4, 3)))
    assert linalg.solve(a[0], b[0]).shape == (3,)


def test_least_squares():
    a, b = tensor(general((5, 3))), tensor(values((5, 2), 1))
    expected = np.linalg.lstsq(array(a), array(b), rcond=None)
    made = linalg.lstsq(a, b, driver="gelsd")
    assert np.allclose(array(made.solution), expected[0])
    assert np.allclose(array(made.residuals), expected[1])
    assert made.rank.item() == 3 and np.allclose(array(made.singular_values), expected[3])
    assert linalg.lstsq(a, b).residuals.shape == (0,)
    assert np.allclose(array(linalg.pinv(a)), np.linalg.pinv(array(a)))
    assert linalg.matrix_rank(a).item() == 3
    flat = tensor(np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0]))
    assert linalg.matrix_rank(flat).item() == 1
    assert np.allclose(array(linalg.pinv(flat)), np.linalg.pinv(array(flat)))


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, 0.5, np.inf, -np.inf, -1])
def test_vector_norms(order):
    x = tensor(values((2, 5)))
    expected = np.linalg.norm(array(x), 2 if order is None else order, 1)
    assert np.allclose(array(linalg.vector_norm(x, 2 if order is None else order, 1)), expected)
    assert np.allclose(array(linalg.norm(x, order, 1)), expected)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms_and_conditions(order):
    a = tensor(general((2, 3, 3)))
    expected = [np.linalg.norm(x, order) for x in array(a)]
    assert np.allclose(array(linalg.matrix_norm(a, order)), expected)
    assert linalg.matrix_norm(a, order, keepdim=True).shape == (2, 1, 1)
    expected = [np.linalg.cond(x, order) for x in array(a)]
    assert np.allclose(array(linalg.cond(a, order)), expected)


def test_functions_of_matrices():
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    angle = 20.0
    expected = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert np.allclose(array(linalg.matrix_exp(turn * angle)), expected)
    x = tensor(values((3,)))
    assert np.allclose(array(linalg.vander(x, N=4)), np.vander(array(x), 4, increasing=True))
    assert np.allclose(array(torch.vander(x)), np.vander(array(x)))
    a, b = tensor(values((4, 3))), tensor(values((4, 3), 1))
    assert np.allclose(array(linalg.cross(a, b)), np.cross(array(a), array(b)))
    assert np.allclose(array(torch.cross(a.mT, b.mT)), np.cross(array(a), array(b)).T)
    packed, tau = torch.geqrf(a)
    q = linalg.qr(a, "complete").Q
    assert np.allclose(array(linalg.householder_product(packed, tau)), array(q[:, :3]))
    assert np.allclose(array(torch.ormqr(packed, tau, b, transpose=True)), array(q.mT @ b))


def test_tensors_as_matrices():
    a = tensor(general((6, 6)).reshape(2, 3, 6))
    made = torch.tensordot(linalg.tensorinv(a, ind=2), a, 2)
    assert np.allclose(array(made).reshape(6, 6), np.eye(6))
    b = tensor(values((2, 3)))
    assert np.allclose(array(torch.tensordot(a, linalg.tensorsolve(a, b), 1)), array(b))


def test_eigenvalues_of_a_rotation_are_complex():
    found = linalg.eigvals(torch.tensor([[0.0, -2.0], [2.0, 0.0]]))
    assert found.dtype is torch.complex64
    assert sorted(found.tolist(), key=lambda z: z.imag) == [-2j, 2j]


# ---- derivatives -------------------------------------------------------------------------------

def parts(*made):
    """Several results as one vector."""
    return torch.cat([x.reshape(-1) for x in made])


def shifted(a):
    """A matrix that is not singular."""
    return a + 2 * torch.eye(3, dtype=a.dtype)


def signless(x):
    """The same for a vector and its negative."""
    return x * x


@pytest.mark.parametrize("function, shapes", [
    (lambda a: parts(*linalg.qr(shifted(a))), [(3, 3)]),
    (lambda a: parts(*linalg.qr(a)), [(2, 4, 2)]),
    (lambda a: parts(*linalg.qr(a)), [(2, 4)]),
    (linalg.svdvals, [(2, 3)]),
    (lambda a: parts(*map(signless, linalg.svd(a, full_matrices=False))), [(2, 3)]),
    (lambda a: parts(*map(signless, linalg.svd(a, full_matrices=False))), [(4, 2)]),
    (lambda a: parts(*map(signless, linalg.eigh(positive(a)))), [(3, 3)]),
    (lambda a: linalg.eigvalsh(positive(a)), [(3, 3)]),
    (lambda a: linalg.cholesky(positive(a)), [(2, 3, 3)]),
    (lambda a: linalg.cholesky(positive(a), upper=True), [(3, 3)]),
    (lambda a: parts(*linalg.lu(shifted(a))[1:]), [(3, 3)]),
    (lambda a: parts(*linalg.lu(a)[1:]), [(4, 2)]),
    (lambda a: linalg.lu_factor(a).LU, [(2, 4)]),
    (lambda a: linalg.inv(positive(a)), [(2, 3, 3)]),
    (lambda a: linalg.det(shifted(a)), [(2, 3, 3)]),
    (lambda a: linalg.slogdet(positive(a)).logabsdet, [(3, 3)]),
    (lambda a, b: linalg.solve(positive(a), b), [(2, 3, 3), (3, 2)]),
    (lambda a, b: linalg.solve(positive(a), b, left=False), [(3, 3), (2, 3)]),
    (lambda a, b: linalg.solve_triangular(positive(a), b, upper=True), [(3, 3), (2, 3, 1)]),
    (lambda a, b: linalg.solve_triangular(a, b, upper=False, unitriangular=True, left=False),
     [(3, 3), (2, 3)]),
    (lambda a, b: torch.cholesky_solve(b, linalg.cholesky(positive(a))), [(3, 3), (3, 2)]),
    (lambda a, b: linalg.lstsq(a, b).solution, [(4, 2), (4, 1)]),
    (linalg.pinv, [(4, 2)]),
    (linalg.matrix_exp, [(3, 3)]),
    (lambda a: linalg.matrix_power(a, 3), [(3, 3)]),
    (lambda a: linalg.vector_norm(a, 3), [(4,)]),
    (lambda a: linalg.matrix_norm(a, "nuc"), [(2, 3)]),
    (lambda a: linalg.cond(positive(a), "fro"), [(3, 3)]),
    (linalg.cross, [(2, 3), (2, 3)]),
    (lambda a, b: linalg.householder_product(a, b), [(4, 2), (2,)]),
])  # fmt: skip
def test_gradients(function, shapes):
    check_gradients(function, shapes)


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_product_of_reflectors_is_one_node(count, dtype):
    torch.manual_seed(0)
    given = [torch.randn(*shape, dtype=dtype, requires_grad=True)
             for shape in ((2, 4, 3), (2, count))]
    for function in (linalg.householder_product, torch.orgqr):
        assert function(*given).grad_fn.name() == "LinalgHouseholderProductBackward0"
    assert torch.autograd.gradcheck(linalg.householder_product, given)
    assert torch.autograd.gradgradcheck(linalg.householder_product, given)


def test_the_gradient_of_a_singular_determinant_is_exact():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    linalg.det(a).backward()
    assert np.allclose(array(a.grad), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-5)


def test_norms_have_gradient_zero_at_zero():
    for order in (1, 1.5, 2, 3):
        x = torch.zeros(3, requires_grad=True)
        linalg.vector_norm(x, order).backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]


# ---- errors ------------------------------------------------------------------------------------

def batch(bad):
    return torch.stack([torch.eye(2), torch.tensor(bad)])


@pytest.mark.parametrize("call, message", [
    (lambda: linalg.inv(batch([[1.0, 1.0], [1.0, 1.0]])),
     r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"),
    (lambda: linalg.solve(torch.ones(2, 2), torch.ones(2)),
     "torch.linalg.solve: The solver failed because the input matrix is singular"),
    (lambda: linalg.cholesky(batch([[1.0, 2.0], [2.0, 1.0]])),
     r"linalg.cholesky: \(Batch element 1\).*the leading minor of order 2 is not positive"),
    (lambda: linalg.svd(torch.full((2, 2), float("nan"))),
     "linalg.svd: The algorithm failed to converge"),
])
def test_values_that_fail(call, message):
    with pytest.raises(linalg.LinAlgError, match=message):
        call()


@pytest.mark.parametrize("call, message", [
    (lambda: linalg.qr(torch.ones(2)), "linalg.qr: The input tensor A must have at least 2"),
    (lambda: linalg.inv(torch.ones(2, 3)), "A must be batches of square matrices, but they are 2"),
    (lambda: linalg.inv(torch.ones(2, 2).long()), "Expected a floating point or complex tensor"),
    (lambda: linalg.inv(torch.ones(2, 2).half()), "Low precision dtypes not supported. Got Half"),
    (lambda: linalg.svd(torch.ones(2, 2).half()), '"linalg_svd_cpu" not implemented for \'Half\''),
    (lambda: linalg.solve(torch.eye(3), torch.ones(2, 3)), "Incompatible shapes of A and B"),
    (lambda: linalg.matrix_norm(torch.eye(3), 3), "linalg.matrix_norm: Order 3 not supported."),
    (lambda: linalg.cross(torch.ones(4), torch.ones(4)), "inputs dimension -1 must have length 3"),
    (lambda: linalg.lu_factor(torch.zeros(2, 2)), r"U\[1,1\] is zero and using it on lu_solve"),
    (lambda: linalg.qr(torch.eye(2), "x"), "unrecognized mode 'x'"),
])
def test_arguments_that_fail(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_failures_that_are_reported():
    made = linalg.inv_ex(batch([[1.0, 1.0], [1.0, 1.0]]))
    assert made.info.tolist() == [0, 2] and made.info.dtype is torch.int32
    assert made.inverse[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert linalg.cholesky_ex(-torch.eye(2)).info.item() == 1
    assert linalg.lu_factor_ex(torch.zeros(2, 2)).info.item() == 1


def test_named_results_and_out():
    made = linalg.qr(torch.eye(2))
    assert type(made).__name__ == "linalg_qr" and made.Q is made[0]
    out = torch.empty(0)
    assert linalg.inv(torch.eye(2) * 2, out=out) is out
    assert out.tolist() == [[0.5, 0.0], [0.0, 0.5]]
    assert "vector_norm" in dir(linalg)
    assert linalg.qr.__name__ == "linalg_qr"


def test_on_meta_only_shapes_are_made():
    a = torch.empty(2, 4, 3, device="meta")
    assert linalg.svd(a).U.shape == (2, 4, 4)
    assert linalg.inv(torch.empty(3, 3, device="meta")).device.type == "meta"


# ---- complex matrices --------------------------------------------------------------------------

def pair(a, b):
    """Two real tensors as a complex one."""
    return torch.complex(a, b)


def hermitian(x):
    """A positive-definite matrix."""
    return x @ x.mH + torch.eye(x.shape[-1], dtype=x.dtype)


def both(x):
    return parts(x.real, x.imag)


@pytest.mark.parametrize("function, shapes", [
    (lambda a, b: parts(*map(both, linalg.qr(pair(a, b)))), [(4, 2)] * 2),
    (lambda a, b: both(linalg.inv(shifted(pair(a, b)))), [(3, 3)] * 2),
    (lambda a, b: both(linalg.det(shifted(pair(a, b)))), [(3, 3)] * 2),
    (lambda a, b: parts(both(linalg.slogdet(shifted(pair(a, b)))[0]),
                        linalg.slogdet(shifted(pair(a, b)))[1]), [(3, 3)] * 2),
    (lambda a, b: both(linalg.cholesky(hermitian(pair(a, b)))), [(3, 3)] * 2),
    (lambda a, b: linalg.svdvals(pair(a, b)), [(2, 3)] * 2),
    (lambda a, b: linalg.eigvalsh(pair(a, b) @ pair(a, b).mH), [(2, 3)] * 2),
    (lambda a, b: both(linalg.matrix_exp(pair(a, b))), [(2, 2)] * 2),
    (lambda a, b: both(linalg.lu_factor(shifted(pair(a, b))).LU), [(3, 3)] * 2),
    (lambda a, b: both(linalg.vecdot(pair(a, b), pair(b, a))), [(3,)] * 2),
])  # fmt: skip
def test_gradients_of_complex_matrices(function, shapes):
    check_gradients(function, shapes, second=False)


def test_eigenvectors_of_a_real_matrix():
    a = tensor(general((3, 3)) + np.triu(np.full((3, 3), 2.0), 1) - np.tril(np.ones((3, 3)), -1))
    found, vectors = linalg.eig(a)
    assert found.is_complex() and np.iscomplexobj(found.numpy())
    wide = a.to(torch.complex128)
    assert np.allclose((wide @ vectors).numpy(), (vectors * found).numpy())
    check_gradients(lambda x: linalg.eig(x + a).eigenvectors.abs(), [(3, 3)], second=False)


def test_sign_of_an_unknown_determinant():
    known = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    both = torch.stack([torch.full((2, 2), float("nan")), known])
    sign, logarithm = torch.linalg.slogdet(both)
    assert sign.tolist() == [0.0, -1.0] and logarithm.isnan().tolist() == [True, False]
    assert torch.linalg.slogdet(both.to(torch.complex64))[0].isnan().tolist() == [True, False]


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_gels_refuses_what_lacks_rank(shape):
    low = torch.ones(*shape)
    with pytest.raises(linalg.LinAlgError, match=r"full rank \(error code: 2\)"):
        linalg.lstsq(low, torch.ones(shape[0], 1), driver="gels")
    both = torch.stack([torch.eye(*shape), low])
    with pytest.raises(linalg.LinAlgError, match=r"lstsq: \(Batch element 1\): The least squares"):
        linalg.lstsq(both, torch.ones(2, shape[0], 1), driver="gels")
    for driver in ("gelsy", "gelsd", "gelss"):
        assert linalg.lstsq(low, torch.ones(shape[0], 1), driver=driver).solution.isfinite().all()
    zeros = linalg.lstsq(torch.zeros(*shape), torch.ones(shape[0], 1), driver="gels")
    assert not zeros.solution.any()
