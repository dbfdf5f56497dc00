"""In-place views: shape, version, place in the tape, and what is refused."""

import pytest

import yesca as torch

CASES = {"unsqueeze_": (0,), "squeeze_": (), "transpose_": (0, 1), "t_": (), "swapaxes_": (0, 1),
         "swapdims_": (-1, 0), "as_strided_": ((3,), (2,))}


def changed(name, tensor):
    return getattr(tensor, name)(*CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_plain(name):
    x, version = torch.arange(6.0).reshape(2, 3), 0
    wanted = getattr(x, name[:-1])(*CASES[name])
    version = x._version
    assert changed(name, x) is x
    assert torch.equal(x, wanted) and x.stride() == wanted.stride()
    assert x._version == version + 1


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 2
    changed(name, y)
    (y * y).sum().backward()
    z = x.detach().clone().requires_grad_()
    (getattr(z * 2, name[:-1])(*CASES[name]) ** 2).sum().backward()
    assert torch.equal(x.grad, z.grad)


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        changed(name, x)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        changed(name, x[:])
    with torch.no_grad():
        changed(name, x)
    assert x.is_leaf and x.requires_grad
    y = torch.ones(2, 3, requires_grad=True) * 2
    z = y * y
    changed(name, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_view_then_a_write():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2
    view = y[0]
    view.unsqueeze_(1)
    assert view.shape == (3, 1) and view._base is y
    view.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [[6.0] * 3, [2.0] * 3]


def test_strided_views_stay_in_the_storage():
    for call in (lambda x: x.as_strided((2,), (2,), 3), lambda x: x.as_strided_((5,), (1,)),
                 lambda x: torch.as_strided_scatter(x, torch.ones(2), (2,), (2,), 3)):
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
            call(torch.ones(4))


def test_the_gradient_of_a_view_beyond_its_base():
    x = torch.arange(6.0).requires_grad_()
    x.narrow(0, 2, 2).as_strided((2,), (3,), 0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("write", [lambda v: v.tanh_(), lambda v: v.exp_(), lambda v: v.sigmoid_(),
                                   lambda v: v.sqrt_()])
def test_a_result_that_is_kept_stands_in_the_base(write):
    """The gradient's graph reaches a write through a view by the base alone: nothing is freed
    before it has been used."""
    x = torch.tensor([[0.3, 0.5, 0.7], [0.2, 0.4, 0.9]], dtype=torch.float64, requires_grad=True)

    def function(x):
        y = x * 1
        write(y[:, 1:])
        return y * y

    first, = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    found, = torch.autograd.grad(first.sum(), x)
    assert torch.autograd.gradgradcheck(function, x)
    assert found.shape == x.shape
