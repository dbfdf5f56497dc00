"""What the tape keeps: tensors that look at other memory since, or have left the tape; hooks."""

import gc
import weakref

import pytest

import yesca as torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y, None)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y, _ = ctx.saved_tensors
        return grad * y, grad * x


OPERANDS = {
    "leaf": lambda: torch.full((2,), 3.0, requires_grad=True),
    "result": lambda: torch.full((2,), 3.0, requires_grad=True) * 1,
    "off the tape": lambda: torch.full((2,), 3.0),
}


@pytest.mark.parametrize("function", [torch.mul, Product.apply])
@pytest.mark.parametrize("kind", OPERANDS)
def test_an_operand_that_moved(kind, function):
    x, y = torch.ones(2, requires_grad=True), OPERANDS[kind]()
    z = function(x, y)
    y.data = torch.full((2,), 5.0)
    z.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_moved_more_than_once():
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    first = x * y
    y.data = torch.full((2,), 5.0)
    second = x * y
    y.data = torch.full((2,), 7.0)
    assert torch.autograd.grad(first.sum(), x, retain_graph=True)[0].tolist() == [7.0, 7.0]
    assert torch.autograd.grad(second.sum(), x)[0].tolist() == [7.0, 7.0]
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        first.sum().backward()


def test_what_stays_where_it_was():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.data = torch.full((2,), 5.0)  # the result itself is kept by its memory
    y.sum().backward()
    assert torch.allclose(x.grad, torch.ones(2).exp())
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    z = x * y.view(2)
    y.data = torch.full((2,), 5.0)
    z.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_linear_map_reads_a_view_of_its_weight():
    for bias in (None, torch.zeros(2)):
        x, weight = torch.ones(1, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
        y = torch.nn.functional.linear(x, weight, bias)
        weight.data = torch.full((2, 2), 5.0)
        slope, = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert slope.tolist() == [[2.0, 2.0]]
        slope.sum().backward()
        assert weight.grad.tolist() == [[1.0, 1.0]] * 2
    x, weight = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    y = x @ weight
    weight.data = torch.full((2, 2), 5.0)
    y.sum().backward()
    assert x.grad.tolist() == [[10.0, 10.0]] * 2


def test_moving_keeps_no_memory():
    x = torch.ones(2)
    before = weakref.ref(x.untyped_storage())
    gc.collect()
    for k in range(5):
        x.data = torch.full((2,), float(k))
    assert before() is None and len(x._counter.moved.before) <= 2


def test_a_view_made_off_the_tape_survives_a_move():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = x.view(2)
    x.data = torch.zeros(2)
    assert (view * 1).tolist() == [1.0, 1.0]


def test_detached_in_place():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    kept = z.grad_fn
    y.detach_()
    with pytest.raises(RuntimeError, match=r"saved tensor that has been detached in-place, i.e. w"):
        z.sum().backward()
    assert kept._saved_self.tolist() == [2.0, 2.0] and not kept._saved_self.requires_grad
    y = x * 2
    z = Product.apply(x, y)
    y.detach_()
    assert not z.grad_fn.saved_tensors[1].requires_grad
    z.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_places_of_a_function():
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True) * 2
    node = Product.apply(x, y).grad_fn
    places = node._raw_saved_tensors
    assert [type(p).__name__ for p in places] == ["SavedTensor"] * 3
    assert places[0].data is x and places[2].data is None
    with pytest.raises(RuntimeError, match="^Calling register_hooks on a saved tensor with"):
        places[2].register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="expected two callables"):
        places[0].register_hooks(1, lambda t: t)
    z = Product.apply(x, y)
    places = z.grad_fn._raw_saved_tensors
    places[0].register_hooks(lambda t: (t * 3,), lambda kept: kept[0])
    places[1].register_hooks(lambda t: t * 5, lambda t: t)
    with pytest.raises(RuntimeError, match="^Calling register_hooks on a saved tensor whose hooks"):
        places[1].register_hooks(lambda t: t, lambda t: t)
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        z.grad_fn._raw_saved_tensors  # noqa: B018
    places[0].register_hooks(lambda t: t, lambda t: t)


def test_hooks_on_a_result_that_a_function_kept():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            y, = ctx.saved_tensors
            return grad * y

    x = torch.zeros(2, requires_grad=True)
    y = Exp.apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t * 2, lambda t: t)
    slope, = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert slope.tolist() == [2.0, 2.0]
    assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [2.0, 2.0]
