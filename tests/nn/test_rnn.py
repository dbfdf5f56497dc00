"""Recurrent layers against PyTorch's records, cells against layers, and what they reject."""

import json
from pathlib import Path

import nn_cases
import pytest

import yesca as torch
from yesca import nn

TABLE = Path(__file__).parents[1] / "fixtures" / "nn.json"
EXPECTED = json.loads(TABLE.read_text(encoding="utf-8"))["recurrent"]


@pytest.mark.parametrize("text", nn_cases.RECURRENT)
def test_results_and_gradients(text):
    found, expected = nn_cases.run_recurrent(torch, nn, text), EXPECTED[text]
    assert found["shape"] == expected["shape"]
    for mine, theirs in zip(found["values"], expected["values"], strict=True):
        assert mine == pytest.approx(theirs, abs=2e-6)


@pytest.mark.parametrize(("layer", "cell"), [("RNN", "RNNCell"), ("GRU", "GRUCell")])
def test_cells_are_single_steps(layer, cell):
    torch.manual_seed(0)
    long, short = getattr(nn, layer)(2, 3), getattr(nn, cell)(2, 3)
    short.load_state_dict({name[:-3]: value for name, value in long.state_dict().items()})
    x = torch.linspace(-1, 1, 8).reshape(4, 2)
    hidden = None
    for row in x:
        hidden = short(row, hidden)
    output, last = long(x)
    assert torch.allclose(last[0], hidden, atol=1e-6)
    assert output.shape == (4, 3)


def test_batch_first_and_unbatched_agree():
    torch.manual_seed(0)
    layer = nn.LSTM(2, 3, batch_first=True)
    x = torch.linspace(-1, 1, 8).reshape(4, 2)
    alone, (hidden, cell) = layer(x)
    batched, (hidden_again, _) = layer(x[None])
    assert torch.allclose(batched[0], alone, atol=1e-6)
    assert hidden.shape == cell.shape == (1, 3)
    assert torch.allclose(hidden_again[:, 0], hidden, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: nn.LSTM(0, 3), ValueError, "input_size must be greater than zero"),
        (lambda: nn.LSTM(3, 3, dropout=2), ValueError, "dropout should be a number in range"),
        (lambda: nn.LSTM(3, 3, proj_size=3), ValueError, "proj_size has to be smaller"),
        (lambda: nn.RNN(3, 3, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'"),
        (lambda: nn.GRU(3, 4)(torch.ones(2, 2, 2)), RuntimeError, "must be equal to input_size"),
        (
            lambda: nn.GRU(3, 4)(torch.ones(2, 2, 3), torch.ones(1, 1, 4)),
            RuntimeError,
            "Expected hidden size",
        ),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def packed_sequences():
    line = torch.linspace(-1, 1, 14).reshape(7, 2)
    return [line[:2], line[2:6], line[6:]]


def test_packing_and_back():
    sequences = packed_sequences()
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    again = nn.utils.rnn.unpack_sequence(packed)
    assert [each.tolist() for each in again] == [each.tolist() for each in sequences]
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=5)
    assert padded.shape == (3, 5, 2) and lengths.tolist() == [2, 4, 1]
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order"):
        nn.utils.rnn.pack_sequence(sequences)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_packed_sequences_run_as_if_alone(kind):
    torch.manual_seed(0)
    layer = getattr(nn, kind)(2, 3, bidirectional=True)
    sequences = packed_sequences()
    output, state = layer(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
    hidden = state[0] if kind == "LSTM" else state
    for index, (sequence, part) in enumerate(
        zip(sequences, nn.utils.rnn.unpack_sequence(output), strict=True)
    ):
        alone, last = layer(sequence)
        assert torch.allclose(part, alone, atol=1e-6)
        last_hidden = last[0] if kind == "LSTM" else last
        assert torch.allclose(hidden[:, index], last_hidden, atol=1e-6)


def test_lstm_takes_the_lower_precision_of_autocast():
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
    x = torch.rand(2, 5, 4)
    with torch.autocast("cpu"):
        outputs, (h, c) = lstm(x)
        given, _ = lstm(x, (torch.zeros(4, 2, 3), torch.zeros(4, 2, 3)))
        cell = torch.nn.LSTMCell(4, 3)(x[0])[0]
        gru, _ = torch.nn.GRU(4, 3)(x)
        packed, _ = lstm(torch.nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=True))
    assert {outputs.dtype, h.dtype, c.dtype, given.dtype} == {torch.bfloat16}
    assert torch.equal(outputs, given)
    assert {gru.dtype, packed.data.dtype, cell.dtype} == {torch.float32}  # no operators there
    torch.testing.assert_close(outputs.float(), lstm(x)[0], rtol=0.03, atol=0.03)
    outputs.float().sum().backward()
    assert {p.grad.dtype for p in lstm.parameters()} == {torch.float32}


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_outputs_are_the_callers_own(kind):
    """They may be written; the last state is no function of them."""
    torch.manual_seed(0)
    layer, sequence = getattr(nn, kind)(3, 4, num_layers=2), torch.randn(5, 2, 3)
    output, last = layer(sequence)
    last = last[0] if kind == "LSTM" else last
    assert torch.autograd.grad(last.sum(), output, allow_unused=True, retain_graph=True) == (None,)
    expected = torch.autograd.grad(output.tanh().sum(), list(layer.parameters()),
                                   retain_graph=True)
    again, _ = layer(sequence)
    found = torch.autograd.grad(torch.tanh_(again).sum(), list(layer.parameters()))
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got, wanted)


def test_inputs_of_another_dtype_are_named():
    text = r"RNN input dtype \(torch.float64\) does not match weight dtype \(torch.float32\)"
    packed = nn.utils.rnn.pack_sequence([torch.ones(2, 3).double()])
    for layer in (nn.GRU(3, 4), nn.LSTM(3, 4), nn.RNN(3, 4)):
        for given in (torch.ones(2, 2, 3).double(), packed):
            with pytest.raises(ValueError, match=text):
                layer(given)


def test_weights_as_a_flat_list():
    layer = nn.GRU(3, 4, bidirectional=True)
    assert layer._flat_weights_names[:2] == ["weight_ih_l0", "weight_hh_l0"]
    assert all(a is b for a, b in zip(layer._flat_weights, layer.parameters(), strict=True))
    replaced = nn.Parameter(torch.zeros(12, 3))
    layer._flat_weights = [replaced, *layer._flat_weights[1:]]
    assert layer.weight_ih_l0 is replaced
    x, state = torch.randn(5, 2, 3), torch.zeros(2, 2, 4)
    found = torch.gru(x, state, layer._flat_weights, True, 1, 0.0, True, True, False)
    torch.testing.assert_close(found, layer(x))
