"""Attention over empty batches and sequences."""

import pytest

import yesca as torch


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (0, 0, 4), (0, 4)])
def test_attention_over_nothing(shape, first, train):
    x = torch.ones(shape, requires_grad=True)
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=first).train(train)
    made, weights = attention(x, x, x)
    made.sum().backward()
    assert made.shape == shape and x.grad.shape == shape
    assert attention(x, x, x, need_weights=False)[0].shape == shape
    length = shape[-2] if first or len(shape) == 2 else shape[0]
    batch = () if len(shape) == 2 else (shape[0] if first else shape[1],)
    assert weights.shape == (*batch, length, length)
    for kind in (torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer):
        layer = kind(4, 2, 8, batch_first=first).train(train)
        made = layer(x) if kind is torch.nn.TransformerEncoderLayer else layer(x, x)
        assert made.shape == shape
        with torch.no_grad():
            again = layer(x) if kind is torch.nn.TransformerEncoderLayer else layer(x, x)
        assert again.shape == shape


@pytest.mark.parametrize("weights", [True, False])
def test_attention_to_nothing(weights):
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    made, _ = attention(torch.ones(2, 3, 4), torch.ones(2, 0, 4), torch.ones(2, 0, 4),
                        need_weights=weights)
    assert torch.equal(made, attention.out_proj.bias.expand(2, 3, 4))
