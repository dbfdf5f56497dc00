"""Walks over packed weights give what their steps give."""

import pytest

import yesca as torch
from yesca.ao.nn.quantized.modules.packing import PackedLinear
from yesca.dispatch.call import OPERATORS as ops
from yesca.nn.modules._recurrence import GATES, settle


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    from yesca import _quantized

    monkeypatch.setattr(_quantized, "warn_once", lambda text: None)


def packed(mode, width, bias=True):
    rows = GATES[mode] * width
    weight = torch.quantize_per_tensor(torch.randn(rows, width), 0.02, 0, torch.qint8)
    return PackedLinear(weight, torch.randn(rows) if bias else None)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("mode, size, width", [("LSTM", 3, 5), ("LSTM", 1, 8), ("GRU", 2, 4),
                                               ("RNN_TANH", 4, 7), ("RNN_RELU", 1, 3)])
def test_a_walk_is_its_steps(mode, size, width, backward):
    torch.manual_seed(0)
    count = 2 if mode == "LSTM" else 1
    hh = packed(mode, width, bias=size > 1)
    x = torch.randn(6, size, GATES[mode] * width)
    state = tuple(torch.randn(size, width) for _ in range(count))
    weight, bias, *_ = hh._operands
    found = getattr(ops, f"_quantized_{mode.lower()}_walk")(
        x, state[0], state[1] if count > 1 else None, weight, bias, 127, backward)
    for time in reversed(range(6)) if backward else range(6):
        state = settle(mode, x[time], hh.product(state[0]), state)
        for held, one in zip(found, state, strict=False):
            torch.testing.assert_close(held[time], one, rtol=1e-6, atol=1e-6)


def test_a_state_that_does_not_lie_in_order():
    torch.manual_seed(0)
    hh = packed("GRU", 4)
    x, state = torch.randn(2, 3, 12), torch.randn(4, 3).t()
    weight, bias, *_ = hh._operands
    walk = ops._quantized_gru_walk
    assert walk(x, state, None, weight, bias, 127, False)[0].equal(
        walk(x, state.contiguous(), None, weight, bias, 127, False)[0])


def test_what_is_refused_and_empty_batches():
    hh = packed("LSTM", 4)
    weight, bias, *_ = hh._operands
    walk, x, h = ops._quantized_lstm_walk, torch.zeros(3, 2, 16), torch.zeros(2, 4)
    for given, words in (
            ((x.double(), h.double(), h.double()), "expected scalar type Float but found Double"),
            ((x, torch.zeros(2, 8), h), "should be equal to K: 8"),
            ((torch.zeros(3, 2, 20), h, h), "should be equal to K: 4"),
            ((x, torch.zeros(3, 4), h), "expected hidden to be"),
            ((x, h, torch.zeros(2, 3)), "expected memory to be")):
        with pytest.raises(RuntimeError, match=words):
            walk(*given, weight, bias, 127, False)
    with pytest.raises(RuntimeError, match="min should be less than or equal to max"):
        walk(x, torch.full((2, 4), float("nan")), h, weight, bias, 127, False)
    empty = walk(x[:, :0], h[:0], h[:0], weight, bias, 127, False)
    assert [tuple(one.shape) for one in empty] == [(3, 0, 4)] * 2
