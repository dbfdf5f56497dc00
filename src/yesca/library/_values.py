"""Values of the types of a schema: what passes as argument or result, how defaults are written.

A value passes where PyTorch lets it: a tensor of one element and NumPy's numbers for a number, a
range for a list, an int for a dtype (its place in PyTorch's table).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import Any

from ..core import dtypes
from ..core.devices import Device
from ..core.dtypes import DType
from ..core.layouts import Layout, MemoryFormat
from ..core.tensor_base import TensorBase
from ..runtime.generator import Generator

NOTHING = object()
_CONSTANTS = {"None": None, "True": True, "False": False}
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
#: Python's numbers that stand for a list of a known length.
_ALONE: dict[str, Any] = {"int": int, "SymInt": int, "float": (int, float)}
#: The first of PyTorch's scalar types, by number.
_BY_NUMBER = ("uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 "
              "bool qint8 quint8 qint32 bfloat16").split()


def converted(kind: str, value: Any) -> Any:
    """A value as an argument of this type gets it; `NOTHING` where it does not fit."""
    if kind.endswith("?"):
        return None if value is None else converted(kind[:-1], value)
    if kind.endswith("]"):
        return _list_of(kind, value)
    found = KINDS.get(kind)
    return NOTHING if found is None else found(value)


def _list_of(kind: str, value: Any) -> Any:
    item, _, count = kind[:-1].rpartition("[")
    if not isinstance(value, (list, tuple, range)):
        alone = _ALONE.get(item)
        if not count or alone is None or not isinstance(value, alone):
            return NOTHING
        one = converted(item, value)
        return one if one is NOTHING else [one] * int(count)
    made = [converted(item, one) for one in value]
    return NOTHING if any(one is NOTHING for one in made) else made


def _either(*types: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, types) else NOTHING


def _plain(value: Any) -> Any:
    """A Python number of a tensor with one element or a NumPy scalar; others as they are."""
    if isinstance(value, TensorBase):
        return value.item() if value.numel() == 1 else NOTHING  # type: ignore[attr-defined]
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return value.item()
    return value


def _int(value: Any) -> Any:
    number = _plain(value)
    if isinstance(number, float) and number is not value and not isinstance(value, float):
        number = int(number) if math.isfinite(number) else NOTHING
    return int(number) if isinstance(number, int) and -1 << 63 <= number < 1 << 63 else NOTHING


def _float(value: Any) -> Any:
    number = _plain(value)
    return float(number) if isinstance(number, (int, float)) else NOTHING


def _bool(value: Any) -> Any:
    number = _plain(value)
    return bool(number) if number is None or isinstance(number, (int, float, complex)) else NOTHING


def _scalar(value: Any) -> Any:
    if isinstance(value, int) and not -1 << 63 <= value < 1 << 64:
        raise OverflowError(f"int too big to convert: {value} is no number of 64 bits")
    if isinstance(value, float):
        return float(value)
    return value if isinstance(value, (int, complex)) else NOTHING


def _scalar_type(value: Any) -> Any:
    if isinstance(value, DType):
        return value
    number = _int(value)
    known = number is not NOTHING and 0 <= number < len(_BY_NUMBER)
    return _dtype(_BY_NUMBER[number]) if known else NOTHING


def _dtype(name: str) -> Any:
    found = dtypes.ALIASES.get(name) or dtypes.NAMED.get(name)
    return found or dtypes.BY_NAME.get(name, NOTHING)


def _device(value: Any) -> Any:
    return Device(value) if isinstance(value, str) else _either(Device)(value)


KINDS: dict[str, Callable[[Any], Any]] = {
    "Tensor": _either(TensorBase), "int": _int, "SymInt": _int, "float": _float, "bool": _bool,
    "str": _either(str), "Scalar": _scalar, "ScalarType": _scalar_type, "Device": _device,
    "Layout": _either(Layout), "MemoryFormat": _either(MemoryFormat),
    "Generator": _either(Generator),
}


# ---- results ---------------------------------------------------------------------------------

def result(name: str, kind: str, value: Any) -> Any:
    """One result of a kernel; RuntimeError where it is of another type than the schema says."""
    if kind == "Tensor" and value is None:
        return None  # as PyTorch's undefined tensor
    if kind.endswith("[]") and not isinstance(value, (TensorBase, str, dict)) \
            and hasattr(value, "__iter__"):
        value = list(value)
    made = converted(kind, value)
    if made is NOTHING:
        raise RuntimeError(f"Unable to cast {value!r} to {kind}: the kernel of {name} returned "
                           f"'{type(value).__name__}', its schema says {kind}")
    return made


# ---- defaults --------------------------------------------------------------------------------

def constant(text: str, kind: str, suffix: str) -> Any:
    """A default of a type with "?" and "[]" behind it; ValueError where it is none."""
    if text == "None" and ("?" in suffix or kind == "Tensor"):
        return None
    several = re.match(r"\[(\d*)\]", suffix)
    if several is None or text[:1] != "[":
        one = _one(text, kind)
        if several is not None and not several[1]:
            raise ValueError("expected [")
        return one if several is None else [one] * int(several[1])
    return [_one(part, kind) for part in parts(text[1:-1])]


def _one(text: str, kind: str) -> Any:
    if text in _CONSTANTS and kind != "Tensor":
        return _CONSTANTS[text]
    if text[:1] in tuple("'\""):
        value = _text(text)
        return Device(value) if kind == "Device" else value
    named = {"ScalarType": _dtype, "Layout": _layout, "MemoryFormat": _layout}.get(kind)
    if named is not None and not text.isdigit():
        found = named(text)
    elif kind == "Tensor" or re.fullmatch(_NUMBER, text) is None:
        found = NOTHING
    elif kind != "float" and re.fullmatch(r"[-+]?\d+", text):
        found = converted(kind if kind in ("ScalarType", "SymInt") else "int", int(text))
    else:
        found = float(text)
    if found is NOTHING or isinstance(found, float) and not math.isfinite(found):
        raise ValueError(f"{text!r} is no {kind}")
    return found


def _text(text: str) -> str:
    try:
        return str(ast.literal_eval(text))
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no str") from error


def _layout(name: str) -> Any:
    from ..core import layouts

    found = getattr(layouts, name, None)
    return found if isinstance(found, (Layout, MemoryFormat)) else NOTHING


def shown(value: Any) -> str:
    """A default as it stands in a schema."""
    if isinstance(value, float):
        whole = math.isfinite(value) and value == int(value)
        return f"{value!r}".removesuffix("0") if whole else repr(value)
    if isinstance(value, (str, Device)):
        return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value).removeprefix("torch.").removeprefix("yesca.")


def parts(inside: str) -> list[str]:
    """What stands between commas, brackets and texts kept together; ValueError where it ends in
    the middle of one."""
    found, depth, start, quote, escaped = [], 0, 0, "", False
    for place, character in enumerate(inside):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([") - (character in ")]")
            if character == "," and not depth:
                found.append(inside[start:place].strip())
                start = place + 1
    found.append(inside[start:].strip())
    if quote or depth or "" in found and len(found) > 1:
        raise ValueError("something lacks")
    return [part for part in found if part]
