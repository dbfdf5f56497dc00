"""Batch norms fused into the layers before them."""

import pytest

import yesca as torch
from yesca import nn


def trained(bn):
    torch.manual_seed(0)
    for tensor in (bn.running_mean, bn.weight.data, bn.bias.data):
        tensor.normal_()
    bn.running_var.uniform_(0.5, 2.0)
    return bn.eval()


@pytest.mark.parametrize("layer, bn, shape, transpose", [
    (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), (2, 3, 5, 5), False),
    (nn.Conv1d(3, 4, 3, bias=False), nn.BatchNorm1d(4), (2, 3, 5), False),
    (nn.ConvTranspose2d(3, 4, 2), nn.BatchNorm2d(4), (2, 3, 4, 4), True),
])
def test_convolutions(layer, bn, shape, transpose):
    x = torch.rand(shape)
    fused = nn.utils.fuse_conv_bn_eval(layer.eval(), trained(bn), transpose)
    assert torch.allclose(fused(x), bn(layer(x)), atol=1e-5)
    assert fused is not layer and isinstance(fused.weight, nn.Parameter)


def test_linear():
    layer, bn = nn.Linear(3, 4).eval(), trained(nn.BatchNorm1d(4))
    x = torch.rand(5, 3)
    assert torch.allclose(nn.utils.fuse_linear_bn_eval(layer, bn)(x), bn(layer(x)), atol=1e-5)
    with pytest.raises(AssertionError, match="out_features"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(3, 5).eval(), bn)
    with pytest.raises(AssertionError, match="only for eval"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(3, 4), bn)
