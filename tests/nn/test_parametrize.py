"""Parametrizations: computing a parameter from others."""

import copy
import pickle

import pytest

import yesca as torch
from yesca import nn
from yesca.nn.utils import parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, a):
        return a.triu()


class RankOne(nn.Module):
    def forward(self, x, y):
        return x.unsqueeze(-1) @ y.unsqueeze(-2)

    def right_inverse(self, z):
        u, s, v = torch.linalg.svd(z, full_matrices=False)
        root = s[0].sqrt().unsqueeze(-1)
        return u[..., :, 0] * root, v[..., 0, :] * root


class Made(nn.Module):
    """A parametrization of any functions."""

    def __init__(self, forward, inverse=None):
        super().__init__()
        self.made = forward
        if inverse is not None:
            self.right_inverse = inverse

    def forward(self, *args):
        return self.made(*args)


def register(*parametrizations, size=3, name="weight", **options):
    layer = nn.Linear(size, size)
    for each in parametrizations:
        parametrize.register_parametrization(layer, name, each, **options)
    return layer


def test_a_parametrized_weight():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert torch.equal(layer.weight, layer.weight.T)
    assert layer.parametrizations.weight.original is weight
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert repr(layer) == (
        "ParametrizedLinear(\n  in_features=3, out_features=3, bias=True\n"
        "  (parametrizations): ModuleDict(\n    (weight): ParametrizationList(\n"
        "      (0): Symmetric()\n    )\n  )\n)")


def test_learning_goes_through_it():
    layer = register(Symmetric())
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.rand(2, 3)
    assert torch.allclose(layer(x), x @ layer.weight.T + layer.bias)
    before = layer.weight.detach().clone()
    layer(x).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    optimizer.step()
    assert not torch.equal(layer.weight, before)
    assert torch.equal(layer.weight, layer.weight.T)


def test_assigning():
    layer = register(Symmetric())
    original = layer.parametrizations.weight.original
    layer.weight = torch.eye(3)
    assert torch.equal(layer.weight, torch.eye(3))
    assert layer.parametrizations.weight.original is original
    with pytest.raises(KeyError, match="attribute 'weight' already exists"):
        layer.weight = nn.Parameter(torch.eye(3))
    parametrize.register_parametrization(layer, "weight", nn.Identity())
    with pytest.raises(RuntimeError, match="parametrization Identity does not implement right_inv"):
        layer.weight = torch.eye(3)


def test_several_originals():
    layer = register(RankOne())
    assert list(layer.state_dict()) == [
        "bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert int(torch.linalg.matrix_rank(layer.weight)) == 1
    layer.weight = torch.ones(3, 3)
    assert torch.allclose(layer.weight, torch.ones(3, 3))
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    assert torch.allclose(layer.weight, torch.ones(3, 3))


def test_removing():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    before = weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Made(lambda x: x + 1))
    parametrize.register_parametrization(layer, "bias", Made(lambda x: x + 1))
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight is weight and torch.equal(weight, before)
    assert type(layer).__name__ == "ParametrizedLinear"  # because of the bias
    parametrize.register_parametrization(layer, "weight", Made(lambda x: x + 1))
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is weight and torch.equal(weight, before + 1) and weight.is_leaf
    parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and "parametrizations" not in layer._modules
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


def test_buffers():
    norm = nn.BatchNorm1d(2)
    parametrize.register_parametrization(norm, "running_mean", Made(lambda x: x + 1))
    assert norm.running_mean.tolist() == [1.0, 1.0]
    assert "parametrizations.running_mean.original" in dict(norm.named_buffers())
    parametrize.remove_parametrizations(norm, "running_mean")
    assert norm._buffers["running_mean"].tolist() == [1.0, 1.0]


def test_copies():
    layer = register(Symmetric())
    copied = copy.deepcopy(layer)
    assert torch.equal(copied.weight, layer.weight) and type(copied) is type(layer)
    assert copied.parametrizations.weight.original is not layer.parametrizations.weight.original
    with pytest.raises(RuntimeError, match="Serialization of parametrized modules is only supp"):
        pickle.dumps(layer)
    other = register(Symmetric())
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.weight, layer.weight)


def test_caching():
    calls = []
    layer = register(Made(lambda x: calls.append(1) or x * 2))
    calls.clear()
    with parametrize.cached():
        with parametrize.cached():
            assert layer.weight is layer.weight
        assert layer.weight is layer.weight and len(calls) == 1
    assert layer.weight is not layer.weight and len(calls) == 3


def test_mode_follows_the_module():
    parametrization = Symmetric()
    parametrize.register_parametrization(nn.Linear(3, 3).eval(), "weight", parametrization)
    assert not parametrization.training


@pytest.mark.parametrize("text, message", [
    ("lambda x: 3", "A parametrization must return a tensor. Got int."),
    ("lambda x: x.double()", "may not change the dtype of the tensor, unless "),
    ("lambda x: x[:1]", "may not change the shape of the tensor, unless "),
    ("lambda x: x, lambda y: 3", "must return a "),
    ("lambda x: x, lambda y: y.half()", "dtype"),
])
def test_what_is_refused(text, message):
    functions = eval(f"({text},)")
    for before in ((), (nn.Identity(),)):
        layer = register(*before)
        with pytest.raises(ValueError, match=message):
            parametrize.register_parametrization(layer, "weight", Made(*functions))
        assert layer.weight.shape == (3, 3) and layer.weight.dtype == torch.float32
        assert parametrize.is_parametrized(layer) == bool(before)


def test_more_refusals():
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized "):
        register(nn.Identity(), name="other")
    with pytest.raises(ValueError, match="ParametrizationList requires one or more modules."):
        parametrize.ParametrizationList([], torch.ones(1))
    layer = register(RankOne())
    layer.parametrizations.weight[0].right_inverse = lambda z: (z,)
    with pytest.raises(ValueError, match="a sequence of tensors of length 2. Got a sequence of l"):
        layer.weight = torch.eye(3)


def test_unsafe_ones_may_change_shape_and_dtype():
    layer = register(Made(lambda x: x[:1].double()), unsafe=True)
    assert layer.weight.shape == (1, 3) and layer.weight.dtype == torch.float64
    assert layer.parametrizations.weight.unsafe


@pytest.mark.parametrize("kind", [Symmetric, RankOne])
def test_transfer(kind):
    source, target = register(kind()), nn.Linear(3, 3)
    assert parametrize.transfer_parametrizations_and_params(source, target) is target
    assert torch.equal(source.weight, target.weight)
    name = "original" if kind is Symmetric else "original1"
    held = (getattr(m.parametrizations.weight, name) for m in (source, target))
    assert next(held) is next(held)
    bare = nn.Module()
    parametrize.transfer_parametrizations_and_params(source, bare, "weight")
    assert torch.equal(source.weight, bare.weight)
    plain = nn.Linear(3, 3)
    assert parametrize.transfer_parametrizations_and_params(nn.Linear(3, 3), plain) is plain
    assert type(plain) is nn.Linear


def test_functional_calls():
    layer = register(Symmetric())
    given = {"parametrizations.weight.original": torch.eye(3), "bias": torch.zeros(3)}
    x = torch.rand(2, 3)
    assert torch.equal(torch.func.functional_call(layer, given, (x,)), x)
    assert not torch.equal(layer(x), x)


@pytest.mark.parametrize("layer, name, shape", [
    ("nn.Conv2d(3, 3, 3)", "weight", (1, 3, 4, 4)),
    ("nn.LSTM(3, 3, 2)", "weight_hh_l1", (4, 3)),
    ("nn.GRU(3, 3)", "bias_ih_l0", (4, 3)),
    ("nn.LayerNorm(3)", "weight", (2, 3)),
    ("nn.MultiheadAttention(4, 2)", "in_proj_weight", (3, 4)),
    ("nn.Embedding(5, 3)", "weight", None),
    ("nn.Bilinear(3, 3, 2)", "weight", (2, 3)),
])
def test_layers_use_the_computed_tensor(layer, name, shape):
    layer = eval(layer)
    x = torch.tensor([1, 2]) if shape is None else torch.rand(shape)
    args = {nn.MultiheadAttention: 3, nn.Bilinear: 2}.get(type(layer), 1)

    def run():
        result = layer(*[x] * args)
        return result[0] if isinstance(result, tuple) else result

    with torch.no_grad():
        getattr(layer, name).mul_(2)
        doubled = run()
        getattr(layer, name).div_(2)
    parametrize.register_parametrization(layer, name, Made(lambda x: x * 2))
    assert torch.allclose(run(), doubled)
