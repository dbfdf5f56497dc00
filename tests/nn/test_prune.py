"""Pruning: masks, their combinations, and removing them."""

import copy
import pickle

import pytest

import yesca as torch
from yesca import nn
from yesca.nn.utils import prune


def made(text="Linear(3, 4)"):
    torch.manual_seed(1)
    return eval("nn." + text)


#: What PyTorch leaves of each layer for seed 1: the mask, row by row.
MASKS = {
    ("Linear(3, 4)", "random_unstructured(0.5)"): "010011111000",
    ("Linear(3, 4)", "random_unstructured(3)"): "110111111100",
    ("Linear(3, 4)", "l1_unstructured(0.3)"): "110111110010",
    ("Linear(3, 4)", "l1_unstructured(0)"): "111111111111",
    ("Linear(3, 4)", "random_structured(0.5, 0)"): "000000111111",
    ("Linear(3, 4)", "random_structured(1, -1)"): "101101101101",
    ("Linear(3, 4)", "ln_structured(2, 2, 0)"): "111111000000",
    ("Linear(3, 4)", "ln_structured(0.5, 1, 1)"): "010010010010",
    ("Linear(3, 4)", "ln_structured(1, float('inf'), -1)"): "011011011011",
    ("Conv2d(2, 4, 2)", "random_unstructured(0.5)"): "01010100101011110100110010001110",
    ("Conv2d(2, 4, 2)", "random_unstructured(3)"): "11110111111111111101111111101111",
    ("Conv2d(2, 4, 2)", "l1_unstructured(0.3)"): "11011111001011000011110110111111",
    ("Conv2d(2, 4, 2)", "l1_unstructured(0)"): "11111111111111111111111111111111",
    ("Conv2d(2, 4, 2)", "random_structured(0.5, 0)"): "11111111000000001111111100000000",
    ("Conv2d(2, 4, 2)", "random_structured(1, -1)"): "10101010101010101010101010101010",
    ("Conv2d(2, 4, 2)", "ln_structured(2, 2, 0)"): "11111111000000000000000011111111",
    ("Conv2d(2, 4, 2)", "ln_structured(0.5, 1, 1)"): "00001111000011110000111100001111",
    ("Conv2d(2, 4, 2)", "ln_structured(1, float('inf'), -1)"): "10101010101010101010101010101010",
}


@pytest.mark.parametrize("text, call", MASKS)
def test_masks(text, call):
    layer = made(text)
    before = layer.weight.detach().clone()
    name, _, rest = call.partition("(")
    assert eval(f"prune.{name}(layer, 'weight', {rest}") is layer
    mask = "".join(str(int(x)) for x in layer.weight_mask.flatten().tolist())
    assert mask == MASKS[text, call]
    assert torch.equal(layer.weight, before * layer.weight_mask)


def test_what_pruning_registers():
    layer = made()
    weight = layer.weight
    prune.identity(layer, "weight")
    assert layer.weight_orig is weight
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    assert [name for name, _ in layer.named_buffers()] == ["weight_mask"]
    assert type(layer.weight) is torch.Tensor and layer.weight.grad_fn is not None
    assert prune.is_pruned(layer) and prune.is_pruned(nn.Sequential(layer))
    assert not prune.is_pruned(made())


def test_what_is_pruned_does_not_learn():
    layer = prune.l1_unstructured(made(), "weight", amount=5)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer(torch.rand(2, 3)).sum().backward()
    assert torch.equal(layer.weight_orig.grad == 0, layer.weight_mask == 0)
    optimizer.step()
    layer(torch.rand(2, 3))
    assert int((layer.weight == 0).sum()) == 5


def test_pruning_again():
    layer = prune.l1_unstructured(made(), "weight", amount=3)
    first = layer.weight_mask.clone()
    prune.random_unstructured(layer, "weight", amount=0.5)
    second = layer.weight_mask.clone()
    assert int(first.sum()) == 9 and int(second.sum()) == 5  # round(4.5) of 9 go
    assert bool((second <= first).all())
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    (container,) = layer._forward_pre_hooks.values()
    assert [type(method).__name__ for method in container] == [
        "L1Unstructured", "RandomUnstructured", "LnStructured"]
    assert len(container) == 3 and isinstance(container[1], prune.RandomUnstructured)


def test_a_refused_pruning_changes_nothing():
    layer = made()
    for _ in range(2):
        with pytest.raises(ValueError, match="amount=100 should be smaller than the number of par"):
            prune.l1_unstructured(layer, "weight", amount=100)
        assert prune.is_pruned(layer) == hasattr(layer, "weight_mask")
        prune.l1_unstructured(layer, "weight", amount=1)
    assert int(layer.weight_mask.sum()) == 10


def test_removing():
    layer = prune.l1_unstructured(made(), "weight", amount=4)
    weight, original = layer.weight.detach().clone(), layer.weight_orig
    assert prune.remove(layer, "weight") is layer
    assert layer.weight is original and torch.equal(layer.weight, weight)
    assert list(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
    with pytest.raises(ValueError, match="Parameter 'weight' of module Linear.* has to be pruned"):
        prune.remove(layer, "weight")


def test_scores_stand_for_values():
    layer = prune.l1_unstructured(
        made(), "weight", amount=5, importance_scores=torch.arange(12.0).view(4, 3))
    assert layer.weight_mask.flatten().tolist() == [0.0] * 5 + [1.0] * 7
    with pytest.raises(AssertionError, match="importance_scores should have the same shape as par"):
        prune.l1_unstructured(made(), "weight", amount=1, importance_scores=torch.ones(2))


def test_masks_of_programs():
    layer = made()
    bias = layer.bias.detach().clone()
    prune.custom_from_mask(layer, "bias", torch.tensor([1, 0, 1, 0]))
    assert torch.equal(layer.bias, bias * torch.tensor([1.0, 0.0, 1.0, 0.0]))
    with pytest.raises(AssertionError, match="must match self.mask shape"):
        prune.custom_from_mask(made(), "weight", torch.ones(2))


def test_across_modules():
    a, b = made(), made("Conv2d(2, 4, 2)")
    pairs = [(a, "weight"), (b, "weight"), (b, "bias")]
    values = [getattr(module, name).detach().clone() for module, name in pairs]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.25)
    masks = [getattr(module, name + "_mask") for module, name in pairs]
    kept = torch.cat([v[m == 1].abs().flatten() for v, m in zip(values, masks, strict=True)])
    gone = torch.cat([v[m == 0].abs().flatten() for v, m in zip(values, masks, strict=True)])
    assert gone.numel() == 12 and float(gone.max()) < float(kept.min())
    prune.global_unstructured(
        pairs, prune.L1Unstructured, {(a, "weight"): torch.zeros(4, 3)}, amount=0.25)
    left = sum(int((getattr(module, name) != 0).sum()) for module, name in pairs)
    assert left == 27  # of 36, a quarter
    with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE supported for the `prun'):
        prune.global_unstructured(pairs, prune.LnStructured, amount=0.4, n=1)
    with pytest.raises(TypeError, match="parameters is not an Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured, amount=0.4)
    with pytest.raises(TypeError, match="importance_scores must be of type dict"):
        prune.global_unstructured(pairs, prune.L1Unstructured, [], amount=0.4)


def test_tensors():
    method, x = prune.L1Unstructured(amount=1), torch.tensor([1.0, -3.0, 2.0])
    assert method.prune(x).tolist() == [0.0, -3.0, 2.0]
    # What a mask has pruned counts, as it does in PyTorch: only containers look at the rest.
    assert method.prune(x, default_mask=torch.tensor([0.0, 1.0, 1.0])).tolist() == [0.0, -3.0, 2.0]
    assert method.prune(x, importance_scores=torch.tensor([3.0, 2.0, 1.0]))[2] == 0


@pytest.mark.parametrize("call, error, message", [
    ("l1_unstructured(made(), 'weight', 1.5)", ValueError,
     "amount=1.5 should either be a float in the range"),
    ("l1_unstructured(made(), 'weight', -1)", ValueError, "or a non-negative integer"),
    ("random_structured(made(), 'weight', 'x', 0)", TypeError,
     "Invalid type for amount: x. Must be int or float."),
    ("ln_structured(made(), 'bias', 1, 2, 0)", ValueError,
     "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape"),
    ("ln_structured(made(), 'weight', 1, 2, 5)", IndexError,
     r"Invalid index 5 for tensor of size torch.Size\(\[4, 3\]\)"),
    ("l1_unstructured(made(), 'w', 1)", AttributeError, "object has no attribute 'w'"),
    ("BasePruningMethod()", TypeError, "abstract"),
    ("PruningContainer(3)", AttributeError, "_tensor_name"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        eval("prune." + call)


def test_refusals_of_containers():
    first, second = prune.L1Unstructured(1), prune.L1Unstructured(1)
    first._tensor_name, second._tensor_name = "a", "b"
    container = prune.PruningContainer(first)
    with pytest.raises(ValueError, match="Can only add pruning methods acting on the parameter na"):
        container.add_pruning_method(second)
    with pytest.raises(TypeError, match="is not a BasePruningMethod subclass"):
        container.add_pruning_method(3)


class EverySecond(prune.BasePruningMethod):
    """Prunes every second row."""

    PRUNING_TYPE = "structured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask[::2] = 0
        return mask


def test_methods_of_programs():
    layer = made()
    EverySecond.apply(layer, "weight")
    assert layer.weight_mask.sum(1).tolist() == [0.0, 3.0, 0.0, 3.0]
    with pytest.raises(AttributeError, match="need to have the attribute `dim` defined"):
        EverySecond.apply(layer, "weight")
    EverySecond.dim = 0
    EverySecond.apply(layer, "weight")
    assert layer.weight_mask.sum(1).tolist() == [0.0, 0.0, 0.0, 3.0]
    EverySecond.PRUNING_TYPE = "other"
    with pytest.raises(ValueError, match="Unrecognized PRUNING_TYPE other"):
        EverySecond.apply(layer, "weight")


def test_copies():
    layer = prune.l1_unstructured(made(), "weight", amount=2)
    with pytest.raises(RuntimeError, match="explicitly by the user"):
        copy.deepcopy(layer)
    with torch.no_grad():
        layer(torch.ones(1, 3))  # now the weight is a leaf
    copied = pickle.loads(pickle.dumps(copy.deepcopy(layer)))
    assert prune.is_pruned(copied) and torch.equal(copied.weight, layer.weight)
    other = prune.identity(made(), "weight")
    other.load_state_dict(layer.state_dict())
    x = torch.rand(2, 3)
    assert torch.equal(other(x), layer(x))
