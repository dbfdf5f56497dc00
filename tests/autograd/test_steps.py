"""Derivatives of plans, written out as functions."""

import pytest

import yesca as torch
from yesca.autograd import steps


def test_other_shapes_compile_no_python(monkeypatch):
    """Each plan's derivative is a function of its own; the code of it is made once."""
    def step(size):
        x = torch.ones(size, 3, requires_grad=True)
        torch.nn.functional.hardswish(x * 2).sum().backward()

    step(5)
    made = []
    monkeypatch.setattr(steps, "compile", lambda *given: made.append(given) or compile(*given),
                        raising=False)
    step(6)
    assert not made


def _products(run):
    with torch.profiler.profile() as profile:
        run()
    return sum(event.count for event in profile.key_averages()
               if event.key in ("aten::mm", "aten::matmul", "aten::fold_product", "aten::sum"))


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_leads_to_no_target_is_not_computed(create_graph):
    layer, other = torch.nn.Linear(3, 2), torch.nn.Linear(2, 2)
    x = torch.ones(4, 3, requires_grad=True)

    def run(*wanted):
        loss = other(layer(x).tanh() * layer(x)).square().sum()
        return _products(lambda: torch.autograd.grad(loss, wanted, create_graph=create_graph))

    assert run(x) == 3 and run(other.bias) == 1
    assert run(x, layer.weight) == 5
    loss = other(layer(x)).sum()
    assert _products(lambda: loss.backward(inputs=[x])) == 2
    assert layer.weight.grad is None and other.bias.grad is None


def test_gradients_of_some_are_those_of_all():
    values = [torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    a, b, c, d = values

    def loss():
        made = torch.addmm(a, b, c) * torch.where(d > 0, a, b) + torch.lerp(c, d, 0.25)
        return (torch.stack([made, a @ d]) ** 2).sum()

    every = torch.autograd.grad(loss(), values)
    for value, wanted in zip(values, every):
        (alone,) = torch.autograd.grad(loss(), [value])
        assert torch.equal(alone, wanted)
        (graph,) = torch.autograd.grad(loss(), [value], create_graph=True)
        assert torch.allclose(graph, wanted)
        (again,) = torch.autograd.grad(torch.compile(loss)(), [value])
        assert torch.allclose(again, wanted)


def test_values_that_went_through_hooks_are_narrowed_too():
    a, b = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x + 1, lambda x: x - 1):
        loss = (a @ b).sum()
    assert torch.autograd.grad(loss, [a])[0].tolist() == [[2, 2], [2, 2]]
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, [b])
