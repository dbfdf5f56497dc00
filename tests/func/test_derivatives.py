"""`torch.func`: grad, vjp, jvp and Jacobians, alone, nested, and under vmap."""

import pytest

import yesca as torch
from yesca.func import (
    grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap,
)

X = torch.arange(6.0).reshape(2, 3)
Y = torch.tensor([1.0, 2.0, 3.0])
S = torch.tensor(2.0)


def listed(value):
    if isinstance(value, tuple):
        return tuple(map(listed, value))
    return {k: listed(v) for k, v in value.items()} if isinstance(value, dict) else value.tolist()


def cubes(x):
    return (x**3).sum()


def test_grad():
    assert listed(grad(lambda x: (x**2).sum())(Y)) == [2, 4, 6]
    assert listed(grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(Y, Y * 2)) == (
        [2, 4, 6], [1, 2, 3])
    assert listed(grad_and_value(lambda x: (x**2).sum())(Y)) == ([2, 4, 6], 14)
    assert listed(grad(lambda x: ((x**2).sum(), x * 2), has_aux=True)(Y)) == ([2, 4, 6],) * 2
    made = grad(lambda p: (p["a"] * p["b"]).sum())({"a": Y, "b": Y + 1})
    assert listed(made) == {"a": [2, 3, 4], "b": [1, 2, 3]}
    assert grad(lambda x: Y.sum())(S).item() == 0


def test_nested_derivatives_do_not_see_each_other():
    assert grad(grad(lambda x: x**3))(S).item() == 12
    inner = grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(1.0)))
    assert inner(S).item() == 1


def test_results_are_on_the_tape_only_for_what_is_outside():
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert not grad(lambda x: (x * x).sum())(Y).requires_grad
    made = grad(lambda x: (x * x * w).sum())(Y)
    made.sum().backward()
    assert w.grad.tolist() == [2, 4, 6]
    assert torch.autograd.grad(grad(cubes)(w).sum(), w)[0].tolist() == [6, 12, 18]


def test_products():
    value, back = vjp(lambda a, b: (a * b, a.sum()), Y, Y)
    assert listed(value) == ([1, 4, 9], 6)
    assert listed(back((torch.ones(3), torch.tensor(1.0)))) == ([2, 3, 4], [1, 2, 3])
    assert listed(jvp(lambda x: x**2, (Y,), (torch.ones(3),))) == ([1, 4, 9], [2, 4, 6])
    assert listed(jvp(lambda a, b: (a * b).sum(), (Y, Y), (torch.ones(3), Y))) == (14, 20)
    value, forward = linearize(torch.sin, Y)
    assert forward(torch.ones(3)).tolist() == Y.cos().tolist()


def test_jacobians():
    diagonal = [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    for jacobian in (jacrev, jacfwd):
        assert listed(jacobian(lambda x: x**2)(Y)) == diagonal
    made = jacrev(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(Y, Y)
    assert listed(made[1]) == ([1, 1, 1], [0, 0, 0])
    for second in (hessian(cubes), jacfwd(jacrev(cubes)), jacrev(jacfwd(cubes)),
                   jacfwd(jacfwd(cubes))):
        assert listed(second(Y)) == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]


def test_per_example_gradients():
    assert vmap(grad(lambda a: (a**2).sum()))(X).tolist() == (2 * X).tolist()
    assert vmap(grad(lambda a, b: (a * b).sum()), in_dims=(None, 0))(Y, X).tolist() == X.tolist()
    inner = vmap(lambda b: grad(lambda a: (a * a * b).sum())(Y))
    assert inner(X).tolist() == (2 * Y * X).tolist()
    assert grad(lambda a: vmap(lambda r: (r**2).sum())(a).sum())(X).tolist() == (2 * X).tolist()


def test_derivatives_under_vmap():
    assert vmap(jacrev(lambda x: x**2))(X).tolist() == torch.stack(
        [torch.diag(2 * row) for row in X]).tolist()
    assert vmap(hessian(cubes))(X).tolist() == torch.stack(
        [torch.diag(6 * row) for row in X]).tolist()
    assert vmap(lambda a: jvp(lambda x: x**2, (a,), (a,))[1])(X).tolist() == (2 * X * X).tolist()
    _, back = vjp(lambda x: x**2, Y)
    assert vmap(back)(torch.eye(3))[0].tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]


@pytest.mark.parametrize(("run", "message"), [
    (lambda: grad(lambda x: x**2)(Y), "to return a scalar Tensor, got tensor with 1 dims"),
    (lambda: grad(lambda x: 3)(Y), "to return a Tensor, got <class 'int'>"),
    (lambda: grad(lambda x: x.sum(), argnums=3)(Y), "Got argnum=3, but only 1 positional inputs"),
    (lambda: grad(lambda x: x.sum())(torch.ones(2, dtype=torch.int64)), "floating point dtype"),
    (lambda: vjp(lambda x: 3, Y), "to return only tensors"),
    (lambda: vjp(lambda x: (x, x.argmax()), Y), "must be floating-point or complex Tensors, got"),
    (lambda: jvp(lambda x: x, Y, Y), "Expected primals to be a tuple"),
    (lambda: jvp(lambda x: x, (Y,), (Y, Y)), "to have the same python structure"),
])
def test_refusals(run, message):
    with pytest.raises(RuntimeError, match=message):
        run()


@pytest.mark.parametrize(("function", "message"), [
    (lambda x: x // 2, r"aten::floor_divide that does not support it\.$"),
    (lambda x: torch.histogram(x, 3).hist, r"aten::histogram that does not support it\.$"),
    (lambda x: torch.bernoulli(x, 0.5), r"aten::bernoulli that does not support it\.$"),
    (lambda x: torch.igamma(x, x), "igamma that does not support it because it has not been impl"),
    (lambda x: torch.special.zeta(x + 1, x), "special_zeta that does not support it because"),
    (lambda x: torch.unique(x), "_unique2 that does not support it because it has not been implem"),
    (lambda x: torch.geqrf(x.reshape(1, 3))[0], "geqrf that does not support it because it has"),
], ids=["floor_divide", "histogram", "bernoulli", "igamma", "zeta", "unique", "geqrf"])
def test_what_forward_mode_has_no_derivative_of(function, message):
    with pytest.raises(NotImplementedError, match="Trying to use forward AD with .*" + message):
        jvp(function, (Y / 4,), (Y,))


def test_jacobians_in_chunks():
    def function(x):
        return torch.tanh(MATRIX @ x).cumsum(0), x.prod()

    x = torch.tensor([0.3, 0.7, 1.1])
    wanted = [torch.stack([torch.autograd.grad(row, y, retain_graph=True)[0]
                           for row in out.reshape(-1)]).reshape(*out.shape, 3)
              for y in [x.clone().requires_grad_()] for out in function(y)]
    for jacobian in (jacrev, jacfwd):
        for size in (None, 1, 2, 100):
            found = jacobian(function, chunk_size=size)(x)
            assert all(torch.allclose(f, w, atol=1e-6) for f, w in zip(found, wanted))
        with pytest.raises(ValueError, match="`chunk_size` should be greater than 0"):
            jacobian(function, chunk_size=0)
    rows = torch.vmap(jacrev(lambda x: x ** 3))(torch.stack([x, -x]))
    assert torch.allclose(rows, torch.stack([(3 * x * x).diag()] * 2))


MATRIX = torch.tensor([[0.5, -0.2, 0.1], [0.3, 0.8, -0.4]])


def test_one_walk_for_all_rows():
    calls = []

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x ** 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            calls.append(tuple(grad.shape))
            return grad * 3 * ctx.saved_tensors[0] ** 2

    x = torch.tensor([1.0, 2.0, 3.0])
    assert listed(jacrev(Cube.apply)(x)) == [[3, 0, 0], [0, 12, 0], [0, 0, 27]]
    assert calls == [(3,)]


def test_jvp_calls_that_of_a_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 20

    x = torch.ones(2)
    assert listed(torch.func.jvp(Double.apply, (x,), (x,))) == ([2, 2], [20, 20])


def test_nested_products():
    x, v = torch.tensor([0.3, 0.7]), torch.tensor([1.0, 2.0])

    def along(function):
        return lambda y: torch.func.jvp(function, (y,), (v,))[1]

    assert torch.allclose(along(along(torch.sin))(x), -x.sin() * v * v)
    inner = torch.func.jvp(lambda y: along(lambda z: (z * y).sin())(x), (x,), (v,))[1]
    assert torch.allclose(inner, v * v * (x * x).cos() - x * x * v * v * (x * x).sin())
    assert torch.allclose(along(torch.func.grad(lambda y: (y ** 3).sum()))(x), 6 * x * v)
    slope = torch.func.grad(lambda y: along(lambda z: (z ** 3).sum())(y))(x)
    assert torch.allclose(slope, 6 * x * v) and not slope.requires_grad
