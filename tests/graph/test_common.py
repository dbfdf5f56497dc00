"""Equal launches are made once, and only where that changes nothing."""

import pytest

import yesca as torch
from yesca.graph import again, recorder
from yesca.utils.checkpoint import checkpoint


def steps_of(function, *inputs):
    """The names of what one call launches, and its results."""
    results = torch.compile(function)(*inputs)
    programs = [node.latest for node in recorder.current().trie.nodes.values()
                if node.latest is not None]
    return [step.name for program in programs for step in program.steps], results


def same(got, wanted):
    return all(torch.equal(a, b) for a, b in zip(got, wanted, strict=True))


def count(names, part):
    return sum(part in name for name in names)


def square(size=8):
    torch.manual_seed(3)
    return torch.randn(size, size)


def test_a_product_that_is_written_twice_is_made_once():
    def run(x):
        return (x @ x).sum(0), (x @ x).exp()

    names, results = steps_of(run, square(80))
    once, _ = steps_of(lambda x: x @ x, square(80))
    assert count(names, "product") == count(once, "product") > 0
    assert same(results, run(square(80)))


def test_equal_operands_are_packed_once():
    def run(x, y):
        return y @ x, (y + 1) @ x

    names, results = steps_of(run, square(300), square(300))
    alone, _ = steps_of(lambda x, y: y @ x, square(300), square(300))
    assert count(names, "product_tile") == 2 * count(alone, "product_tile")
    assert 0 < count(names, "product_pack") < 2 * count(alone, "product_pack")
    assert same(results, run(square(300), square(300)))


def test_a_chain_of_repeats_goes_as_a_whole():
    def run(x):
        return (x.exp() @ x).tanh(), (x.exp() @ x).sin()

    names, results = steps_of(run, square())
    assert (count(names, "exp"), count(names, "tanh"), count(names, "sin")) == (1, 1, 1)
    assert same(results, run(square()))


@pytest.mark.parametrize("function", [
    lambda x: (x.exp(), x.add_(1.0), x.exp()),  # the operand changes in between
    lambda x: (x.exp().mul_(2.0), x.exp()),  # a result is written over
    lambda x: (x.exp(), x.exp()),  # both are the caller's
    lambda x: (x.cumsum(0).sum(), x.cumsum(1).sum()),
    lambda x: (x[0].exp().sum(), x[1].exp().sum()),  # other places
    lambda x: ((x * 2.0).sum(), (x * 3.0).sum()),  # other numbers
])
def test_what_differs_or_may_be_written_stays(function):
    names, results = steps_of(function, square())
    wanted = function(square())
    assert same(results, wanted)
    assert len({r.data_ptr() for r in results}) == len({r.data_ptr() for r in wanted})


def test_results_that_callers_hold_are_read_but_never_shared():
    def run(x):
        return x.exp(), x.exp().sum(0)

    names, (first, second) = steps_of(run, square())
    assert count(names, "exp") == 1
    assert same((first, second), run(square()))


def test_errors_are_still_raised():
    def run(x, i):
        return x.index_select(0, i).sum(), x.index_select(0, i).exp()

    compiled = torch.compile(run)
    good, bad = torch.tensor([0, 1]), torch.tensor([0, 9])
    assert same(compiled(square(), good), run(square(), good))
    with pytest.raises(IndexError):
        compiled(square(), bad)


def test_what_is_computed_again_to_save_memory_is_computed_again(monkeypatch):
    def block(x):
        return (x @ x).tanh() @ x

    def run(x):
        y = checkpoint(block, x, use_reentrant=False)
        return *torch.autograd.grad(y.sum(), x), y.detach()

    def products():
        x = square(48).requires_grad_()
        names, results = steps_of(run, x)
        assert same(results, run(x))
        return count(names, "product")

    shared = products()  # small values may as well be kept
    monkeypatch.setattr(again, "LEAST_BYTES", 1)
    assert products() > shared
