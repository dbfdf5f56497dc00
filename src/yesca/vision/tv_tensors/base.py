"""What the kinds of tensors share: operators on them give plain tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...core.devices import Device
from ...core.dtypes import DType
from ...core.spec import Size
from ...dispatch.protocol import DisableSubclasses

__all__ = ["TVTensor", "set_return_type"]

#: Whether operators keep the kind of their operands.
_keeps = False
#: Copies of a tensor are of its kind whatever is set.
_COPIES = {Tensor.clone, Tensor.to, Tensor.detach, Tensor.requires_grad_, Tensor.pin_memory}


class _Restored:
    """The end of a `with set_return_type(...)`; without `with` the choice stays."""

    def __init__(self, before: bool) -> None:
        self._before = before

    def __enter__(self) -> _Restored:
        return self

    def __exit__(self, *error: Any) -> None:
        global _keeps
        _keeps = self._before


def set_return_type(return_type: str) -> _Restored:
    """Whether operators on these tensors give plain ones (`"Tensor"`, the default) or tensors of
    the same kind (`"TVTensor"`), from now on or within a `with` block.

    Raises ValueError for another name.

    >>> from yesca.vision import tv_tensors
    >>> image = tv_tensors.Image(torch.zeros(3, 2, 2))
    >>> with tv_tensors.set_return_type("TVTensor"):
    ...     type(image + 1).__name__
    'Image'
    >>> type(image + 1).__name__
    'Tensor'
    """
    global _keeps
    kinds = {"tensor": False, "tvtensor": True}
    if return_type.lower() not in kinds:
        raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
    before, _keeps = _keeps, kinds[return_type.lower()]
    return _Restored(before)


class TVTensor(Tensor):
    """The base of the kinds; subclass it for one of your own (see `v2.functional.register_kernel`).
    """

    @staticmethod
    def _to_tensor(data: Any, dtype: DType | None = None, device: Any = None,
                   requires_grad: bool | None = None) -> Tensor:
        if requires_grad is None:
            requires_grad = data.requires_grad if isinstance(data, Tensor) else False
        return ops.as_tensor(data, dtype=dtype, device=device).requires_grad_(requires_grad)

    @classmethod
    def _wrap_output(cls, output: Any, args: Sequence[Any] = (),
                     kwargs: Mapping[str, Any] | None = None) -> Any:
        """The result of an operator, as this kind."""
        return cls._each(output, lambda part: part.as_subclass(cls))

    @classmethod
    def _each(cls, output: Any, change: Callable[[Any], Any]) -> Any:
        if isinstance(output, Tensor) and not isinstance(output, cls):
            return change(output)
        if isinstance(output, (tuple, list)):
            return type(output)(cls._each(part, change) for part in output)
        return output

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any, **kwargs: Any) -> Any:
        return tensor.as_subclass(cls)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Sequence[type],
                           args: Sequence[Any] = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with DisableSubclasses():
            output = func(*args, **(kwargs or {}))
        if _keeps or (func in _COPIES and isinstance(args[0], cls)):
            return cls._wrap_output(output, args, kwargs)
        if isinstance(output, cls):  # in-place operators give back what they got
            return output.as_subclass(Tensor)
        return output

    def _make_repr(self, **kwargs: Any) -> str:
        extra = ", ".join(f"{key}={value}" for key, value in kwargs.items())
        return f"{super().__repr__()[:-1]}, {extra})"

    # read without `__torch_function__`, which costs more than they do

    @property
    def shape(self) -> Size:
        with DisableSubclasses():
            return super().shape

    @property
    def ndim(self) -> int:
        with DisableSubclasses():
            return super().ndim

    @property
    def device(self) -> Device:
        with DisableSubclasses():
            return super().device

    @property
    def dtype(self) -> DType:
        with DisableSubclasses():
            return super().dtype

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.detach().clone().requires_grad_(self.requires_grad)


def first_of(kind: type, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """The first argument of a call that is of a kind, in whatever lists and dictionaries."""
    from ...utils._pytree import tree_flatten

    flat, _ = tree_flatten((tuple(args), dict(kwargs or {})))
    return next(value for value in flat if isinstance(value, kind))
