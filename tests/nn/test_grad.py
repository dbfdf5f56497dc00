"""Gradients of convolutions as functions, convolutions of (time, batch, channel), and types."""

import pytest

import yesca as torch

F, G = torch.nn.functional, torch.nn.grad


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("numbers", [
    {}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}])
def test_gradients_are_those_of_the_tape(rank, numbers):
    torch.manual_seed(0)
    x = torch.randn(2, 4, *(7,) * rank, requires_grad=True)
    weight = torch.randn(6, 4 // numbers.get("groups", 1), *(3,) * rank, requires_grad=True)
    made = getattr(F, f"conv{rank}d")(x, weight, None, **numbers)
    slope = torch.randn(made.shape)
    wanted = torch.autograd.grad(made, (x, weight), slope)
    of_input = getattr(G, f"conv{rank}d_input")(x.shape, weight, slope, **numbers)
    of_weight = getattr(G, f"conv{rank}d_weight")(x, weight.shape, slope, **numbers)
    assert torch.equal(of_input, wanted[0]) and torch.equal(of_weight, wanted[1])


def test_time_first():
    torch.manual_seed(0)
    given = [torch.randn(*sizes, dtype=torch.float64, requires_grad=True)
             for sizes in ((5, 2, 3), (2, 3, 4), (4,))]
    made = torch.conv_tbc(*given, 1)
    x, weight, bias = given
    wanted = F.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=1)
    assert torch.allclose(made, wanted.permute(2, 0, 1)) and made.is_contiguous()
    assert made.grad_fn.name() == "ConvTbcBackward0" and F.conv_tbc is torch.conv_tbc
    assert torch.autograd.gradcheck(lambda *v: torch.conv_tbc(*v, 1), given)
    with pytest.raises(RuntimeError, match="Input must have 3 dims: time, batch, in_channel"):
        torch.conv_tbc(x[0], weight, bias)
    with pytest.raises(RuntimeError, match="Weight tensor must have 3 dims"):
        torch.conv_tbc(x, weight[0], bias)


def test_all_tensors_are_dense():
    x = torch.ones(2)
    assert x.to_dense() is x and x.to_dense(torch.float64).dtype == torch.float64
    with pytest.raises(TypeError, match="argument 'dtype' .* must be torch.dtype, not str"):
        x.to_dense("float64")


def test_types_for_annotations():
    assert isinstance(3, torch.types.Number) and not isinstance("a", torch.types.Number)
    assert isinstance("cpu", torch.types.Device) and torch.types.Size is torch.Size
