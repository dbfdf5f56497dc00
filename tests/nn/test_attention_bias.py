"""Causal masks that are told rather than written, and implementations that programs bring."""

import logging

import pytest

import yesca as torch
from yesca.nn import attention
from yesca.nn import functional as F
from yesca.nn.attention import bias


def operands(queries, keys):
    torch.manual_seed(0)
    return torch.rand(1, 2, queries, 4), torch.rand(1, 2, keys, 4), torch.rand(1, 2, keys, 4)


def test_masks():
    assert bias.causal_upper_left(2, 3)._materialize().tolist() == [
        [True, False, False], [True, True, False]]
    lower = bias.causal_lower_right(2, 3)
    assert lower._materialize().tolist() == [[True, True, False], [True, True, True]]
    assert repr(lower) == "tensor([[ True,  True, False],\n        [ True,  True,  True]])"
    assert isinstance(lower, bias.CausalBias) and isinstance(lower, torch.Tensor)
    assert (lower.variant, lower.seq_len_q, lower.seq_len_kv) == (
        bias.CausalVariant.LOWER_RIGHT, 2, 3)


@pytest.mark.parametrize("make", [bias.causal_upper_left, bias.causal_lower_right])
@pytest.mark.parametrize("queries, keys", [(3, 3), (3, 5), (1, 4)])
def test_attention_takes_them(make, queries, keys):
    q, k, v = operands(queries, keys)
    mask = make(queries, keys)
    for options in ({}, {"scale": 2.0}):
        written = mask._materialize()
        wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=written, **options)
        made = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)
        assert type(made) is torch.Tensor and torch.allclose(made, wanted, atol=1e-6)
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(q, k, v, mask, is_causal=True)


def test_refusals():
    with pytest.raises(AssertionError, match="causal_upper_left only supports 2D tensors"):
        bias.causal_upper_left(4)
    with pytest.raises(AssertionError, match="variant must be a CausalVariant, got int"):
        bias.CausalBias(1, 2, 3)
    with pytest.warns(UserWarning, match="Lower right causal bias will produce NaNs in the output"):
        bias.causal_lower_right(4, 3)


class Undo:
    def __init__(self, events, name):
        self.events, self.name = events, name
        events.append(f"+{name}")

    def remove(self):
        self.events.append(f"-{self.name}")


def test_implementations(caplog):
    events = []
    for name in ("one", "two"):
        attention.register_flash_attention_impl(
            name, register_fn=lambda name=name: Undo(events, name))
    attention.register_flash_attention_impl("none", register_fn=lambda: None)
    assert attention.list_flash_attention_impls() == ["none", "one", "two"]
    assert attention.current_flash_attention_impl() is None
    attention.activate_flash_attention_impl("one")
    attention.activate_flash_attention_impl("two")
    assert attention.current_flash_attention_impl() == "two"
    attention.activate_flash_attention_impl("none")
    assert attention.current_flash_attention_impl() is None
    assert events == ["+one", "-one", "+two", "-two"]
    with caplog.at_level(logging.WARNING):
        attention.restore_flash_attention_impl()
    assert "no custom impl was activated" in caplog.text
    with pytest.raises(ValueError, match="Unknown flash attention impl 'three'. Available imp"):
        attention.activate_flash_attention_impl("three")
