"""Random numbers inside `vmap`: refused, the same for all examples, or different ones."""

import pytest

import yesca as torch
from yesca.func import vmap
from yesca.nn import functional as F

X = torch.arange(12.0).reshape(2, 6) / 6 - 0.9
ROW = torch.full((6,), 0.5)
ROWS = torch.full((2, 6), 0.5)
#: Of one example, and of the whole batch: what hangs on no example, or on its shape alone.
SHAPES = {
    "rand": (lambda x: torch.rand(6), lambda: torch.rand(2, 6)),
    "randn": (lambda x: torch.randn(6), lambda: torch.randn(2, 6)),
    "randint": (lambda x: torch.randint(9, (6,)), lambda: torch.randint(9, (2, 6))),
    "randperm": (lambda x: torch.randperm(6),
                 lambda: torch.stack([torch.randperm(6) for _ in range(2)])),
    "rand_like": (torch.rand_like, lambda: torch.rand_like(X)),
    "randn_like": (lambda x: torch.randn_like(ROW), lambda: torch.randn_like(ROWS)),
    "randint_like": (lambda x: torch.randint_like(x, 9), lambda: torch.randint_like(X, 9)),
    "normal": (lambda x: torch.normal(0.0, 2.0, (6,)), lambda: torch.normal(0.0, 2.0, (2, 6))),
    "normal plain": (lambda x: torch.normal(ROW, 1.0), lambda: torch.normal(ROWS, 1.0)),
    "bernoulli plain": (lambda x: torch.bernoulli(ROW), lambda: torch.bernoulli(ROWS)),
    "poisson plain": (lambda x: torch.poisson(ROW), lambda: torch.poisson(ROWS)),
    "multinomial plain": (lambda x: torch.multinomial(ROW, 3), lambda: torch.multinomial(ROWS, 3)),
    "dropout": (lambda x: F.dropout(x * 0 + 1), lambda: F.dropout(torch.ones(2, 6))),
    "dropout plain": (lambda x: F.dropout(ROW), lambda: F.dropout(ROWS)),
    "native_dropout": (lambda x: torch.native_dropout(ROW, 0.5, True)[1],
                       lambda: torch.native_dropout(ROWS, 0.5, True)[1]),
    "uniform_": (lambda x: x.clone().uniform_(), lambda: X.clone().uniform_()),
    "normal_": (lambda x: x.new_empty(6).normal_(), lambda: torch.empty(2, 6).normal_()),
    "exponential_": (lambda x: x.clone().exponential_(), lambda: X.clone().exponential_()),
    "random_": (lambda x: x.clone().random_(2, 9), lambda: X.clone().random_(2, 9)),
    "bernoulli_": (lambda x: x.clone().bernoulli_(0.4), lambda: X.clone().bernoulli_(0.4)),
}
#: What hangs on the numbers of an example.
PARAMETERS = {
    "normal": lambda x: torch.normal(x, x.abs()),
    "normal mean": lambda x: torch.normal(x, 2.0),
    "normal deviation": lambda x: torch.normal(1.0, x.abs()),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "bernoulli p": lambda x: torch.bernoulli(x, 0.5),
    "bernoulli method": lambda x: x.bernoulli(0.5),
    "bernoulli_": lambda x: x.clone().bernoulli_(x.sigmoid()),
    "poisson": lambda x: torch.poisson(x.abs() * 5),
    "binomial": lambda x: torch.binomial(x.abs().ceil() * 10, x.sigmoid()),
    "binomial plain": lambda x: torch.binomial(torch.tensor(9.0), x.sigmoid()),
    "gamma": lambda x: torch._standard_gamma(x.abs()),
    "dirichlet": lambda x: torch._sample_dirichlet(x.abs() + 0.5),
    "multinomial": lambda x: torch.multinomial(x.abs(), 2),
    "multinomial replaced": lambda x: torch.multinomial(x.abs(), 9, replacement=True),
    "rrelu": lambda x: F.rrelu(-x.abs(), training=True),
}


def drawn(run):
    torch.manual_seed(3)
    return run()


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    one, whole = SHAPES[name]
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mod"):
        vmap(one)(X)
    same = drawn(lambda: vmap(one, randomness="same")(X))
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], drawn(lambda: one(X[0])))
    apart = drawn(lambda: vmap(one, randomness="different")(X))
    assert torch.equal(apart, drawn(whole)) and not torch.equal(apart[0], apart[1])


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    one = PARAMETERS[name]
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mod"):
        vmap(one)(X)
    with pytest.raises(RuntimeError, match="not currently support same randomness with a batched"):
        vmap(one, randomness="same")(X)
    apart = drawn(lambda: vmap(one, randomness="different")(X))
    assert torch.equal(apart, drawn(lambda: one(X)))


def test_rows_of_weights():
    weights = X.abs().reshape(2, 2, 3)
    one = vmap(lambda w: torch.multinomial(w, 2), randomness="different")
    assert torch.equal(drawn(lambda: one(weights)).reshape(4, 2),
                       drawn(lambda: torch.multinomial(weights.reshape(4, 3), 2)))


def test_levels():
    inner = vmap(lambda x: torch.poisson(x), randomness="different")
    both = drawn(lambda: vmap(inner, randomness="different")(ROWS.reshape(2, 2, 3)))
    assert torch.equal(both, drawn(lambda: torch.poisson(ROWS.reshape(2, 2, 3))))
    rows = drawn(lambda: vmap(lambda x: vmap(lambda y: torch.rand(3), randomness="same")(x),
                              randomness="different")(torch.ones(2, 2)))
    assert torch.equal(rows[:, 0], rows[:, 1]) and not torch.equal(rows[0], rows[1])


def test_a_tensor_of_all_examples_cannot_be_filled_differently():
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        vmap(lambda x: torch.empty(3).normal_(), randomness="different")(X)


def test_derivatives():
    x = X.abs().requires_grad_()
    vmap(torch._standard_gamma, randomness="different")(x).sum().backward()
    assert (x.grad > 0).all()
