"""`functionalize`: the same results; what was written to arguments arrives at the end."""

import pytest

import yesca as torch
from yesca.func import functionalize

REMOVE = pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])


@REMOVE
def test_arguments_are_updated_once(remove):
    def function(x, *, y):
        view = x[0]
        view.mul_(5).add_(1)
        y.add_(x.sum())
        return view, {"sum": x.sum()}, 3

    x, y = torch.ones(2, 2), torch.zeros(1)
    view, rest, three = functionalize(function, remove=remove)(x, y=y)
    assert x.tolist() == [[6.0, 6.0], [1.0, 1.0]] and y.tolist() == [14.0]
    assert (x._version, y._version) == (1, 1)
    assert view.tolist() == [6.0, 6.0] and rest["sum"].item() == 14.0 and three == 3
    view.zero_()
    assert x[0].tolist() == [6.0, 6.0]
    assert view._is_view() is (remove == "mutations")


def test_arguments_share_nothing_while_it_runs():
    def function(x, y):
        x.add_(1)
        return x + y

    x = torch.ones(4)
    assert functionalize(function)(x[:2], x[1:3]).tolist() == [3.0, 3.0]
    assert x.tolist() == [2.0, 2.0, 1.0, 1.0]
    x = torch.ones(2)
    assert functionalize(function)(x, x).tolist() == [3.0, 3.0]
    assert x.tolist() == [2.0, 2.0]


def test_what_is_not_written_stays_itself():
    x = torch.ones(2)
    assert functionalize(lambda x: x)(x) is x and x._version == 0
    written = functionalize(lambda x: x.add_(1))(x)
    assert written is not x and written.data_ptr() != x.data_ptr()
    x = torch.ones(2)
    assert functionalize(lambda x: x.resize_(4))(x).shape == x.shape == (4,)
    assert functionalize(lambda number: number)(3) == 3


def test_gradients_flow_into_and_out_of_it():
    def function(x):
        x.mul_(3)
        return x * x

    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    x = leaf * 1
    made = functionalize(function)(x)
    assert type(x.grad_fn).__name__ == "CopyBackwards"
    (made.sum() + x.sum()).backward()
    assert leaf.grad.tolist() == [21.0, 39.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        functionalize(function)(leaf)
    with torch.inference_mode():
        x = torch.ones(2)
        functionalize(function)(x)
    assert x.tolist() == [3.0, 3.0]


def test_other_transforms():
    def function(x):
        x.add_(1)
        return x * 2

    batch = torch.ones(3, 2)
    assert torch.vmap(functionalize(function))(batch).tolist() == [[4.0, 4.0]] * 3
    assert batch.tolist() == [[2.0, 2.0]] * 3
    slope = torch.func.grad(lambda x: functionalize(function)(x * x).sum())
    assert slope(torch.tensor([3.0])).tolist() == [12.0]


def test_names_and_errors():
    def named(x):
        return x

    assert functionalize(named).__name__ == "named"
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        functionalize(named, remove="views")
