"""Free functions that ask a tensor something, and small ones that have no record of their own."""

from __future__ import annotations

from typing import Any

from ..base.errors import type_name
from ..base.naming import public_module
from ..core import dtypes, registry
from ..core.dtypes import DType, number_category
from ..core.tensor_base import TensorBase
from ..operators.argument_types import is_number
from .state import STATE


def _tensor(name: str, value: Any, shown: str = "input", position: int = 1) -> Any:
    """The value, if it is a tensor."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"{name}(): argument '{shown}' (position {position}) must be Tensor, not "
                        f"{type(value).__name__}")
    return value


def is_floating_point(input: Any) -> bool:
    """Whether a tensor's dtype is one of the floating-point ones."""
    return _tensor("is_floating_point", input).is_floating_point()  # type: ignore[no-any-return]


def is_complex(input: Any) -> bool:
    """Whether a tensor's dtype is complex."""
    return _tensor("is_complex", input).is_complex()  # type: ignore[no-any-return]


def is_signed(input: Any) -> bool:
    """Whether a tensor's dtype has a sign."""
    return _tensor("is_signed", input).is_signed()  # type: ignore[no-any-return]


def is_conj(input: Any) -> bool:
    """Whether a tensor is a conjugated view."""
    return _tensor("is_conj", input).is_conj()  # type: ignore[no-any-return]


def is_neg(input: Any) -> bool:
    """Whether a tensor is a negated view."""
    return _tensor("is_neg", input).is_neg()  # type: ignore[no-any-return]


def is_inference(input: Any) -> bool:
    """Whether a tensor was made in inference mode."""
    return _tensor("is_inference", input).is_inference()  # type: ignore[no-any-return]


def is_nonzero(input: Any) -> bool:
    """Whether the one element of a tensor is not zero.

    Raises RuntimeError for a tensor with more elements, or none.

    >>> import yesca as torch
    >>> torch.is_nonzero(torch.tensor([0.0]))
    False
    """
    return bool(_tensor("is_nonzero", input))


def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    mine, theirs = _tensor("is_same_size", input), _tensor("is_same_size", other, "other", 2)
    return tuple(mine._spec.shape) == tuple(theirs._spec.shape)


def numel(input: Any) -> int:
    """How many elements a tensor has."""
    return _tensor("numel", input).numel()  # type: ignore[no-any-return]


def get_device(input: Any) -> int:
    """The index of a tensor's accelerator; -1 on the CPU."""
    return _tensor("get_device", input).get_device()  # type: ignore[no-any-return]


def detach(input: Any) -> Any:
    """The same memory, off the tape."""
    return _tensor("detach", input).detach()


def apart(input: Any) -> Any:
    """The same memory as a tensor of its own: no view, and with a version counter of its own."""
    if STATE.levels:  # examples of a batch are known by their level
        return input
    return registry.wrap(input._storage, input._spec, input._offset)


def detach_(input: Any) -> Any:
    """Take a tensor off the tape, in place."""
    return _tensor("detach_", input).detach_()


def resize_as_(input: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Resize a tensor, in place, to the shape of another."""
    return _tensor("resize_as_", input).resize_as_(
        the_template, memory_format=memory_format)


def as_strided_(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Other sizes, strides and offset over the same storage, in place."""
    return _tensor("as_strided_", input).as_strided_(size, stride, storage_offset)


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype that arithmetic between two tensors or numbers gives.

    >>> import yesca as torch
    >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int32), 1.0)
    torch.float32
    """
    both = (tensor1, tensor2)
    if not all(map(is_number_or_tensor, both)):
        raise TypeError("result_type() received an invalid combination of arguments - got "
                        f"({', '.join(map(type_name, both))}), but expected two of tensors and "
                        "numbers")
    tensors = [v._spec for v in both if isinstance(v, TensorBase)]
    return dtypes.combine([s.dtype for s in tensors if s.ndim],
                          [s.dtype for s in tensors if not s.ndim],
                          [number_category(v) for v in both if not isinstance(v, TensorBase)])


def is_number_or_tensor(value: Any) -> bool:
    """Whether a value has a part in promotion."""
    return isinstance(value, TensorBase) or is_number(value)


def has_derivative(*tensors: Any) -> bool:
    """Whether the tape or a tangent of forward mode follows one of these tensors."""
    return any((STATE.tape and t.requires_grad)
               or any(level.tangent(one) is not None for level in STATE.levels
                      for one in (t, t._all_examples())) for t in tensors)


FUNCTIONS = {
    f.__name__: f for f in (
        is_floating_point, is_complex, is_signed, is_conj, is_neg, is_inference, is_nonzero,
        is_same_size, numel, get_device, detach, detach_, resize_as_, as_strided_, result_type,
        has_derivative, apart)
}
for _function in FUNCTIONS.values():
    _function.__module__ = public_module("torch")
METHODS = {"is_nonzero": is_nonzero, "is_same_size": is_same_size}
