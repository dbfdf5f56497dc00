"""Lazy modules: what they are before, at and after their first call."""

import copy
import io
import pickle

import pytest

import yesca as torch
from yesca import nn
from yesca.nn.parameter import is_lazy

CASES = {
    "LazyLinear(3)": ("Linear(2, 3)", (4, 2)),
    "LazyLinear(3, bias=False)": ("Linear(2, 3, bias=False)", (4, 2)),
    "LazyConv1d(4, 3, groups=2)": ("Conv1d(6, 4, 3, groups=2)", (2, 6, 5)),
    "LazyConv2d(4, 3, 2, bias=False)": ("Conv2d(6, 4, 3, 2, bias=False)", (6, 5, 5)),
    "LazyConv3d(4, 2, padding_mode='circular')": (
        "Conv3d(3, 4, 2, padding_mode='circular')", (1, 3, 3, 3, 3)),
    "LazyConvTranspose1d(4, 3)": ("ConvTranspose1d(6, 4, 3)", (2, 6, 5)),
    "LazyConvTranspose2d(4, 3, 2, 1, 1, 2)": (
        "ConvTranspose2d(6, 4, 3, 2, 1, 1, 2)", (1, 6, 4, 4)),
    "LazyConvTranspose3d(4, 2)": ("ConvTranspose3d(3, 4, 2)", (3, 2, 2, 2)),
    "LazyBatchNorm1d()": ("BatchNorm1d(3)", (2, 3)),
    "LazyBatchNorm2d(affine=False)": ("BatchNorm2d(3, affine=False)", (2, 3, 2, 2)),
    "LazyBatchNorm3d(bias=False)": ("BatchNorm3d(3, bias=False)", (2, 3, 2, 2, 2)),
    "LazyInstanceNorm1d()": (
        "InstanceNorm1d(3, affine=True, track_running_stats=True)", (2, 3, 4)),
    "LazyInstanceNorm2d(affine=False)": (
        "InstanceNorm2d(3, track_running_stats=True)", (2, 3, 2, 2)),
    "LazyInstanceNorm3d(track_running_stats=False)": (
        "InstanceNorm3d(3, affine=True)", (2, 3, 2, 2, 2)),
}
USED = ("Attempted to use an uninitialized parameter in .* explicitly manipulating "
        "`torch.nn.parameter.Uninitialized{}` objects")


@pytest.mark.parametrize("lazy", CASES)
def test_first_call_makes_the_ordinary_layer(lazy):
    ordinary, shape = CASES[lazy]
    x = torch.rand(shape)
    made = eval("nn." + lazy)
    torch.manual_seed(5)
    result = made(x)
    torch.manual_seed(5)
    wanted = eval("nn." + ordinary)
    assert torch.equal(result, wanted(x))
    assert type(made) is type(wanted) and repr(made) == repr(wanted)
    assert list(made.state_dict()) == list(wanted.state_dict())
    for ours, theirs in zip(made.state_dict().values(), wanted.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)
    assert made.__dict__.keys() == wanted.__dict__.keys()
    assert not made._forward_pre_hooks and not made._load_state_dict_pre_hooks
    for value in (*made.parameters(), *made.buffers()):
        assert type(value) in (nn.Parameter, torch.Tensor)


@pytest.mark.parametrize("text, shown", [
    ("LazyLinear(3)", "LazyLinear(in_features=0, out_features=3, bias=True)"),
    ("LazyConv2d(3, 2, groups=2)",
     "LazyConv2d(0, 3, kernel_size=(2, 2), stride=(1, 1), groups=2)"),
    ("LazyBatchNorm2d()", "LazyBatchNorm2d(0, eps=1e-05, momentum=0.1, affine=True, bias=True, "
                          "track_running_stats=True)"),
])
def test_before(text, shown):
    if "groups" in text:
        with pytest.raises(ValueError, match="out_channels must be divisible by groups"):
            nn.Conv2d(2, 3, 2, groups=2)  # the lazy one says so only when it is called
    layer = eval("nn." + text)
    assert repr(layer) == shown
    assert layer.has_uninitialized_params()
    assert all(map(is_lazy, layer.parameters()))
    assert repr(layer.weight) == "<UninitializedParameter>"
    assert layer.state_dict()["weight"] is layer.weight


def test_buffers_are_held_open_too():
    norm = nn.LazyBatchNorm1d()
    assert list(norm.state_dict()) == [
        "weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert repr(norm.running_mean) == "<UninitializedBuffer>"
    assert isinstance(norm.running_mean, nn.Buffer)
    with pytest.raises(ValueError, match=USED.format("Buffer")):
        norm.running_mean + 1


def test_moves_and_casts_before_the_first_call():
    layer = nn.LazyLinear(3).to(torch.float64)
    assert is_lazy(layer.weight) and layer.weight.dtype == torch.float64
    layer(torch.zeros(1, 2, dtype=torch.float64))
    assert layer.weight.dtype == torch.float64
    assert nn.LazyLinear(3).half().weight.dtype == torch.float16
    assert nn.LazyLinear(3, dtype=torch.float64, device="meta").weight.is_meta
    assert nn.LazyLinear(3).zero_grad() is None


@pytest.mark.parametrize("use", [
    "weight + 1", "torch.add(weight, 1)", "weight.numel()", "weight.detach()", "weight.dim()",
    "torch.empty_like(weight)", "nn.init.zeros_(weight)", "layer.bfloat16()",
    "layer.requires_grad_(False)", "nn.utils.parameters_to_vector([weight])",
])
def test_no_function_takes_an_uninitialised_parameter(use):
    layer = nn.LazyLinear(3)
    with pytest.raises(ValueError, match=USED.format("Parameter")):
        eval(use, {"torch": torch, "nn": nn, "layer": layer, "weight": layer.weight})


def test_attributes_of_an_uninitialised_parameter():
    layer = nn.LazyLinear(3)
    weight = layer.weight
    assert (weight.dtype, str(weight.device), weight.requires_grad) == (torch.float32, "cpu", True)
    assert weight.grad is None and weight.is_leaf and weight.size() == (0,)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        weight.shape
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        layer.share_memory()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()  # holds them: the same objects later


def test_an_optimizer_made_before_goes_on_with_the_same_parameters():
    layer = nn.LazyLinear(1, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    layer(torch.ones(1, 2)).sum().backward()
    before = layer.weight.detach().clone()
    optimizer.step()
    assert torch.allclose(layer.weight, before - 0.5)


def test_copies():
    layer = nn.LazyLinear(3, dtype=torch.float64)
    copied = copy.deepcopy(layer)
    assert is_lazy(copied.weight) and copied.weight is not layer.weight
    assert copied.weight.dtype == torch.float64
    loaded = pickle.loads(pickle.dumps(layer))
    assert repr(loaded) == repr(layer) and is_lazy(loaded.weight)
    assert loaded.weight.dtype == torch.float32  # as in PyTorch: a pickle keeps no dtype
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    assert is_lazy(torch.load(file, weights_only=False)["bias"])


@pytest.mark.parametrize("assign", [False, True])
def test_loading_gives_shapes(assign):
    source, layer = nn.Linear(2, 3), nn.LazyLinear(3)
    result = layer.load_state_dict(source.state_dict(), assign=assign)
    assert repr(result) == "<All keys matched successfully>"
    assert type(layer) is nn.LazyLinear and not layer.has_uninitialized_params()
    assert torch.equal(layer.weight, source.weight) and layer.in_features == 0
    x = torch.rand(4, 2)
    assert torch.equal(layer(x), source(x))
    assert type(layer) is nn.Linear and layer.in_features == 2


def test_states_without_shapes():
    assert not nn.LazyLinear(3).load_state_dict(nn.LazyLinear(4).state_dict()).missing_keys
    with pytest.raises(RuntimeError, match="trying to load an uninitialized parameter into an "):
        nn.Linear(2, 3).load_state_dict(nn.LazyLinear(3).state_dict())


def test_first_inputs_that_do_not_fit():
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to "
                                           r"LazyConv2d, but got input of size: torch.Size\(\[2"):
        nn.LazyConv2d(3, 2)(torch.ones(2, 2))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 2, groups=2)(torch.ones(1, 3, 4, 4))
    with pytest.raises(ValueError, match="expected 4D input"):
        nn.LazyBatchNorm2d()(torch.ones(2, 2))


class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.UninitializedParameter()

    def forward(self, x, *, by=1):
        return x * self.scale * by


def test_classes_of_programs():
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for S"):
        Scale()(torch.ones(2))

    class Empty(Scale):
        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="module Empty has not been fully initialized"):
        Empty()(torch.ones(2))

    class Ones(Scale):
        def initialize_parameters(self, x, *, by=1):
            self.scale.materialize(x.shape, dtype=torch.float64)
            nn.init.constant_(self.scale, by)

    made = Ones()
    assert made(torch.ones(2), by=3).tolist() == [9.0, 9.0]
    assert type(made) is Ones and made.scale.dtype == torch.float64
    assert made(torch.ones(2)).tolist() == [3.0, 3.0]


def test_a_whole_model():
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert model(torch.rand(2, 3, 5, 5)).shape == (2, 2)
    assert [type(m).__name__ for m in model] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert sum(p.numel() for p in model.parameters()) == 112 + 8 + 74
