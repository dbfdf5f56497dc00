"""Module: registration, walking, conversion, copying, printing."""

import copy
import pickle

import pytest

import yesca as torch
from yesca import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.zeros(3))
        self.register_buffer("cache", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.layer(x) * self.scale + self.shift


def test_assignment_registers():
    model = Model()
    assert [name for name, _ in model.named_parameters()] == [
        "scale", "layer.weight", "layer.bias",
    ]
    assert [name for name, _ in model.named_buffers()] == ["shift", "cache"]
    assert list(model.state_dict()) == ["scale", "shift", "layer.weight", "layer.bias"]
    model.extra = torch.ones(1)
    assert "extra" not in model.state_dict()


def test_assignment_moves_a_name_between_tables():
    model = Model()
    model.shift = nn.Parameter(torch.ones(3))
    assert "shift" in dict(model.named_parameters()) and "shift" not in dict(model.named_buffers())
    model.layer = None
    assert list(model.children()) == []
    model.cache = torch.ones(1)
    assert "cache" not in model.state_dict()
    del model.cache
    assert not hasattr(model, "cache")


def test_buffer_class_registers():
    module = nn.Module()
    module.kept = nn.Buffer(torch.ones(1))
    module.lost = nn.Buffer(torch.ones(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert isinstance(module.lost, nn.Buffer)


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda m: m.nothing, AttributeError, "'Model' object has no attribute 'nothing'"),
        (lambda m: setattr(m, "scale", 3), TypeError, "cannot assign 'int' as parameter 'scale'"),
        (lambda m: setattr(m, "layer", 3), TypeError, "cannot assign 'int' as child module"),
        (lambda m: setattr(m, "shift", 3), TypeError, "cannot assign 'int' as buffer 'shift'"),
        (lambda m: m.register_buffer("a.b", None), KeyError, 'contain "."'),
        (lambda m: m.register_buffer("layer", None), KeyError, "attribute 'layer' already exists"),
        (lambda m: m.register_parameter("", None), KeyError, "be empty string"),
        (lambda m: m.add_module("x", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.get_submodule("layer.x"), AttributeError, "Linear has no attribute `x`"),
        (lambda m: m.get_parameter("shift"), AttributeError, "`shift` is not an nn.Parameter"),
        (lambda m: m.get_buffer("scale"), AttributeError, "`scale` is not a buffer"),
        (lambda m: m.train(1), ValueError, "training mode is expected to be boolean"),
        (lambda m: m.to(torch.int64), TypeError, "only accepts floating point or complex"),
        (lambda m: nn.Module()(1), NotImplementedError, 'is missing the required "forward"'),
        (lambda m: nn.Module(1), TypeError, "takes 1 positional argument but 2 were given"),
    ],
)
def test_errors(action, error, text):
    with pytest.raises(error) as caught:
        action(Model())
    assert text in str(caught.value)


def test_assignment_before_init():
    class Hasty(nn.Module):
        def __init__(self, value):
            self.value = value

    with pytest.raises(AttributeError, match="cannot assign parameters before Module.__init__"):
        Hasty(nn.Parameter(torch.ones(1)))
    with pytest.raises(AttributeError, match="cannot assign module before Module.__init__"):
        Hasty(nn.ReLU())
    assert Hasty(3).value == 3


def test_walks_name_shared_parts_once():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.Sequential(nn.ReLU(), shared))
    assert [name for name, _ in model.named_modules()] == ["", "0", "1", "1.0"]
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias"]
    every = [name for name, _ in model.named_parameters(remove_duplicate=False, prefix="m")]
    assert every == ["m.0.weight", "m.0.bias", "m.1.1.weight", "m.1.1.bias"]
    assert list(model.named_parameters(recurse=False)) == []
    order = []
    model.apply(lambda module: order.append(type(module).__name__))
    assert order == ["Linear", "ReLU", "Linear", "Sequential", "Sequential"]


def test_reaching_by_dotted_name():
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 1)))
    assert model.get_submodule("0.0") is model[0][0]
    assert model.get_parameter("0.0.bias") is model[0][0].bias
    model.set_submodule("0.0", nn.ReLU())
    assert isinstance(model[0][0], nn.ReLU)


def test_modes_and_gradients():
    model = Model()
    assert model.eval() is model and not model.layer.training
    model.train()
    model(torch.ones(1, 2)).sum().backward()
    model.zero_grad(set_to_none=False)
    assert model.scale.grad.tolist() == [0.0, 0.0, 0.0]
    model.zero_grad()
    assert model.scale.grad is None
    model.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_conversion_keeps_parameters_and_gradients():
    model = Model()
    weight = model.layer.weight
    model(torch.ones(1, 2)).sum().backward()
    gradient = weight.grad
    assert model.double() is model
    assert model.layer.weight is weight and weight.dtype == torch.float64
    assert weight.grad is gradient and gradient.dtype == torch.float64
    assert model.to("cpu", torch.float32).shift.dtype == torch.float32
    assert model.half().scale.dtype == torch.float16
    norm = nn.BatchNorm1d(2).double()
    assert norm.num_batches_tracked.dtype == torch.int64


def test_copies_and_pickles():
    model = Model()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert list(other.state_dict()) == list(model.state_dict())
        assert other.layer.weight is not model.layer.weight
        assert torch.equal(other.layer.weight, model.layer.weight)
        assert isinstance(other.scale, nn.Parameter)
    tied = nn.ModuleList([model.layer, model.layer])
    both = copy.deepcopy(tied)
    assert both[0] is both[1]


def test_printing():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Dropout(0.1)))
    assert repr(model) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Dropout(p=0.1, inplace=False)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"
    assert repr(nn.Parameter(torch.ones(1))).startswith("Parameter containing:\ntensor([1.]")
    assert {"layer", "scale", "shift"} <= set(dir(Model()))


def test_parameters():
    parameter = nn.Parameter(torch.ones(2))
    assert parameter.requires_grad and parameter.is_leaf
    assert isinstance(parameter, torch.Tensor)
    assert not isinstance(torch.ones(1), nn.Parameter)
    with torch.no_grad():
        assert nn.Parameter(torch.ones(1)).requires_grad
    assert not nn.Parameter(torch.ones(1), requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)
    base = torch.zeros(2)
    shared = nn.Parameter(base)
    base[0] = 5.0
    assert shared.tolist() == [5.0, 0.0]


def test_layers_read_a_weight_that_is_no_parameter():
    """Parametrized weights are attributes of another kind; so are those that hooks set."""
    layer, x = nn.Linear(3, 2), torch.ones(1, 3)
    weight = layer.weight.detach() * 2
    del layer.weight
    layer.weight = weight
    with torch.no_grad():
        layer.bias.zero_()
    assert torch.equal(layer(x), x @ weight.t())
    del layer.bias
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'bias'"):
        layer(x)
