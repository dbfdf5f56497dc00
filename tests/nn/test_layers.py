"""Layers against PyTorch's records: text, state, weights of a seed; and their errors."""

import json
import math
from pathlib import Path

import nn_cases
import pytest

import yesca as torch
from yesca import nn

TABLE = Path(__file__).parents[1] / "fixtures" / "nn.json"
EXPECTED = json.loads(TABLE.read_text(encoding="utf-8"))["layers"]


@pytest.mark.parametrize("text", nn_cases.LAYERS)
def test_text_state_and_weights(text):
    torch.manual_seed(3)
    found = nn_cases.describe_layer(eval(text, {"torch": torch, "nn": nn}))
    expected = EXPECTED[text]
    assert found["text"] == expected["text"]
    assert list(found["state"]) == list(expected["state"])
    for name, (shape, values) in expected["state"].items():
        assert found["state"][name][0] == shape
        assert found["state"][name][1] == pytest.approx(values, abs=2e-6), name


def test_every_public_name_loads():
    for name in nn.__all__:
        assert getattr(nn, name).__name__ == name
    assert "Linear" in dir(nn)
    with pytest.raises(AttributeError, match="has no attribute 'Liner'"):
        _ = nn.Liner


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: nn.Dropout(2), ValueError, "dropout probability has to be between 0 and 1"),
        (lambda: nn.GroupNorm(3, 4), ValueError, "must be divisible by num_groups"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), AssertionError, "Padding_idx must be within"),
        (lambda: nn.MultiheadAttention(3, 2), AssertionError, "must be divisible by num_heads"),
        (lambda: nn.Conv2d(3, 4, 1, groups=2), ValueError, "in_channels must be divisible"),
        (lambda: nn.Conv2d(2, 2, 1, padding="x"), ValueError, "Invalid padding string 'x'"),
        (lambda: nn.Hardtanh(1, 0), AssertionError, "must be greater than min_val"),
        (lambda: nn.TripletMarginLoss(0), ValueError, "expected margin to be greater than 0"),
        (lambda: nn.BatchNorm1d(2)(torch.ones(2)), ValueError, "expected 2D or 3D input"),
        (lambda: nn.BatchNorm1d(2)(torch.ones(1, 2)), ValueError, "more than 1 value per channel"),
        (lambda: nn.Unflatten(1, 3), TypeError, "must be a tuple of ints"),
    ],
)
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_embedding():
    table = nn.Embedding(4, 2, padding_idx=1)
    assert table.weight[1].tolist() == [0.0, 0.0]
    table(torch.tensor([[1, 2], [2, 1]])).sum().backward()
    assert table.weight.grad.tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]
    given = nn.Embedding.from_pretrained(torch.ones(3, 2), padding_idx=-1)
    assert given.padding_idx == 2 and not given.weight.requires_grad


def test_embedding_max_norm_shortens_rows():
    table = nn.Embedding.from_pretrained(torch.full((3, 2), 5.0), max_norm=1.0)
    assert table(torch.tensor([2, 2]))[0].norm().item() == pytest.approx(1.0, abs=1e-5)
    assert table.weight[0].tolist() == [5.0, 5.0]


def test_dropout_in_training_and_evaluation():
    torch.manual_seed(0)
    layer = nn.Dropout(0.5)
    values = layer(torch.ones(1000))
    assert set(values.tolist()) == {0.0, 2.0}
    assert layer.eval()(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_batch_norm_statistics():
    norm = nn.BatchNorm1d(1, momentum=None)
    for batch in ([0.0, 2.0], [4.0, 6.0], [10.0, 20.0]):
        norm(torch.tensor(batch)[:, None])
    assert norm.running_mean.item() == pytest.approx(7.0)
    assert norm.running_var.item() == pytest.approx(18.0, rel=1e-5)
    assert norm.num_batches_tracked.item() == 3
    half = nn.BatchNorm1d(1, momentum=0.5)
    result = half(torch.tensor([[1.0], [3.0]]))
    assert result.flatten().tolist() == pytest.approx([-1.0, 1.0], abs=1e-4)
    assert half.running_mean.item() == 1.0 and half.running_var.item() == 1.5
    assert half.eval()(torch.tensor([[1.0]])).item() == pytest.approx(0.0, abs=1e-6)
    untracked = nn.BatchNorm1d(1, track_running_stats=False).eval()
    assert untracked(torch.tensor([[1.0], [3.0]]))[0].item() == pytest.approx(-1.0, abs=1e-4)


def attention():
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            line = torch.linspace(-1, 1, parameter.numel())
            parameter.copy_(line.reshape(parameter.shape).sin())
    return layer, torch.linspace(-1, 1, 16).cos().reshape(1, 4, 4)


def test_attention_masks_agree_with_removed_keys():
    layer, x = attention()
    hidden = torch.tensor([[False, False, True, True]])
    full, weights = layer(x, x, x, key_padding_mask=hidden)
    cut, _ = layer(x, x[:, :2], x[:, :2])
    assert torch.allclose(full, cut, atol=1e-6)
    assert weights[0, :, 2:].abs().sum().item() == 0.0 and weights.shape == (1, 4, 4)
    as_float = torch.zeros(1, 4).masked_fill(hidden, -math.inf)
    assert torch.allclose(full, layer(x, x, x, key_padding_mask=as_float)[0], atol=1e-6)
    assert torch.allclose(
        full, layer(x, x, x, key_padding_mask=hidden, need_weights=False)[0], atol=1e-6
    )
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    with_mask = layer(x, x, x, attn_mask=causal)[0]
    hinted = layer(x, x, x, attn_mask=causal, is_causal=True, need_weights=False)[0]
    assert torch.allclose(with_mask, hinted, atol=1e-6)
    assert layer(x, x, x, average_attn_weights=False)[1].shape == (1, 2, 4, 4)


def test_transformer_shapes_and_padding():
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    source, target = torch.ones(2, 3, 8), torch.ones(2, 5, 8)
    assert model(source, target).shape == (2, 5, 8)
    hidden = torch.tensor([[False, False, True]] * 2)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)
    with torch.no_grad():
        out = encoder.eval()(source, src_key_padding_mask=hidden)
    assert out[:, 2].abs().sum().item() == 0.0
