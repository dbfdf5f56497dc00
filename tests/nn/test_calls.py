"""Calls of modules: the builtin in the type slot, its twin, and what goes from one to the other."""

import gc
import inspect
import sys
from collections import OrderedDict

import pytest

import yesca as torch
from yesca import nn
from yesca.nn.modules.module import register_module_forward_hook


class Scaled(nn.Module):
    def forward(self, x, *more, by=1, **named):
        return x * by, more, named


def test_arguments_reach_forward():
    module, x = Scaled(), torch.ones(2)
    for count in (0, 1, 7, 8, 20):  # more than eight go by the twin
        more, named = tuple(range(count)), {f"n{k}": k for k in range(count)}
        result = module(x, *more, by=3, **named)
        assert result[0].tolist() == [3.0, 3.0] and result[1:] == (more, named)
    assert module.__call__(x)[1:] == nn.Module.__call__(module, x)[1:] == ((), {})
    with pytest.raises(TypeError, match=r"Scaled.forward\(\) missing 1 required positional"):
        module()


@pytest.mark.parametrize("add", [
    lambda m, f: m.register_forward_hook(lambda *a: f()),
    lambda m, f: m.register_forward_pre_hook(lambda *a: f()),
    lambda m, f: register_module_forward_hook(lambda *a: f()),
    lambda m, f: m.register_full_backward_hook(lambda *a: f()),
])
def test_hooks_are_seen_and_forgotten(add):
    module, calls = nn.Linear(2, 2), []
    module(torch.ones(1, 2))
    handle = add(module, lambda: calls.append(1))
    module(torch.ones(1, 2, requires_grad=True)).sum().backward()
    assert calls == [1]
    handle.remove()
    module(torch.ones(1, 2, requires_grad=True)).sum().backward()
    assert calls == [1]


def test_forward_of_the_instance_and_of_the_class():
    module = nn.Linear(2, 2)
    module.forward = lambda x: "own"
    assert module(1) == "own"
    del module.forward

    class Static(nn.Module):
        @staticmethod
        def forward(x):
            return "static", x

    class Made(nn.Module):
        @property
        def forward(self):
            return lambda x: ("property", x)

    class Called(nn.Linear):
        def __call__(self, x):
            return "called", x

    assert Static()(1) == ("static", 1)
    assert Made()(2) == ("property", 2)
    assert Called(2, 2)(3) == ("called", 3)
    kept = nn.ReLU.forward
    nn.ReLU.forward = lambda self, x: ("patched", x)
    try:
        assert nn.ReLU()(4) == ("patched", 4)
    finally:
        nn.ReLU.forward = kept


def test_errors():
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        nn.Module()(1)

    class Bare(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match="'Bare' object has no attribute '_"):
        Bare()(1)
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'foo'") as caught:
        nn.Linear(2, 2).foo  # noqa: B018
    assert caught.value.name == "foo"

    class Raises(nn.Module):
        def forward(self, x):
            raise KeyError(x)

    with pytest.raises(KeyError):
        nn.Sequential(Raises())(1)


def test_endless_recursion():
    class Endless(nn.Module):
        def forward(self, x):
            return self(x)

    with pytest.raises(RecursionError):
        Endless()(1)


def test_attributes():
    module = nn.BatchNorm1d(2)
    assert module.weight is module._parameters["weight"]
    assert module.running_mean is module._buffers["running_mean"]
    module._modules = OrderedDict(inner=nn.ReLU())
    assert isinstance(module.inner, nn.ReLU)
    module.register_parameter("nothing", None)
    assert module.nothing is None

    class Guarded(dict):
        def __getitem__(self, key):
            return f"guarded {key}"

    module._buffers = Guarded(x=1)
    assert module.x == "guarded x"


def test_signatures():
    assert str(inspect.signature(Scaled())) == "(*args, **kwargs)"
    assert "in_features" in str(inspect.signature(nn.Linear))

    class Called(nn.Module):
        def __call__(self, x):
            return x

    assert str(inspect.signature(Called())) == "(x)"


def test_no_references_are_left():
    module, x = nn.Sequential(nn.Identity(), nn.Identity()), object()
    module(x)
    counts = [sys.getrefcount(thing) for thing in (x, module, nn.Identity.forward, module._modules)]
    for _ in range(100):
        module(x)
        module.register_parameter  # noqa: B018
        module._modules["0"].training  # noqa: B018
        getattr(module, "0")
    assert counts == [sys.getrefcount(thing)
                      for thing in (x, module, nn.Identity.forward, module._modules)]
    gc.collect()


def test_a_builtin_stands_in_the_slot():
    from yesca.runtime import layout

    assert inspect.isfunction(nn.Module.__call__) != layout.uses_builtins()
