"""Normalisations and PReLU want parameters of the input's dtype, as PyTorch's do on a CPU."""

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import functional as F

HALF, SHORT = torch.float16, torch.bfloat16
ALL = (HALF, SHORT, torch.float32, torch.float64, torch.int64)
CALLS = {
    "layer_norm": lambda x, w: F.layer_norm(x, (4,), w, w),
    "group_norm": lambda x, w: F.group_norm(x, 2, w, w),
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, w, w, training=True),
    "running statistics": lambda x, w: F.batch_norm(x, w, w),
    "instance_norm": lambda x, w: F.instance_norm(x, weight=w, bias=w),
}


@pytest.mark.parametrize("parameters", ALL)
@pytest.mark.parametrize("dtype", ALL[:-1])
@pytest.mark.parametrize("name", CALLS)
def test_normalisations(name, dtype, parameters):
    x, w = torch.ones(2, 4, 4, dtype=dtype), torch.ones(4).to(parameters)
    if dtype is parameters or (dtype in (HALF, SHORT) and parameters is torch.float32):
        assert CALLS[name](x, w).dtype is dtype
        return
    text = ("all inputs must share same datatype." if parameters is torch.float32
            else "expect parameter to have scalar type of Float")
    with pytest.raises(RuntimeError, match=rf"mixed dtype \(CPU\): {text}"):
        CALLS[name](x, w)


def test_prelu():
    with pytest.raises(RuntimeError, match="prelu: Type promoting not supported. Got Double and F"):
        nn.PReLU()(torch.ones(2, dtype=torch.float64))
    assert nn.PReLU().double()(torch.ones(2, dtype=torch.float64)).dtype is torch.float64


def test_rms_norm_of_too_few_dimensions():
    with pytest.raises(ValueError, match="Input tensor must have at least 2 dimensions, but got 1"):
        nn.RMSNorm((2, 3))(torch.ones(3))
    with pytest.raises(NotImplementedError, match="\"rms_norm\" not implemented for 'Long'"):
        nn.RMSNorm(3)(torch.ones(2, 3, dtype=torch.int64))


@pytest.mark.parametrize("shape", [(0, 2, 4), (2, 0, 4), (0, 4)])
def test_attention_over_nothing(shape):
    x = torch.ones(shape)
    output, weights = nn.MultiheadAttention(4, 2)(x, x, x)
    length = shape[0]
    assert output.shape == shape and weights.shape[-2:] == (length, length)
    if len(shape) == 3:
        assert nn.TransformerEncoderLayer(4, 2, 8)(x).shape == shape


@pytest.mark.parametrize("call, message", [
    ("nn.Conv2d(2, 2, 1)(x.double())", r"Input type (double) and bias type (float) should be the "),
    ("nn.Conv2d(2, 2, 1)(x.half())", r"Input type (c10::Half) and bias type (float) should be the"),
    ("nn.Conv2d(2, 2, 1)(x.long())", r"Input type (long int) and bias type (float) should be the "),
    ("nn.Conv2d(2, 2, 1, bias=False)(x.double())", "expected scalar type Double but found Float"),
    ("nn.ConvTranspose2d(2, 2, 1)(x.double())", "expected scalar type Double but found Float"),
    ("nn.Conv2d(2, 2, 1, bias=False)(x.half())", "Input type (torch.HalfTensor) and weight type "
     "(torch.FloatTensor) should be the same or input should be a MKLDNN tensor"),
    ("nn.ConvTranspose2d(2, 2, 1)(x.bfloat16())", "Input type (CPUBFloat16Type) and weight type "
     "(torch.FloatTensor) should be the same or input should be a MKLDNN tensor"),
    ("F.glu(torch.ones(3, 3))", "Halving dimension must be even, but dimension 1 is size 3"),
    ("nn.AdaptiveMaxPool2d(2)(torch.ones(2))", "Expected 3D or 4D tensor, but got: [2]"),
])
def test_texts_of_layers(call, message):
    x = torch.ones(1, 2, 4, 4)
    with pytest.raises(RuntimeError) as caught:
        eval(call, {"torch": torch, "nn": nn, "F": F, "x": x})
    assert message in str(caught.value)


@pytest.mark.parametrize("call", [
    "pairwise_distance(): argument 'x1'", "hinge_embedding_loss(): argument 'input'",
    "multi_margin_loss(): argument 'input'", "cosine_similarity(): argument 'x1'",
])
def test_losses_of_no_tensors(call):
    with pytest.raises(TypeError) as caught:
        getattr(F, call.partition("(")[0])([1.0], [1.0])
    assert str(caught.value).startswith(f"{call} (position 1) must be Tensor, not list")


def test_output_sizes_of_transposed_convolutions():
    with pytest.raises(ValueError, match=r"for 2D input, output_size must have 1 or 2 elements"):
        nn.ConvTranspose1d(2, 2, 2)(torch.ones(2, 3), [1, 2, 3])
    assert nn.ConvTranspose1d(2, 2, 2)(torch.ones(2, 3), [2, 4]).shape == (2, 4)
    with pytest.raises(IndexError):
        nn.ConvTranspose2d(2, 2, 2)(torch.ones(2, 3), [4, 4])
