"""Hooks on saved tensors, on several gradients, and edges of the tape."""

import pytest

import yesca as torch
from yesca.autograd import grad, graph


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_saved_tensors_go_through_hooks():
    seen = []

    def pack(tensor):
        seen.append(tensor.tolist())
        return tensor.numpy().copy()

    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(pack, torch.from_numpy):
        y = x * x
        z = y.exp()
    assert len(seen) == 3
    z.sum().backward()
    assert x.grad.tolist() == pytest.approx([5.4365635, 218.3926], rel=1e-5)


def test_second_derivatives_with_hooks():
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t.clone()):
        y = (x * x * x).sum()
    first, = grad(y, x, create_graph=True)
    assert grad(first.sum(), x)[0].tolist() == [6.0, 12.0]


def test_hooks_that_misbehave():
    x = leaf(1.0)
    with graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t), \
            pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        x.exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got"):
        y.backward(torch.ones(1))
    with graph.disable_saved_tensors_hooks("not here"), \
            pytest.raises(RuntimeError, match="not here"), graph.save_on_cpu():
        pass


def test_save_on_cpu():
    x = leaf(1.0, 2.0)
    with graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_hooks_of_several_tensors():
    seen = []
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    one = torch.ones(1)
    handle = graph.register_multi_grad_hook(
        (a, b, c), lambda grads: seen.append([None if g is None else g.item() for g in grads]))
    (a * b).backward(one)
    (a * b * c).backward(one)
    handle.remove()
    (a * b * c).backward(one)
    assert seen == [[2.0, 1.0, None], [6.0, 3.0, 2.0]]
    graph.register_multi_grad_hook((a, b), lambda g: seen.append("any"), mode="any")
    (a * b).backward(one)
    (a * b).backward(one)
    assert seen[2:] == ["any", "any"]


def test_gradient_edges():
    x = leaf(1.0, 2.0)
    y = x * 3
    edge = graph.get_gradient_edge(y)
    assert isinstance(edge.node, graph.Node)
    assert grad((y * y).sum(), edge, retain_graph=True)[0].tolist() == [6.0, 12.0]
    assert grad(edge, x, torch.ones(2))[0].tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(torch.ones(1))
