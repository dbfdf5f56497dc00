"""One operator after another: what onnxruntime gives for its nodes."""

import pytest

import yesca as torch
import yesca.nn.functional as F
from yesca import nn
from yesca.onnx._tracing import flat
from yesca.onnx.rows import table

pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

FUNCTIONS = """
x + y; x - 2; 3 - x; torch.add(x, y, alpha=2); x * y; x / y; 2 / x; x // 0.3; x % 0.7; -x; x ** 2
x.abs().pow(0.5); torch.maximum(x, y); x.abs().sqrt(); x.abs().rsqrt(); x.exp(); x.exp2()
x.expm1(); x.abs().log(); x.abs().log1p(); x.abs().log2(); x.sin(); x.cos(); x.tan(); x.erf()
x.floor(); x.ceil(); x.round(); x.trunc(); x.frac(); x.sign(); x.clamp(0, 1); x.clamp(min=0.1)
x.clamp(max=0.1); torch.lerp(x, y, 0.3); torch.addcmul(x, y, y, value=2); x.square().mean().rsqrt()
x > y; x >= 0; x == x; x != y; x < 1; (x > y) & (x > 0); (x > y) | (x > 0); ~(x > y); x.isnan()
torch.where(x > 0, x, y); torch.where(x > 0, x, 0.0); x.masked_fill(x > 0, 0.0)
x.to(torch.int64); x.long() // 2; x.long() % 3; x.long() + 1.5; x.double(); x.long() * y; x > 1
x.sum(); x.sum(1); x.sum(0, keepdim=True); x.long().sum(); x.mean(1); x.prod(1); x.amax(1); x.max()
x.max(1); x.min(1, keepdim=True); x.argmax(1); x.argmin(); x.std(); x.var(0); x.var(1, False)
torch.std_mean(x); x.norm(); x.norm(1); F.normalize(x); x.logsumexp(1); (x > 0).any(); x.cumsum(1)
(x > -9).all(1); x.topk(2, 1); x.sort(1); x.sort(1, descending=True); x.softmax(0); torch.tril(x)
torch.triu(x, 1); x.flip(1); x.roll(1, 0); x.roll(3); x.repeat(2, 1); x.repeat(2, 1, 1); x.t()
x.view(4, 2); x.reshape(-1); x.flatten(); x.unsqueeze(1); x.unsqueeze(0).squeeze(0); x.mT
x.expand(3, 2, 4); x.unbind(1); x.chunk(2, 1); x.split(3, 1); x[:, 1:]; x[0]; x[..., None]; x[:, -1]
x[:, ::2]; x[None, :, 1:3]; x[torch.tensor([1, 0])]; x[torch.tensor([1, 0]), torch.tensor([0, 2])]
torch.cat([x, y]); torch.stack([x, y], -1); torch.cat([x, x.double()], 1); x.select(1, 2); x.clone()
x.index_select(1, torch.tensor([0, 2])); x.gather(1, torch.tensor([[0, 1], [1, 0]]))
x.scatter(1, torch.tensor([[0], [1]]), y); x.scatter_add(1, torch.tensor([[0], [1]]), y)
x.narrow(1, 1, 2); x.permute(1, 0)
x @ y.t(); torch.einsum("ij,kj->ik", x, y); torch.outer(x[0], y[0]); x[0] @ y[0]; x @ y[0]
torch.addmm(x @ y.t(), x, y.t(), beta=0.5, alpha=2); torch.bmm(x[None], y.t()[None]); F.linear(x, y)
F.pad(x, (1, 2)); F.pad(x, (1, 0, 2, 0), value=3); torch.zeros(2, 4) + x; x.new_ones(4) * x
torch.arange(4) + x; torch.full_like(x, 2) * x; x.movedim(0, 1); x.swapaxes(0, 1); x.contiguous()
"""

LAYERS = [
    nn.ReLU(), nn.LeakyReLU(), nn.ELU(), nn.SELU(), nn.CELU(), nn.GELU(), nn.GELU("tanh"),
    nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(), nn.ReLU6(), nn.PReLU(4),
    nn.Sigmoid(), nn.Tanh(), nn.Softplus(2), nn.Softsign(), nn.LogSigmoid(), nn.Softmax(1),
    nn.Softmin(1), nn.Tanhshrink(), nn.Hardshrink(), nn.Softshrink(), nn.Threshold(0.1, 20),
    nn.GLU(), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LocalResponseNorm(2),
    nn.AvgPool2d(2, ceil_mode=True), nn.AvgPool2d(3, 1, 1, count_include_pad=False),
    nn.AdaptiveAvgPool2d(2), nn.MaxPool2d(2, ceil_mode=True), nn.AdaptiveMaxPool2d(1),
    nn.ConvTranspose2d(4, 3, 3, 2, 1, 1), nn.Conv2d(4, 4, 3, groups=2, dilation=2),
    nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=2, mode="bilinear"),
    nn.Upsample(size=(7, 7), mode="bilinear", align_corners=True), nn.PixelShuffle(2),
    nn.ZeroPad2d(1), nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.RMSNorm(6),
    nn.LayerNorm((4, 6, 6)), nn.LayerNorm(6, bias=False), nn.Dropout2d(), nn.ChannelShuffle(2),
    nn.RReLU(),
]
IN_PLACE = [
    nn.ReLU(True), nn.LeakyReLU(0.2, True), nn.ELU(0.7, True), nn.SELU(True), nn.CELU(0.7, True),
    nn.SiLU(True), nn.Mish(True), nn.Hardswish(True), nn.Hardsigmoid(True), nn.ReLU6(True),
    nn.Hardtanh(-0.5, 0.4, inplace=True), nn.Threshold(0.1, 20, True), nn.RReLU(inplace=True),
    nn.Dropout(0.5, True),
]


def check(model, args, **named):
    program = torch.onnx.export(model, args, **named)
    with torch.no_grad():
        wanted = flat(model(*args))
    for one, other in zip(program(*args), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("text", [t.strip() for t in FUNCTIONS.replace("\n", ";").split(";")
                                  if t.strip()])
def test_functions(text):
    torch.manual_seed(1)
    scope = {"torch": torch, "F": F}
    check(eval(f"lambda x, y: {text}", scope), (torch.randn(2, 4), torch.randn(2, 4)),
          input_names=["x", "y"])


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers(layer):
    torch.manual_seed(1)
    x = torch.randn(2, 4, 6, 6)
    for opset in (20, 11):
        if opset == 20 or type(layer) not in (nn.Hardswish, nn.CELU):  # ONNX had none in 11
            check(layer.eval(), (x,), opset_version=opset)


@pytest.mark.parametrize("layer", IN_PLACE, ids=str)
def test_layers_in_place(layer):
    torch.manual_seed(1)
    check(nn.Sequential(nn.Linear(4, 4), layer).eval(), (torch.randn(2, 4) * 3,))


def test_an_operator_without_a_row_is_named_by_the_line_of_the_program(monkeypatch):
    monkeypatch.delitem(table(), "_silu")
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="test_rows.py"):
        torch.onnx.export(nn.SiLU(True), (torch.ones(2),))



@pytest.mark.parametrize("dim", [0, 1, 2])
def test_softmax_of_older_versions(dim):
    for opset in (11, 13):
        check(lambda x: (x.softmax(dim), x.log_softmax(dim), x >= 0, x.sum(dim), x.std(dim)),
              (torch.ones(2, 3, 4).tril(),), opset_version=opset)


@pytest.mark.parametrize("diagonal", [-1, 0, 2])
def test_triangles_of_older_versions(diagonal):
    for opset in (11, 13, 14):
        check(lambda x: (x.tril(diagonal), x.triu(diagonal)), (torch.ones(2, 3, 4),),
              opset_version=opset)


def test_sizes_of_all_kinds():
    """Formulas of two axes: products, sums, halves."""
    def function(x, y):
        count, time = x.shape[:2]
        joined = torch.cat([x, y], 1)
        mask = torch.arange(time + y.shape[1])[None] >= torch.arange(time)[:, None]
        return (x.view(count * time, -1), joined[:, :(time + 1) * 2 // 2], mask,
                torch.zeros(count, 2 * time) + 1, x.repeat(1, count, 1))

    args = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    program = torch.onnx.export(function, args, dynamic_shapes=({0: "n", 1: "t"}, {0: "n", 1: "u"}))
    for n, t, u in ((1, 7, 2), (5, 3, 4)):
        given = torch.randn(n, t, 4), torch.randn(n, u, 4)
        for one, other in zip(program(*given), function(*given), strict=True):
            torch.testing.assert_close(one, other)
