"""Custom Functions with `generate_vmap_rule`: their methods run once for the whole batch."""

import pytest

import yesca as torch

ROWS, WEIGHTS = torch.arange(6.0).view(3, 2), torch.tensor([1.0, 2.0, 3.0])
log = []


class Both(torch.autograd.Function):
    """x * sum(y), sum(x)"""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        log.append("forward")
        return x * y.sum(), x.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad, other):
        log.append("backward")
        x, y = ctx.saved_tensors
        return grad * y.sum() + other.expand(ctx.shape), (grad * x).sum().expand_as(y)

    @staticmethod
    def jvp(ctx, a, b):
        log.append("jvp")
        x, y = ctx.saved_tensors
        return a * y.sum() + x * b.sum(), a.sum()


@pytest.fixture(autouse=True)
def empty_log():
    log.clear()


def plain(x, y):
    return x * y.sum(), x.sum()


def test_values():
    for dims, weights in (((0, None), WEIGHTS), (0, torch.ones(3, 4))):
        found = torch.vmap(Both.apply, dims)(ROWS, weights)
        wanted = torch.vmap(plain, dims)(ROWS, weights)
        assert all(torch.equal(f, w) for f, w in zip(found, wanted, strict=True))
    assert log == ["forward"] * 2


def test_a_batch_of_batches():
    def nested(function):
        inner = torch.vmap(lambda x, y: function(x, y)[0], (0, None))
        return torch.vmap(inner, (None, 0))(ROWS, torch.arange(8.0).view(2, 4))

    assert torch.equal(nested(Both.apply), nested(plain)) and log == ["forward"]


def test_gradients_of_examples():
    def slopes(function):
        return torch.vmap(torch.func.grad(lambda x, y: (function(x, y)[0] ** 2).sum(), (0, 1)),
                          (0, None))(ROWS, WEIGHTS)

    found, wanted = slopes(Both.apply), slopes(plain)
    assert all(torch.equal(f, w) for f, w in zip(found, wanted, strict=True))
    assert log == ["forward", "backward"]


def test_gradients_of_a_batch():
    def slopes(function):
        x, y = ROWS.clone().requires_grad_(), WEIGHTS.clone().requires_grad_()
        first, second = torch.vmap(function, (0, None))(x, y)
        (first.sum() + second.prod()).backward()
        return first, x.grad, y.grad

    found, wanted = slopes(Both.apply), slopes(plain)
    assert all(torch.equal(f, w) for f, w in zip(found, wanted, strict=True))
    assert found[0].grad_fn.name() == "VmappedBothBackward" and log == ["forward", "backward"]


def test_tangents():
    ones = torch.ones_like(ROWS)
    value, tangent = torch.func.jvp(
        lambda x: torch.vmap(Both.apply, (0, None))(x, WEIGHTS)[0], (ROWS,), (ones,))
    assert torch.equal(value, ROWS * 6) and torch.equal(tangent, ones * 6)
    assert log == ["forward", "jvp"]


def test_jacobians():
    function = lambda x: Both.apply(x, WEIGHTS)[0]  # noqa: E731
    wanted = torch.eye(2) * 6
    assert torch.equal(torch.func.jacrev(function)(ROWS[0]), wanted)
    assert log == ["forward", "backward"]
    assert torch.equal(torch.func.jacfwd(function)(ROWS[0]), wanted)
    assert torch.equal(torch.func.hessian(lambda x: (function(x) ** 2).sum())(ROWS[0]), 72 * wanted
                       / 6)


class Power(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, n):
        return x**n

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * ctx.n * x ** (ctx.n - 1) if ctx.needs_input_grad[0] else None, None


def test_arguments_that_are_no_tensors():
    assert torch.equal(torch.vmap(lambda x: Power.apply(x, 3))(ROWS), ROWS**3)
    slopes = torch.vmap(torch.func.grad(lambda x: Power.apply(x, 3).sum()))(ROWS)
    assert torch.equal(slopes, 3 * ROWS**2)


class Sorted(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        made = x.sort()
        return made.values, made.indices

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        places, = ctx.saved_tensors
        return torch.zeros_like(grad).scatter(0, places, grad)


def test_results_without_a_derivative():
    values, places = torch.vmap(Sorted.apply)(-ROWS)
    assert values[0].tolist() == [-1.0, 0.0] and places[2].tolist() == [1, 0]
    slopes = torch.vmap(torch.func.grad(lambda x: (Sorted.apply(x)[0] * WEIGHTS[:2]).sum()))(-ROWS)
    assert slopes.tolist() == [[2.0, 1.0]] * 3
