"""The backward pass: what it computes, in which order, what it frees, what it refuses."""

import gc
import weakref

import pytest

import yesca as torch
from yesca.autograd import backward, grad


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def listed(tensors):
    return [None if t is None else t.tolist() for t in tensors]


def test_order_of_hooks():
    seen = []

    def note(name, result=None):
        def hook(*values):
            seen.append(name)
            return result(*values) if result else None

        return hook

    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(note("tensor", lambda g: g * 2))
    y.retain_grad()
    y.register_hook(note("tensor again"))
    y.grad_fn.register_prehook(note("before"))
    y.grad_fn.register_hook(note("after"))
    x.register_hook(note("leaf", lambda g: g + 1))
    x.register_post_accumulate_grad_hook(note("accumulated"))
    ((y * 3).sum() + y.sum() + x.sum()).backward()
    assert seen == ["tensor", "tensor again", "before", "after", "leaf", "accumulated"]
    assert listed([x.grad, y.grad]) == [[18.0, 18.0], [8.0, 8.0]]


def test_hooks_of_a_leaf_see_the_whole_sum_once():
    seen = []
    x = leaf(1.0)
    handle = x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3 + x * 4).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [9.0]
    assert x.grad.item() == 11.0


def test_hooks_that_return_nonsense():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g[:1])
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        x.sum().backward()
    y = leaf(1.0) * 2
    y.grad_fn.register_hook(lambda given, taken: (given[0], None, None))
    with pytest.raises(RuntimeError, match="got 3, but expected 2"):
        y.sum().backward()


def test_inputs():
    x, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * v).sum().backward(inputs=x)
    assert listed([x.grad, v.grad]) == [[3.0, 4.0], None]
    y = x * 2
    (y * 3 + y).sum().backward(inputs=[y])
    assert y.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="cannot be empty"):
        x.sum().backward(inputs=[])


def test_gradients_of_inner_tensors():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    assert listed(grad((y * 3).sum(), [y, x])) == [[3.0, 3.0], [60.0, 60.0]]
    assert listed(grad((x * x).sum(), [x, x])) == [[2.0, 4.0], [2.0, 4.0]]


def test_only_what_is_needed_is_run_and_freed():
    x = leaf(1.0, 2.0)
    y = x * x
    grad((y * y).sum(), y)
    assert grad(y.sum(), x)[0].tolist() == [2.0, 4.0]  # y's own node has kept its values


def test_unused_inputs():
    x, w = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="differentiated Tensor at index 1 appears to not"):
        grad(x * 2, [x, w])
    assert listed(grad(x * 2, [x, w], allow_unused=True)) == [[2.0], None]
    assert listed(grad(x * 2, [x, w], materialize_grads=True)) == [[2.0], [0.0]]
    with pytest.raises(ValueError, match="allow_unused"):
        grad(x * 2, w, allow_unused=False, materialize_grads=True)


def test_second_pass():
    x = leaf(1.0)
    y = x.exp()
    y.backward(torch.ones(1), retain_graph=True)
    y.backward(torch.ones(1))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward(torch.ones(1))
    z = (x + x).sum()
    z.backward()
    z.backward()  # kept nothing


def test_batches_of_gradients():
    x = leaf(1.0, 2.0)
    made, = grad(x * x, x, torch.eye(2), is_grads_batched=True)
    assert made.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    with pytest.raises(ValueError, match=r"the same size .* got sizes \[3, 2\] for the map"):
        grad([x * x, x.sum()], x, [torch.ones(3, 2), torch.ones(2)], is_grads_batched=True)


@pytest.mark.parametrize(("run", "error", "message"), [
    (lambda x: x.backward(), RuntimeError, "only for scalar outputs"),
    (lambda x: torch.ones(1).backward(), RuntimeError, "element 0 of tensors does not require"),
    (lambda x: x.sum().backward(torch.ones(2)), RuntimeError, r"Mismatch in shape: grad_output"),
    (lambda x: backward([x.sum()], [3]), TypeError, "either Tensors or None, but got int"),
    (lambda x: grad(x.sum(), torch.ones(1)), RuntimeError, "does not require grad"),
    (lambda x: grad(x.sum(), x, torch.tensor(1j)), RuntimeError,
     "both grad_output and output are required to have the same dtype"),
])
def test_refusals(run, error, message):
    with pytest.raises(error, match=message):
        run(leaf(1.0, 2.0))


def test_gradients_accumulate_in_place():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5.0, 5.0]


def test_a_given_gradient_is_not_taken_over():
    x = leaf(1.0, 2.0)
    given = torch.ones(2)
    x.clone().backward(given)
    given.fill_(7)
    assert x.grad.tolist() == [1.0, 1.0]


def test_assigning_gradients():
    x = leaf(1.0, 2.0)
    for wrong, message in ((torch.ones(3), "gradient of size"),
                           (torch.ones(2, dtype=torch.float64), "gradient with dtype 'double'"),
                           (x, "as its own grad")):
        with pytest.raises(RuntimeError, match=message):
            x.grad = wrong
    with pytest.raises(TypeError, match="Tensor or None but got grad of type int"):
        x.grad = 3


def test_graph_of_the_gradient():
    x = leaf(2.0)
    with pytest.warns(UserWarning, match="reference cycle"):
        _fresh_warning()
        (x**3).backward(torch.ones(1), create_graph=True)
    first, x.grad = x.grad, None
    first.backward(torch.ones(1))
    assert [first.item(), x.grad.item()] == [12.0, 12.0]


def _fresh_warning():
    from yesca.base import frames

    frames.told.clear()


def test_shown_graph():
    x = leaf(1.0, 2.0)
    y = x * 2
    node = y.grad_fn
    assert node is y.grad_fn
    assert type(node).__name__ == node.name() == "MulBackward0"
    (first, port), (second, _) = node.next_functions
    assert first.variable is x
    assert (port, second) == (0, None)
    assert first.name() == "torch::autograd::AccumulateGrad"
    assert x.grad_fn is None
    node.metadata["key"] = 1
    assert y.grad_fn.metadata == {"key": 1}
    assert node._saved_other == 2
    assert y.exp().grad_fn._saved_result.tolist() == pytest.approx([7.389056, 54.59815])


@pytest.mark.parametrize("kind", ["add", "mul", "function", "inplace", "view"])
def test_chains_are_freed_without_recursion_or_cycles(kind):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(1.0, 1.0)
    count = 100_000 if kind in ("add", "mul") else 10_000
    gc.collect()
    gc.disable()
    try:
        for with_backward in (False, True):
            y = x * 1
            for _ in range(count):
                if kind == "add":
                    y = y + 1
                elif kind == "mul":
                    y = y * y
                elif kind == "function":
                    y = Same.apply(y)
                elif kind == "inplace":
                    y.mul_(1.0)
                else:
                    y[:1].mul_(1.0)
            watch = weakref.ref(y)
            if with_backward:
                y.sum().backward()
            del y
            assert watch() is None
    finally:
        gc.enable()


def test_anomaly_mode_names_the_forward_line():
    w = leaf(0.0)
    with torch.autograd.set_detect_anomaly(True):
        y = torch.sqrt(w) * 0  # the line
        with pytest.warns(UserWarning, match=r"(?s)Error detected in SqrtBackward0.*the line"), \
                pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0th"):
            y.backward(torch.ones(1))
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), \
            torch.autograd.detect_anomaly():
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def test_hooks_of_a_leafs_end_come_after_its_own():
    seen = []
    x = leaf(1.0, 2.0)
    end = x.view_as(x).grad_fn.next_functions[0][0]
    end.register_prehook(lambda grads: seen.append("before"))
    end.register_hook(lambda given, taken: seen.append("after"))
    x.register_hook(lambda grad: seen.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda x: seen.append("accumulated"))
    (x * 2).sum().backward()
    assert seen == ["tensor", "before", "accumulated", "after"]


def test_hooks_of_results_that_got_nothing():
    seen = []
    x = leaf(1.0, 2.0)
    first, second = (x * 2).unbind()
    second.register_hook(lambda grad: seen.append(grad))
    (first * 3).backward()
    assert seen == [None] and x.grad.tolist() == [6.0, 0.0]


def test_hooks_of_a_node_that_backward_names():
    seen = []
    x = leaf(1.0, 2.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append("before"))
    y.grad_fn.register_hook(lambda given, taken: seen.append(given))
    y.sum().backward(inputs=[y])
    assert seen == ["before", (None, None)] and y.grad.tolist() == [1.0, 1.0]


def test_what_hooks_may_not_return():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: grad.double())
    with pytest.raises(RuntimeError, match=r"changed the type of value \(was torch.FloatTensor"):
        y.backward()
    x.register_post_accumulate_grad_hook(lambda x: 3)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        x.sum().backward()
