"""`opcheck`: whether an operator keeps to what its registrations say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import functional as ops
from ..autograd import grad, no_grad
from ..base.naming import lives_in
from ..core.tensor_base import TensorBase
from ..graph import compile as compile_callable
from ..testing import assert_close
from ._custom import operator_of
from ._schemas import opened, tensors_of

_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor",
            "test_aot_dispatch_dynamic")


@lives_in("torch.testing._internal.optests.generate_tests")
class OpCheckError(Exception):
    """An operator does not keep to its registrations."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Call an operator with arguments, and look whether what is registered of it is true.

    test_schema: it writes to nothing but what the schema says; results share no memory with
        arguments. test_autograd_registration: results are on the tape where arguments are.
    test_faketensor: the fake kernel gives results of the same shapes, strides and dtypes.
    test_aot_dispatch_dynamic: compiled, it gives the same results and gradients.

    Gives the name of each test and "SUCCESS", or the exception with `raise_exception=False`; else
    raises OpCheckError.

    >>> import yesca as torch
    >>> @torch.library.custom_op("demo::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> torch.library.opcheck(twice, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    own = operator_of(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    strange = [name for name in names if name not in _TESTS]
    if strange:
        raise ValueError(f"opcheck: test_utils: {strange} are none of {list(_TESTS)}")
    if not isinstance(args, tuple) or not isinstance(kwargs or {}, dict):
        raise ValueError("opcheck: args is to be a tuple of arguments, kwargs a dict")
    results: dict[str, Any] = {}
    for name in names:
        try:
            _TESTS[name](own, args, kwargs or {}, atol, rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for "
                                   "stack trace)") from error
            results[name] = error
    return results


def _copied(value: Any, leaf: bool = True) -> Any:
    if isinstance(value, TensorBase):
        made = value.detach().clone(memory_format=None) if not value.is_meta else value
        if value.requires_grad:
            made.requires_grad_()
            return made if leaf else made.clone()
        return made
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(one, leaf) for one in value)
    return value


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any], leaf: bool = True) -> Any:
    return _copied(args, leaf), {name: _copied(value, leaf) for name, value in kwargs.items()}


def _flat(made: Any) -> list[Any]:
    return [*opened(made if isinstance(made, (list, tuple)) else (made,))]


def _storages(tensors: Sequence[Any]) -> set[int]:
    return {t.untyped_storage().data_ptr() for t in tensors if t.numel()}


def _check_schema(op: Any, args: Any, kwargs: Any, atol: Any, rtol: Any) -> None:
    args, kwargs = _arguments(args, kwargs, leaf=False)
    values = op._schema.bound(args, kwargs)
    before = op._schema.bound(*_arguments(args, kwargs, leaf=False))
    made = op(*args, **kwargs)
    for argument, now, then in zip(op._schema.arguments, values, before, strict=True):
        if argument.element != "Tensor" or argument.is_write:
            continue
        pairs = zip(now, then, strict=True) if isinstance(now, (list, tuple)) else [(now, then)]
        if any(a is not None and not _same(a, b) for a, b in pairs):
            raise RuntimeError(
                f"Argument {argument.name} is not defined as mutable but was mutated")
    given = tensors_of(op._schema, values)
    results = [t for t in _flat(made) if isinstance(t, TensorBase)]
    shared = _storages(results) & _storages(given)
    if shared:
        raise RuntimeError("Outputs share memory with arguments, which the schema does not say")


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype and bool(
        ((a == b) | (a != a) & (b != b)).all())


def _check_registration(op: Any, args: Any, kwargs: Any, atol: Any, rtol: Any) -> None:
    args, kwargs = _arguments(args, kwargs, leaf=False)
    given = tensors_of(op._schema, op._schema.bound(args, kwargs))
    if not any(t.requires_grad for t in given) or op._schema.is_mutable:
        return
    if "Autograd" in op.kernels and op.backward is None:
        results = [t for t in _flat(op(*args, **kwargs)) if isinstance(t, TensorBase)]
        floating = [t for t in results if t.is_floating_point() or t.is_complex()]
        if floating and not any(t.requires_grad for t in floating):
            raise RuntimeError("the kernel registered for Autograd gives results off the tape; "
                               "register_autograd takes a derivative")


def _check_fake(op: Any, args: Any, kwargs: Any, atol: Any, rtol: Any) -> None:
    args, kwargs = _arguments(args, kwargs)
    with no_grad():
        real = op(*args, **kwargs)
        fake = op(*_on_meta(args), **{name: _on_meta(v) for name, v in kwargs.items()})
    pairs = _flat(real), _flat(fake)
    if len(pairs[0]) != len(pairs[1]):
        raise RuntimeError(f"the fake kernel of {op} gives {len(pairs[1])} results, the kernel "
                           f"{len(pairs[0])}")
    for a, b in zip(*pairs, strict=True):
        if not isinstance(a, TensorBase):
            continue
        for what, one, two in (("Shapes", a.shape, b.shape), ("Dtypes", a.dtype, b.dtype),
                               ("Strides", a.stride(), b.stride())):
            if one != two:
                raise RuntimeError(
                    f"When comparing the output of {op} on FakeTensor and concrete Tensors, found "
                    f"mismatched tensor metadata: {what} {one} and {two} are not equal!")


def _on_meta(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return ops.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)(_on_meta(one) for one in value)
    return value


def _check_compiled(op: Any, args: Any, kwargs: Any, atol: Any, rtol: Any) -> None:
    def outcome(function: Callable[..., Any]) -> tuple[list[Any], list[Any]]:
        own, named = _arguments(args, kwargs)
        tensors = [t for t in tensors_of(op._schema, op._schema.bound(own, named))
                   if t.requires_grad]
        results = [t for t in _flat(function(*own, **named)) if isinstance(t, TensorBase)]
        heads = [t for t in results if t.requires_grad]
        grads = grad([t.abs().sum() for t in heads], tensors, allow_unused=True) if heads else []
        written = tensors_of(op._schema, op._schema.bound(own, named), written=True)
        return [t.detach() for t in [*results, *written]], [g for g in grads if g is not None]

    expected = outcome(op)
    compiled = compile_callable(lambda *a, **k: op(*a, **k), fullgraph=True)
    for _ in range(3):  # recorded, replayed
        for found, wanted in zip(outcome(compiled), expected, strict=True):
            assert_close(found, wanted, atol=atol, rtol=rtol, equal_nan=True)


_TESTS: dict[str, Callable[..., None]] = {
    "test_schema": _check_schema, "test_autograd_registration": _check_registration,
    "test_faketensor": _check_fake, "test_aot_dispatch_dynamic": _check_compiled,
    "test_aot_dispatch_static": _check_compiled,
}
