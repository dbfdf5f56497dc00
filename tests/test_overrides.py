"""`__torch_function__`: subclasses keep their class, classes and modes take functions over."""

import inspect
import subprocess
import sys

import pytest

import yesca as torch
from yesca.dispatch import protocol
from yesca.nn import functional as F
from yesca.overrides import (
    TorchFunctionMode, handle_torch_function, has_torch_function, is_tensor_like,
)


class Marked(torch.Tensor):
    pass


LOG = []


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        LOG.append((func.__name__, [t.__name__ for t in types], len(args), sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs or {})


HANDLED = {}


class Duck:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED:
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


@pytest.mark.parametrize("function", [
    lambda m: m + 1, lambda m: 1 + m, lambda m: torch.ones(2) + m, lambda m: torch.mul(m, 2),
    lambda m: m.sum(), lambda m: m[0], lambda m: m.detach(), lambda m: m.double(),
    lambda m: m.clone(), lambda m: torch.cat([m, m]), lambda m: m.add_(1), lambda m: m.view(2, 1),
    lambda m: m.max(0)[1], lambda m: m.data, lambda m: m > 0, lambda m: torch.zeros_like(m),
    lambda m: m.view(1, 2).T, lambda m: m.unbind()[1], lambda m: torch.nn.functional.relu(m),
    lambda m: m.new_zeros(2), lambda m: next(iter(m)), lambda m: torch.ones(2).add(m),
])
def test_results_keep_the_subclass(function):
    assert type(function(torch.ones(2).as_subclass(Marked))) is Marked


def test_plain_values_and_plain_tensors():
    m = torch.ones(2).as_subclass(Marked)
    assert m.sum().item() == 2.0
    assert isinstance(m.shape, torch.Size)
    with torch._C.DisableTorchFunctionSubclass():
        assert type(m + 1) is torch.Tensor
    assert type(torch.nn.Parameter(torch.ones(2)) + 1) is torch.Tensor


def test_gradients_through_a_subclass():
    x = torch.ones(2, requires_grad=True)
    m = (x * 3).as_subclass(Marked)
    (m * m).sum().backward()
    assert x.grad.tolist() == [18.0, 18.0]


@pytest.mark.parametrize(("function", "expected"), [
    (lambda t: t + 1, ("add", ["Logged"], 2, [])),
    (lambda t: torch.add(t, 1, alpha=2), ("add", ["Logged"], 2, ["alpha"])),
    (lambda t: t.sum(dim=0, keepdim=True), ("sum", ["Logged"], 1, ["dim", "keepdim"])),
    (lambda t: t[0], ("__getitem__", ["Logged"], 2, [])),
    (lambda t: 1 - t, ("__rsub__", ["Logged"], 2, [])),
    (lambda t: torch.stack([t, t]), ("stack", ["Logged"], 1, [])),
])
def test_what_a_class_is_told(function, expected):
    t = torch.ones(2).as_subclass(Logged)
    LOG.clear()
    function(t)
    assert LOG == [expected]


def test_classes_that_are_no_tensors(monkeypatch):
    monkeypatch.setitem(HANDLED, torch.mean, lambda d: d.value)
    monkeypatch.setitem(HANDLED, torch.add, lambda a, b: "added")
    assert torch.mean(Duck(3)) == 3
    assert torch.add(torch.ones(1), Duck(3)) == "added"
    with pytest.raises(TypeError, match="Multiple dispatch failed for '(torch|yesca).mul'"):
        torch.mul(Duck(3), 2)
    assert is_tensor_like(Duck(1))
    assert not is_tensor_like(1)


def test_functions_of_ones_own(monkeypatch):
    def own(x):
        if has_torch_function((x,)):
            return handle_torch_function(own, (x,), x)
        return "plain"

    monkeypatch.setitem(HANDLED, own, lambda x: "handled")
    assert (own(Duck(1)), own(3)) == ("handled", "plain")


def test_modes():
    names = []

    class Note(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Twice(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            return made * 2 if func is torch.sin else made

    with Note():
        a = torch.ones(2)
        torch.sin(a + 1).cos()
    a + 1
    assert names == ["ones", "add", "sin", "cos"]
    x = torch.ones(1)
    with Twice(), Twice():
        four = torch.sin(x)
    assert four.item() == pytest.approx(4 * torch.sin(x).item())


def test_a_mode_sees_indexing_as_it_is_written():
    seen = []

    class Note(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x, own = torch.ones(4, 3), torch.Tensor
    mask = x > 0
    with Note():
        for index in (0, slice(2), [0, 1], mask, None):
            x[index]
        x[0] = 1
        x[mask] = 3
        x[:2] = x[2:]
    assert seen == [*[own.__getitem__] * 5, *[own.__setitem__] * 2, own.__getitem__,
                    own.__setitem__]


class Noted(torch.Tensor):
    seen: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(torch.overrides.resolve_name(func))
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize(("use", "name"), [
    (lambda x: x.shape, "torch.Tensor.shape.__get__"),
    (lambda x: x.grad, "torch.Tensor.grad.__get__"),
    (lambda x: x.requires_grad, "torch.Tensor.requires_grad.__get__"),
    (lambda x: x.T, "torch.Tensor.T.__get__"),
    (lambda x: setattr(x, "grad", None), "torch.Tensor.grad.__set__"),
    (lambda x: setattr(x, "data", torch.zeros(2, 3)), "torch.Tensor.data.__set__"),
    (lambda x: x.requires_grad_(), "torch.Tensor.requires_grad_"),
    (lambda x: x.untyped_storage(), "torch.Tensor.untyped_storage"),
    (lambda x: x == 1, "torch.Tensor.__eq__"), (lambda x: x != 1, "torch.Tensor.ne"),
    (lambda x: x % 2, "torch.Tensor.remainder"), (abs, "torch.Tensor.abs"),
    (lambda x: +x, "torch.Tensor.positive"), (lambda x: -x, "torch.Tensor.neg"),
    (lambda x: len(x), "torch.Tensor.__len__"), (repr, "torch.Tensor.__repr__")])
def test_attributes_are_functions_too(use, name):
    x = torch.ones(2, 3).as_subclass(Noted)
    Noted.seen.clear()
    use(x)
    assert Noted.seen == [name]


def test_functions_whose_results_stay_plain():
    found = torch.overrides.get_default_nowrap_functions()
    assert {torch.Tensor.grad.__get__, torch.Tensor._base.__get__} <= found


def test_equality_is_the_method_of_tensors():
    seen = []

    class Kept(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Kept)
    x == x  # noqa: B015
    assert seen == [torch.Tensor.__eq__]


def test_what_attributes_give():
    x = torch.ones(2, 3).as_subclass(Noted)
    x.note = "mine"
    assert x.note == "mine" and x.shape == (2, 3)
    assert type(x.data) is Noted and type(x.T) is Noted
    x.grad = torch.zeros(2, 3)
    assert type(x.grad) is torch.Tensor  # as PyTorch: gradients stay plain
    assert torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()


@pytest.mark.parametrize("call", [
    "max(thing)", "einsum('i', thing)", "split(thing, 1)", "full_like(thing, 1)", "add(thing, 1)",
    "cat([thing])", "broadcast_tensors(thing)",
])
def test_a_class_is_told_the_public_function(call):
    seen = []

    class Told:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)

    eval(f"torch.{call}", {"torch": torch, "thing": Told()})
    assert seen == [getattr(torch, call.partition("(")[0])]


X = torch.rand(2, 4, 4)
MSE = F.mse_loss  # as programs hold it before they make a class


@pytest.mark.parametrize(("function", "arguments", "options"), [
    (MSE, (X, X), {"reduction": "sum"}), (F.relu, (X,), {"inplace": False}),
    (F.pad, (X, (1, 1)), {}), (F.interpolate, (X,), {"scale_factor": 2.0}),
    (F.normalize, (X,), {"dim": 0}), (F.cross_entropy, (), {"input": X[0], "target": X[1]}),
    (F.max_pool1d, (X, 2), {}), (F.adaptive_max_pool1d, (X, 2), {}),
    (F.triplet_margin_loss, (X[0], X[0], X[1]), {"swap": True}), (F.dropout, (X, 0.0), {}),
    (torch.nn.init.constant_, (torch.ones(2), 3.0), {}),
    (F.cosine_similarity, (X, X), {}), (F.group_norm, (X, 2), {}), (F.softmax, (X,), {"dim": 0}),
])
def test_functions_of_networks_are_taken_over_whole(function, arguments, options):
    plain = function(*arguments, **options)
    as_logged = [[a.as_subclass(Logged) if isinstance(a, torch.Tensor) else a for a in arguments],
                 {name: v.as_subclass(Logged) if isinstance(v, torch.Tensor) else v
                  for name, v in options.items()}]
    LOG.clear()
    made = function(*as_logged[0], **as_logged[1])
    assert LOG == [(function.__name__, ["Logged"], len(arguments), sorted(options))]
    assert type(made) is Logged
    torch.testing.assert_close(made.as_subclass(torch.Tensor), plain)
    seen = []

    class Seen(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Seen():
        torch.testing.assert_close(function(*arguments, **options), plain)
    assert seen[0] is function


def test_what_is_no_tensor_takes_functions_of_networks_over(monkeypatch):
    monkeypatch.setitem(HANDLED, F.mse_loss, lambda a, b, reduction: a.value - b + reduction)
    assert F.mse_loss(Duck(5), 3, reduction=1) == 3
    with pytest.raises(TypeError, match="no implementation found|Multiple dispatch failed"):
        F.l1_loss(Duck(5), 3)


def test_functions_have_their_doors_only_where_somebody_asks(monkeypatch):
    def function(a, b=2, *, c=3):
        """What it does."""
        return a, b, c

    def closed(a):
        return function(a)

    code = function.__code__
    monkeypatch.setattr(protocol, "_closed", [])
    assert protocol.overridable(function) is function and function.__code__ is code
    protocol.overridable(closed)
    protocol.open_doors()
    assert str(inspect.signature(function)) == "(a, b=2, *, c=3)"
    assert function(1) == (1, 2, 3) == closed(1) and function(1, c=0) == (1, 2, 0)
    assert (function.__name__, function.__doc__) == ("function", "What it does.")
    with pytest.raises(TypeError, match=r"function\(\) missing 1 required positional argument"):
        function()
    later = protocol.overridable(lambda a: a + 1)
    assert later(1) == 2 and later.__code__.co_name == "<lambda>"
    program = ("import yesca; from yesca import nn; from yesca.dispatch import protocol; "
               "nn.functional.mse_loss, nn.Linear, nn.LazyLinear; print(len(protocol._closed))")
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert int(told.stdout) >= 1, told.stderr


@pytest.mark.parametrize(("function", "name"), [
    (torch.add, "torch.add"), (torch.Tensor.add, "torch.Tensor.add"),
    (torch.Tensor.shape.__get__, "torch.Tensor.shape.__get__"),
    (torch.Tensor.grad.__set__, "torch.Tensor.grad.__set__"), (torch.max, "torch.max"),
    (torch.nn.functional.relu, "torch.nn.functional.relu"),
    (torch.linalg.norm, "torch.linalg.norm"), (torch.fft.fft, "torch.fft.fft"),
    (torch.nn.init.uniform_, "torch.nn.init.uniform_"), (len, None),
])
def test_names_of_functions(function, name):
    assert torch.overrides.resolve_name(function) == name
    method = (name or "").startswith("torch.Tensor.") and not name.endswith("__set__")
    assert torch.overrides.is_tensor_method_or_property(function) == method


def test_what_may_be_taken_over():
    found = torch.overrides.get_overridable_functions()
    ignored, tests = torch.overrides.get_ignored_functions(), \
        torch.overrides.get_testing_overrides()
    assert torch.add in found[torch] and torch.Tensor.add_ in found[torch.Tensor]
    assert torch.nn.functional.softmax in found[torch.nn.functional]
    assert torch.zeros in ignored and torch.zeros not in found[torch]
    assert tests[torch.add](1, other=2) == -1 and torch.zeros not in tests
    assert "inplace" in inspect.signature(tests[torch.nn.functional.relu]).parameters


class Named(torch.Tensor):
    def __init__(self, *data, label="x"):
        self.label = label

    def __new__(cls, *data, label="x"):
        return super().__new__(cls, *data)


@pytest.mark.parametrize("arguments", [(2, 3), ([1.0, 2.0],), (torch.ones(2),), ()])
def test_the_constructor_of_a_subclass_makes_one(arguments):
    made = Named(*arguments, label="y")
    assert type(made) is Named and made.label == "y" and type(made + 1) is Named
    assert type(Marked(*arguments)) is Marked
    assert made.shape == torch.Tensor(*arguments).shape and made.dtype == torch.float32


def test_a_constructor_of_too_much():
    with pytest.raises(TypeError, match=r"invalid combination of arguments - got \(list, int\)"):
        Marked([1.0], 3)


def test_functions_of_networks_ask_the_same():
    for name in ("has_torch_function", "handle_torch_function", "has_torch_function_unary",
                 "has_torch_function_variadic"):
        assert getattr(torch.nn.functional, name) is getattr(torch.overrides, name)
