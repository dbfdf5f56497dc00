"""`torch.onnx.export`: memory that several tensors show, what a model writes, dynamic sizes."""

import copy

import pytest

import yesca as torch
from yesca import nn

pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

X = torch.arange(6.0).reshape(2, 3)
OTHER = torch.arange(35.0).reshape(7, 5) - 9


class Of(nn.Module):
    """A function as a model."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def check(function, example=X, other=X + 1, **named):
    program = torch.onnx.export(Of(function), example.clone(), **named)
    torch.testing.assert_close(program(other.clone())[0], function(other.clone()))


def written_beside(x):
    y = x * 3
    y.data.add_(1)
    return y


def written_detached(x):
    y = x.detach()
    y.mul_(2)
    return x + y


def written_to_data(x):
    y = x * 3
    torch.add(x, 1, out=y.data)
    return y


@pytest.mark.parametrize("function", [
    lambda x: x.detach() * 2, lambda x: x.data * 2, lambda x: x.data.clone(),
    lambda x: torch.tensor(x.detach()) * 2, lambda x: x.new_tensor(x.detach()) * 2,
    lambda x: copy.copy(x) * 2, lambda x: nn.Parameter(x) * 2, lambda x: x[0].detach()[1:] * 2,
    lambda x: x.as_subclass(torch.Tensor) * 2, lambda x: torch.empty(0).set_(x) * 2,
    written_beside, written_detached, written_to_data, lambda x: x.add_(1) * x,
])
@pytest.mark.filterwarnings("ignore:.*copy construct from a tensor")
def test_other_tensors_over_the_same_memory(function):
    check(function)


def test_memory_in_another_form():
    with pytest.raises(torch.onnx.OnnxExporterError, match="shares its memory"):
        check(lambda x: x.view(torch.int32) * 2)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


@pytest.mark.parametrize("axes", [None, [{0: "n"}]])
def test_the_model_and_its_inputs_are_as_before(axes):
    model, x = Counts(), X.clone()
    program = torch.onnx.export(model, x, dynamic_shapes=axes)
    assert model.calls.item() == 0
    assert program(X)[0].tolist() == (X + 1).tolist() == model(X).tolist()
    torch.onnx.export(Of(lambda x: x.add_(1)), x)
    assert x.tolist() == X.tolist()


def test_one_tensor_twice():
    class Two(nn.Module):
        def forward(self, a, b):
            return a - 2 * b

    assert torch.onnx.export(Two(), (X, X))(X, X + 1)[0].tolist() == (-X - 2).tolist()


@pytest.mark.parametrize("function", [
    lambda x: x[:, : x.shape[1] // 2], lambda x: x[:, ::2], lambda x: x.chunk(2, 1)[1],
    lambda x: x[: (x.shape[0] + 1) // 2], lambda x: x.repeat(x.shape[0], 1),
    lambda x: nn.functional.avg_pool1d(x[:, None], 2).flatten(),
])
def test_rounded_sizes(function):
    check(function, other=OTHER, dynamic_shapes=[{0: "n", 1: "m"}])


@pytest.mark.parametrize("function, message", [
    (lambda x: x / x.shape[1] ** 0.5, "is no formula of them"),
    (lambda x: x[:, : min(x.shape[1], 4)], "is no simple formula of them"),
    (lambda x: x.sum(0 if x.shape[1] < 4 else 1), "is no simple formula of them"),
])
def test_sizes_that_are_no_formula(function, message):
    with pytest.raises(torch.onnx.OnnxExporterError, match=message):
        check(function, other=OTHER, dynamic_shapes=[{0: "n", 1: "m"}])


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.full((3,), 2.0))
        self.output_0 = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.x + self.output_0, self.x


@pytest.mark.parametrize("names", [None, ["output_0"], ["output_1"]])
def test_names_that_meet(names):
    program = torch.onnx.export(Named(), X, input_names=names)
    first, second = program(X + 1)
    assert first.tolist() == (2 * X + 3).tolist() and second.tolist() == [2, 2, 2]
    assert program.model_proto.graph.input[0].name == (names or ["x"])[0]


@pytest.mark.parametrize("named, message", [
    ({"input_names": ["a"], "output_names": ["a"]}, "have the name 'a'"),
    ({"output_names": ["a", "a"]}, "have the name 'a'"),
    ({"input_names": [""]}, "'' is no name"),
    ({"dynamic_shapes": [{0: "n"}, {0: "n"}]}, "dynamic_shapes has 2 items"),
    ({"dynamic_shapes": []}, "dynamic_shapes has 0 items"),
])
def test_names_and_shapes_that_are_wrong(named, message):
    with pytest.raises(ValueError, match=message):
        torch.onnx.export(Of(lambda x: (x + 1, x + 2)), X, **named)


@pytest.mark.parametrize("shapes", [[{0: "n"}], [[{0: "n"}]]])
def test_shapes_of_several_tensors_in_one_argument(shapes):
    with pytest.raises(ValueError, match="has 2 parts: each needs its own"):
        torch.onnx.export(Of(lambda pair: pair[0] + pair[1]), ([X, X],), dynamic_shapes=shapes)


@pytest.mark.parametrize("given", [None, 3, ()])
def test_models_that_give_no_tensors(given):
    with pytest.raises(torch.onnx.OnnxExporterError, match="the model gives no tensors"):
        torch.onnx.export(Of(lambda x: given), X)
