"""Operators of a program's own: arguments, kernels, derivatives, batches, compiled calls."""

import copy
import pickle
import threading
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union  # noqa: UP035

import numpy as np
import pytest

import yesca as torch
from yesca import Tensor


@pytest.fixture
def scale():
    """x * by, computed by NumPy, with all that can be registered."""
    @torch.library.custom_op("tests::scale", mutates_args=())
    def scale(x: Tensor, by: float = 2.0, *, bias: Optional[float] = None) -> Tensor:  # noqa: UP045
        return torch.from_numpy(np.asarray(x.numpy() * by + (bias or 0.0), dtype=np.float32))

    @scale.register_fake
    def _(x, by=2.0, *, bias=None):
        return torch.empty_like(x)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        assert set(keyword_only_inputs) == {"bias"} and not output.requires_grad
        ctx.by = inputs[1]
        ctx.needed = ctx.needs_input_grad

    def backward(ctx, grad):
        assert ctx.needed == ctx.needs_input_grad == (True, False)
        return grad * ctx.by, None

    scale.register_autograd(backward, setup_context=setup_context)
    return scale


def test_a_call(scale):
    x = torch.tensor([1.0, 2.0])
    assert scale(x).tolist() == scale(x=x, by=2).tolist() == [2.0, 4.0]
    assert scale(x, 3.0, bias=1.0).tolist() == [4.0, 7.0]
    assert torch.ops.tests.scale(x).tolist() == torch.ops.tests.scale.default(x).tolist()
    assert repr(scale) == "<CustomOpDef(tests::scale)>" and scale.__name__ == "scale"
    op = scale._opoverload
    assert str(op) == "tests.scale.default" and op.name() == "tests::scale"
    assert repr(op) == "<OpOverload(op='tests.scale', overload='default')>"
    schema = "tests::scale(Tensor x, float by=2., *, float? bias=None) -> Tensor"
    assert str(op._schema) == schema
    assert pickle.loads(pickle.dumps(op)) is op and copy.copy(op) is op
    assert torch.ops.tests.scale.overloads() == ["default"]


@pytest.mark.parametrize(("args", "kwargs", "text"), [
    ((), {}, "tests::scale() is missing value for argument 'x'. Declaration: tests::scale(Tensor"),
    ((3,), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
    (("x", "a"), {}, "instead found type 'str'.\nPosition: 0\nValue: 'x'\nDeclaration: tests::"),
    ((torch.ones(1), "a"), {}, "Expected a value of type 'float' for argument 'by' but instead"),
    ((torch.ones(1), 1.0, 2.0), {}, "takes 2 positional argument(s) but 3 was/were given"),
    ((torch.ones(1),), {"foo": 1}, "Unknown keyword argument 'foo' for operator 'tests::scale'"),
])
def test_arguments_that_do_not_fit(scale, args, kwargs, text):
    with pytest.raises(RuntimeError) as caught:
        scale(*args, **kwargs)
    assert text in str(caught.value)


def test_derivative(scale):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    made = scale(x, 3.0, bias=1.0)
    assert made.grad_fn.name() == "GeneratedBackwardFor_tests_scale_defaultBackward"
    made.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with torch.no_grad():
        assert scale(x).grad_fn is None
    assert not scale(torch.ones(1)).requires_grad


def test_without_a_derivative():
    @torch.library.custom_op("tests::plain", mutates_args=())
    def plain(x: Tensor) -> Tensor:
        return x + 1

    made = plain(torch.ones(2, requires_grad=True))
    assert made.requires_grad
    with pytest.raises(RuntimeError, match="Trying to backward through tests.plain.default but no "
                                           "autograd formula was registered"):
        made.sum().backward()


def test_lists_tuples_and_several_results():
    @torch.library.custom_op("tests::mixed", mutates_args=())
    def mixed(x: Tensor, more: List[Tensor], other: Optional[Tensor],  # noqa: UP006, UP045
              sizes: Sequence[int], number: Union[int, float, bool],  # noqa: UP007
              name: str) -> Tuple[Tensor, List[Tensor]]:  # noqa: UP006
        assert sizes == [1, 2] and number == 2 and name == "n" and other is None
        return x * number, [t * number for t in more]

    seen = []

    def setup_context(ctx, inputs, output):
        seen.append((len(inputs[1]), len(output[1]), ctx.needs_input_grad))

    def backward(ctx, grad, grads):
        assert ctx.needs_input_grad == (True, [True, False], False, False, False, False)
        return grad * 2, [g * 2 for g in grads], None, None, None, None

    mixed.register_autograd(backward, setup_context=setup_context)
    x, y, z = (torch.ones(2, requires_grad=k < 2) for k in range(3))
    one, two = mixed(x, [y, z], None, (1, 2), 2, "n")
    assert seen == [(2, 2, (True, [True, False], False, False, False, False))]
    (one.sum() + 3 * two[0].sum() + two[1].sum()).backward()
    assert x.grad.tolist() == [2.0, 2.0] and y.grad.tolist() == [6.0, 6.0] and z.grad is None


@pytest.mark.parametrize(("backward", "text"), [
    (lambda ctx, g: g, "incorrect number of gradients \\(expected 2, got 1\\)"),
    (lambda ctx, g: (g, g), "returned a gradient for argument 'by', which is no tensor"),
])
def test_wrong_gradients(backward, text):
    @torch.library.custom_op("tests::wrong", mutates_args=())
    def wrong(x: Tensor, by: float) -> Tensor:
        return x * by

    wrong.register_autograd(backward)
    with pytest.raises(RuntimeError, match=text):
        wrong(torch.ones(2, requires_grad=True), 2.0).sum().backward()


def test_second_derivative():
    @torch.library.custom_op("tests::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        return x**3

    cube.register_autograd(lambda ctx, g: g * 3 * ctx.saved_tensors[0]**2,
                           setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(cube, x) and torch.autograd.gradgradcheck(cube, x)


def test_writes():
    @torch.library.custom_op("tests::add_one", mutates_args={"x"})
    def add_one(x: Tensor) -> None:
        x.numpy()[:] += 1  # past the engine

    x = torch.zeros(3)
    version = x._version
    assert add_one(x) is None and x.tolist() == [1.0, 1.0, 1.0] and x._version > version
    assert str(add_one._opoverload._schema) == "tests::add_one(Tensor(a0!) x) -> ()"
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional"):
        add_one.register_autograd(lambda ctx, g: g)
    w = torch.ones(3, requires_grad=True)
    y = w * 2
    z = y * y
    with torch.no_grad():
        add_one(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize("body", [
    lambda x: x, lambda x: x.view(-1), lambda x: x[:1], lambda x: x.detach()])
def test_results_that_are_arguments(body):
    def aliasing(x: Tensor) -> Tensor:
        return body(x)

    op = torch.library.custom_op("tests::aliasing", aliasing, mutates_args=())
    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        op(torch.ones(2))

    def twice(x: Tensor) -> List[Tensor]:  # noqa: UP006
        made = x + 1
        return [made, made]

    op = torch.library.custom_op("tests::aliasing", twice, mutates_args=())
    with pytest.raises(RuntimeError, match="other returns"):
        op(torch.ones(2))


def test_kernels(scale):
    x = torch.ones(2)

    @scale.register_kernel("cpu")
    def _(x, by=2.0, *, bias=None):
        return x * 100

    assert scale(x).tolist() == [100.0, 100.0]
    with scale.set_kernel_enabled("cpu", False):
        assert scale(x).tolist() == [2.0, 2.0]
    assert scale(x).tolist() == [100.0, 100.0]
    with pytest.raises(ValueError, match="unknown device type 'tpu9'"):
        scale.register_kernel("tpu9")(lambda x: x)

    @torch.library.custom_op("tests::elsewhere", mutates_args=(), device_types="cuda")
    def elsewhere(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="Could not run 'tests::elsewhere' with arguments "
                                                  "from the 'CPU' backend"):
        elsewhere(x)


def test_meta(scale):
    made = scale(torch.empty(3, 4, device="meta"))
    assert made.is_meta and made.shape == (3, 4)

    @torch.library.custom_op("tests::no_fake", mutates_args=())
    def no_fake(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match=r"There was no fake impl registered for "
                                           r"<CustomOpDef\(tests::no_fake\)>"):
        no_fake(torch.empty(3, device="meta"))


def test_vmap(scale):
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.vmap(scale, in_dims=(0, None))(x, 2.0).tolist() == (x * 2).tolist()
    assert torch.vmap(scale, in_dims=1, out_dims=1)(x).tolist() == (x * 2).tolist()

    @scale.register_vmap
    def _(info, in_dims, x, by, *, bias):
        assert info.batch_size == 2 and info.randomness == "error" and in_dims == (0, None)
        return x * by * 10, in_dims[0]

    assert torch.vmap(scale, in_dims=(0, None))(x, 2.0).tolist() == (x * 20).tolist()
    grads = torch.func.vmap(torch.func.grad(lambda row: (row * row).sum()))(x)
    assert grads.tolist() == (2 * x).tolist()


def test_func_grad(scale):
    made = torch.func.grad(lambda x: scale(x, 3.0).sum())(torch.ones(2))
    assert made.tolist() == [3.0, 3.0]


def test_compiled_whole(scale):
    def step(x, w):
        y = scale((x * w).relu() + 1, 3.0)
        return (y * y).sum()

    x = torch.arange(4.0)
    compiled = torch.compile(step, fullgraph=True)
    for k in range(6):
        w, v = (torch.full((4,), 1.0 + k, requires_grad=True) for _ in range(2))
        expected, found = step(x, w), compiled(x, v)
        expected.backward()
        found.backward()
        assert torch.equal(expected, found) and torch.equal(w.grad, v.grad)


def test_a_body_that_decides_by_values_is_no_break():
    @torch.library.custom_op("tests::decides", mutates_args=())
    def decides(x: Tensor) -> Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    compiled = torch.compile(lambda x: decides(x * 2) * 3, fullgraph=True)
    for sign in (1.0, -1.0, 1.0, -1.0):
        x = torch.full((3,), sign)
        assert torch.equal(compiled(x), decides(x * 2) * 3)
    with pytest.raises(RuntimeError, match="fullgraph=True"):  # outside it still is one
        torch.compile(lambda x: decides(x) if x.sum() > 0 else x, fullgraph=True)(x)


def test_autocast(scale):
    scale.register_autocast("cpu", torch.bfloat16)
    seen = []

    @scale.register_kernel("cpu")
    def _(x, by=2.0, *, bias=None):
        seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
        return x * by

    scale(torch.ones(2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert scale(torch.ones(2)).dtype == torch.bfloat16
        scale(torch.ones(2, dtype=torch.float64))
    assert seen == [(torch.float32, False), (torch.bfloat16, False), (torch.float64, False)]


def test_torch_function(scale):
    class Logged(torch.Tensor):
        calls = []  # noqa: RUF012

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    made = scale(torch.ones(2).as_subclass(Logged))
    assert scale._opoverload in Logged.calls and made.tolist() == [2.0, 2.0]


def test_defined_again_and_in_threads(scale):
    torch.library.custom_op("tests::scale", mutates_args=())(_plus)
    assert torch.ops.tests.scale(torch.ones(1)).tolist() == [2.0]
    found = []
    threads = [threading.Thread(target=lambda: found.append(
        torch.ops.tests.scale(torch.ones(1)).item())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2.0] * 4


def _plus(x: Tensor) -> Tensor:
    return x + 1


def test_names_and_schemas_that_are_refused():
    def plain(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(ValueError, match="like 'namespace::name'"):
        torch.library.custom_op("nocolon", plain, mutates_args=())
    with pytest.raises(ValueError, match="were not found in the custom op's signature"):
        torch.library.custom_op("tests::plain", plain, mutates_args=("y",))
    with pytest.raises(ValueError, match="does not fit its schema"):
        torch.library.custom_op("tests::plain", plain, mutates_args=("x",),
                                schema="(Tensor x) -> Tensor")
    op = torch.library.custom_op("tests::plain", lambda x: x + 1, mutates_args=(),
                                 schema="(Tensor x) -> Tensor")
    assert op(torch.ones(1)).tolist() == [2.0]
    with pytest.raises(AttributeError, match="'_OpNamespace' 'tests' object has no attribute"):
        torch.ops.tests.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="has no overload name 'foo'"):
        torch.ops.tests.plain.foo  # noqa: B018
    with pytest.raises(OSError, match="cannot be loaded"):
        torch.ops.load_library("x.so")
