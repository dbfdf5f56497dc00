"""torch.distributions against PyTorch: equal draws in single precision, names and signatures."""

import inspect
import re
import warnings

import distribution_cases as cases
import distribution_facts as facts
import pytest
import torch

import yesca

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:Singular sample detected")]
#: How far draws may differ: float32 functions round, and differences from 1 have fewer digits.
CLOSE, OF_DIFFERENCES = 2e-6, 3e-5


def constant(text):
    return re.sub(r"\bt\(", "torch.tensor(", text)


def drawn(package, text, shape):
    d = facts.Case(package, constant(text)).made
    package.manual_seed(5)
    first = d.sample(shape)
    second = d.rsample(shape) if d.has_rsample else d.sample(shape)
    return [first, second, package.rand(())]  # the last tells whether as much was drawn


@pytest.mark.parametrize("text", cases.CASES)
@pytest.mark.parametrize("shape", [(), (3,), (40, 5)])
def test_draws(text, shape):
    slack = OF_DIFFERENCES if "LKJ" in text else CLOSE
    for mine, other in zip(drawn(yesca, text, shape), drawn(torch, text, shape)):
        assert str(mine.dtype)[5:] == str(other.dtype)[5:] and mine.shape == other.shape
        torch.testing.assert_close(torch.from_numpy(mine.detach().numpy()), other.detach(),
                                   rtol=CLOSE, atol=slack, equal_nan=True)


@pytest.mark.parametrize("text", cases.CASES)
def test_densities_in_single_precision(text):
    ours, theirs = (facts.Case(m, constant(text)).made for m in (yesca, torch))
    torch.manual_seed(1)
    x = theirs.sample((4,))
    found = ours.log_prob(yesca.from_numpy(x.numpy()))
    torch.testing.assert_close(torch.from_numpy(found.numpy()), theirs.log_prob(x),
                               rtol=2e-5, atol=2e-5)


def public(package):
    """Classes and functions of the package by name."""
    T = package.distributions
    return {name: getattr(T, name) for name in (*T.__all__, "GeneralizedPareto")}


def parameters(function):
    return [(p.name, p.kind, "?" if "type" in str(p.default) else p.default)
            for p in inspect.signature(function).parameters.values()]


def test_names():
    ours, theirs = public(yesca), public(torch)
    assert ours.keys() == theirs.keys()


@pytest.mark.parametrize("name", sorted(n for n, v in public(yesca).items() if isinstance(v, type)))
def test_signatures_and_ancestors(name):
    ours, theirs = public(yesca)[name], public(torch)[name]
    assert parameters(ours) == parameters(theirs)
    known = set(public(torch))
    assert {c.__name__ for c in theirs.__mro__} & known <= {c.__name__ for c in ours.__mro__}
    missing = {n for n in dir(theirs) if n[0] != "_"} - set(dir(ours))
    assert not missing
    for method in ("log_prob", "expand", "sample", "rsample", "enumerate_support", "with_cache"):
        if callable(getattr(theirs, method, None)):
            wanted = [p[0] for p in parameters(getattr(theirs, method))]
            assert [p[0] for p in parameters(getattr(ours, method))] == wanted, method


@pytest.mark.parametrize("module", ["constraints", "transforms", "utils", "constraint_registry",
                                    "kl", "relaxed_bernoulli", "relaxed_categorical"])
def test_modules(module):
    ours, theirs = (getattr(m.distributions, module) for m in (yesca, torch))
    assert set(ours.__all__) == set(theirs.__all__)
    assert all(hasattr(ours, name) for name in ours.__all__)


@pytest.mark.parametrize("text", cases.ERRORS)
def test_errors(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert facts.error_facts(yesca, text)[0] == facts.error_facts(torch, text)[0]
