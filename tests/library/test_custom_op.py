"""Operators of a program's own: arguments, kernels, derivatives, batches, compiled calls."""

import copy
import pickle
import threading
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union  # noqa: UP035

import numpy as np
import pytest

import yesca as torch
from yesca.utils._python_dispatch import TorchDispatchMode
from yesca.utils._pytree import tree_map_only
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


# ---- modes and classes that see operators -------------------------------------------------------

class _Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append((str(func), len(args), kwargs))
        return func(*args, **(kwargs or {}))


class _Wrapped(torch.Tensor):
    seen = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner.detach()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        made = func(*tree_map_only(cls, lambda t: t.inner, args), **(kwargs or {}))
        return tree_map_only(torch.Tensor, cls, made)


def _squared():
    @torch.library.custom_op("custom_seen::square", mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x

    square.register_autograd(
        lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    return square


def test_a_mode_sees_one_operator_and_its_kernel_runs_unseen():
    square, log, x = _squared(), _Log(), torch.tensor([3.0])
    with log:
        made = [square(x), torch.ops.custom_seen.square(x),
                torch.ops.custom_seen.square.default(x)]
    assert log.seen == [("custom_seen.square.default", 1, {})] * 3
    assert [m.tolist() for m in made] == [[9.0]] * 3


def test_modes_hand_the_operator_to_the_ones_around_them():
    square, outer, inner, x = _squared(), _Log(), _Log(), torch.ones(1)
    with outer, inner:
        square(x)
    assert outer.seen == inner.seen == [("custom_seen.square.default", 1, {})]


def test_a_mode_stands_below_the_derivative():
    square, log = _squared(), _Log()
    x = torch.tensor([3.0], requires_grad=True)
    with log:
        y = square(x)
        assert [name for name, *_ in log.seen] == ["custom_seen.square.default"]
        y.sum().backward()
    assert x.grad.tolist() == [6.0]
    names = [name for name, *_ in log.seen]
    assert names.count("custom_seen.square.default") == 1
    assert names.count("aten.mul.Tensor") == 2  # those of the derivative


def test_a_mode_sees_writes_without_defaults():
    @torch.library.custom_op("custom_seen::scale_", mutates_args="x")
    def scale_(x: torch.Tensor, by: float = 2.0, *, times: int = 1) -> None:
        x.mul_(by ** times)

    log, x = _Log(), torch.ones(1)
    with log:
        scale_(x)
        scale_(x, 2.0, times=2)
    assert log.seen == [("custom_seen.scale_.default", 1, {}),
                        ("custom_seen.scale_.default", 1, {"times": 2})]
    assert x.tolist() == [8.0]
    plain = torch.ones(1)
    scale_(plain)
    scale_(plain, 2.0, times=2)
    assert x._version == plain._version


def test_a_batch_is_above_a_mode():
    square, log = _squared(), _Log()
    with log:
        made = torch.vmap(square)(torch.tensor([2.0, 3.0]))
    assert made.tolist() == [4.0, 9.0]
    assert [n for n, *_ in log.seen].count("custom_seen.square.default") == 2


def test_a_class_sees_the_operator():
    square = _squared()
    _Wrapped.seen.clear()
    made = square(_Wrapped(torch.tensor([3.0], requires_grad=True)))
    assert _Wrapped.seen == ["custom_seen.square.default"]
    assert type(made) is _Wrapped
    assert made.requires_grad
    assert made.inner.tolist() == [9.0]


def test_rules_for_a_mode_and_a_class():
    square, log, x = _squared(), _Log(), torch.tensor([3.0])
    given = []

    @square.register_torch_dispatch(_Log)
    def _(mode, func, types, args, kwargs):
        given.append((mode, str(func), types, kwargs))
        return args[0]

    torch.library.register_torch_dispatch(
        "custom_seen::square", _Wrapped, lambda cls, func, types, args, kwargs: cls(args[0].inner))

    class Further(_Log):
        pass

    further = Further()
    with log:
        assert square(x).tolist() == [3.0]
    with further:
        assert square(x).tolist() == [9.0]  # its own class has no rule
    assert given == [(log, "custom_seen.square.default", (), {})]
    assert not log.seen
    assert len(further.seen) == 1
    assert square(_Wrapped(x)).inner.tolist() == [3.0]


def test_what_a_mode_returns_is_of_the_schema():
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return 3

    square, x = _squared(), torch.ones(1)
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"), Wrong():
        square(x)
    with pytest.raises(ValueError, match="expected an operator"):
        torch.library.register_torch_dispatch(3, Wrong, print)
