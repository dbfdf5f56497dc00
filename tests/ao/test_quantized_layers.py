"""Recurrent layers and embeddings with quantized weights: golden values are PyTorch's."""

import copy
import io
import json
import pickle
from pathlib import Path

import pytest
import quantized_cases as cases

import yesca as torch
from yesca import nn
from yesca.ao.nn.quantized import Embedding, EmbeddingBag, dynamic
from yesca.ao.quantization import float_qparams_weight_only_qconfig, quantize_dynamic
from yesca.nn.utils.rnn import pack_padded_sequence

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOLDEN = json.loads((FIXTURES / "quantized.json").read_text(encoding="utf-8"))


def close(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", cases.RECURRENT, ids=lambda case: case[0])
def test_recurrent_layers_are_pytorchs(case):
    found, wanted = cases.recurrent_results(torch, case), GOLDEN["recurrent"][case[0]]
    assert (found["repr"], found["state"]) == (wanted["repr"], wanted["state"])
    assert found["weights"] == wanted["weights"]
    for one, other in zip(found["results"], wanted["results"], strict=True):
        close(one, other)


def test_embeddings_are_pytorchs():
    found, wanted = cases.embedding_results(torch), GOLDEN["embeddings"]
    assert (found["repr"], found["state"]) == (wanted["repr"], wanted["state"])
    close(found["results"], wanted["results"])
    for (q, *own), (q_wanted, *others) in zip(found["weights"], wanted["weights"], strict=True):
        assert q == q_wanted
        close(own, others)


def anew(layer):
    """A layer of the same sizes and other weights."""
    if isinstance(layer, Embedding):
        options = {"include_last_offset": True} if getattr(layer, "include_last_offset", 0) else {}
        return type(layer)(layer.num_embeddings, layer.embedding_dim, **options)
    if isinstance(layer, dynamic.modules.rnn.RNNBase):
        return type(layer)(layer.input_size, layer.hidden_size, layer.num_layers,
                           batch_first=layer.batch_first, bidirectional=layer.bidirectional,
                           dtype=layer.dtype)
    options = {"nonlinearity": layer.nonlinearity} if isinstance(layer, dynamic.RNNCell) else {}
    return type(layer)(layer.input_size, layer.hidden_size, dtype=layer.weight_dtype, **options)


def test_pytorchs_files():
    held = torch.load(FIXTURES / "quantized_layers.pt", weights_only=False)
    other = nn.ModuleList([anew(layer) for layer in held["model"]])
    assert str(other.load_state_dict(held["state"])) == "<All keys matched successfully>"
    for layers in (held["model"], other):
        for layer, case in zip(layers, cases.RECURRENT, strict=False):
            _, x, states = cases.recurrent(torch, case)
            close(cases.flat(layer(x, states)), GOLDEN["recurrent"][case[0]]["results"][0])
        close([layers[8](torch.tensor([0, 5, 2, 2, 1])).tolist()],
              GOLDEN["embeddings"]["results"][:1])


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "save"])
def test_copies(way):
    made = nn.ModuleList([*(cases.recurrent(torch, case)[0] for case in cases.RECURRENT),
                          *cases.embeddings(torch)])
    if way == "save":
        file = io.BytesIO()
        torch.save(made, file)
        file.seek(0)
        other = torch.load(file, weights_only=False)
    else:
        other = copy.deepcopy(made) if way == "deepcopy" else pickle.loads(pickle.dumps(made))
    assert repr(other[:8]) == repr(made[:8])
    for layer, copied, case in zip(made, other, cases.RECURRENT, strict=False):
        _, x, states = cases.recurrent(torch, case)
        assert cases.flat(layer(x, states)) == cases.flat(copied(x, states))
    indices = torch.arange(6)
    assert made[8](indices).equal(other[8](indices))
    offsets = torch.tensor([0, 4])
    assert made[9](indices, offsets).equal(other[9](indices, offsets))


def test_what_is_replaced():
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(9, 4)
            self.walk = nn.LSTM(4, 5)
            self.back = nn.GRU(5, 5)
            self.plain = nn.RNN(5, 5)
            self.last = nn.Linear(5, 2)

        def forward(self, x):
            return self.last(self.plain(self.back(self.walk(self.words(x))[0])[0])[0])

    def kinds(spec=None, **options):
        made = quantize_dynamic(Reader(), spec, **options)
        assert made(torch.zeros(3, 2, dtype=torch.int64)).shape == (3, 2, 2)
        return [name for name, part in made.named_children()
                if "quantized" in type(part).__module__]

    assert kinds() == ["walk", "back", "last"] == kinds(dtype=torch.float16)
    assert kinds(dtype=torch.quint8) == ["words"] == kinds(
        {nn.Embedding: float_qparams_weight_only_qconfig}) == kinds({"words"}, dtype=torch.quint8)
    assert kinds({"back"}) == ["back"] and kinds({nn.LSTM, "last"}) == ["walk", "last"]
    config = torch.ao.quantization.default_dynamic_qconfig
    assert kinds({"": config, nn.Embedding: None, "walk": None}) == ["back", "last"]
    model = Reader()
    assert quantize_dynamic(model, inplace=True, mapping={nn.GRU: dynamic.GRU}) is model
    assert type(model.walk) is nn.LSTM and type(model.back) is dynamic.GRU
    assert not hasattr(model.back, "qconfig") and not model.training


def test_what_recurrent_layers_refuse():
    for layer, words in ((nn.LSTM(2, 3, bias=False), "mod.bias must be True"),
                         (nn.GRUCell(2, 3, bias=False), "mod.bias must be True")):
        with pytest.raises(AssertionError, match=words):
            cases.replaced(torch, layer, "qint8")
    with pytest.raises(AssertionError, match="only works for nn.LSTM and nn.GRU"):
        dynamic.LSTM.from_float(nn.RNN(2, 3))
    with pytest.raises(AssertionError, match="only works for nn.LSTMCell, nn.GRUCell"):
        dynamic.LSTMCell.from_float(nn.LSTM(2, 3))
    with pytest.raises(AssertionError, match="must have qconfig"):
        dynamic.LSTM.from_float(nn.LSTM(2, 3))
    with pytest.raises(RuntimeError, match="Unsupported dtype for dynamic RNN quantization"):
        quantize_dynamic(nn.ModuleList([nn.LSTM(2, 3)]), {nn.LSTM}, dtype=torch.quint8)
    with pytest.raises(ValueError, match="Unrecognized RNN mode: RNN"):
        dynamic.modules.rnn.RNNBase("RNN", 2, 3)
    projecting = cases.replaced(torch, nn.LSTM(3, 4, proj_size=2), "qint8")
    layer, half = dynamic.LSTM(3, 4, 2), dynamic.GRU(3, 4)
    cell = dynamic.LSTMCell(3, 4)
    x = torch.zeros(5, 2, 3)
    calls = [
        (lambda: layer(x[0]), "input must have 3 dimensions, got 2"),
        (lambda: layer(torch.zeros(5, 2, 4)), "Expected 3, got 4"),
        (lambda: layer(torch.zeros(0, 2, 3)), "sequence length to be larger than 0"),
        (lambda: layer(x, (torch.zeros(2, 3, 4),) * 2),
         r"Expected hidden\[0\] size \(2, 2, 4\), got \[2, 3, 4\]"),
        (lambda: layer(x, torch.zeros(2, 2, 4)), r"Expected hidden\[0\] size .* got \[2, 4\]"),
        (lambda: half(x, torch.zeros(1, 2, 5)), r"Expected hidden size .* got \[1, 2, 5\]"),
        (lambda: layer(x.double()), "expected scalar type Float but found Double"),
        (lambda: half(x, torch.zeros(1, 2, 4).double()), "expected scalar type Float"),
        (lambda: layer(torch.full((5, 2, 3), float("nan"))), "min should be less than or equal"),
        (lambda: projecting(x), "should be equal to K: 4"),
        (lambda: cell(torch.zeros(2, 5)), "input has inconsistent input_size: got 5, expected 3"),
        (lambda: cell(x[0], (torch.zeros(3, 4),) * 2), r"hidden\[0\] batch size 3"),
        (lambda: cell(x[0], (torch.zeros(2, 4), torch.zeros(2, 5))), r"hidden\[1\] has incons"),
        (lambda: dynamic.RNNCell(3, 4, nonlinearity="x")(x[0]), "Unknown nonlinearity: x"),
    ]
    for call, words in calls:
        with pytest.raises(RuntimeError, match=words):
            call()
    with pytest.raises(KeyError, match="_packed_weight_ih"):
        cell.load_state_dict({})


def test_weights_with_zero_points_and_lost_biases():
    torch.manual_seed(0)
    plain = nn.LSTM(3, 4, bidirectional=True)
    with torch.no_grad():
        for weight in plain.parameters():
            weight.add_(0.3)
    config = torch.ao.quantization.QConfig(
        activation=torch.ao.quantization.default_dynamic_quant_observer,
        weight=torch.ao.quantization.MinMaxObserver.with_args(dtype=torch.qint8))
    made = quantize_dynamic(nn.ModuleList([plain]), {nn.LSTM: config})[0]
    assert made.get_weight()["weight_hh_l0"].q_zero_point() != 0
    x = torch.randn(5, 2, 3)
    for found, wanted in zip(cases.flat(made(x)), cases.flat(plain(x)), strict=True):
        torch.testing.assert_close(torch.tensor(found), torch.tensor(wanted), atol=0.02, rtol=0)
    packed = pack_padded_sequence(x, [5, 3])
    torch.testing.assert_close(made(packed)[0].data, plain(packed)[0].data, atol=0.02, rtol=0)
    cell = dynamic.GRUCell(3, 4, bias=False)
    assert cell.bias_ih is None and cell.get_bias() == {"bias_ih": None, "bias_hh": None}
    assert cell(x[0]).shape == (2, 4)


def test_long_sequences_are_the_short_ones_joined():
    torch.manual_seed(1)
    layer, x = dynamic.GRU(3, 6), torch.randn(150, 1, 3)
    whole, last = layer(x)
    assert whole[-1].equal(last[0]) and whole.shape == (150, 1, 6)
    full = layer(x[:100])  # the range is that of all that is read
    assert full[0].shape == (100, 1, 6)
    for empty, shape in ((torch.zeros(4, 0, 3), (4, 0, 6)),):
        assert layer(empty)[0].shape == shape
    assert dynamic.LSTMCell(3, 4)(torch.zeros(0, 3))[1].shape == (0, 4)


def test_halves_of_other_dtypes_and_dropout():
    torch.manual_seed(0)
    model = nn.LSTM(3, 4, 2, dropout=0.5).double()
    made = quantize_dynamic(nn.ModuleList([model]), dtype=torch.float16)[0]
    x = torch.randn(5, 2, 3)
    wanted = model.eval()(x.double())[0].float()
    torch.testing.assert_close(made(x)[0], wanted, atol=2e-3, rtol=0)
    assert repr(made) == "DynamicQuantizedLSTM(3, 4, num_layers=2, dropout=0.5)"
    assert not made(x)[0].equal(made.train()(x)[0])
    with pytest.warns(UserWarning, match="dropout option adds dropout"):
        dynamic.LSTM(3, 4, dropout=0.5)
    with pytest.raises(ValueError, match="dropout should be a number in range"):
        dynamic.LSTM(3, 4, dropout=2.0)


def test_what_embeddings_refuse():
    rows, bags, ended = cases.embeddings(torch)
    calls = [
        (lambda: rows(torch.tensor([1, 6])), "Index 1 is out of bounds: 6, range 0 to 6"),
        (lambda: rows(torch.tensor([-1])), "Index 0 is out of bounds: -1"),
        (lambda: rows(torch.tensor(2)), "supports 1 or 2d indices, got 0"),
        (lambda: rows(torch.tensor([1.0])), "Expect 32 or 64 bit indices, but found Float"),
        (lambda: bags(torch.tensor([1])), "expects offsets to be set for 1D indices"),
        (lambda: bags(torch.tensor([[1]]), torch.tensor([0])), "offsets has to be None"),
        (lambda: bags(torch.tensor([1]), torch.tensor([0]), torch.ones(1).double()),
         "expected scalar type Float but found Double"),
        (lambda: bags(torch.tensor([1, 2]), torch.tensor([0]), torch.ones(3)), "3 elements"),
        (lambda: bags(torch.tensor([1]), torch.tensor([0, 5])), "can not be greater than"),
        (lambda: rows.set_weight(torch.quantize_per_tensor(torch.zeros(6, 5), 1., 0, torch.quint8)),
         "quantized by row"),
    ]
    for call, words in calls:
        with pytest.raises(RuntimeError, match=words):
            call()
    with pytest.raises(NotImplementedError, match="embedding_bag_prepack"):
        rows.set_weight(torch.zeros(6, 5))
    with pytest.raises(NotImplementedError, match="Got dtype: torch.qint8"):
        Embedding(3, 4, dtype=torch.qint8)
    for make in (lambda: EmbeddingBag(3, 4, dtype=torch.quint4x2),
                 lambda: quantize_dynamic(nn.ModuleList([nn.Embedding(2, 2)]),
                                          dtype=torch.quint4x2)):
        with pytest.raises(NotImplementedError, match="quint4x2"):
            make()
    with pytest.raises(AssertionError, match="only supported with float_qparams_weight_only"):
        quantize_dynamic(nn.ModuleList([nn.Embedding(2, 2)]), {nn.Embedding})
    with pytest.raises(AssertionError, match="only works for EmbeddingBag"):
        EmbeddingBag.from_float(nn.Embedding(2, 2))
    with pytest.raises(AssertionError, match="does not match num_embeddings"):
        Embedding(3, 4, _weight=rows.weight())
    assert Embedding(6, 5, _weight=rows.weight())(torch.arange(6)).equal(rows(torch.arange(6)))
    assert bags(torch.zeros(0, dtype=torch.int64), torch.tensor([0, 0])).tolist() == [[0.0] * 5] * 2
    assert rows(torch.zeros(0, dtype=torch.int64)).shape == (0, 5)


def test_unknown_objects_in_files():
    from yesca.ao.nn.quantized.modules.script_objects import ScriptObject

    with pytest.raises(NotImplementedError, match="of Conv2dPackedParamsBase, a kind of layer"):
        ScriptObject().__setstate__(((), "Conv2dPackedParamsBase"))
    with pytest.raises(NotImplementedError, match="the kind quantized; quantized_dynamic and"):
        ScriptObject().__setstate__((("quantized", [], [], [], []),
                                     "__torch__.torch.classes.rnn.CellParamsBase"))
    with pytest.raises(NotImplementedError, match="weights of 4 bits"):
        ScriptObject().__setstate__(
            ((1, [None], [], [4]), "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"))


def test_a_state_with_packed_weights_is_no_file_of_weights_only():
    file = io.BytesIO()
    torch.save(dynamic.LSTM(2, 3).state_dict(), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(file)
    file.seek(0)
    other = dynamic.LSTM(2, 3)
    other.load_state_dict(torch.load(file, weights_only=False))
    assert other.version == 2


def test_old_names():
    import yesca.nn.quantized as old

    assert old.Embedding is Embedding and old.dynamic.LSTM is dynamic.LSTM
    assert "EmbeddingBag" in dir(old)
    permutation, x = torch.tensor([1, 0]), torch.randn(1, 2)
    with pytest.warns(FutureWarning, match="index_select"):
        assert dynamic.modules.rnn.apply_permutation(x, permutation).equal(x.flip(1))
