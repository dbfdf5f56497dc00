"""`grad_dtype`: which dtype a leaf's gradient has."""

import pytest

import yesca as torch


def test_gradients_are_cast():
    x = torch.ones(2, requires_grad=True)
    assert x.grad_dtype is torch.float32 and (torch.ones(2).long()).grad_dtype is torch.int64
    x.grad_dtype = torch.float64
    for count in (1, 2):
        (3 * x).sum().backward()
        assert x.grad.dtype is torch.float64 and x.grad.tolist() == [3.0 * count] * 2
    assert torch.autograd.grad((3 * x).sum(), x)[0].dtype is torch.float64
    seen = []
    x.register_hook(lambda grad: seen.append(grad.dtype))
    (3 * x).sum().backward()
    assert seen == [torch.float64]


def test_any_gradient():
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float16)
    assert x.grad_dtype is None and x.view(1, 2)._base is x
    with pytest.raises(RuntimeError, match="already a gradient with dtype 'c10::Half'"):
        x.grad_dtype = torch.float32
    x.grad = None
    x.grad_dtype = torch.float32


def test_refusals():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        _ = (2 * x).grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        (2 * x).grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match="must be a torch.dtype or None, but got int"):
        x.grad_dtype = 3
    x.grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match="dtype 'float' to a tensor with grad_dtype 'Double'"):
        x.grad = torch.ones(2)
