"""Functions against PyTorch's records, with gradients; and what they warn about and reject."""

import json
from pathlib import Path

import nn_cases
import pytest

import yesca as torch
from yesca.nn import functional as F

TABLE = Path(__file__).parents[1] / "fixtures" / "nn.json"
EXPECTED = json.loads(TABLE.read_text(encoding="utf-8"))["functions"]


@pytest.mark.parametrize("text", nn_cases.FUNCTIONS)
def test_results_and_gradients(text):
    found, expected = nn_cases.run_function(torch, F, text), EXPECTED[text]
    assert found["shape"] == expected["shape"]
    assert found["values"] == pytest.approx(expected["values"], abs=2e-6)
    if expected["gradient"] is not None:
        assert found["gradient"] == pytest.approx(expected["gradient"], abs=2e-6)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: F.dropout(x, p=2.0), ValueError, "has to be between 0 and 1"),
        (lambda x: F.hardtanh(x, 2.0, 1.0), ValueError, "min_val cannot be greater"),
        (lambda x: F.l1_loss(x, x, reduction="bad"), ValueError, "not a valid value for reduc"),
        (lambda x: F.binary_cross_entropy(x, x[:1]), ValueError, "different to the input size"),
        (lambda x: F.binary_cross_entropy_with_logits(x, x[:1]), ValueError, "same as input size"),
        (lambda x: F.huber_loss(x, x, delta=0.0), RuntimeError, "non-positive values for delta"),
        (lambda x: F.one_hot(torch.tensor([-1])), RuntimeError, "must be non-negative"),
        (lambda x: F.one_hot(torch.tensor([3]), 2), RuntimeError, "smaller than num_classes"),
        (lambda x: F.pad(x, (1,)), RuntimeError, "Padding length must be divisible by 2"),
        (lambda x: F.pad(x[None], (3, 0), mode="reflect"), RuntimeError, "Padding size should be"),
        (lambda x: F.pad(x, (1, 1), mode="no"), NotImplementedError, "Unrecognised padding mode"),
        (lambda x: F.interpolate(x[None]), ValueError, "either size or scale_factor"),
        (lambda x: F.triplet_margin_loss(x, x, x, margin=0.0), ValueError, "must be greater than"),
        (lambda x: F.nothing, AttributeError, "has no attribute 'nothing'"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2, 3))


def test_warnings():
    x = torch.ones(2, 3)
    with pytest.warns(UserWarning, match="Using a target size .* different to the input size"):
        F.mse_loss(x, torch.ones(3))
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        F.softmax(x)
    with pytest.warns(UserWarning, match="reduction='sum' instead"):
        F.l1_loss(x, x, size_average=False)
    with pytest.warns(UserWarning, match="'mean' divides the total loss by both"):
        F.kl_div(x, x)


def test_softmax_takes_a_dtype():
    result = F.softmax(torch.ones(2, dtype=torch.float32), dim=0, dtype=torch.float64)
    assert result.dtype == torch.float64


def test_dropout_without_training_is_the_identity():
    x = torch.ones(3)
    assert F.dropout(x, 0.5, training=False).tolist() == [1.0, 1.0, 1.0]
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0, 0.0]


def test_inplace_activations_write_to_their_input():
    x = torch.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]


def test_names():
    assert {"relu", "linear", "cross_entropy"} <= set(F.__all__) <= set(dir(F))
