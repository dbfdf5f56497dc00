"""`assert_close`: whether two results, or containers of them, agree.

First the containers are walked and the things in them paired up; then the pairs are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from ..base.frames import warn
from .. import functional as ops
from .._tensor import Tensor
from ..core.dtypes import (
    SMALL_FLOATS, DType, bfloat16, bool_, complex64, complex128, float16, float32, float64, int64,
    promote,
)

#: Relative and absolute tolerance by dtype; all others are compared exactly.
_TOLERANCES: dict[DType, tuple[float, float]] = {
    float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7), complex64: (1.3e-6, 1e-5), complex128: (1e-7, 1e-7),
}
_ALLCLOSE = {float16: (1e-3, 1e-3), float32: (1e-4, 1e-5), float64: (1e-5, 1e-8)}
_NUMBERS = {bool: bool_, int: int64, float: float64, complex: complex128}

Place = tuple[Any, ...]  # indices and keys that lead to an item
Message = str | Callable[[str], str] | None


@dataclass(frozen=True)
class Options:
    """How items are compared."""

    rtol: float | None = None
    atol: float | None = None
    equal_nan: bool = False
    allow_subclasses: bool = True
    check_device: bool = True
    check_dtype: bool = True
    check_layout: bool = True
    check_stride: bool = False

    def __post_init__(self) -> None:
        if (self.rtol is None) != (self.atol is None):
            lacking = "rtol" if self.rtol is None else "atol"
            raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got "
                             f"no {lacking}.")
        if any(t is not None and t < 0 for t in (self.rtol, self.atol)):
            raise ValueError(f"'rtol' and 'atol' must not be negative, but got rtol={self.rtol} "
                             f"and atol={self.atol}; give tolerances of 0 or more.")

    def tolerances(self, *dtypes: DType) -> tuple[float, float]:
        """Relative and absolute, the widest of these dtypes unless they were given."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(pair[0] for pair in known), max(pair[1] for pair in known)


class Mismatch(Exception):
    """Two items that do not agree, or cannot be compared."""

    def __init__(self, kind: type[Exception], text: str, place: Place) -> None:
        super().__init__(text)
        self.kind, self.text, self.place = kind, text, place

    def error(self, message: Message) -> Exception:
        """What the caller sees."""
        text = self.text
        if self.place:
            where = "".join(f"[{key!r}]" for key in self.place)
            text += f"\n\nThe failure occurred for item {where}"
        if self.kind is AssertionError and message is not None:
            text = message(text) if callable(message) else message
        return self.kind(text)


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True,
                 rtol: float | None = None, atol: float | None = None, equal_nan: bool = False,
                 check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
                 check_stride: bool = False, msg: Message = None) -> None:
    """Raise AssertionError unless `actual` and `expected` are close.

    Tensors, arrays and numbers are close if `|actual - expected| <= atol + rtol * |expected|`
    everywhere; sequences and mappings, if all that is in them is.

    Args:
        allow_subclasses: let a subclass stand for its base.
        rtol, atol: both or none; the defaults go by dtype (float32: 1.3e-6 and 1e-5; float64:
            1e-7; float16: 1e-3 and 1e-5; bfloat16: 1.6e-2 and 1e-5; integers: 0).
        equal_nan: let NaN agree with NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must agree as well.
        msg: the error's text, or a function that makes it from the text there would be.

    >>> import yesca as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6]))
    >>> torch.testing.assert_close([1, 2], [1, 3])
    Traceback (most recent call last):
    AssertionError: Scalars are not equal!
    <BLANKLINE>
    Expected 3 but got 2.
    Absolute difference: 1
    Relative difference: 0.3333333333333333
    <BLANKLINE>
    The failure occurred for item [1]
    """
    try:
        options = Options(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype,
                          check_layout, check_stride)
        for compare, one, other, place in _pairs(actual, expected, options, ()):
            compare(one, other, options, place)
    except Mismatch as mismatch:
        raise mismatch.error(msg) from None


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None,
                    atol: float | None = None, equal_nan: bool = True, msg: str = "") -> None:
    """The older `assert_close`: dtypes may differ, and tolerances are other ones."""
    warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed "
         "in a future release. Please use `torch.testing.assert_close()` instead.",
         FutureWarning)
    if not isinstance(actual, Tensor):
        actual = ops.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = ops.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        known = [_ALLCLOSE.get(one.dtype, (0.0, 0.0)) for one in (actual, expected)]
        rtol, atol = max(pair[0] for pair in known), max(pair[1] for pair in known)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
                 check_dtype=False, check_stride=False, msg=msg or None)


# ---- pairing up ------------------------------------------------------------------------------

def _pairs(actual: Any, expected: Any, options: Options, place: Place) -> list[Any]:
    """What is to be compared: (function, item, item, place)."""
    if _are(Sequence, actual, expected) and not _are(str, actual, expected):
        if len(actual) != len(expected):
            raise Mismatch(AssertionError, "The length of the sequences mismatch: "
                           f"{len(actual)} != {len(expected)}", place)
        return [pair for k in range(len(actual))
                for pair in _pairs(actual[k], expected[k], options, (*place, k))]
    if _are(Mapping, actual, expected):
        return _entries(actual, expected, options, place)
    return [_pair(actual, expected, options, place)]


def _are(kind: Any, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


def _entries(actual: Any, expected: Any, options: Options, place: Place) -> list[Any]:
    missing, more = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or more:
        raise Mismatch(AssertionError, "The keys of the mappings do not match:\n"
                       f"Missing keys in the actual mapping: {_ordered(missing)}\n"
                       f"Additional keys in the actual mapping: {_ordered(more)}", place)
    return [pair for key in _ordered(actual.keys())
            for pair in _pairs(actual[key], expected[key], options, (*place, key))]


def _ordered(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # keys of several types
        return list(keys)


def _pair(actual: Any, expected: Any, options: Options, place: Place) -> Any:
    """How two items that are no containers are compared."""
    if actual is None or expected is None:
        return _compare_none, actual, expected, place
    if _are((bool, numpy.bool_), actual, expected):
        return _compare_truths, bool(actual), bool(expected), place
    plain = [value.item() if isinstance(value, numpy.number) else value
             for value in (actual, expected)]
    if _are((int, float, complex), *plain) and not any(isinstance(v, bool) for v in plain):
        return _compare_numbers, *plain, place
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    same = type(actual) is type(expected)
    if same or (related and options.allow_subclasses):
        tensors = _tensor(actual), _tensor(expected)
        if tensors[0] is not None and tensors[1] is not None:
            return _compare_tensors, *tensors, place
    raise Mismatch(TypeError, "No comparison pair was able to handle inputs of type "
                   f"{type(actual)} and {type(expected)}.", place)


def _tensor(value: Any) -> Any:
    """What can be a tensor as one, else None."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (str, bool, int, float, complex)):
        return None
    try:
        return ops.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None


# ---- comparing -------------------------------------------------------------------------------

def _compare_none(actual: Any, expected: Any, options: Options, place: Place) -> None:
    if actual is not expected:
        raise Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}", place)


def _compare_truths(actual: bool, expected: bool, options: Options, place: Place) -> None:
    if actual is not expected:
        raise Mismatch(AssertionError, f"Booleans mismatch: {actual} is not {expected}", place)


def _compare_numbers(actual: Any, expected: Any, options: Options, place: Place) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise Mismatch(AssertionError, "The (d)types do not match: "
                       f"{type(actual)} != {type(expected)}.", place)
    dtypes = [_NUMBERS[next(t for t in (int, float, complex) if isinstance(v, t))]
              for v in (actual, expected)]
    rtol, atol = options.tolerances(*dtypes)
    if not _near(actual, expected, rtol, atol, options.equal_nan):
        raise Mismatch(AssertionError, _scalars(actual, expected, rtol, atol), place)


def _near(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if actual == expected:
        return True
    if actual != actual or expected != expected:  # NaN
        return equal_nan and actual != actual and expected != expected
    difference = abs(actual - expected)
    if rtol == 0 == atol or difference == float("inf"):
        return False
    return bool(difference <= atol + rtol * abs(expected))


def _scalars(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else float("inf")
    exact = rtol == 0 == atol
    allowed = ["", ""] if exact else [f" (up to {t} allowed)" for t in (atol, rtol)]
    return (f"Scalars are not {'equal' if exact else 'close'}!\n\n"
            f"Expected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}{allowed[0]}\n"
            f"Relative difference: {relative}{allowed[1]}")


def _compare_tensors(actual: Any, expected: Any, options: Options, place: Place) -> None:
    _compare_attributes(actual, expected, options, place)
    if "meta" in (actual.device.type, expected.device.type):
        return  # there are no values
    if actual.is_sparse and expected.is_sparse:
        _compare_sparse(actual, expected, options, place)
    else:
        _compare_values(actual.to_dense(), expected.to_dense(), options, place)


def _compare_sparse(actual: Any, expected: Any, options: Options, place: Place) -> None:
    """Places and values, once those of one place are added up."""
    a, e = actual.coalesce(), expected.coalesce()
    for what, one, other in (("sparse dimensions", a.sparse_dim(), e.sparse_dim()),
                             ("specified values", a._nnz(), e._nnz())):
        if one != other:
            raise Mismatch(AssertionError, f"The number of {what} in sparse COO tensors does not "
                           f"match: {one} != {other}", place)
    _compare_values(a._indices(), e._indices(), replace(options, rtol=0.0, atol=0.0), place,
                    "Sparse COO indices")
    _compare_values(a._values(), e._values(), options, place, "Sparse COO values")


def _compare_values(actual: Any, expected: Any, options: Options, place: Place,
                    what: str = "Tensor-likes") -> None:
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    a, e = actual.detach(), expected.detach()
    if a.dtype is not e.dtype:
        common = promote(a.dtype, e.dtype)
        a, e = a.to(common), e.to(common)
    small = a.dtype in SMALL_FLOATS
    if small and (rtol or atol):
        raise AssertionError(
            f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low "
            "dimensional floats. Please use rtol=0.0 and atol=0.0.")
    close = (a == e) | (a.isnan() & e.isnan() & options.equal_nan) if small else \
        ops.isclose(a, e, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(close.all()):
        return
    if a.dim() == 0:
        text = _scalars(a.item(), e.item(), rtol, atol)
    elif small:
        index = tuple(int(k) for k in (~close).nonzero()[0])
        text = "\n".join([*_counted(what, close, "'equal'"),
                          f"The first mismatched element is at index {index}."])
    else:
        text = _elements(what, a, e, close, rtol, atol)
    raise Mismatch(AssertionError, text, place)


def _compare_attributes(actual: Any, expected: Any, options: Options, place: Place) -> None:
    attributes = [("shape", actual.shape, expected.shape, True),
                  ("layout", actual.layout, expected.layout, options.check_layout),
                  ("device", actual.device, expected.device, options.check_device),
                  ("dtype", actual.dtype, expected.dtype, options.check_dtype),
                  ("stride()", actual.stride(), expected.stride(), options.check_stride)]
    for name, one, other, wanted in attributes:
        if wanted and one != other:
            raise Mismatch(AssertionError, f"The values for attribute '{name}' do not match: "
                           f"{one} != {other}.", place)


def _counted(what: str, close: Any, wanted: str) -> list[str]:
    different, total = int((~close).sum()), close.numel()
    return [f"{what} are not {wanted}!", "",
            f"Mismatched elements: {different} / {total} ({different / total:.1%})"]


def _elements(what: str, actual: Any, expected: Any, close: Any, rtol: float, atol: float) -> str:
    """How many elements differ, and where and how much they do most."""
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual, expected = actual.to(int64), expected.to(int64)  # differences may be negative
    difference = (actual - expected).abs()
    relative = difference / expected.abs()
    exact = rtol == 0 == atol
    lines = _counted(what, close, "equal" if exact else "close")
    for name, amounts, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        amounts = amounts.masked_fill(close, 0)
        greatest = int(amounts.argmax())
        index = tuple(int(k) for k in ops.unravel_index(ops.tensor(greatest), amounts.shape))
        lines.append(f"Greatest {name} difference: {amounts.flatten()[greatest].item()} at index "
                     f"{index}" + ("" if exact else f" (up to {allowed} allowed)"))
    return "\n".join(lines)


__all__ = ["assert_allclose", "assert_close"]
