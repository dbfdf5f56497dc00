"""The arguments of a call as a profile keeps them: shapes and numbers, never a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.spec import Spec
from ..core.tensor_base import TensorBase
from ..operators.record import Record

#: PyTorch's names of dtypes in traces.
_TYPE_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long",
}
_PLAIN = (bool, int, float, complex, str, type(None))


@dataclass(frozen=True)
class Inputs:
    """Per argument: a Spec, a tuple of them, or the value itself."""

    kept: tuple[Any, ...]

    def shapes(self) -> list[list[int]]:
        """Sizes of the tensors; nothing for what is none."""
        return [list(one.shape) if isinstance(one, Spec) else [] for one in self.kept]

    def structured(self) -> list[Any]:
        """As `shapes`, with those of the tensors inside lists."""
        return [list(one.shape) if isinstance(one, Spec)
                else [list(inner.shape) for inner in one] if _are_specs(one) else []
                for one in self.kept]

    def strides(self) -> list[Any]:
        """Strides, likewise."""
        return [list(one.strides) if isinstance(one, Spec)
                else [list(inner.strides) for inner in one] if _are_specs(one) else []
                for one in self.kept]

    def types(self) -> list[str]:
        """What the arguments are."""
        return [_type_name(one) for one in self.kept]

    def concrete(self) -> list[Any]:
        """Values of the arguments that are no tensors."""
        return [None if isinstance(one, Spec) or _are_specs(one)
                else list(one) if isinstance(one, tuple) else one for one in self.kept]


def _are_specs(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, Spec) for v in value)


def _type_name(one: Any) -> str:
    if isinstance(one, Spec):
        name = str(one.dtype).removeprefix("torch.")
        return _TYPE_NAMES.get(name, name)
    if _are_specs(one):
        return "TensorList"
    if isinstance(one, tuple):
        return "ScalarList"
    return "Scalar" if isinstance(one, (bool, int, float, complex)) else ""


def of(record: Record, values: tuple[Any, ...]) -> Inputs:
    """What is kept of the arguments of a record."""
    return Inputs(tuple([_kept(value) for value in values]))


def of_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    """What is kept of the arguments of a function that is no record."""
    return Inputs(tuple([_kept(value) for value in (*args, *kwargs.values())]))


def _kept(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._spec
    if isinstance(value, (list, tuple)):
        return tuple([_kept(v) for v in value])
    return value if isinstance(value, _PLAIN) else str(value)
