"""Functions under a derivative: what they may write, what they may not call, how tensors print."""

import pytest

import yesca as torch
from yesca import func
from yesca.core.tensor_base import BIRTH

TRANSFORMS = {
    "grad": lambda f: func.grad(f)(torch.ones(3)),
    "vjp": lambda f: func.vjp(f, torch.ones(3)),
    "jvp": lambda f: func.jvp(f, (torch.ones(3),), (torch.ones(3),)),
    "jacrev": lambda f: func.jacrev(f)(torch.ones(3)),
    "jacfwd": lambda f: func.jacfwd(f)(torch.ones(3)),
    "hessian": lambda f: func.hessian(f)(torch.ones(3)),
    "grad of grad": lambda f: func.grad(lambda x: func.grad(f)(x).sum())(torch.ones(3)),
    "vmap of grad": lambda f: func.vmap(func.grad(f))(torch.ones(2, 3)),
    "grad of vmap": lambda f: func.grad(lambda x: func.vmap(f)(x).sum())(torch.ones(2, 3)),
}
WRITES = {
    "add_.Tensor": lambda c, x: c.add_(1), "mul_.Tensor": lambda c, x: c.mul_(x),
    "zero_": lambda c, x: c.zero_(), "fill_.Scalar": lambda c, x: c.fill_(3),
    "fill_.Tensor": lambda c, x: c.fill_(torch.tensor(2.0)), "pow_.Scalar": lambda c, x: c.pow_(2),
    "copy_": lambda c, x: c.__setitem__(0, 1.0), "relu_": lambda c, x: torch.relu_(c),
    "index_put_": lambda c, x: c.__setitem__(torch.tensor([0]), 1.0),
    "normal_": lambda c, x: c.normal_(), "bernoulli_.float": lambda c, x: c.bernoulli_(0.5),
    "resize_": lambda c, x: c.resize_(2), "unsqueeze_": lambda c, x: c.unsqueeze_(0),
    "detach_": lambda c, x: c.detach_(), "set_.source_Tensor": lambda c, x: c.set_(torch.ones(2)),
    "index_add_": lambda c, x: c.index_add_(0, torch.tensor([0]), torch.ones(1)),
    "scatter_.value": lambda c, x: c.scatter_(0, torch.tensor([0]), 1.0),
    "scatter_.src": lambda c, x: c.scatter_(0, torch.tensor([0]), torch.ones(1)),
    "masked_fill_.Scalar": lambda c, x: c.masked_fill_(c > 0, 1.0),
    "exp_": lambda c, x: c.view(-1).exp_(), "neg_": lambda c, x: c.detach().neg_(),
    "abs_": lambda c, x: c.data.abs_(), "sub_.Tensor": lambda c, x: c.expand(3).sub_(1),
}


def writing(write):
    captured = torch.ones(3)

    def function(x):
        write(captured, x)
        return (x * 2).sum()

    return captured, function


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_captured_tensors_are_not_written(transform):
    captured, function = writing(lambda c, x: c.add_(1))
    with pytest.raises(RuntimeError, match=r"in-place operation \(aten::add_\.Tensor\) that would "
                                           "mutate a captured Tensor"):
        TRANSFORMS[transform](function)
    assert captured.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("transform", ["grad", "jvp"])
@pytest.mark.parametrize("name", WRITES)
def test_writes_are_named(name, transform):
    captured, function = writing(WRITES[name])
    with pytest.raises(RuntimeError) as caught:
        TRANSFORMS[transform](function)
    assert f"(aten::{name})" in str(caught.value)
    assert captured.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("write", [
    lambda c, x: c.clone().add_(1), lambda c, x: torch.zeros(3)[0].add_(1),
    lambda c, x: torch.tensor([1.0]).normal_(), lambda c, x: torch.zeros_like(c).copy_(x),
    lambda c, x: x.clone().mul_(2), lambda c, x: torch.rand(3).__setitem__(0, 1.0),
    lambda c, x: x.detach().add_(1), lambda c, x: func.grad(lambda y: (y * y).sum())(x).add_(1),
    lambda c, x: (c * 2).data.add_(1)])
@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "jacrev", "grad of grad"])
def test_what_is_made_inside_may_be_written(write, transform):
    _, function = writing(write)
    TRANSFORMS[transform](function)


@pytest.mark.parametrize("transform", ["grad", "jvp"])
def test_results_may_be_written_over_captured_tensors(transform):
    captured, function = writing(lambda c, x: torch.add(torch.ones(3), 1, out=c))
    TRANSFORMS[transform](function)
    assert captured.tolist() == [2.0, 2.0, 2.0]


def test_arguments_under_forward_mode_may_be_written():
    made = func.jvp(lambda x: x.mul_(2).sum(), (torch.ones(3),), (torch.ones(3),))
    assert [m.item() for m in made] == [6.0, 6.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        func.grad(lambda x: x.mul_(2).sum())(torch.ones(3))


def test_captured_from_an_earlier_derivative():
    earlier = func.grad(lambda x: (x * x).sum())(torch.ones(3))
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(lambda x: (x * earlier.add_(1)).sum())(torch.ones(3))
    assert earlier._version == 0 and earlier.add_(1)._version == 1


def test_inner_derivatives_do_not_write_what_outer_ones_made():
    def outer(x):
        made = torch.ones(3)
        func.grad(lambda y: (y * made.add_(1)).sum())(x)
        return x.sum()

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(outer)(torch.ones(3))


def test_more_derivatives_than_counters_tell_apart():
    from yesca.func import _watching

    kept = _watching._births.last
    _watching._births.last = _watching._MOST - 1
    try:
        def outer(x):
            for _ in range(4):  # their births are the same; those of later outer ones start anew
                func.grad(lambda y: (y * torch.zeros(3).add_(y)).sum())(x).add_(1)
            return x.sum()

        assert func.grad(lambda x: func.grad(outer)(x).sum())(torch.ones(3)).tolist() == [0.0] * 3
        func.grad(outer)(torch.ones(3))
        assert _watching._births.last < _watching._MOST // 2
    finally:
        _watching._births.last = kept


def test_versions_of_tensors_made_inside():
    seen = []

    def function(x):
        made = torch.zeros(3)
        seen.append(made._version)
        seen.append(made.add_(1)._version)
        made.data = torch.ones(3)
        seen.append(made._counter.value // BIRTH > 0)
        seen.append(made._version)
        return x.sum()

    func.grad(function)(torch.ones(3))
    assert seen == [0, 1, True, 1]


def test_saved_tensors_made_inside_are_watched():
    def function(x):
        y = x.exp()
        y.add_(1)
        return y.sum()

    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        func.grad(function)(torch.ones(3))


@pytest.mark.parametrize("name", ["grad", "jvp", "vmap of grad"])
@pytest.mark.parametrize("call, message", [
    (lambda x: torch.ones(3).requires_grad_(), r"call Tensor.requires_grad_\(\) \(or perhaps"),
    (lambda x: x.sum().backward(), r"backward\(\) called inside a functorch transform")])
def test_the_tape_is_not_changed_by_hand(name, call, message):
    def function(x):
        call(x)
        return x.sum()

    with pytest.raises(RuntimeError, match=message):
        TRANSFORMS[name](function)


def test_retained_gradients_are_refused():
    with pytest.raises(RuntimeError, match=r"call Tensor.retain_grad\(\) inside"):
        func.grad(lambda x: [(x * 2).retain_grad(), x.sum()][1])(torch.ones(3))


@pytest.mark.parametrize("make", [
    lambda: torch.ones(3, requires_grad=True), lambda: torch.nn.Parameter(torch.ones(3)),
    lambda: torch.arange(3.0, requires_grad=True), lambda: torch.rand(3, requires_grad=True),
    lambda: torch.fft.fftfreq(3, requires_grad=True), lambda: torch.nn.Linear(1, 3).bias])
def test_new_leaves_are_made(make):
    assert func.grad(lambda x: (x * make()).sum())(torch.ones(3)).shape == (3,)


# ---- printing --------------------------------------------------------------------------------

def texts(transform, *arguments):
    found = []

    def function(x):
        found.append([repr(x), repr(x * 2), repr(torch.zeros(2)), repr(CAPTURED)])
        return (x * x).sum()

    transform(function)(*arguments)
    return found[0]


CAPTURED = torch.tensor([0.0, 1.0])


def layer(number, text):
    return f"GradTrackingTensor(lvl={number}, value=\n    {text}\n)"


def test_tensors_under_a_derivative():
    assert texts(func.grad, torch.ones(2)) == [
        layer(1, "tensor([1., 1.])"), layer(1, "tensor([2., 2.])"), layer(1, "tensor([0., 0.])"),
        "tensor([0., 1.])"]
    assert texts(lambda f: lambda x: func.jvp(f, (x,), (x,)), torch.ones(2))[0] == layer(
        1, "tensor([1., 1.])")


def test_tensors_with_a_tape_outside():
    assert texts(func.grad, torch.ones(2, requires_grad=True))[:2] == [
        layer(1, "tensor([1., 1.], requires_grad=True)"),
        layer(1, "tensor([2., 2.], grad_fn=<MulBackward0>)")]


def test_nested_derivatives():
    both = texts(lambda f: func.grad(lambda x: func.grad(f)(x).sum()), torch.ones(2))
    assert both[0] == ("GradTrackingTensor(lvl=2, value=\n    GradTrackingTensor(lvl=1, value=\n"
                       "        tensor([1., 1.])\n    )\n)")
    assert both[3] == "tensor([0., 1.])"


def test_batches_and_derivatives():
    inside = texts(lambda f: func.vmap(func.grad(f)), torch.ones(2, 2))
    assert inside[0] == ("GradTrackingTensor(lvl=2, value=\n    BatchedTensor(lvl=1, bdim=0, "
                         "value=\n        tensor([[1., 1.],\n                [1., 1.]])\n    )\n)")
    assert inside[2] == layer(2, "tensor([0., 0.])")
    outside = texts(lambda f: func.grad(lambda x: func.vmap(f)(x).sum()), torch.ones(2, 2))
    assert outside[1] == ("BatchedTensor(lvl=2, bdim=0, value=\n    GradTrackingTensor(lvl=1, "
                          "value=\n        tensor([[2., 2.],\n                [2., 2.]])\n    )\n)")
    assert texts(func.vmap, torch.ones(1, 2))[1] == (
        "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[2., 2.]])\n)")
