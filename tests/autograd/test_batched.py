"""A batch of gradients in one pass: `is_grads_batched`, Jacobians at once, gradcheck of batches."""

import pytest

import yesca as torch
from yesca.autograd import Function, grad, gradcheck
from yesca.autograd import functional as F

X = torch.arange(1.0, 4.0).requires_grad_()
ROWS = torch.arange(6.0).reshape(2, 3)


def doubled(derivative, name="Doubled"):
    """2 * x with a backward and a jvp of one's own; counts how often they run."""
    def run(ctx, given):
        made.runs.append(tuple(given.shape))
        return derivative(given)

    def forward(ctx, x):
        return x * 2

    made = type(name, (Function,), {"runs": [], **{
        n: staticmethod(f) for n, f in (("forward", forward), ("backward", run), ("jvp", run))}})
    return made


def through(derivative):
    return grad(doubled(derivative).apply(X), X, ROWS, is_grads_batched=True)[0]


def test_one_pass_for_all_rows():
    seen = []
    y = X * X
    y.register_hook(lambda g: seen.append(tuple(g.shape)))
    made, = grad(y * 1, X, ROWS, is_grads_batched=True)
    assert made.tolist() == (2 * X * ROWS).tolist() and not made.requires_grad
    assert seen == [(3,)]
    one = doubled(lambda g: g * 2)
    assert grad(one.apply(X), X, ROWS, is_grads_batched=True)[0].tolist() == (2 * ROWS).tolist()
    assert one.runs == [(3,)]


def test_on_the_tape():
    rows = ROWS.clone().requires_grad_()
    made, = grad(X ** 3, X, rows, is_grads_batched=True, create_graph=True)
    assert torch.equal(made, 3 * X ** 2 * rows)
    by_x, by_rows = grad(made.sum(), [X, rows], retain_graph=True)
    assert torch.equal(by_x, (6 * X * rows).sum(0))
    assert torch.equal(by_rows, (3 * X ** 2).expand(2, 3))
    twice, = grad(made, X, ROWS[None].expand(4, 2, 3), is_grads_batched=True)
    assert torch.equal(twice, (6 * X * ROWS * ROWS).sum(0).expand(4, 3))


def test_unused_and_several():
    other = torch.ones(3, requires_grad=True)
    asked = {"is_grads_batched": True}
    with pytest.raises(RuntimeError, match="Tensor at index 1 appears to not have been used"):
        grad(X * X, [X, other], ROWS, **asked)
    made, none = grad(X * X, [X, other], ROWS, allow_unused=True, **asked)
    assert none is None and made.shape == (2, 3)
    _, zeros = grad(X * X, [X, other], ROWS, materialize_grads=True, **asked)
    assert zeros.tolist() == [0.0, 0.0, 0.0]
    made, = grad([X * X, X.sum()], X, [ROWS, torch.ones(2)], **asked)
    assert torch.equal(made, 2 * X * ROWS + 1)


@pytest.mark.parametrize(("grads", "error", "message"), [
    ((torch.ones(3), torch.ones(2)), RuntimeError, r"has a shape of torch.Size\(\[\]\) and "
     r"output\[0\] has a shape of torch.Size\(\[3\]\)"),
    ((ROWS, torch.ones(4)), ValueError, r"same size in the mapped dimension, got sizes \[2, 4\]"),
    ((ROWS, None), ValueError, "Got in_dim=0 for some input, but that input is a Tensor of "
     "dimensionality 0"),
    ((ROWS, torch.ones(())), IndexError, "invalid index of a 0-dim tensor"),
    ((ROWS[:0], torch.ones(0)), IndexError, "index 0 is out of bounds for dimension 0 with size"),
], ids=str)
def test_refused(grads, error, message):
    with pytest.raises(error, match=message):
        grad([X * X, X.sum()], X, grads, is_grads_batched=True)


def in_place(given):
    given = given.clone()
    given.mul_(3)
    given[0] = 5
    return given


def test_what_a_backward_may_do():
    assert through(in_place).tolist() == [[5.0, 3.0, 6.0], [5.0, 12.0, 15.0]]
    assert through(lambda g: torch.ones(3)).tolist() == [[1.0] * 3] * 2
    assert torch.equal(through(lambda g: torch.sort(g, descending=True)[0]), ROWS.flip(1))


@pytest.mark.parametrize(("derivative", "message"), [
    (lambda g: g if g.sum() > 0 else -g, "data-dependent control flow"),
    (lambda g: torch.zeros(3).add_(g), "is not possible because there exists a Tensor `other`"),
    (lambda g: torch.from_numpy(g.numpy()), r"calling .numpy\(\) on a Tensor"),
    (lambda g: g * torch.rand(3), "random operation"),
], ids=["branch", "write", "numpy", "random"])
def test_what_a_backward_may_not_do(derivative, message):
    with pytest.raises(RuntimeError, match=message):
        through(derivative)


def test_saved_tensor_hooks():
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x * 1, lambda x: x * 2):
        y = X * X * X
    alone = [grad(y, X, row, retain_graph=True)[0] for row in ROWS]
    assert torch.equal(grad(y, X, ROWS, is_grads_batched=True)[0], torch.stack(alone))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        grad(y, X, ROWS, is_grads_batched=True)


def several(a, b):
    return a * b.sum(), (a.sum() * b).double()


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_at_once(strategy):
    given = (torch.rand(2), torch.rand(2, 2))
    runs = []

    def function(*values):
        runs.append(values)
        return several(*values)

    wanted = F.jacobian(several, given)
    made = F.jacobian(function, given, vectorize=True, strategy=strategy)
    assert len(runs) == 1
    for own, other in zip(made, wanted, strict=True):
        for a, b in zip(own, other, strict=True):
            assert a.shape == b.shape and torch.allclose(a.double(), b.double())
            assert not a.requires_grad
    empty = F.jacobian(lambda x: (x * 2, torch.ones(3)), torch.ones(0), vectorize=True,
                       strategy=strategy)
    assert [tuple(t.shape) for t in empty] == [(0, 0), (3, 0)]


def test_jacobians_run_backward_once():
    one = doubled(lambda g: g * 2)
    assert torch.equal(F.jacobian(one.apply, torch.ones(3), vectorize=True), 2 * torch.eye(3))
    assert one.runs == [(3,)]
    cubes = F.jacobian(lambda x: x ** 3, X, vectorize=True, create_graph=True)
    assert torch.equal(grad(cubes.sum(), X)[0], 6 * X)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_hessians_at_once(strategy):
    x = torch.rand(3, dtype=torch.float64)
    made = F.hessian(lambda x: (x ** 3).prod(), x, vectorize=True,
                     outer_jacobian_strategy=strategy)
    assert torch.allclose(made, F.hessian(lambda x: (x ** 3).prod(), x))


def by_the_batch(given):
    """A derivative that is wrong for a batch alone."""
    return given * (3 if "Batched" in type(given).__name__ else 2)


@pytest.mark.parametrize("options", [
    {"check_batched_grad": True}, {"check_forward_ad": True, "check_batched_forward_grad": True}],
    ids=["backward", "forward"])
def test_gradcheck_of_batches(options):
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(doubled(lambda g: g * 2).apply, (x,), **options)
    assert gradcheck(lambda x: (x.sin(), x.sum()), (x,), **options)
    with pytest.raises(RuntimeError, match="For output 0 and input 0: a batch of derivatives"):
        gradcheck(doubled(by_the_batch).apply, (x,), **options)
    listed = doubled(lambda g: torch.tensor([2 * v for v in g.tolist()], dtype=torch.float64))
    with pytest.raises(RuntimeError, match="While computing batched gradients, got: vmap: "):
        gradcheck(listed.apply, (x,), **options)
    assert gradcheck(listed.apply, (x,), check_forward_ad=True)
