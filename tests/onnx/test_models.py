"""Exported models: onnxruntime gives what the model gives, for sizes that were not exported too."""

import pytest

import yesca as torch
import yesca.nn.functional as F
from yesca import nn
from yesca.onnx._tracing import flat
from yesca.vision import models

pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

OPSETS = (11, 12, 13, 16, 17, 18, 20, 23)


def exported(model, args, others=(), **named):
    """The program, which has given the model's results for the arguments and for others."""
    program = torch.onnx.export(model, args, **named)
    if isinstance(model, nn.Module):
        model.eval()
    for given in (args, *others):
        with torch.no_grad():
            wanted = flat(model(*given))
        for one, other in zip(program(*given), wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    return program


def initializers(program):
    return {one.name for one in program.model_proto.graph.initializer}


def kinds(program):
    return [node.op_type for node in program.model_proto.graph.node]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_a_perceptron():
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 4), nn.ReLU(), nn.Dropout(0.5),
                          nn.Linear(4, 2), nn.LogSoftmax(1))
    program = exported(model, (torch.randn(3, 2, 4),), [(torch.randn(7, 2, 4),)],
                       input_names=["image"], dynamic_axes={"image": {0: "batch"}})
    assert initializers(program) >= set(model.state_dict())
    assert kinds(program) == ["Reshape", "Gemm", "Relu", "Gemm", "LogSoftmax"]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second = nn.Conv2d(width, width, 3, padding="same")
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width)])

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)), inplace=True)
        y = self.norms[1](self.second(y))
        y += x
        return F.relu(y)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(Block(4), Block(4))
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        x = self.blocks(self.pool(self.stem(x)))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def test_a_residual_network():
    model = Residual()
    for _ in range(2):
        model(torch.randn(4, 3, 16, 16))
    model.eval()
    program = exported(model, (torch.randn(2, 3, 16, 16),), [(torch.randn(3, 3, 24, 20),)],
                       dynamic_shapes={"x": {0: "n", 2: "height", 3: "width"}})
    shape = program.model_proto.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in shape] == ["n", 3, "height", "width"]
    assert "blocks.0.norms.0.running_mean" in initializers(program)


class Recurrent(nn.Module):
    def __init__(self, kind, **named):
        super().__init__()
        self.walk = kind(3, 4, 2, batch_first=True, **named)
        self.head = nn.Linear(4 * (1 + self.walk.bidirectional), 2)

    def forward(self, x):
        outputs, last = self.walk(x)
        return self.head(outputs[:, -1]), last


@pytest.mark.parametrize("named", [{}, {"bidirectional": True}, {"bias": False}])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(kind, named):
    model = Recurrent(kind, **named)
    program = exported(model, (torch.randn(2, 5, 3),), [(torch.randn(4, 70, 3),)],
                       dynamic_axes={"x": {0: "batch", 1: "time"}})
    assert kinds(program).count(kind.__name__) == 2 * (1 + model.walk.bidirectional)
    assert "walk.weight_hh_l1" in initializers(program)


def test_transformers():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    exported(nn.TransformerEncoder(layer, 1), (torch.randn(2, 5, 8),), [(torch.randn(3, 9, 8),)],
             dynamic_axes={"src": {0: "batch", 1: "time"}})
    exported(nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
             (torch.randn(2, 5, 8), torch.randn(2, 4, 8)))


class Language(nn.Module):
    """A small GPT: by its own attention, or by PyTorch's."""

    def __init__(self, own):
        super().__init__()
        self.own = own
        self.tokens, self.places = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.tokens.weight
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, ids):
        count, time = ids.size()
        assert time <= 16
        x = self.tokens(ids) + self.places(torch.arange(0, time, dtype=torch.long))
        q, k, v = (part.view(count, time, 2, 4).transpose(1, 2)
                   for part in self.qkv(self.norm(x)).split(8, dim=2))
        if self.own:
            scores = (q @ k.transpose(-2, -1)) * 0.5
            scores = scores.masked_fill(self.mask[:, :, :time, :time] == 0, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(count, time, 8))
        x = x + self.mlp(x)
        return self.head(x[:, [-1], :]), x


@pytest.mark.parametrize("own", [False, True])
def test_a_language_model(own):
    model, ids = Language(own), torch.randint(0, 11, (2, 5))
    exported(model, (ids,), [(torch.randint(0, 11, (3, 16)),)], input_names=["ids"],
             dynamic_axes={"ids": {0: "batch", 1: "time"}})
    for opset in OPSETS:
        program = exported(model, (ids,), opset_version=opset)
        assert program.model_proto.opset_import[0].version == opset


@pytest.mark.parametrize("write", [
    lambda y, x: y.masked_fill_(x > 0, 3.0),
    lambda y, x: y.masked_fill_(x[:1] > 0, torch.tensor(3.0)),
    lambda y, x: y.__setitem__(x > 0, 0),
    lambda y, x: y.__setitem__(x[:, 0] > 0, 7),
    lambda y, x: y.__setitem__((slice(None), x[0] > 0), 1),
])
def test_elements_that_a_mask_chooses_are_written(write):
    class Written(nn.Module):
        def forward(self, x):
            y = x * 2
            write(y, x)
            return y + 1

    exported(Written(), (torch.randn(4, 4),), [(torch.randn(4, 4),)])


def test_windows_whose_keys_have_no_bias():
    blocks = models.swin_transformer
    exported(blocks.SwinTransformer(
        [4, 4], 8, [1, 1], [1, 2], [2, 2], num_classes=3, block=blocks.SwinTransformerBlockV2,
        downsample_layer=blocks.PatchMergingV2).eval(), (torch.randn(1, 3, 16, 16),))
