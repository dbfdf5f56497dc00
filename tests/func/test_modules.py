"""`functional_call` and `stack_module_state`."""

import pytest

import yesca as torch
from yesca.func import functional_call, grad, stack_module_state, vmap


def linear():
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(6.0).reshape(2, 3))
        layer.bias.copy_(torch.tensor([1.0, 2.0]))
    return layer


X = torch.arange(6.0).reshape(2, 3)


def test_other_parameters():
    layer = linear()
    own = layer.weight
    assert functional_call(layer, {"weight": torch.ones(2, 3)}, X[0]).tolist() == [4.0, 5.0]
    assert layer.weight is own
    with pytest.raises(RuntimeError, match="Missing key"):
        functional_call(layer, {"weight": own}, X, strict=True)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        functional_call(layer, ({"weight": own}, {"weight": own}), X)


def test_attributes_and_names_of_no_module():
    class Shifted(torch.nn.Module):
        scale = torch.tensor(2.0)

        def __init__(self):
            super().__init__()
            self.shift = torch.ones(2)
            self.kind = "none"

        def forward(self, x):
            return x * self.scale + self.shift + (self.more if hasattr(self, "more") else 0)

    layer = Shifted()
    own = layer.shift
    others = {"shift": torch.zeros(2), "scale": torch.tensor(3.0), "more": torch.tensor(5.0)}
    assert functional_call(layer, others, torch.ones(2)).tolist() == [8.0, 8.0]
    assert layer.shift is own and "scale" not in vars(layer) and not hasattr(layer, "more")
    assert layer(torch.ones(2)).tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'shift'\.$"):
        functional_call(layer, {"shift": own}, X, strict=True)
    for name, value, message in (("shift", 3, "3 is not an instance of torch.Tensor"),
                                 ("kind", own, "attribute `kind`: none is not an instance of")):
        with pytest.raises(TypeError, match=message):
            functional_call(layer, {"more": own, name: value}, X)
        assert not hasattr(layer, "more")
    with pytest.raises(AttributeError, match="Shifted has no attribute `inner`"):
        functional_call(layer, {"inner.weight": own}, X)
    with pytest.raises(KeyError, match="be empty string"):
        functional_call(layer, {"": own}, X)


def test_tied_parameters():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(1))
            self.b = self.a

        def forward(self, x):
            return self.a * x + self.b

    module = Tied()
    assert functional_call(module, {"a": torch.tensor([3.0])}, X[0, 2]).item() == 9.0
    loose = functional_call(module, {"a": torch.tensor([3.0])}, X[0, 2], tie_weights=False)
    assert loose.item() == 7.0


def test_gradients_of_each_example():
    layer = linear()
    parameters = {k: v.detach() for k, v in layer.named_parameters()}

    def loss(p, x):
        return (functional_call(layer, p, (x,)) ** 2).sum()

    made = vmap(grad(loss), in_dims=(None, 0))(parameters, X)
    for k, x in enumerate(X):
        expected = grad(loss)(parameters, x)
        for name in parameters:
            assert made[name][k].tolist() == expected[name].tolist()


def test_ensembles():
    layers = [linear(), linear()]
    with torch.no_grad():
        layers[1].weight.mul_(2)
    parameters, buffers = stack_module_state(layers)
    assert parameters["weight"].shape == (2, 2, 3)
    assert parameters["weight"].requires_grad
    made = vmap(lambda p, b, x: functional_call(layers[0], (p, b), (x,)), in_dims=(0, 0, None))(
        parameters, buffers, X)
    assert made.tolist() == torch.stack([layer(X) for layer in layers]).tolist()
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])
