"""Complex tensors: values against NumPy, gradients against finite differences, views, refusals."""

from __future__ import annotations

import cmath
import math
import pickle
import warnings

import numpy as np
import pytest

import yesca as torch

VALUES = [0.3 - 1.2j, -0.7 + 0.4j, 1.5 + 0.25j, -2.0 - 0.5j, 0.01 + 0.02j, 1.0 - 0.0j]
OTHERS = [1.1 + 0.3j, 0.2 - 2.0j, -0.5 - 0.5j, 3.0 + 0.1j, -1e-3 + 1.0j, 0.5j]


def numbers(values=VALUES, dtype=torch.complex128, **options):
    return torch.tensor(values, dtype=dtype, **options)


UNARY = ["exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh",
         "cosh", "tanh", "square", "reciprocal"]
INVERSE = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
           "acosh": "arccosh", "atanh": "arctanh"}


@pytest.mark.parametrize("name", [*UNARY, *INVERSE])
def test_functions(name):
    for dtype, tolerance in ((torch.complex128, 1e-13), (torch.complex64, 4e-6)):
        x = numbers(VALUES[:5], dtype)
        expected = getattr(np, INVERSE.get(name, name))(np.array(VALUES[:5]))
        np.testing.assert_allclose(getattr(torch, name)(x).numpy(), expected, rtol=tolerance,
                                   atol=tolerance)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
def test_arithmetic(name):
    numpy_name = {"sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power"}
    expected = getattr(np, numpy_name.get(name, name))(np.array(VALUES), np.array(OTHERS))
    made = getattr(torch, name)(numbers(), numbers(OTHERS))
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-13)


def test_division_does_not_overflow():
    big = numbers([1e200 + 1e200j])
    assert (big / big).item() == 1
    zero = torch.tensor([1 + 1j, 0j]) / 0
    assert zero[0].item() == complex(math.inf, math.inf)
    assert cmath.isnan(zero[1].item())


def test_numbers_and_promotion():
    assert (torch.ones(2) * 1j).dtype is torch.complex64
    assert (torch.ones(2, dtype=torch.float64) * 1j).dtype is torch.complex128
    assert (torch.ones(2, dtype=torch.int32) + 1j).tolist() == [1 + 1j, 1 + 1j]
    x = numbers([1 + 2j])
    assert (2 / x).item() == pytest.approx(2 / (1 + 2j))
    assert (x**2).item() == (1 + 2j) ** 2 and (x == 1 + 2j).item()
    x.mul_(1j).add_(1)
    assert x.item() == -1 + 1j


def test_sums_and_products():
    x = np.random.default_rng(0).normal(size=(3, 5, 7)) * (1 + 0.5j)
    t = torch.from_numpy(x)
    np.testing.assert_allclose(t.sum((0, 2)).numpy(), x.sum((0, 2)), rtol=1e-12)
    np.testing.assert_allclose(t.mean(1).numpy(), x.mean(1), rtol=1e-12)
    np.testing.assert_allclose(t.prod(1).numpy(), x.prod(1), rtol=1e-12)
    np.testing.assert_allclose(t.prod().numpy(), x.prod(), rtol=1e-11)
    np.testing.assert_allclose(t.cumprod(2).numpy(), x.cumprod(2), rtol=1e-12)
    np.testing.assert_allclose(t.cumsum(0).numpy(), x.cumsum(0), rtol=1e-12)
    np.testing.assert_allclose(t.std().item(), x.std(ddof=1), rtol=1e-12)
    np.testing.assert_allclose(torch.linalg.vector_norm(t).item(), np.linalg.norm(x.ravel()),
                               rtol=1e-12)
    assert torch.prod(torch.empty(0, dtype=torch.complex64)).item() == 1
    assert t.any().item() and t.all().item()


def test_products():
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((2, 4, 3), (2, 3, 5)))
    p, q = torch.from_numpy(a), torch.from_numpy(b)
    np.testing.assert_allclose((p @ q).numpy(), a @ b, rtol=1e-12)
    np.testing.assert_allclose((p.conj() @ q).numpy(), a.conj() @ b, rtol=1e-12)
    np.testing.assert_allclose((p[0].H @ p[0]).numpy(), a[0].conj().T @ a[0], rtol=1e-12)
    start = torch.ones(4, 5, dtype=torch.complex128)
    made = torch.addmm(start, p[0], q[0], beta=2, alpha=1j)
    np.testing.assert_allclose(made.numpy(), 2 + 1j * (a[0] @ b[0]), rtol=1e-12)
    v, w = p[0, 0], q[0, :, 0]
    assert torch.vdot(v, w).item() == pytest.approx(np.vdot(a[0, 0], b[0, :, 0]))
    assert torch.dot(v, w).item() == pytest.approx(a[0, 0] @ b[0, :, 0])


def test_parts_are_views():
    z = torch.zeros(2, 2, dtype=torch.complex64)
    z.real = 3
    z.imag.copy_(torch.arange(4.0).reshape(2, 2))
    assert z.tolist() == [[3, 3 + 1j], [3 + 2j, 3 + 3j]]
    pairs = torch.view_as_real(z)
    assert pairs.shape == (2, 2, 2) and pairs.data_ptr() == z.data_ptr()
    pairs[0, 0, 1] = 9
    assert z[0, 0].item() == 3 + 9j
    assert torch.view_as_complex(pairs).data_ptr() == z.data_ptr()
    assert torch.real(x := torch.ones(2)) is x
    with pytest.raises(RuntimeError, match="non-complex"):
        x.imag
    with pytest.raises(RuntimeError, match="last dimension of size 2"):
        torch.view_as_complex(torch.ones(3, 3))


def test_conjugates_are_lazy():
    z = numbers()
    c = z.conj()
    assert c.is_conj() and c.data_ptr() == z.data_ptr() and not c.conj().is_conj()
    assert c.tolist() == [v.conjugate() for v in VALUES]
    assert not (c * 1).is_conj() and not c.clone().is_conj()
    assert c[1:].is_conj() and c.reshape(2, 3).is_conj() and c.resolve_conj().numpy() is not None
    assert z.resolve_conj() is z and c.conj_physical().tolist() == VALUES
    c.mul_(1j)
    assert z[0].item() == pytest.approx(VALUES[0] * -1j)
    with pytest.raises(RuntimeError, match="conjugate bit"):
        c.numpy()
    with pytest.raises(RuntimeError, match="unresolved conjugated"):
        torch.view_as_real(c)
    loaded = pickle.loads(pickle.dumps(c))
    assert loaded.is_conj() and loaded.tolist() == c.tolist()
    assert torch.ones(2).conj().is_conj() is False


def test_moving_data():
    z, flag = numbers(), torch.tensor([True, False] * 3)
    order = torch.tensor([5, 0, 3])
    for x in (z, z.conj(), z.to(torch.complex64)):
        values = x.tolist()
        assert x[order].tolist() == [values[k] for k in (5, 0, 3)]
        assert torch.cat([x, x.flip(0)]).tolist() == values + values[::-1]
        assert torch.where(flag, x, 1j).tolist()[:2] == [values[0], 1j]
        assert x.masked_fill(flag, 2).tolist()[:2] == [2, values[1]]
        added = torch.zeros(2, dtype=x.dtype).index_add(0, torch.tensor([0, 0]), x[:2])
        assert added[0].item() == pytest.approx(values[0] + values[1])
    z[0] = 5j
    assert z[0].item() == 5j


def test_angles_and_making():
    assert torch.polar(torch.tensor(2.0), torch.tensor(math.pi / 2)).item() == pytest.approx(2j)
    z = torch.complex(torch.tensor([3.0, -1.0]), torch.tensor([4.0, 0.0]))
    assert z.abs().tolist() == [5, 1] and z.abs().dtype is torch.float32
    assert z.angle().tolist() == pytest.approx([math.atan2(4, 3), math.pi])
    assert z.sgn().tolist() == [pytest.approx(0.6 + 0.8j), -1]
    assert torch.isreal(z).tolist() == [False, True] and torch.is_complex(z)
    with pytest.raises(RuntimeError, match="scalar type Double but got scalar type Float"):
        torch.complex(torch.ones(1, dtype=torch.float64), torch.ones(1))


def test_conversions():
    z = torch.tensor([1 + 2j])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert z.to(torch.float32).tolist() == [1]
    assert z.to(torch.complex128).dtype is torch.complex128 and z.bool().item()
    assert complex(z) == 1 + 2j and float(torch.tensor(2 + 0j)) == 2
    with pytest.raises(RuntimeError, match="without overflow"):
        float(z)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.ones(2)[0] = 1j


@pytest.mark.parametrize("call", [
    lambda z: z < z, lambda z: z.max(), lambda z: z.sort(), lambda z: z.clamp(0, 1),
    lambda z: torch.relu(z), lambda z: torch.floor(z), lambda z: z % 2, lambda z: z // 2,
    lambda z: torch.erf(z), lambda z: torch.nn.functional.gelu(z), lambda z: torch.sign(z),
    lambda z: torch.div(z, z, rounding_mode="floor"), lambda z: torch.atan2(z, z),
    lambda z: torch.nn.functional.mse_loss(z, z), lambda z: z.abs_(), lambda z: z.argmax(),
    lambda z: torch.nn.functional.layer_norm(z, (6,)), lambda z: torch.softmax(z, 0),
    lambda z: z & z, lambda z: torch.maximum(z, z), lambda z: torch.remainder(z, 2),
])
def test_refusals(call):
    with pytest.raises(RuntimeError, match="complex|Complex"):
        call(numbers())


FORMULAS = {
    "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "conj": lambda x, y: x * y.conj(),
    "abs": lambda x, y: (x * y).abs(), "exp": lambda x, y: x.exp() * y.sin(),
    "pow": lambda x, y: x**y, "square": lambda x, y: x**2 + y**3,
    "angle": lambda x, y: (x * y).angle(), "sgn": lambda x, y: (x + y).sgn(),
    "parts": lambda x, y: x.real * y.imag + (x.imag * y),
    "pairs": lambda x, y: torch.view_as_real(x * y), "sum": lambda x, y: (x * y).sum(),
    "prod": lambda x, y: (x + y).prod(), "cumprod": lambda x, y: (x + y).cumprod(0),
    "matmul": lambda x, y: x.reshape(2, 3) @ y.reshape(3, 2).conj(),
    "vdot": lambda x, y: torch.vdot(x, y), "sqrt": lambda x, y: (x * y).sqrt(),
    "tanh": lambda x, y: x.tanh() / y, "log": lambda x, y: x.log() - y.reciprocal(),
    "norm": lambda x, y: torch.linalg.vector_norm(x - y), "std": lambda x, y: (x * y).std(),
    "gather": lambda x, y: torch.cat([x, y.conj()])[torch.tensor([0, 7, 7])],
    "where": lambda x, y: torch.where(x.real > 0, x, y), "atan": lambda x, y: x.atan() * y.acos(),
    "polar": lambda x, y: torch.polar(x.abs(), y.real) * torch.complex(x.real, y.imag),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients(name):
    x, y = numbers(VALUES).requires_grad_(), numbers(OTHERS).requires_grad_()
    assert torch.autograd.gradcheck(FORMULAS[name], (x, y))


def positive(x):
    return x @ x.mH + 3 * torch.eye(3)


MATRICES = {
    "inv": torch.linalg.inv, "det": torch.linalg.det, "exp": torch.linalg.matrix_exp,
    "slogdet": lambda x: torch.linalg.slogdet(x)[1] * torch.linalg.slogdet(x)[0].real,
    "solve": lambda x: torch.linalg.solve(x, x.mT), "qr": lambda x: torch.linalg.qr(x)[1],
    "svd": lambda x: torch.linalg.svdvals(x), "eigvals": torch.linalg.eigvals,
    "parts": lambda x: torch.linalg.svd(x)[0][:, :2].abs(),
    "eigh": lambda x: torch.linalg.eigh(positive(x))[1].abs(),
    "cholesky": lambda x: torch.linalg.cholesky(positive(x)), "pinv": torch.linalg.pinv,
    "cholesky_solve": lambda x: torch.cholesky_solve(x, torch.linalg.cholesky(positive(x))),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name):
    rng = np.random.default_rng(3)
    x = torch.from_numpy(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))
    assert torch.autograd.gradcheck(MATRICES[name], (x.requires_grad_(),))


def test_matrices_agree_with_numpy():
    rng = np.random.default_rng(4)
    a = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))
    t = torch.from_numpy(a)
    np.testing.assert_allclose(torch.linalg.inv(t.conj()).numpy(), np.linalg.inv(a.conj()))
    np.testing.assert_allclose(torch.linalg.det(t).numpy(), np.linalg.det(a))
    np.testing.assert_allclose(torch.linalg.svdvals(t).numpy(),
                               np.linalg.svd(a, compute_uv=False))
    packed, tau = torch.geqrf(t)
    q = torch.linalg.householder_product(packed, tau)
    np.testing.assert_allclose((q.mH @ q)[0].numpy(), np.eye(3), atol=1e-12)
    vector = t[0, 0]
    assert torch.linalg.vecdot(vector, vector).item() == pytest.approx(np.vdot(a[0, 0], a[0, 0]))


@pytest.mark.parametrize("name", ["mul", "div", "abs", "exp", "angle", "matmul", "pairs"])
def test_second_gradients(name):
    x, y = numbers(VALUES).requires_grad_(), numbers(OTHERS).requires_grad_()
    assert torch.autograd.gradgradcheck(FORMULAS[name], (x, y))


def test_gradient_conventions():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j, 6 - 2j] and not z.grad.is_conj()
    x = torch.ones(2, requires_grad=True)
    (x * (3 + 4j)).abs().sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [5, 5]
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        z.sum().backward()
    assert type(z.conj().grad_fn).__name__ == "ConjBackward0"
    assert type(torch.view_as_real(z).grad_fn).__name__ == "ViewAsRealBackward0"


@pytest.mark.parametrize("write", [
    lambda y: y.real.mul_(2), lambda y: torch.view_as_real(y)[..., 1].mul_(3),
    lambda y: y.conj().mul_(2 + 1j), lambda y: y[0].imag.add_(y[1].imag),
])
def test_writes_through_views(write):
    def after(x):
        y = x * 1
        write(y)
        return y * y

    x = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -2.0]], dtype=torch.complex128)
    assert torch.autograd.gradcheck(after, (x.requires_grad_(),))
