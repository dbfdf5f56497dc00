"""`Function`: both styles, what ctx keeps, errors, second derivatives."""

import gc
import weakref

import pytest

import yesca as torch
from yesca.autograd import Function, grad
from yesca.autograd.function import once_differentiable


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


class Cube(Function):
    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, g):
        x, cube = ctx.saved_tensors
        return g * 3 * cube / x


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def with_backward(backward, forward=lambda ctx, x: x * 2):
    return type("F", (Function,), {"forward": staticmethod(forward),
                                   "backward": staticmethod(backward)})


def test_numbers_among_the_arguments():
    x = leaf(1.0, 2.0)
    y = Scale.apply(x, 3.0)
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "ScaleBackward"
    assert len(y.grad_fn.next_functions) == 1
    assert y.grad_fn.needs_input_grad == (True, False)
    assert y.grad_fn.factor == 3.0
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_setup_context_and_second_derivatives():
    x = leaf(2.0, 3.0)
    first, = grad(Cube.apply(x).sum(), x, create_graph=True)
    second, = grad(first.sum(), x, create_graph=True)
    third, = grad(second.sum(), x)
    assert first.tolist() == [12.0, 27.0]
    assert second.tolist() == [12.0, 18.0]
    assert third.tolist() == pytest.approx([6.0, 6.0])


def test_keyword_arguments_and_defaults():
    class Power(Function):
        @staticmethod
        def forward(x, factor=4):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(1.0)
    assert grad(Power.apply(x), x)[0].item() == 4
    assert grad(Power.apply(x, factor=5), x)[0].item() == 5


def test_forward_runs_off_the_tape():
    seen = []

    def forward(ctx, x):
        seen.append(torch.is_grad_enabled())
        return (x * 2).detach() * 1

    x = leaf(1.0)
    assert with_backward(lambda ctx, g: g, forward).apply(x).requires_grad
    with torch.no_grad():
        assert not with_backward(lambda ctx, g: g, forward).apply(x).requires_grad
    assert seen == [False, False]


def test_several_results():
    class Many(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x > 0, "text", x * 3

        @staticmethod
        def backward(ctx, *grads):
            ctx.seen = [None if g is None else g.tolist() for g in grads]
            return grads[0]

    x = leaf(1.0, 2.0)
    made = Many.apply(x)
    assert made[2] == "text"
    assert [made[k].requires_grad for k in (0, 1, 3)] == [True, False, True]
    node = made[0].grad_fn
    made[0].sum().backward()
    assert node.seen == [[1.0, 1.0], [False, False], None, [0.0, 0.0]]


def test_materialize_grads_off():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, a, b):
            seen.append(b)
            return a

    x = leaf(1.0)
    Two.apply(x)[0].backward(torch.ones(1))
    assert seen == [None]


def test_results_marked_non_differentiable():
    class Rounded(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.round()
            ctx.mark_non_differentiable(y)
            return x * 1, y

        @staticmethod
        def backward(ctx, a, b):
            return a + b

    assert [y.requires_grad for y in Rounded.apply(leaf(1.5))] == [True, False]


def test_writing_in_place():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf(1.0, 2.0)
    y = x * 1
    AddOne.apply(y)
    assert y.grad_fn.name() == "AddOneBackward"
    assert grad(y.sum(), x)[0].tolist() == [10.0, 10.0]
    y = x * 1
    AddOne.apply(y[:1])
    assert grad(y.sum(), x)[0].tolist() == [10.0, 1.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used"):
        AddOne.apply(x)


def test_dirty_inputs_must_be_results():
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

    with pytest.raises(RuntimeError, match="must all be outputs of the Function"):
        Forgets.apply(leaf(1.0) * 1)


def test_an_input_handed_back_is_a_view_that_is_not_written():
    x = leaf(1.0)
    y = with_backward(lambda ctx, g: g * 5, lambda ctx, x: x).apply(x)
    assert y is not x
    assert y._is_view()
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.add_(1)
    y.backward(torch.ones(1))
    assert x.grad.tolist() == [5.0]


@pytest.mark.parametrize(("backward", "error", "message"), [
    (lambda ctx, g: (g, g), RuntimeError, "incorrect number of gradients .expected 1, got 2."),
    (lambda ctx, g: torch.ones(5), RuntimeError,
     r"FBackward returned an invalid gradient at index 0 - got \[5\] but expected shape "
     r"compatible with \[2\]"),
    (lambda ctx, g: 3, RuntimeError, "expected Variable or None .got int."),
])
def test_wrong_gradients(backward, error, message):
    with pytest.raises(error, match=message):
        with_backward(backward).apply(leaf(1.0, 2.0)).sum().backward()


def test_gradient_for_a_number():
    class F(Function):
        @staticmethod
        def forward(ctx, x, k):
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError, match="gradient different than None at position 2"):
        F.apply(leaf(1.0), 2).backward(torch.ones(1))


def test_gradients_are_summed_to_the_argument_and_cast():
    x = leaf(1.0, 2.0)
    F = with_backward(lambda ctx, g: torch.ones(3, 2, dtype=torch.float64))
    F.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert x.grad.dtype is torch.float32


def test_what_is_missing():
    x = leaf(1.0)
    with pytest.raises(NotImplementedError, match="implement the forward"):
        Function.apply(x)
    only = type("Only", (Function,), {"forward": staticmethod(lambda ctx, x: x * 1)})
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        only.apply(x).backward(torch.ones(1))
    with pytest.raises(TypeError, match="can only save variables, but argument 0 is of type int"):
        with_backward(None, lambda ctx, x: ctx.save_for_backward(3) or x * 1).apply(x)


def test_twice_backward():
    x = leaf(2.0)
    y = Scale.apply(x, 2)
    y.backward(torch.ones(1))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.grad_fn.saved_tensors
    plain = with_backward(lambda ctx, g: g).apply(x)
    plain.backward(torch.ones(1))
    plain.backward(torch.ones(1))  # kept nothing, so nothing was freed


def test_saved_tensors_are_checked_for_writes():
    x = leaf(2.0) * 1
    y = Scale.apply(x, 2)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.grad_fn.saved_tensors


def test_once_differentiable():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not torch.is_grad_enabled()
            return g * 2

    x = leaf(1.0)
    first, = grad((F.apply(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="trying to differentiate twice"):
        first.sum().backward()


def test_no_cycle_holds_results():
    gc.collect()
    gc.disable()
    try:
        y = Cube.apply(leaf(1.0, 2.0))
        watch = weakref.ref(y)
        y.sum().backward()
        del y
        assert watch() is None
    finally:
        gc.enable()


def test_hooks_of_the_node():
    seen = []
    y = Scale.apply(leaf(1.0), 2)
    y.grad_fn.register_hook(lambda given, taken: seen.append((given[0].item(), taken[0].item())))
    y.backward(torch.ones(1))
    assert seen == [(2.0, 1.0)]


def test_named_arguments():
    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=2):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Times.apply(x, factor=3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        Times.apply(x, other=3)


def test_dirty_arguments_count_a_write():
    class Write(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.numpy()[:] = 7  # a write that the engine does not see
            return x

    x = torch.zeros(2)
    kept = (x * torch.ones(2, requires_grad=True)).sum()
    assert Write.apply(x)._version == 1
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        kept.backward()
