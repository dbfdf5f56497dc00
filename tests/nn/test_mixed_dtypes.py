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
