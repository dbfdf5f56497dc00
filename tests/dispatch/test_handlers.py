"""Subclasses with a `__torch_dispatch__`: they log, wrap, unwrap, scale, and carry gradients."""

import copy
import pickle
import threading

import pytest

import yesca as torch
from yesca.utils._python_dispatch import (
    TorchDispatchMode, is_traceable_wrapper_subclass, return_and_correct_aliasing,
    transform_subclass,
)
from yesca.utils._pytree import tree_map, tree_map_only

aten = torch.ops.aten
SEEN = []


class Logged(torch.Tensor):
    """Keeps a plain tensor and logs what is done to it."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(),
            dtype=elem.dtype, layout=elem.layout, device=elem.device,
            requires_grad=requires_grad or elem.requires_grad)
        made.elem = elem.detach() if elem.requires_grad else elem
        return made

    def __repr__(self):
        return f"Logged({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        SEEN.append(str(func))
        args, kwargs = tree_map_only(Logged, lambda x: x.elem, (args, kwargs or {}))
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x,
                        func(*args, **kwargs))


class Scaled(torch.Tensor):
    """Whole numbers of 8 bits and a scale."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, data, scale, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(
            cls, data.size(), dtype=torch.float32, device=data.device, requires_grad=requires_grad)

    def __init__(self, data, scale, requires_grad=False):
        self.data_, self.scale_ = data, scale

    def __tensor_flatten__(self):
        return ["data_", "scale_"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Scaled(inner["data_"], inner["scale_"])

    def plain(self):
        return self.data_.to(torch.float32) * self.scale_

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (aten.detach.default, aten.alias.default, aten.t.default):
            x = args[0]
            made = Scaled(func(x.data_), x.scale_)
            return return_and_correct_aliasing(func, args, kwargs, made)
        args, kwargs = tree_map_only(Scaled, lambda x: x.plain(), (args, kwargs or {}))
        return func(*args, **kwargs)


class Twice(torch.Tensor):
    """Two tensors at once."""

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(
            cls, a.size(), strides=a.stride(), dtype=a.dtype, requires_grad=a.requires_grad)

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Twice(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        a, b = (func(*tree_map_only(Twice, lambda x, n=n: getattr(x, n), args),
                     **tree_map_only(Twice, lambda x, n=n: getattr(x, n), kwargs or {}))
                for n in "ab")
        flat = tree_map(lambda x: x, a)
        if isinstance(flat, torch.Tensor):
            return return_and_correct_aliasing(func, args, kwargs, Twice(a, b))
        if isinstance(flat, (list, tuple)):
            return type(flat)(Twice(x, y) if isinstance(x, torch.Tensor) else x
                              for x, y in zip(a, b, strict=True))
        return a


@pytest.fixture(autouse=True)
def fresh():
    SEEN.clear()


def test_a_class_sees_pytorchs_operators():
    x, w = Logged(torch.ones(2, 3)), torch.ones(4, 3)
    made = torch.nn.functional.linear(x, w, torch.zeros(4)).relu()
    assert SEEN == ["aten.addmm.default", "aten.relu.default"]  # w.t() has no operand of the class
    assert type(made) is Logged
    assert made.elem.tolist() == [[3.0] * 4] * 2


def test_gradients_are_of_the_class():
    x = Logged(torch.tensor([1.0, 2.0]), requires_grad=True)
    loss = (x * x).sum()
    assert loss.grad_fn.name() == "SumBackward0"
    loss.backward()
    assert type(x.grad) is Logged
    assert x.grad.elem.tolist() == [2.0, 4.0]
    assert SEEN[:2] == ["aten.mul.Tensor", "aten.sum.default"]
    assert SEEN.count("aten.mul.Tensor") == 3


def test_a_training_step():
    torch.manual_seed(0)
    w = torch.randn(3, 4)
    data, labels = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])

    def loss_of(weight):
        return torch.nn.functional.cross_entropy(
            torch.nn.functional.layer_norm(data @ weight.t(), (3,)).exp(), labels)

    plain = w.clone().requires_grad_()
    loss_of(plain).backward()
    wrapped = Logged(w, requires_grad=True)
    loss = loss_of(wrapped)
    loss.backward()
    torch.testing.assert_close(wrapped.grad.elem, plain.grad)
    assert loss.item() == pytest.approx(loss_of(plain).item())
    assert SEEN[-1] == "aten._local_scalar_dense.default"


def test_second_derivatives():
    x = Logged(torch.tensor([2.0, 3.0]), requires_grad=True)
    first, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert second.elem.tolist() == [12.0, 18.0]


def test_writes_in_place():
    x = Logged(torch.ones(2))
    assert x.add_(1) is x or x.elem.tolist() == [2.0, 2.0]
    assert x.elem.tolist() == [2.0, 2.0]


def test_a_scaled_tensor_behaves_as_what_it_stands_for():
    x = Scaled(torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor(0.5))
    assert x.dtype is torch.float32
    assert x.shape == (2, 2)
    made = torch.nn.functional.linear(torch.eye(2), x)
    assert made.tolist() == [[0.5, 1.5], [1.0, 2.0]]
    y = torch.eye(2, requires_grad=True)
    (y @ x).sum().backward()
    assert y.grad.tolist() == [[1.5, 3.5], [1.5, 3.5]]


def test_taking_apart_and_putting_together():
    x = Twice(torch.ones(2), torch.zeros(2))
    assert is_traceable_wrapper_subclass(x)
    assert not is_traceable_wrapper_subclass(torch.ones(2))
    made = transform_subclass(x, lambda name, inner: inner + 1)
    assert (made.a.tolist(), made.b.tolist()) == ([2.0, 2.0], [1.0, 1.0])


@pytest.mark.parametrize("run", [
    lambda x: x + 1, lambda x: x.view(6), lambda x: x.t(), lambda x: x[0], lambda x: x[:, 1:],
    lambda x: x.sum(), lambda x: x.mean(1), lambda x: x.softmax(-1), lambda x: x.exp().log(),
    lambda x: torch.cat([x, x]), lambda x: x.split(1)[1], lambda x: x.max(1)[0],
    lambda x: torch.nn.functional.gelu(x), lambda x: x.reshape(3, 2).contiguous(),
    lambda x: x @ x.t(), lambda x: torch.einsum("ij,kj->ik", x, x), lambda x: x.clone(),
    lambda x: torch.where(x > 2, x, 0.0), lambda x: x.to(torch.float64), lambda x: x.std(),
])
def test_both_inner_tensors_go_along(run):
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(6.0, 0.0, -1.0).reshape(2, 3)
    made = run(Twice(a, b))
    assert type(made) is Twice
    torch.testing.assert_close(made.a, run(a), equal_nan=True)
    torch.testing.assert_close(made.b, run(b), equal_nan=True)


def test_copies_and_pickles():
    x = Twice(torch.ones(2), torch.zeros(2))
    y = copy.deepcopy(x)
    assert type(y) is Twice
    assert y.a is not x.a
    assert y.a.tolist() == [1.0, 1.0]
    z = pickle.loads(pickle.dumps(x))
    assert type(z) is Twice
    assert (z.b.tolist(), z.shape) == ([0.0, 0.0], (2,))


def test_there_is_no_memory_behind_a_wrapper():
    x = Twice(torch.ones(2), torch.zeros(2))
    with pytest.raises(RuntimeError, match=r"numpy\(\) is not supported for tensor subclasses"):
        torch.Tensor.numpy(x)
    with pytest.raises(RuntimeError, match="__torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(torch.nn.Parameter, (2,))


def test_not_implemented_goes_to_the_next_class():
    class Shy(Logged):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.sin"):
        Shy(torch.ones(1)).sin()


def test_a_class_may_want_none():
    class Plain(torch.Tensor):
        __torch_dispatch__ = torch._C._disabled_torch_dispatch_impl

    x = torch.ones(2).as_subclass(Plain)
    assert type(x + x) is Plain
    assert (x + x).tolist() == [2.0, 2.0]


def test_modes_come_before_classes():
    order = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((str(func), types))
            return func(*args, **(kwargs or {}))

    x = Logged(torch.ones(2))
    with Mode():
        made = x.sin()
    assert type(made) is Logged
    assert order[0] == ("aten.sin.default", (Logged,))
    assert SEEN == ["aten.sin.default"]


def test_other_threads():
    found = []

    def work():
        found.append((Logged(torch.ones(2)) + 1).elem.tolist())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [[2.0, 2.0]]


@pytest.mark.parametrize(("read", "value"), [
    (bool, True), (float, 2.0), (int, 2), (complex, 2 + 0j), (lambda x: x.item(), 2.0),
    (torch.is_nonzero, True), (lambda x: not x, False)])
def test_numbers_are_read_by_the_class(read, value):
    assert read(Logged(torch.tensor([2.0]))) == value
    assert SEEN == ["aten._local_scalar_dense.default"]


def test_membership_is_asked_of_the_class():
    assert 2.0 in Logged(torch.tensor([1.0, 2.0]))
    assert SEEN == ["aten.eq.Scalar", "aten.any.default", "aten._local_scalar_dense.default"]


def test_what_has_no_single_number_is_refused_before_the_class():
    x = Logged(torch.ones(2))
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted"):
        x.item()
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(x)
    with pytest.raises(ValueError, match="only one element tensors"):
        float(x)
    assert not SEEN


def test_lists_and_arrays_are_not_of_a_class():
    import numpy as np

    x = Logged(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, "
                                           "got Logged"):
        x.tolist()
    for read in (lambda: x.numpy(), lambda: np.asarray(x), lambda: x.numpy(force=True)):
        with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subc"):
            read()


class Bare(torch.Tensor):
    """As Logged, with the tensor's own `__torch_function__`, as most people write it."""

    __new__ = Logged.__new__
    __repr__ = Logged.__repr__

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        SEEN.append(str(func))
        args, kwargs = tree_map_only(Bare, lambda x: x.elem, (args, kwargs or {}))
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x,
                        func(*args, **kwargs))

    def __tensor_flatten__(self):
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Bare(inner["elem"])


def test_no_function_protocol_beside_the_handler():
    class First(Bare):
        pass

    class Second(Bare):
        pass

    assert Bare.__torch_function__ is torch._C._disabled_torch_function_impl
    assert type(First(torch.ones(2)) + Second(torch.ones(2))).__base__ is Bare


def test_what_is_written_comes_back():
    x, plain = Bare(torch.ones(2)), torch.ones(2)
    assert x.add_(1) is x
    assert x.elem.tolist() == [2.0, 2.0]
    assert plain.add_(x) is plain
    assert plain.tolist() == [3.0, 3.0]
    assert torch.ops.aten.mul_.Tensor(x, 2) is x


@pytest.mark.parametrize("make", [
    torch.rand_like, torch.randn_like, lambda x: torch.randint_like(x, 9),
    lambda x: x.new_zeros(2, 3), lambda x: x.new_ones((2, 3), dtype=torch.int64),
    lambda x: x.new_full((2,), 3.0), lambda x: x.data,
    lambda x: torch.rand_like(x, requires_grad=True),
], ids=["rand", "randn", "randint", "zeros", "ones", "full", "data", "grad"])
def test_new_tensors_beside_wrappers(make):
    plain = torch.ones(2, 3)
    torch.manual_seed(0)
    wanted = make(plain)
    torch.manual_seed(0)
    made = make(Bare(plain))
    assert type(made) is Bare
    assert made.requires_grad == wanted.requires_grad
    assert torch.equal(made.elem, wanted.detach())


def test_modules_convert_wrapped_parameters():
    layer = torch.nn.Linear(3, 2)
    layer.weight = torch.nn.Parameter(Bare(layer.weight.detach()))
    before = layer.weight
    layer.double()
    assert layer.weight is before
    assert type(before) is Bare
    assert (before.dtype, before.elem.dtype) == (torch.float64, torch.float64)
    assert before.requires_grad


def test_classes_with_memory_are_shown():
    class Shown(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    assert repr(torch.ones(2).as_subclass(Shown)) == "Shown([1., 1.])"
    assert repr(torch.ones(2000).as_subclass(Shown)) == "Shown([1., 1., 1.,  ..., 1., 1., 1.])"
