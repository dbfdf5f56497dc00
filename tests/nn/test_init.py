"""Starts: the same draws as PyTorch's records, and what they reject."""

import json
from pathlib import Path

import nn_cases
import pytest

import yesca as torch
from yesca import nn
from yesca.nn import init

TABLE = Path(__file__).parents[1] / "fixtures" / "nn.json"
EXPECTED = json.loads(TABLE.read_text(encoding="utf-8"))["starts"]


@pytest.mark.parametrize("text", nn_cases.STARTS)
def test_draws(text):
    torch.manual_seed(11)
    found = eval(text, {"torch": torch, "init": init})
    assert found.flatten().tolist() == pytest.approx(EXPECTED[text], abs=3e-6)


def test_gains():
    names = ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
    gains = [init.calculate_gain(name) for name in names]
    assert gains == pytest.approx([1, 1, 1, 5 / 3, 2**0.5, (2 / 1.0001) ** 0.5, 0.75])
    with pytest.raises(ValueError, match="Unsupported nonlinearity"):
        init.calculate_gain("none")


def test_parameters_are_filled_in_place_without_a_tape():
    weight = nn.Parameter(torch.zeros(2, 2))
    assert init.ones_(weight) is weight
    assert weight.grad_fn is None and weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_generator_of_ones_own():
    first = init.uniform_(torch.empty(3), generator=torch.Generator().manual_seed(4))
    second = init.uniform_(torch.empty(3), generator=torch.Generator().manual_seed(4))
    assert first.tolist() == second.tolist()


def test_errors_and_warnings():
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(torch.empty(3))
    with pytest.raises(ValueError, match="Mode x not supported"):
        init.kaiming_normal_(torch.empty(2, 2), mode="x")
    with pytest.raises(ValueError, match="3, 4, or 5 dimensions"):
        init.dirac_(torch.empty(2))
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.empty(0, 3))
    with pytest.warns(FutureWarning, match="`nn.init.uniform` is now deprecated"):
        init.uniform(torch.empty(1))
