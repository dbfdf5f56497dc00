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


def test_versions_that_are_counted_by_hand():
    x = torch.ones(2)
    graph.increment_version(x)
    graph.increment_version([x, x])
    assert x._version == 3
    y = torch.ones(2, requires_grad=True)
    z = (y * y).sum()
    graph.increment_version(y)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.backward()


def test_writes_to_what_the_tape_keeps():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z = (y * y).sum()
        y.sin_()
        z.backward()
        with pytest.raises(RuntimeError, match="contexts cannot be nested"), \
                graph.allow_mutation_on_saved_tensors():
            pass
        later = (x * x).sum()
    assert x.grad.tolist() == [2.0, 4.0] and not context.kept
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation"):
        later.backward()


def test_hooks_that_are_forbidden():
    same = (lambda t: t, lambda t: t)
    with graph.saved_tensors_hooks(*same), pytest.raises(RuntimeError, match="not here"), \
            graph.disable_saved_tensors_hooks("not here"):
        pass
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        graph.register_multi_grad_hook([torch.ones(1)], print)


def test_one_kept_tensor_by_itself():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    kept = y.grad_fn._raw_saved_self
    assert kept.unpack() is x and y.grad_fn._saved_other is x
    kept.register_hooks(lambda t: t * 1, lambda t: t * 10)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        kept.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [11.0, 22.0]
    with pytest.raises(RuntimeError, match="after it has been freed"):
        kept.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(AttributeError, match="_saved_nothing"):
        _ = y.grad_fn._saved_nothing
    with pytest.raises(TypeError, match="expected two callables, got int"):
        (x * x).grad_fn._raw_saved_self.register_hooks(1, print)
