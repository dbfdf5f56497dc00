"""Arguments by NumPy's names, required ones, small questions, sequences, old methods."""

import pickle

import pytest

import yesca as torch


def test_numpys_names():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.sum(x, axis=1).tolist() == [3.0, 12.0]
    assert x.mean(axis=0, keepdims=True).shape == (1, 3)
    assert torch.softmax(x, axis=1).shape == (2, 3)
    assert x.max(axis=1, keepdims=True).values.tolist() == [[2.0], [5.0]]
    assert torch.cat([x, x], axis=1).shape == (2, 6)
    assert torch.gather(x, axis=1, index=torch.zeros(2, 1).long()).tolist() == [[0.0], [3.0]]
    assert torch.add(x, x2=1)[0, 0] == 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        torch.sum(x, axes=1)
    with pytest.raises(TypeError, match="axis"):
        torch.sum(x, dim=0, axis=1)


def test_required_arguments():
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "input"'):
        torch.exp()
    with pytest.raises(TypeError, match='missing 2 required positional argument: "dim0", "dim1"'):
        torch.transpose(torch.ones(2, 2))
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        torch.cumsum(torch.ones(2), 0, 1)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        torch.ones(2).cumsum(0, 1)


def test_sizes_by_name():
    assert torch.zeros(size=(2, 3)).shape == (2, 3)
    assert torch.ones(size=[2]).tolist() == [1.0, 1.0]
    assert torch.ones(2).new_zeros(size=(3,)).shape == (3,)


def test_questions():
    x = torch.ones(2, 3)
    assert torch.is_floating_point(x) and not torch.is_complex(x) and torch.is_signed(x)
    assert torch.numel(x) == 6 and torch.is_same_size(x, x + 1)
    assert torch.is_nonzero(torch.tensor([2])) and not torch.tensor(0.0).is_nonzero()
    assert torch.result_type(x.int(), 1.0) == torch.float32
    assert torch.result_type(x.int(), torch.tensor(3)) == torch.int32
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.is_floating_point(3)
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        torch.is_nonzero(x)


def test_sequences():
    assert torch.logspace(0, 2, 3).tolist() == [1.0, 10.0, 100.0]
    assert torch.logspace(0, 4, 3, base=2, dtype=torch.int64).tolist() == [1, 4, 16]
    assert torch.linspace(torch.tensor(1.0), 3, 3).tolist() == [1.0, 2.0, 3.0]
    assert torch.linspace(0, 2j, 3).tolist() == [0, 1j, 2j]
    assert torch.linspace(5, 9, 1).tolist() == [5.0]
    assert torch.arange(0.1, -7.9, -4.0, dtype=torch.int64).tolist() == [0, -4]
    with pytest.raises(RuntimeError, match="0-dimensional start and end tensors"):
        torch.linspace(torch.ones(1), 3, 3)
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.range(0, 2).tolist() == [0.0, 1.0, 2.0]


def test_eye_of_every_dtype():
    for dtype in (torch.bool, torch.uint8, torch.int64, torch.bfloat16, torch.complex64):
        made = torch.eye(2, 3, dtype=dtype)
        assert made.dtype == dtype and made.tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(RuntimeError, match="n must be greater or equal to 0, got -1"):
        torch.eye(-1)


def test_numbers_on_the_left():
    x = torch.tensor([3, 4])
    assert (1 << x).tolist() == [8, 16] and (16 >> x).tolist() == [2, 1]
    assert (5 & x).tolist() == [1, 4] and (1 | x).tolist() == [3, 5] and (1 ^ x).tolist() == [2, 5]
    x <<= 1
    assert x.tolist() == [6, 8]


def test_new():
    x = torch.ones(2, dtype=torch.float64)
    assert x.new([1, 2]).dtype == torch.float64 and x.new(2, 3).shape == (2, 3)
    assert x.new().numel() == 0 and x.new(torch.Size([4])).shape == (4,)
    with pytest.raises(TypeError):
        x.new(torch.ones(2))
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(1, 2).shape == (1, 2)


def test_loops_in_python():
    assert torch.arange(3).apply_(lambda v: v * 2.5).tolist() == [0, 2, 5]
    x = torch.ones(2, 3).t()
    x.map_(torch.arange(2.0), lambda a, b: a + b)
    assert x.tolist() == [[1.0, 2.0]] * 3
    with pytest.raises(RuntimeError, match="Can't call apply_"):
        torch.ones(1, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match="expected torch.FloatTensor for 'other'"):
        torch.ones(1).map_(torch.ones(1).double(), max)


def test_activations_in_place():
    functional = torch.nn.functional
    for name, arguments in (("leaky_relu", (0.1,)), ("elu", ()), ("selu", ()), ("celu", ()),
                            ("hardtanh", ()), ("silu", ()), ("mish", ()), ("relu6", ()),
                            ("hardswish", ()), ("hardsigmoid", ()), ("threshold", (0.0, 2.0))):
        x = torch.tensor([-3.0, 0.5, 7.0])
        function = getattr(functional, name)
        wanted = function(x, *arguments).tolist()
        assert function(x, *arguments, inplace=True) is x and x.tolist() == wanted, name
    x = torch.tensor([-1.0])
    assert torch.selu_(x) is x and functional.leaky_relu_(x, 0.5) is x


@pytest.mark.parametrize("owner, wanted, unwanted", [
    (torch, "abs_ absolute clip concat greater moveaxis multiply relu_ row_stack swapdims",
     "not_there"),
    (torch.Tensor, "abs_ absolute add_ clip_ greater_ moveaxis normal_ uniform_ zero_",
     "relu6 copy_like not_there"),
    (torch.ones(1, 1, dtype=torch.complex64), "abs_ absolute add_ clip_ grad shape zero_",
     "relu6 copy_like not_there"),
], ids=["torch", "class", "tensor"])
def test_what_is_listed_is_there_and_what_is_there_is_listed(owner, wanted, unwanted):
    listed = set(dir(owner))
    assert listed.issuperset(wanted.split())
    assert listed.isdisjoint(unwanted.split())
    assert [name for name in listed if not hasattr(owner, name)] == []


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_sizes_are_required(name):
    with pytest.raises(TypeError, match=rf'^{name}\(\) missing 1 required .* "size"'):
        getattr(torch, name)()
    with pytest.raises(TypeError, match=rf'new_{name}\(\) missing 1 required .* "size"'):
        getattr(torch.ones(2), f"new_{name}")()
    assert getattr(torch, name)(()).shape == getattr(torch, name)(size=()).shape == ()
    with pytest.raises(TypeError, match="argument 'layout' must be torch.layout, not str"):
        getattr(torch, name)(2, layout="foo")


@pytest.mark.parametrize("name, argument", [
    ("reshape", "shape"), ("expand", "size"), ("permute", "dims"), ("repeat", "repeats"),
    ("tile", "dims"), ("flip", "dims"), ("view", "")])
def test_sizes_that_are_spread_are_required(name, argument):
    with pytest.raises(TypeError, match=f'missing 1 required .* "{argument}"' if argument else
                       "invalid combination of arguments"):
        getattr(torch.ones(2, 3), name)()
    assert getattr(torch.ones(()), name)(()).shape == ()


def test_there_is_one_layout():
    assert torch.ones(2).layout is torch.strided
    assert isinstance(torch.strided, torch.layout)
    assert torch.zeros(2, layout=torch.ones(2).layout).tolist() == [0.0, 0.0]
    assert pickle.loads(pickle.dumps(torch.ones(2).layout)) is torch.strided
