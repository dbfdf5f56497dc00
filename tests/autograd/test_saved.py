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


# ---- hooks get the very tensors --------------------------------------------------------------

def packed(function, *inputs):
    """What hooks got, and what the function gave."""
    seen = []

    def pack(tensor):
        seen.append(tensor)
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        made = function(*inputs)
    return seen, made


def positive(*shape):
    return (torch.rand(*shape) + 0.1).requires_grad_()


INPUTS = {
    "mul": (torch.mul, positive(2), positive(2)), "div": (torch.div, positive(2), positive(2)),
    "matmul": (torch.matmul, positive(2, 3), positive(3, 2)), "log": (torch.log, positive(2)),
    "bmm": (torch.bmm, positive(2, 2, 3), positive(2, 3, 2)), "sin": (torch.sin, positive(2)),
    "conv": (torch.nn.functional.conv1d, positive(1, 2, 4), positive(3, 2, 3)),
    "gelu": (torch.nn.functional.gelu, positive(2)), "abs": (torch.abs, positive(2)),
    "atan2": (torch.atan2, positive(2), positive(2)), "var": (torch.var, positive(3)),
    "addcmul": (lambda a, b: torch.addcmul(torch.ones(2), a, b), positive(2), positive(2)),
    "maximum": (torch.maximum, positive(2), positive(2)), "pow": (lambda a: a**2, positive(2)),
    "mse_loss": (torch.nn.functional.mse_loss, positive(2), positive(2)),
}


@pytest.mark.parametrize("name", INPUTS)
def test_hooks_get_inputs(name):
    function, *inputs = INPUTS[name]
    seen, made = packed(function, *inputs)
    assert {id(x) for x in seen} == {id(x) for x in inputs}
    plain = torch.autograd.grad(function(*inputs).sum(), inputs)
    for one, other in zip(torch.autograd.grad(made.sum(), inputs), plain, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("function", [
    torch.relu, torch.exp, torch.tanh, torch.sigmoid, torch.sqrt, torch.rsqrt, torch.reciprocal,
    lambda x: torch.softmax(x, 0), lambda x: torch.log_softmax(x, 0)])
def test_hooks_get_results(function):
    x = positive(3)
    seen, made = packed(function, x)
    assert len(seen) == 1 and seen[0] is made and seen[0].grad_fn is made.grad_fn
    assert torch.equal(torch.autograd.grad(made.sum(), x)[0],
                       torch.autograd.grad(function(x).sum(), x)[0])


def test_hooks_get_places_on_the_tape():
    x, w = torch.ones(2, 3), positive(4, 3)
    seen, _ = packed(lambda x, w: torch.nn.functional.linear(x, w).sum(), x, w)
    assert [t.requires_grad for t in seen] == [False] and seen[0] is x
    y = positive(2) * 1
    seen, _ = packed(lambda y: y * y, y)
    assert all(t is y and t.grad_fn is y.grad_fn for t in seen) and len(seen) == 2


def test_hooks_get_what_a_write_has_replaced():
    x = positive(2)
    y = x * 1
    before, place = y.detach().clone(), y.grad_fn
    seen, made = packed(lambda y: y.mul_(x), y)
    assert made is y and seen[0] is x or seen[1] is x
    old = next(t for t in seen if t is not x)
    assert torch.equal(old, before) and old.requires_grad and old.grad_fn is place
    assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], 2 * x)


def test_a_result_that_hooks_keep_is_freed():
    x = positive(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
    gone = weakref.ref(y)
    y.sum().backward()
    gc.disable()
    try:
        del y
        assert gone() is None
    finally:
        gc.enable()


# ---- a second pass ---------------------------------------------------------------------------

REFUSED = {
    "mul": lambda x: x * 2, "rmul": lambda x: 2 * x, "div": lambda x: x / 2,
    "mul_": lambda x: x.clone().mul_(2), "div_": lambda x: x.clone().div_(2),
    "trunc": lambda x: torch.div(x, 2, rounding_mode="trunc"), "complex": lambda x: x * 2j,
    "avg_pool": lambda x: torch.nn.functional.avg_pool1d(x.view(1, 1, 4), 2),
    "rfft": lambda x: torch.fft.rfft(x), "parts": lambda x: torch.complex(x, x),
    "written view": lambda x: [y := x.clone(), y[:2].fill_(1.0), y][2],
}
ALLOWED = {
    "add": lambda x: x + 2, "sub": lambda x: x - 2, "rsub": lambda x: 2 - x, "neg": lambda x: -x,
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "view": lambda x: x.view(2, 2),
    "cat": lambda x: torch.cat([x, x]), "fmod": lambda x: x % 2,
    "expand": lambda x: x[:1].expand(3),
    "lerp": lambda x: torch.lerp(x, x, 0.5), "pad": lambda x: torch.nn.functional.pad(x, (1, 1)),
    "fft": lambda x: torch.fft.fft(torch.view_as_complex(x.view(2, 2))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_second_pass(name):
    y = REFUSED[name](torch.ones(4, requires_grad=True))
    grad = torch.ones_like(y)
    y.backward(grad, retain_graph=True)
    y.backward(grad)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward(grad)


@pytest.mark.parametrize("name", ALLOWED)
def test_second_pass(name):
    x = torch.ones(4, requires_grad=True)
    y = ALLOWED[name](x)
    grad = torch.ones_like(y)
    y.backward(grad)
    first = x.grad.clone()
    y.backward(grad)
    assert torch.equal(x.grad, 2 * first)
