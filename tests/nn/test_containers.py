"""Sequential, lists and dictionaries of modules and parameters."""

import pytest

import yesca as torch
from yesca import nn


def names(container):
    return [type(module).__name__ for module in container]


def test_sequential_edits():
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert names(model[1:]) == ["Tanh", "Sigmoid"] and isinstance(model[-1], nn.Sigmoid)
    model.append(nn.ELU()).insert(1, nn.CELU())
    assert names(model) == ["ReLU", "CELU", "Tanh", "Sigmoid", "ELU"]
    del model[0]
    assert isinstance(model.pop(0), nn.CELU)
    assert [name for name, _ in model.named_children()] == ["0", "1", "2"]
    model[0] = nn.GLU()
    model += nn.Sequential(nn.ReLU())
    assert names(model) == ["GLU", "Sigmoid", "ELU", "ReLU"]
    assert names(model[:1] + model[1:2]) == ["GLU", "Sigmoid"]
    assert len(2 * model) == 8
    model *= 2
    assert len(model) == 8
    with pytest.raises(IndexError, match="index 9 is out of range"):
        model[9]
    with pytest.raises(ValueError, match="supports only objects of Sequential class"):
        model + 3
    with pytest.raises(ValueError, match="Non-positive multiplication factor"):
        model * 0


def test_sequential_runs_in_order():
    model = nn.Sequential(nn.Flatten(), nn.Identity(), nn.Unflatten(1, (2, 2)))
    assert model(torch.ones(3, 4)).shape == (3, 2, 2)


def test_module_list():
    layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)] + [nn.ReLU()])
    assert repr(layers) == (
        "ModuleList(\n"
        "  (0-2): 3 x Linear(in_features=1, out_features=1, bias=True)\n"
        "  (3): ReLU()\n"
        ")"
    )
    layers.insert(0, nn.Tanh())
    layers += [nn.ELU()]
    assert names(layers) == ["Tanh", "Linear", "Linear", "Linear", "ReLU", "ELU"]
    assert names(layers[-2:]) == ["ReLU", "ELU"]
    layers.pop(0)
    assert [name for name, _ in layers.named_parameters()][:2] == ["0.weight", "0.bias"]
    with pytest.raises(NotImplementedError, match='is missing the required "forward"'):
        layers(1)


def test_module_dict():
    layers = nn.ModuleDict({"a": nn.ReLU()})
    layers["b"] = nn.Tanh()
    layers.update([("c", nn.ELU())])
    assert list(layers) == ["a", "b", "c"] and "b" in layers
    assert isinstance(layers.pop("a"), nn.ReLU) and len(layers) == 2
    with pytest.raises(ValueError, match="has length 3; 2 is required"):
        nn.ModuleDict([("a", 1, 2)])


def test_parameter_list():
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(1, 3)), "text"])
    assert isinstance(values[0], nn.Parameter) and values[2] == "text"
    assert [name for name, _ in values.named_parameters()] == ["0", "1"]
    assert repr(values) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2]\n"
        "    (1): Parameter containing: [torch.float32 of size 1x3]\n"
        "    (2): Object of type: str\n"
        ")"
    )
    values += [torch.zeros(1)]
    assert len(values[1:]) == 3


def test_parameter_dict():
    values = nn.ParameterDict({"b": torch.ones(2), "a": torch.ones(1)})
    assert list(values) == ["a", "b"]
    assert values.get("c") is None and values.setdefault("c", torch.ones(1)).requires_grad
    merged = values | nn.ParameterDict({"d": torch.ones(1)})
    assert list(merged) == ["a", "b", "c", "d"] and len(values) == 3
    assert values.popitem()[0] == "c"
    with pytest.raises(TypeError, match="not a string"):
        nn.ParameterDict({1: torch.ones(1)})
