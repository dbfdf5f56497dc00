"""`torch.onnx.export`: files, names, and what it refuses."""

import warnings

import numpy as np
import pytest

import yesca as torch
from yesca import nn

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

X = torch.ones(2, 3)


def model():
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def run(path, **given):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {name: value.numpy() for name, value in given.items()})


def test_files(tmp_path):
    layer, path = model(), tmp_path / "model.onnx"
    program = torch.onnx.export(layer, X, path, input_names=["a"], output_names=["b"])
    assert isinstance(program, torch.onnx.ONNXProgram) and "a -> b" in repr(program)
    assert (tmp_path / "model.onnx").exists()
    np.testing.assert_allclose(run(path, a=X)[0], layer(X).detach().numpy(), rtol=1e-5)
    assert torch.onnx.export(layer, (X,), tmp_path / "old.onnx", dynamo=False) is None
    loaded = onnx.load(tmp_path / "old.onnx")
    assert loaded.opset_import[0].version == 17 and loaded.producer_name == "yesca"
    program.save(tmp_path / "third.onnx", external_data=False)
    np.testing.assert_allclose(run(tmp_path / "third.onnx", a=X)[0], run(path, a=X)[0])


def test_large_weights_lie_beside(tmp_path):
    torch.onnx.export(nn.Linear(100, 100), torch.ones(1, 100), tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx.data").stat().st_size >= 40_000
    assert run(tmp_path / "a.onnx", input=torch.ones(1, 100))[0].shape == (1, 100)


def test_weights_as_inputs():
    for named, count in (({"keep_initializers_as_inputs": True}, 2), ({"export_params": False}, 0)):
        graph = torch.onnx.export(model(), X, **named).model_proto.graph
        assert [one.name for one in graph.input] == ["input", "weight", "bias"]
        assert len(graph.initializer) == count


def test_names_and_modes():
    layer = nn.Sequential(nn.Dropout(0.5), model())
    program = torch.onnx.export(layer, (), kwargs={"input": X}, dynamo=True,
                                input_names=["x", "w"], output_names=["y"])
    graph = program.model_proto.graph
    assert [one.name for one in graph.input] == ["x"] and graph.output[0].name == "y"
    assert {one.name for one in graph.initializer} == {"w", "1.bias"}
    assert layer.training and layer[0].training
    assert not torch.onnx.is_in_onnx_export()
    seen = []
    torch.onnx.export(lambda x: seen.append(torch.onnx.is_in_onnx_export()) or x + 1, X)
    assert seen == [True]


def test_structures():
    def function(pair, named):
        return {"sum": pair[0] + pair[1], "all": [named["z"] * 2, pair[0]]}

    args = ((X, X + 1), {"z": X})
    program = torch.onnx.export(function, args, kwargs={})
    assert [one.name for one in program.model_proto.graph.input] == ["pair_0", "pair_1", "named"]
    given = program(*args)
    assert [t.sum().item() for t in given] == [18.0, 12.0, 6.0]


def test_verify_and_verbose(capsys):
    torch.onnx.export(model(), X, verify=True, verbose=True)
    assert "Gemm" in capsys.readouterr().out


def test_values_that_python_reads():
    with pytest.warns(torch.jit.TracerWarning, match="to a Python boolean might cause the trace"):
        torch.onnx.export(lambda x: x * 2 if x.sum() > 0 else x, X)
    with pytest.warns(torch.jit.TracerWarning, match="Python number"):
        torch.onnx.export(lambda x: x * x.sum().item(), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.onnx.export(lambda x: x * torch.ones(2).sum().item(), X)


def written(x):
    y = x.clone()
    y[:, 0] = 1
    return y + 1


@pytest.mark.parametrize(("function", "named", "kind", "message"), [
    (lambda x: x.bernoulli(), {}, torch.onnx.OnnxExporterError, "test_export.py\", line"),
    (lambda x: x + torch.rand(2, 3), {}, torch.onnx.OnnxExporterError, "random numbers are drawn"),
    (written, {}, torch.onnx.OnnxExporterError, "written through another one"),
    (lambda x: x * 2 if x.shape[0] % 2 else x - 2, {"dynamic_shapes": {"x": {0: "n"}}},
     torch.onnx.OnnxExporterError, "other operators for other sizes"),
    (lambda x: x + torch.ones(2, 3), {"dynamic_shapes": {"x": {0: "n"}}},
     torch.onnx.OnnxExporterError, "runs with too few sizes"),
    (lambda x: x, {"opset_version": 99}, ValueError, "Unsupported ONNX opset version: 99"),
    (lambda x: x, {"dynamo": False}, ValueError, "Export path must be specified"),
    (lambda x: x, {"dynamic_axes": {"none": [0]}, "output_names": ["y"]}, ValueError,
     "no input (['x']) and no output (['y'])"),
    (lambda x: x, {"dynamic_shapes": {"x": {5: "n"}}}, ValueError, "has 2 dimensions"),
    (lambda x: x, {"custom_opsets": {"a": 1}}, NotImplementedError, "custom_opsets"),
])
def test_what_is_refused(function, named, kind, message):
    with pytest.raises(kind) as caught:
        torch.onnx.export(function, X, **named)
    assert message in str(caught.value)


def test_operators_without_a_row_are_named():
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="the operator kthvalue"):
        torch.onnx.export(lambda x: torch.kthvalue(x, 1)[0], X)
    with pytest.raises(ValueError, match="no tensors among its arguments"):
        torch.onnx.export(lambda: X, ())
