"""`autograd.functional` and `gradcheck`."""

import sys

import pytest

import yesca as torch
from yesca.autograd import functional as F
from yesca.autograd import gradcheck, gradgradcheck
from yesca.autograd.gradcheck import GradcheckError

X, Y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


def listed(value):
    return tuple(map(listed, value)) if isinstance(value, tuple) else value.tolist()


def square(x):
    return x * x


def test_jacobian():
    assert listed(F.jacobian(square, X)) == [[2, 0], [0, 4]]
    both = F.jacobian(lambda a, b: (a * b, a + b), (X, Y))
    assert listed(both) == (([[3, 0], [0, 4]], [[1, 0], [0, 2]]),
                            ([[1, 0], [0, 1]], [[1, 0], [0, 1]]))
    assert listed(F.jacobian(lambda a: Y * 2, X)) == [[0, 0], [0, 0]]
    x = X.clone().requires_grad_()
    made = F.jacobian(square, x, create_graph=True)
    made.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_hessian():
    assert listed(F.hessian(lambda a: (a * a * a).sum(), X)) == [[6, 0], [0, 12]]
    assert listed(F.hessian(lambda a, b: (a * b * b).sum(), (X, Y))) == (
        ([[0, 0], [0, 0]], [[6, 0], [0, 8]]), ([[6, 0], [0, 8]], [[2, 0], [0, 4]]))


def test_products():
    assert listed(F.vjp(square, X, Y)) == ([1, 4], [6, 16])
    assert listed(F.jvp(square, X, Y)) == ([1, 4], [6, 16])
    assert listed(F.jvp(lambda a: (a * a).sum(), X, Y)) == (5, 22)
    assert listed(F.hvp(lambda a: (a * a * a).sum(), X, Y)) == (9, [18, 48])
    assert listed(F.vhp(lambda a, b: (a * b * b).sum(), (X, Y), (Y, X))) == (
        41, ([6, 16], [20, 40]))


@pytest.mark.parametrize(("run", "error", "message"), [
    (lambda: F.vjp(square, X), RuntimeError, "v can only be None if the user-provided function"),
    (lambda: F.jvp(square, X), RuntimeError, "v can only be None if the input"),
    (lambda: F.hessian(square, X), RuntimeError, "given to hessian should contain a single"),
    (lambda: F.jacobian(lambda a: 3, X), TypeError, "outputs of the user-provided function given"),
    (lambda: F.jacobian(square, 3), TypeError, "inputs given to jacobian must be"),
    (lambda: F.jacobian(lambda a: Y * 2, X, strict=True), RuntimeError, "Output 0 of the user-pr"),
    (lambda: F.vjp(square, X, torch.ones(3)), RuntimeError, "v has invalid size: should be"),
])
def test_refusals(run, error, message):
    with pytest.raises(error, match=message):
        run()


def test_gradcheck():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(square, x)
    assert gradgradcheck(lambda a: a * a * a, x)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to in"):
        gradcheck(lambda a: a * a.detach(), x)
    assert not gradcheck(lambda a: a * a.detach(), x, raise_exception=False)
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(square, X)
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(square, X.clone().requires_grad_(), raise_exception=False)


def test_the_module_and_the_function_share_a_name():
    import yesca.autograd.gradcheck  # noqa: F401 - sets the attribute to the module

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(square, x)
    assert sys.modules["yesca.autograd.gradcheck"].gradcheck(square, x)


def test_jacobians_by_tangents():
    x, y = torch.tensor([0.3, 0.7]), torch.tensor([1.0, 2.0])

    def pair(a, b):
        return a * b, a.sum()

    way = {"vectorize": True, "strategy": "forward-mode"}
    forward, backward = (F.jacobian(pair, (x, y), **kw) for kw in (way, {}))
    assert all(torch.equal(f, b) for fs, bs in zip(forward, backward) for f, b in zip(fs, bs))
    second = F.hessian(lambda a: (a ** 3).sum(), x, vectorize=True,
                       outer_jacobian_strategy="forward-mode")
    assert torch.allclose(second, (6 * x).diag())


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"strategy": "sideways"}, AssertionError, "Expected strategy to be either"),
    ({"strategy": "forward-mode"}, NotImplementedError, "only implemented for `vectorize=True`"),
    ({"strategy": "forward-mode", "vectorize": True, "create_graph": True}, NotImplementedError,
     "are not supported together"),
    ({"strict": True, "vectorize": True}, RuntimeError, "are not supported together"),
    ({"strict": True}, RuntimeError, "Output 1 of the user-provided function is independent of i"),
])
def test_refused_ways(options, error, message):
    with pytest.raises(error, match=message):
        F.jacobian(lambda a, b: (a * b, a.sum()), (torch.ones(2), torch.ones(2)),
                   **options)


def test_refused_vectors():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        F.vjp(lambda a: a * 2, x, (x, x))
    for product in (F.hvp, F.vhp):
        with pytest.raises(RuntimeError, match="this would be violated by a linear function"):
            product(lambda a: a.sum(), x, x, strict=True)


def test_jacobians_without_a_row():
    """Nothing to join, in the words of PyTorch, whichever way the rows would be made."""
    jacobian = torch.autograd.functional.jacobian
    for function, x in ((lambda x: x * 2, torch.ones(0)), (lambda x: x[:0], torch.ones(3))):
        with pytest.raises(RuntimeError, match="stack expects a non-empty TensorList"):
            jacobian(function, x)
        with pytest.raises(IndexError, match="index 0 is out of bounds for dimension 0 with size"):
            jacobian(function, x, vectorize=True)
    assert jacobian(lambda x: x.sum(), torch.ones(0), vectorize=True).shape == (0,)
