"""Forward and backward hooks of modules."""

import pytest

import yesca as torch
from yesca import nn
from yesca.nn.modules import module as registry


class Double(nn.Module):
    def forward(self, x, times=2):
        return x * times


def test_forward_hooks_see_and_replace():
    layer, seen = Double(), []
    layer.register_forward_pre_hook(lambda module, args: seen.append("pre"))
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_hook(lambda module, args, out: out * 10)
    first = layer.register_forward_hook(lambda module, args, out: seen.append(out), prepend=True)
    assert layer(torch.ones(1)).item() == 40.0
    assert seen[0] == "pre" and seen[1].item() == 4.0
    first.remove()
    first.remove()
    assert len(layer._forward_hooks) == 1


def test_hooks_with_keywords():
    layer = Double()
    layer.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"times": kwargs["times"] + 1}), with_kwargs=True
    )
    seen = []
    layer.register_forward_hook(
        lambda module, args, kwargs, out: seen.append(kwargs), with_kwargs=True
    )
    assert layer(torch.ones(1), times=4).item() == 5.0
    assert seen == [{"times": 5}]
    layer.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        layer(torch.ones(1), times=4)


def test_always_called_hooks_run_after_an_error():
    class Failing(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    layer, seen = Failing(), []
    layer.register_forward_hook(lambda *args: seen.append("always"), always_call=True)
    layer.register_forward_hook(lambda *args: seen.append("never"))
    with pytest.raises(ValueError, match="no"):
        layer(1)
    assert seen == ["always"]


def test_full_backward_hooks():
    layer, seen = Double(), []
    x = torch.ones(2, requires_grad=True)
    layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 3,))

    def hook(module, grad_input, grad_output):
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 5,)

    layer.register_full_backward_hook(hook)
    layer(x).sum().backward()
    assert seen == [([6.0, 6.0], [3.0, 3.0])]
    assert x.grad.tolist() == [30.0, 30.0]
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        layer.register_backward_hook(hook)


def test_wrong_number_of_gradients():
    layer = Double()
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: (1, 2))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        layer(torch.ones(1, requires_grad=True)).sum().backward()


def test_backward_hook_without_input_gradients():
    layer, seen = nn.Linear(1, 1), []
    layer.register_full_backward_hook(lambda module, grad_input, out: seen.append(grad_input))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(torch.ones(1, 1)).sum().backward()
    assert seen == [(None,)]


def test_global_hooks():
    seen = []
    handles = [
        registry.register_module_forward_pre_hook(lambda module, args: seen.append("pre")),
        registry.register_module_forward_hook(lambda module, args, out: seen.append("post")),
        registry.register_module_module_registration_hook(
            lambda module, name, child: seen.append(name)
        ),
    ]
    nn.Sequential(Double())(torch.ones(1))
    for handle in handles:
        handle.remove()
    assert seen == ["0", "pre", "pre", "post", "post"]
    nn.Sequential(Double())(torch.ones(1))
    assert len(seen) == 5
