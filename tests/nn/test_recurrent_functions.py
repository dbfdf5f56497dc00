"""`torch.lstm` and the others are the layers' work with weights from outside."""

import pytest

import yesca as torch
from yesca import nn

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN, "rnn_relu": nn.RNN}


def layer_and_input(name, **options):
    if name == "rnn_relu":
        options["nonlinearity"] = "relu"
    torch.manual_seed(0)
    layer = LAYERS[name](3, 4, num_layers=2, **options)
    return layer, torch.arange(30.0).reshape(5, 2, 3).sin()


def flat(layer):
    return [weight for group in layer.all_weights for weight in group]


def states(layer, name, hidden=4):
    shape = (2 * layer._directions, 2)
    first = torch.arange(float(2 * shape[0] * hidden)).reshape(*shape, hidden).cos()
    return (first, torch.ones(*shape, 4)) if name == "lstm" else first


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_layers(name, bidirectional, bias):
    layer, x = layer_and_input(name, bidirectional=bidirectional, bias=bias)
    start = states(layer, name)
    outputs, last = layer(x, start)
    made = getattr(torch, name)(x, start, flat(layer), bias, 2, 0.0, False, bidirectional, False)
    expected = (outputs, *(last if name == "lstm" else (last,)))
    assert all(torch.equal(a, b) for a, b in zip(made, expected, strict=True))
    turned = getattr(torch, name)(x.transpose(0, 1), start, flat(layer), bias, 2, 0.0, False,
                                  bidirectional, batch_first=True)
    assert torch.equal(turned[0].transpose(0, 1), outputs)


@pytest.mark.parametrize("name", LAYERS)
def test_packed(name):
    layer, x = layer_and_input(name)
    packed, start = nn.utils.rnn.pack_padded_sequence(x, [5, 3]), states(layer, name)
    outputs, last = layer(packed, start)
    made = getattr(torch, name)(packed.data, packed.batch_sizes, start, flat(layer), True, 2, 0.0,
                                False, False)
    assert torch.equal(made[0], outputs.data)
    assert torch.equal(made[1], last[0] if name == "lstm" else last)


def test_projections():
    layer, x = layer_and_input("lstm", proj_size=2)
    start = states(layer, "lstm", 2)
    made = torch.lstm(x, start, flat(layer), True, 2, 0.0, False, False, False)
    assert torch.equal(made[0], layer(x, start)[0]) and made[1].shape == (2, 2, 2)


def test_dropout_between_layers():
    layer, x = layer_and_input("gru")
    for train in (False, True):
        made = torch.gru(x, states(layer, "gru"), flat(layer), True, 2, 1.0, train, False, False)
        same = torch.equal(made[0], layer(x, states(layer, "gru"))[0])
        assert same is not train


@pytest.mark.parametrize(("name", "cell"), [
    ("lstm_cell", nn.LSTMCell), ("gru_cell", nn.GRUCell), ("rnn_tanh_cell", nn.RNNCell)])
def test_cells(name, cell):
    layer, x, h = cell(3, 4), torch.ones(2, 3), torch.full((2, 4), 0.5)
    hx = (h, h) if name == "lstm_cell" else h
    made, expected = getattr(torch, name)(x, hx, *layer.parameters()), layer(x, hx)
    assert torch.equal(made[0], expected[0])
    with pytest.raises(RuntimeError, match="input has inconsistent input_size: got 5 expected 3"):
        layer(torch.ones(2, 5), hx)


@pytest.mark.parametrize(("call", "text"), [
    (lambda w: torch.gru(torch.ones(5, 2, 3), torch.zeros(1, 2, 4), w[:2], True, 1, 0.0, False,
                         False, False), "got an incorrect number of RNN parameters"),
    (lambda w: torch.gru(torch.ones(5, 2, 3), torch.zeros(0, 2, 4), w, True, 1, 0.0, False,
                         False, False), "Expected more hidden states in stacked_rnn"),
    (lambda w: torch.lstm(torch.ones(5, 2, 3), (torch.zeros(1, 2, 4),), w, True, 1, 0.0, False,
                          False, False), "lstm expects two hidden states"),
    (lambda w: torch.lstm_cell(torch.ones(2, 3), (torch.zeros(2, 4),), *w),
     "lstm_cell expects two hidden states"),
    (lambda w: torch.gru_cell(torch.ones(2, 3), torch.zeros(3, 4), *w),
     "Input batch size 2 doesn't match hidden0 batch size 3"),
    (lambda w: torch.gru_cell(torch.ones(2, 3), torch.zeros(2, 5), *w),
     "hidden0 has inconsistent hidden_size: got 5, expected 4"),
])
def test_refusals(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(list(nn.GRU(3, 4).parameters()))
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.gru(torch.ones(5, 2, 3))
