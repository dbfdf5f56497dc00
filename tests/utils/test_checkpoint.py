"""Checkpoints: the same gradients with less kept."""

import pytest

import yesca as torch
from yesca.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

WAYS = pytest.mark.parametrize("reentrant", [True, False])


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@WAYS
def test_gradients_and_runs(reentrant):
    runs = []

    def part(x, k):
        runs.append(k)
        return (x * x).exp() * k

    x = leaf(0.5, 1.0)
    checkpoint(part, x, 2, use_reentrant=reentrant).sum().backward()
    first = x.grad
    x.grad = None
    part(x, 2).sum().backward()
    assert x.grad.tolist() == pytest.approx(first.tolist())
    assert runs == [2, 2, 2]


@WAYS
def test_the_same_random_numbers(reentrant):
    torch.manual_seed(3)
    x = torch.ones(500, requires_grad=True)
    y = checkpoint(lambda x: torch.nn.functional.dropout(x, 0.5), x, use_reentrant=reentrant)
    after = torch.rand(1)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    torch.manual_seed(3)
    torch.nn.functional.dropout(torch.ones(500), 0.5)
    assert torch.rand(1).item() == after.item()


def test_nested_and_keyword_arguments():
    def inner(x):
        return x.exp() * x

    def outer(x, scale=1.0):
        return checkpoint(inner, x * scale, use_reentrant=False).sin()

    x = leaf(0.3, 0.7)
    checkpoint(outer, x, use_reentrant=False, scale=2.0).sum().backward()
    first, x.grad = x.grad.tolist(), None
    inner(x * 2.0).sin().sum().backward()
    assert x.grad.tolist() == pytest.approx(first)


def test_retained_graphs_and_inner_gradients():
    x = leaf(1.0, 2.0)
    y = checkpoint(lambda x: x * x * x, x, use_reentrant=False).sum()
    for _ in range(2):
        assert torch.autograd.grad(y, x, retain_graph=True)[0].tolist() == [3.0, 12.0]
    first, = torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [6.0, 12.0]


def test_other_tensors_in_the_second_run():
    runs = []

    def part(x):
        runs.append(None)
        return x * x if len(runs) == 1 else x[:1] * x[:1]

    y = checkpoint(part, leaf(1.0, 2.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match="different metadata"):
        y.sum().backward()


def test_reentrant_needs_a_plain_pass():
    x = leaf(1.0)
    y = checkpoint(lambda x: x * x, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="incompatible with .grad()"):
        torch.autograd.grad(y, x, torch.ones(1))
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(lambda x: x * x, torch.ones(1), use_reentrant=True)
    with pytest.warns(UserWarning, match="should be passed explicitly"):
        checkpoint(lambda x: x * x, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: extra"):
        checkpoint(lambda x: x * x, x, use_reentrant=True, extra=1)


@WAYS
def test_sequences(reentrant):
    functions = [torch.sin, torch.exp, torch.cos, lambda x: x * 3]
    x = leaf(0.3, 0.4)
    checkpoint_sequential(functions, 2, x, use_reentrant=reentrant).sum().backward()
    first, x.grad = x.grad.tolist(), None
    (x.sin().exp().cos() * 3).sum().backward()
    assert x.grad.tolist() == pytest.approx(first)
