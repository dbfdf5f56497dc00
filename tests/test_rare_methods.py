"""Methods that few programs call."""

import pytest

import yesca as torch
from yesca import nn


@pytest.mark.parametrize(("tensor", "order"), [
    (torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), (0, 2, 3, 1)),
    (torch.ones(2, 3, 4).transpose(0, 2), (2, 1, 0)), (torch.ones(2, 1).expand(2, 3), (0, 1)),
    (torch.ones(()), ()), (torch.ones(4, 1, 2, 3), (0, 1, 2, 3)),
    (torch.ones(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d), (0, 2, 3, 4, 1)),
])
def test_orders(tensor, order):
    assert tensor.dim_order() == order


def test_ambiguous_orders():
    both = [torch.contiguous_format, torch.channels_last]
    assert torch.ones(1, 2, 3, 4).dim_order(ambiguity_check=both) == (0, 1, 2, 3)
    assert torch.ones(3, 2).dim_order(ambiguity_check=True) == (0, 1)
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        torch.ones(1, 2).dim_order(ambiguity_check=True)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        torch.ones(1, 2).dim_order(ambiguity_check="x")


def test_questions():
    x = torch.ones(2)
    assert not (x.is_xla or x.is_ipu or x.is_vulkan or x.is_mtia or x.is_maia)
    assert not x.is_distributed() and x.const_data_ptr() == x.data_ptr()


@pytest.fixture
def swapping():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_conversions_that_swap(swapping):
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer(torch.ones(1, 2)).sum().backward()
    gradient = weight.grad
    layer.double()
    assert layer.weight is weight and weight.dtype is torch.float64
    assert weight.grad is gradient and gradient.dtype is torch.float64


def test_loading_that_swaps(swapping):
    layer = nn.Linear(2, 2)
    weight, given = layer.weight, {k: torch.full_like(v, 3) for k, v in layer.state_dict().items()}
    layer.load_state_dict(given)
    assert layer.weight is weight and weight.requires_grad and weight.detach().eq(3).all()
    layer.load_state_dict(given, assign=True)
    assert layer.weight is weight and weight.data_ptr() == given["weight"].data_ptr()


def test_what_is_loaded_must_be_new(swapping):
    class Own(torch.Tensor):
        def module_load(self, other, assign=False):
            return self

    layer = nn.Module()
    layer.register_buffer("value", torch.ones(2).as_subclass(Own))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        layer.load_state_dict({"value": torch.ones(2)})
