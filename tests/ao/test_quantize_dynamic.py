"""`quantize_dynamic` and its layer: golden values are PyTorch's."""

import copy
import io
import json
import pickle
from pathlib import Path

import pytest
import quantized_cases as cases

import yesca as torch
from yesca import nn
from yesca.ao.nn.quantized.dynamic import Linear
from yesca.ao.quantization import quantize_dynamic

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOLDEN = json.loads((FIXTURES / "quantized.json").read_text(encoding="utf-8"))["layers"]
SHOWN = "DynamicQuantizedLinear(in_features={}, out_features={}, dtype=torch.{}, qscheme=torch.{})"


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 7), nn.ReLU(), nn.Sequential(nn.Linear(7, 3, bias=False)))


@pytest.mark.parametrize("case", cases.LAYERS, ids=lambda case: case[0])
def test_results_are_pytorchs(case):
    found, wanted = cases.results(torch, case), GOLDEN[case[0]]
    for name in cases.QCONFIGS:
        if "weight" in wanted[name]:
            assert found[name]["weight"] == wanted[name]["weight"]
        rows, golden = (torch.tensor(one[name]["result"]) for one in (found, wanted))
        torch.testing.assert_close(rows, golden, rtol=1e-6, atol=1e-6 * float(golden.abs().max()))


def test_it_warns_of_its_end():
    with pytest.warns(DeprecationWarning, match="torch.ao.quantization is deprecated") as caught:
        quantize_dynamic(nn.Sequential(nn.Linear(2, 2)))
    assert caught[0].filename == __file__


def test_what_it_replaces():
    model = small()
    made = quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    assert type(model[0]) is nn.Linear and model.training and not made.training
    assert repr(made[0]) == SHOWN.format(20, 7, "qint8", "per_tensor_affine")
    assert type(made[2][0]) is Linear and not list(made.parameters())
    assert made[2][0].bias() is None and made[0].bias().equal(model[0].bias)
    assert not any(hasattr(one, "qconfig") for one in made.modules())
    config = torch.ao.quantization.per_channel_dynamic_qconfig
    by_row = quantize_dynamic(model, {nn.Linear: config})
    assert repr(by_row[0]) == SHOWN.format(20, 7, "qint8", "per_channel_affine")
    halves = quantize_dynamic(model, dtype=torch.float16)
    assert repr(halves[0]) == \
        "DynamicQuantizedLinear(in_features=20, out_features=7, dtype=torch.float16)"
    assert quantize_dynamic(model, inplace=True) is model and type(model[0]) is Linear


def test_names_and_parents():
    for spec, replaced in (({"0"}, [True, False]), ({"2"}, [False, True]), ({"2.0"}, [False, True]),
                           ({"": torch.ao.quantization.default_dynamic_qconfig}, [True, True]),
                           ({nn.Linear: None}, [False, False]), (set(), [False, False])):
        made = quantize_dynamic(small(), spec)
        assert [type(one) is Linear for one in (made[0], made[2][0])] == replaced, spec


def test_a_layer_in_two_places_and_hooks():
    layer = nn.Linear(3, 3)
    calls = []
    layer.register_forward_hook(lambda *given: calls.append("after"))
    layer.register_forward_pre_hook(lambda *given: calls.append("before"))
    made = quantize_dynamic(nn.Sequential(layer, nn.ReLU(), layer))
    assert made[0] is made[2] and type(made[0]) is Linear
    made(torch.ones(1, 3))
    assert calls == ["before", "after"] * 2
    assert type(quantize_dynamic(nn.Linear(3, 4))) is nn.Linear  # nothing holds it


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="Unknown dtype specified"):
        quantize_dynamic(small(), {nn.Linear}, dtype=torch.qint32)
    with pytest.raises(ValueError, match="Provide full qconfig please"):
        quantize_dynamic(small(), dtype=torch.float32)
    with pytest.raises(AssertionError, match="only works for one of"):
        Linear.from_float(nn.ReLU())
    with pytest.raises(AssertionError, match="must have qconfig"):
        Linear.from_float(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        Linear(2, 3, dtype=torch.float32)
    layer = Linear(20, 7)
    with pytest.raises(NotImplementedError, match="quantized::linear_prepack"):
        layer.set_weight_bias(torch.randn(7, 20), None)
    for x, words in ((torch.ones(20), "larger than or equal to 2"),
                     (torch.ones(2, 20).double(), "expected scalar type Float but found Double"),
                     (torch.ones(2, 21), "should be equal to K"),
                     (torch.full((1, 20), float("nan")), "min should be less than or equal")):
        with pytest.raises(RuntimeError, match=words):
            layer(x)
    with pytest.raises(KeyError, match="0.scale"):
        quantize_dynamic(small()).load_state_dict(small().state_dict())


def test_the_state():
    made = quantize_dynamic(small())
    state = made.state_dict()
    assert list(state)[:4] == ["0.scale", "0.zero_point", "0._packed_params.dtype",
                               "0._packed_params._packed_params"]
    other = quantize_dynamic(nn.Sequential(
        nn.Linear(20, 7), nn.ReLU(), nn.Sequential(nn.Linear(7, 3))))
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    assert str(other.load_state_dict(torch.load(file))) == "<All keys matched successfully>"
    x = torch.randn(4, 20)
    assert other(x).equal(made(x))
    with pytest.raises(RuntimeError, match="Unexpected key"):
        other.load_state_dict({**state, "extra": torch.ones(1)})


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "save"])
def test_copies(way):
    made, x = quantize_dynamic(small()), torch.randn(4, 20)
    if way == "save":
        file = io.BytesIO()
        torch.save(made, file)
        file.seek(0)
        other = torch.load(file, weights_only=False)
    else:
        other = copy.deepcopy(made) if way == "deepcopy" else pickle.loads(pickle.dumps(made))
    assert other(x).equal(made(x)) and repr(other) == repr(made)


def test_pytorchs_files():
    held = torch.load(FIXTURES / "quantized.pt", weights_only=False)
    case = cases.LAYERS[0]
    model, x = cases.layer(torch, case)
    by_row = cases.quantized(torch, model, "default_dynamic_qconfig")
    by_row.load_state_dict(held["state"])
    assert repr(by_row[0].weight()) == held["text"]
    torch.testing.assert_close(by_row(x), held["result"], rtol=1e-6, atol=1e-6)
    whole = held["model"]
    assert type(whole[0]) is Linear
    torch.testing.assert_close(whole(x), torch.tensor(
        GOLDEN[case[0]]["default_dynamic_qconfig"]["result"]), rtol=1e-6, atol=1e-6)


def test_weights_with_zero_points():
    weight = torch.eye(4)
    layer = Linear(4, 4, bias_=False)
    layer.set_weight_bias(torch.quantize_per_tensor(weight, 0.5, 3, torch.qint8), None)
    found = layer(torch.arange(4.0).view(1, 4))  # as PyTorch's prints it
    torch.testing.assert_close(found, torch.tensor([[0.0, 0.9921, 2.0079, 3.0]]), atol=1e-4, rtol=0)


def test_old_states_use_all_integers_of_a_byte():
    layer, x = Linear(4, 4, bias_=False), torch.arange(4.0).view(1, 4)
    layer.set_weight_bias(torch.quantize_per_tensor(torch.eye(4), 0.5, 0, torch.qint8), None)
    reduced = layer(x)
    state = layer.state_dict()
    state._metadata[""]["version"] = 3
    layer.load_state_dict(state)
    assert (layer(x) - x).abs().max() < (reduced - x).abs().max()


def test_nothing_flows_back():
    x = torch.randn(2, 20, requires_grad=True)
    assert torch.ao.quantization.quantize_dynamic(small())(x).shape == (2, 3)


def test_old_names():
    import yesca.nn.quantized.dynamic as old
    import yesca.quantization as old_quantization

    assert old.Linear is Linear and torch.quantization.quantize_dynamic is quantize_dynamic
    assert old_quantization.QConfig is torch.ao.quantization.QConfig
    assert torch.backends.quantized.engine == "x86"
    torch.backends.quantized.engine = "fbgemm"
    torch.backends.quantized.engine = "x86"
    with pytest.raises(RuntimeError, match="quantized engine qnnpack is not supported"):
        torch.backends.quantized.engine = "qnnpack"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_layers_of_other_dtypes(dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 4)).to(dtype)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found"):
        quantize_dynamic(model)
    x = torch.randn(2, 5)
    wanted = nn.functional.linear(x, model[0].weight.to(torch.float16).float(),
                                  model[0].bias.float())
    found = quantize_dynamic(model, dtype=torch.float16)(x)
    torch.testing.assert_close(found, wanted)
    bare = nn.Sequential(nn.Linear(5, 4, bias=False)).to(dtype)
    wanted = bare.float()(x)
    torch.testing.assert_close(quantize_dynamic(bare)(x), wanted, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("zero", [0, 3])
def test_autocast_leaves_the_layer_alone(zero):
    torch.manual_seed(0)
    x = torch.randn(3, 64)
    weight = torch.quantize_per_tensor(torch.randn(8, 64), 0.02, zero, torch.qint8)
    layer = Linear(64, 8)
    layer.set_weight_bias(weight, torch.randn(8))
    halves = quantize_dynamic(nn.Sequential(nn.Linear(64, 8)), dtype=torch.float16)
    wanted = layer(x), halves(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(x), halves(x)
        assert (x @ x.t()).dtype is torch.bfloat16
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype is torch.float32 and one.equal(other)


def test_parametrized_layers_are_refused():
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)))
    with pytest.raises(AssertionError, match="(?s)only works for one of.*remove_parametrizations"):
        quantize_dynamic(model)
    nn.utils.parametrize.remove_parametrizations(model[0], "weight")
    assert type(quantize_dynamic(model)[0]) is Linear
