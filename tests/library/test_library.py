"""`Library`, and what is registered by an operator's name; schemas; `opcheck`."""

import gc
from typing import List, Optional, Tuple  # noqa: UP035

import numpy as np
import pytest

import yesca as torch
from yesca import Tensor, library
from yesca.library._schemas import parse


@pytest.fixture
def lib():
    made = library.Library("libtests", "DEF")
    yield made
    made._destroy()


def test_define_and_impl(lib):
    assert lib.define("foo(Tensor x, int n=1) -> Tensor") == "foo"
    with pytest.raises(NotImplementedError, match="Could not run 'libtests::foo' with arguments "):
        torch.ops.libtests.foo(torch.ones(2))
    lib.impl("foo", lambda x, n: x * n, "CPU")
    assert torch.ops.libtests.foo(torch.ones(2), 2).tolist() == [2.0, 2.0]
    lib.impl("foo", lambda x, n: torch.empty_like(x), "Meta")
    assert torch.ops.libtests.foo(torch.ones(2, device="meta")).is_meta
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        lib.define("foo(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Foo"):
        lib.impl("foo", lambda x, n: x, "Foo")
    with pytest.raises(RuntimeError, match="libtests::bar does not exist"):
        lib.impl("bar", lambda x: x)
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        library.Library("libtests", "DEF")
    with pytest.raises(ValueError, match="Unsupported kind: WHAT"):
        library.Library("x", "WHAT")


def test_overloads(lib):
    lib.define("plus.Tensor(Tensor x, Tensor y) -> Tensor")
    lib.define("plus.Scalar(Tensor x, Scalar y) -> Tensor")
    lib.impl("plus.Tensor", lambda x, y: x + y, "CompositeImplicitAutograd")
    lib.impl("plus.Scalar", lambda x, y: x + y + 100, "CompositeImplicitAutograd")
    packet = torch.ops.libtests.plus
    assert packet.overloads() == ["Tensor", "Scalar"]
    assert packet(torch.ones(1), torch.ones(1)).tolist() == [2.0]
    assert packet(torch.ones(1), 1).tolist() == packet.Scalar(torch.ones(1), 1).tolist() == [102.0]
    x = torch.ones(1, requires_grad=True)
    packet(x, x).backward()
    assert x.grad.tolist() == [2.0]  # by its parts


def test_what_a_library_registers_goes_with_it():
    own = library.Library("gone", "DEF")
    own.define("foo(Tensor x) -> Tensor")
    own.impl("foo", lambda x: x + 1, "CPU")
    assert torch.ops.gone.foo(torch.ones(1)).tolist() == [2.0]
    del own
    gc.collect()
    with pytest.raises(AttributeError):
        torch.ops.gone.foo  # noqa: B018
    library.Library("gone", "DEF")._destroy()


def test_by_name():
    library.define("named::bar", "(Tensor x, *, float by=1.0) -> Tensor")

    @library.impl("named::bar", "cpu")
    def bar(x, *, by):
        return x * by

    @library.register_fake("named::bar")
    def _(x, *, by):
        return torch.empty_like(x)

    assert torch.ops.named.bar(torch.ones(2), by=2).tolist() == [2.0, 2.0]
    assert torch.ops.named.bar(torch.ones(2, device="meta")).shape == (2,)
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        torch.ops.named.bar(x).sum().backward()
    assert x.grad is None
    library.register_autograd("named::bar", lambda ctx, g: g * 7)
    torch.ops.named.bar(x).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]
    library.register_vmap("named::bar", lambda info, dims, x, by: (x + by, dims[0]))
    assert torch.vmap(torch.ops.named.bar)(torch.ones(2, 2)).tolist() == [[2.0, 2.0]] * 2
    library.register_kernel("named::bar", None)(lambda x, by: x)
    for call in (lambda: library.define("bar", "() -> ()"), lambda: library.define("a::b", "x")):
        with pytest.raises(ValueError, match="define\\("):
            call()
    with pytest.raises(RuntimeError, match="operator named::nope does not exist"):
        library.register_fake("named::nope")(lambda x: x)
    with pytest.raises(ValueError, match="unknown device type 'warp'"):
        library.impl("named::bar", "warp", lambda x: x)


# ---- schemas ---------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [
    "a::foo(Tensor x, int n=1, float f=2.5, *, bool b=True, str? s=None) -> Tensor",
    "a::foo.out(Tensor(a0!) x, Tensor(a1!)[] y, Tensor(a2!)? z) -> ()",
    "a::foo(Tensor[] x, SymInt[] n, int[2] k=[1, 2], ScalarType? d=None) -> (Tensor, Tensor[])",
    "a::foo(Device d, Layout l, MemoryFormat m, Generator? g, Scalar s=1) -> int",
    'a::foo(str s="x, y") -> (Tensor)',
])
def test_schemas_are_written_as_they_are_read(text):
    assert str(parse(text)) == text


@pytest.mark.parametrize("text", ["foo", "foo(Tensor) -> Tensor", "foo(Wrong x) -> Tensor",
                                  "foo(Tensor x)", "foo(Tensor x -> Tensor", "f(x) -> y"])
def test_what_is_no_schema(text):
    with pytest.raises(RuntimeError, match="cannot read"):
        parse(text)


def test_infer_schema():
    def f(x: Tensor, y: List[Tensor], s: str, b: bool, d: torch.dtype,  # noqa: UP006
          o: Optional[Tensor], n: int = 3, f: float = 1.0, *,  # noqa: UP045
          t: int | None = None) -> Tuple[Tensor, int]:  # noqa: UP006
        return x, 1

    assert library.infer_schema(f, mutates_args=()) == (
        "(Tensor x, Tensor[] y, str s, bool b, ScalarType d, Tensor? o, SymInt n=3, float f=1.0, "
        "*, SymInt? t=None) -> (Tensor, SymInt)")
    assert library.infer_schema(f, mutates_args="unknown", op_name="g").startswith(
        "g(Tensor(a0!) x, Tensor(a1!)[] y, str s, bool b, ScalarType d, Tensor(a5!)? o, ")
    assert library.infer_schema(_written_as_text, mutates_args="x") == "(Tensor(a0!) x) -> ()"


def _written_as_text(x: "Tensor") -> "None":
    x.add_(1)


def _no_annotation(x):
    return x


def _no_result(x: Tensor):
    return x


def _strange(x: dict) -> Tensor:
    return x


def _star(*x: Tensor) -> Tensor:
    return x[0]


def _default(x: Tensor, n: List[int] = (1, 2)) -> Tensor:  # noqa: UP006
    return x


def _strange_result(x: Tensor) -> dict:
    return {}


@pytest.mark.parametrize(("function", "text"), [
    (_no_annotation, "Parameter x must have a type annotation"),
    (_no_result, "No return type annotation was provided"),
    (_strange, "Parameter x has unsupported type <class 'dict'>. The valid types are"),
    (_star, "We do not support positional-only args, varargs, or varkwargs"),
    (_default, "Parameter n has an unsupported default value type <class 'tuple'>"),
    (_strange_result, "Return has unsupported type <class 'dict'>"),
])
def test_functions_without_a_schema(function, text):
    with pytest.raises(ValueError) as caught:
        library.infer_schema(function, mutates_args=())
    assert str(caught.value).startswith(f"infer_schema(func): {text}")


# ---- opcheck ---------------------------------------------------------------------------------

def made(name, function, fake=None, backward=None, writes=()):
    op = library.custom_op(f"checked::{name}", function, mutates_args=writes)
    if fake is not None:
        op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward, setup_context=lambda ctx, inputs, output:
                             ctx.save_for_backward(inputs[0]))
    return op


def square(x: Tensor) -> Tensor:
    return torch.from_numpy(np.square(x.numpy()))


def both(x: Tensor, y: float) -> Tuple[Tensor, Tensor]:  # noqa: UP006
    return x * y, x.sum()


def add_in_place(x: Tensor, y: Tensor) -> None:
    x.add_(y)


def liar(x: Tensor) -> Tensor:
    x.add_(1)
    return x + 1


def same(x: Tensor) -> Tensor:
    return x


PASSES = {"test_schema": "SUCCESS", "test_autograd_registration": "SUCCESS",
          "test_faketensor": "SUCCESS", "test_aot_dispatch_dynamic": "SUCCESS"}


def test_operators_that_pass():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    right = made("square", square, torch.empty_like, lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    assert library.opcheck(right, (x,)) == PASSES
    assert library.opcheck(torch.ops.checked.square.default, (x,)) == PASSES
    several = made("both", both, lambda x, y: (torch.empty_like(x), x.new_empty(())))
    assert library.opcheck(several, (torch.ones(3, 2).t(),), {"y": 2.0}) == PASSES
    writes = made("add_in_place", add_in_place, writes=("x",))
    assert library.opcheck(writes, (torch.ones(2), torch.ones(2))) == PASSES


@pytest.mark.parametrize(("op", "failing", "text"), [
    (("liar", liar, torch.empty_like), "test_schema", "Argument x is not defined as mutable but"),
    (("same", same, torch.empty_like), "test_schema", "must not also be an input"),
    (("shape", square, lambda x: x.new_empty(7)), "test_faketensor", "mismatched tensor metadata"),
    (("dtype", square, lambda x: x.new_empty(2, dtype=torch.int64)), "test_faketensor", "Dtypes"),
    (("none", square), "test_faketensor", "There was no fake impl registered"),
    (("grad", square, torch.empty_like), "test_aot_dispatch_dynamic", "Trying to backward"),
])
def test_operators_that_fail(op, failing, text):
    broken = made(*op)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(library._checks.OpCheckError) as caught:
        library.opcheck(broken, (x,))
    assert str(caught.value).startswith(f"opcheck(op, ...): {failing} failed with ")
    assert text in str(caught.value)
    found = library.opcheck(broken, (x,), raise_exception=False)
    assert text in str(found[failing])
    with pytest.raises(ValueError, match="test_utils"):
        library.opcheck(broken, (x,), test_utils="test_nothing")


def test_a_compiled_call_that_differs():
    calls = []

    def counting(x: Tensor) -> Tensor:
        calls.append(1)
        return x + float(len(calls))

    broken = made("counting", counting, torch.empty_like)
    with pytest.raises(library._checks.OpCheckError, match="test_aot_dispatch_dynamic"):
        library.opcheck(broken, (torch.ones(2),))


def test_modes_see_one_operator_or_the_parts_of_a_composite():
    from yesca.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    lib = torch.library.Library("lib_seen", "FRAGMENT")
    lib.define("one(Tensor x) -> Tensor")
    lib.impl("one", lambda x: x * 2, "CPU")
    lib.define("parts(Tensor x) -> Tensor")
    lib.impl("parts", lambda x: x * 2 + 1, "CompositeImplicitAutograd")
    x = torch.ones(1)
    with Log():
        assert torch.ops.lib_seen.one(x).tolist() == [2.0]
        assert torch.ops.lib_seen.parts(x).tolist() == [3.0]
    assert seen == ["lib_seen.one.default", "aten.mul.Tensor", "aten.add.Tensor"]

    torch.library.register_torch_dispatch(
        "lib_seen::one", Log, lambda mode, func, types, args, kwargs: args[0] * 5, lib=lib)
    with Log():
        assert torch.ops.lib_seen.one(x).tolist() == [5.0]
    op = torch.ops.lib_seen.one.default
    lib._destroy()
    assert not op.rules
