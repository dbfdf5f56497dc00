"""The types of arguments: what a schema's types admit, and PyTorch's words for what they do not.

An operator with one signature names the argument at fault; one with several, which cannot know
which of them was meant, lists what it got.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import argument_error, type_name
from ..core.dtypes import INTEGRAL, DType
from ..core.layouts import MemoryFormat
from ..core.tensor_base import TensorBase
from .record import Record
from .schema import Parameter

#: Operators with several signatures, and from how many arguments on (to how many) two may fit.
_OVERLOADED = """
    add:4 addmm:4-5 all any argsort:2 baddbmm:4-5 bitwise_and bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor bucketize clamp clamp_max clamp_min conv1d conv2d conv3d
    copysign count_nonzero:2 cumulative_trapezoid:2 div:3 dsplit eq fill float_power
    floor_divide fmod ge gradient:2 gt histogram:2 histogramdd hsplit index_fill isin le lerp
    linalg_cond:2 linalg_matrix_norm:2 linalg_matrix_rank linalg_norm:2 linalg_pinv lt
    masked_fill mean:2 movedim nanquantile narrow ne pow prod:2-2 quantile remainder
    repeat_interleave:2 round:2 rsub scatter searchsorted sort:2 special_chebyshev_polynomial_t
    special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
    special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
    special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w special_xlog1py special_zeta squeeze:2 squeeze_copy:2
    std std_mean stft sub:4 sum:2-2 tensor_split trapezoid:2 var var_mean view view_copy vsplit
    where:2 xlogy
""".split()


def _ranges() -> dict[str, range]:
    found = {}
    for entry in _OVERLOADED:
        name, _, limits = entry.partition(":")
        least, _, most = limits.partition("-")
        found[name] = range(int(least or 0), int(most or 99) + 1)
    return found


OVERLOADED = _ranges()


def is_whole(value: Any) -> bool:
    """A size or dimension: an int, NumPy's too, or an integer tensor of no dimension."""
    if isinstance(value, TensorBase):
        return not value._spec.ndim and value._spec.dtype.category == INTEGRAL
    return isinstance(value, int) and not isinstance(value, bool) or _of_numpy(value, "iu")


def is_number(value: Any) -> bool:
    """A number of Python's or NumPy's, or a tensor of no dimension."""
    if isinstance(value, TensorBase):
        return not value._spec.ndim
    return isinstance(value, int | float | complex) or _of_numpy(value, "biufc")


def is_real(value: Any) -> bool:
    """A number that is not complex."""
    return is_number(value) and not isinstance(value, complex)


def _of_numpy(value: Any, kinds: str) -> bool:
    """Whether a value is a scalar of NumPy's, or an array of no dimension, of one of the kinds."""
    return type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 \
        and value.dtype.kind in kinds


def _are_whole(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(
        type(v) is int or is_whole(v) for v in value)


def _are_tensors(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(v, TensorBase) for v in value)


#: Type of a schema -> what it admits, PyTorch's name of it.
TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Tensor": (lambda v: isinstance(v, TensorBase), "Tensor"),
    "Tensor[]": (_are_tensors, "tuple of Tensors"),
    "Scalar": (is_number, "Number"),
    "number": (is_number, "Number"),
    "float": (is_real, "float"),
    "int": (is_whole, "int"),
    "int[]": (_are_whole, "tuple of ints"),
    "int[1]": (lambda v: is_whole(v) or _are_whole(v), "tuple of ints"),
    "bool": (lambda v: isinstance(v, bool) or _of_numpy(v, "b"), "bool"),
    "str": (lambda v: isinstance(v, str), "str"),
    "size": (lambda v: _are_whole(v) or isinstance(v, DType) or isinstance(v, tuple) and len(
        v) == 1 and isinstance(v[0], DType), "tuple of ints"),
    "start": (lambda v: isinstance(v, TensorBase) or is_whole(v), "int"),
    "tensors": (_are_tensors, "tuple of Tensors"),
    "float[]": (lambda v: isinstance(v, tuple | list) and all(map(is_real, v)),
                "tuple of floats"),
    "dtype": (lambda v: isinstance(v, DType), "torch.dtype"),
    "memory_format": (lambda v: isinstance(v, MemoryFormat), "torch.memory_format"),
}


def whole(function: str, argument: str, position: int, value: Any) -> int:
    """A value as a whole number; TypeError for what is none."""
    if not is_whole(value):
        raise argument_error(function, argument, position, "int", value)
    return int(value.__index__())


def check_tensors(function: str, **given: Any) -> None:
    """Refuse what is no tensor among arguments, by their names in order."""
    for position, (argument, value) in enumerate(given.items(), start=1):
        if not isinstance(value, TensorBase):
            raise argument_error(function, argument, position, "Tensor", value)


def numbers(function: str, *given: tuple[str, Any]) -> None:
    """Refuse what is no number among arguments, by their names in order."""
    for position, (argument, value) in enumerate(given, start=1):
        if not is_number(value):
            raise argument_error(function, argument, position, "Number", value)


def fits(parameter: Parameter, value: Any) -> bool:
    """Whether a value is of a parameter's type; where the schema does not say, all are."""
    if not parameter.required and value is parameter.default or \
            value is None and parameter.optional:
        return True
    kinds = parameter.type.split("|")
    return any(kind not in TYPES or TYPES[kind][0](value) for kind in kinds)


def refusal(name: str, parameters: tuple[Parameter, ...], values: tuple[Any, ...], place: int,
            method: bool, forms: str) -> TypeError:
    """The error for the value in a place; in methods the tensor itself is no argument."""
    if method and not place:
        return TypeError(f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply "
                         f"to a '{type_name(values[0])}' object")
    given = _given(parameters, values, place)
    base = name.removesuffix("_") if name not in OVERLOADED else name
    if len(given) in OVERLOADED.get(base, ()):
        got = ", ".join(given[method:])
        return TypeError(f"{name}() received an invalid combination of arguments - got ({got})"
                         f"{', but expected one of:' * bool(forms)}{forms}")
    parameter, value = parameters[place], values[place]
    wanted = TYPES[parameter.type.partition("|")[0]][1]
    if wanted == "tuple of Tensors" and isinstance(value, tuple | list):
        return _no_tensor(value, place - method)
    shown = "input" if parameter.name == "self" else parameter.name
    at = "" if parameter.keyword_only else f" (position {place + 1 - method})"
    return TypeError(f"{name}(): argument '{shown}'{at} must be {wanted}, "
                     f"{_found(wanted, value)}")


def _no_tensor(values: Any, place: int) -> TypeError:
    wrong = next(k for k, v in enumerate(values) if not isinstance(v, TensorBase))
    return TypeError(f"expected Tensor as element {wrong} in argument {place}, but got "
                     f"{type_name(values[wrong])}")


def refuse_others(values: Any, place: int) -> None:
    """Refuse what is no tensor among the values of an argument."""
    if not _are_tensors(values):
        raise _no_tensor(values, place)


def _found(wanted: str, value: Any) -> str:
    if wanted != "tuple of ints" or not isinstance(value, tuple | list):
        return f"not {type_name(value)}"
    wrong = next(k for k, v in enumerate(value) if not is_whole(v))
    return f"but found element of type {type_name(value[wrong])} at pos {wrong}"


def _given(parameters: tuple[Parameter, ...], values: tuple[Any, ...], place: int) -> list[str]:
    """Types of the arguments that a caller gave, as far as the defaults tell."""
    pairs = list(zip(parameters, values, strict=True))
    last = max(k for k, (p, v) in enumerate(pairs)
               if k == place and not p.keyword_only or not p.keyword_only and
               (p.required or v is not p.default))
    shown = [type_name(v) for p, v in pairs[:last + 1]]
    return shown + [f"{p.name}={type_name(v)}" for p, v in pairs
                    if p.keyword_only and v is not p.default]


#: Types whose values all fit where one does.
_ALIKE = {int, float, complex, bool, str, type(None), DType, MemoryFormat}


def checked(name: str, record: Record, method: bool) -> Callable[[tuple[Any, ...]], None]:
    """What looks at the arguments of an operator's calls: types are looked at once."""
    parameters, lenient = record.schema.parameters, record.numbers or ()

    def right(parameter: Parameter, value: Any) -> bool:
        return fits(parameter, value) or (
            parameter.type == "Tensor" and parameter.name in lenient and is_number(value))

    known: set[tuple[type, ...]] = set()
    tensors = [p.type == "Tensor" for p in parameters]

    def check(values: tuple[Any, ...]) -> None:
        kinds = tuple(map(type, values))
        if kinds in known:
            return
        for k, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
            if not right(parameter, value):
                raise refusal(name, parameters, values, k, method, record.forms)
        if all(kind in _ALIKE or place and isinstance(value, TensorBase)
               for kind, place, value in zip(kinds, tensors, values, strict=True)):
            known.add(kinds)

    return check
