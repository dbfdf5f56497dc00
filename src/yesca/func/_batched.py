"""The tensor that a function sees inside `vmap`: one example, standing for the whole batch.

A `BatchedTensor` wraps a tensor (its *value*) that has one dimension more, the batch, in front.
Shapes are those of one example. The tape lives in the value: a derivative inside `vmap` is taken
of the value, whose rows do not mix.
"""

from __future__ import annotations

import textwrap
from typing import Any

from .._printing import tensor_repr
from .._tensor import Tensor
from ..core.spec import Spec, spec
from ..dispatch import inplace
from ..dispatch.protocol import disabled
from ..dispatch.state import STATE


class _NoStorage:
    """Stands where a storage would: what reads memory itself does not know batches."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("vmap: this function reads the memory of a tensor itself and has no "
                           "batching rule; move it out of vmap, or write it with operators")


_NO_STORAGE: Any = _NoStorage()
_UNREADABLE = "unreadable"  # marks errors of code that wants the numbers of one example
_ITEM = ("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
         "calling .item() on a Tensor, please try to rewrite what you're doing with other "
         "operations. If error is occurring somewhere inside PyTorch internals, please file a bug "
         "report.")
_CONTROL = ("vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
            "flow. We don't support that yet, please file an issue at "
            "https://github.com/pytorch/pytorch/issues .")


def unreadable(message: str) -> RuntimeError:
    """The error for code that wants to know the numbers of one example."""
    error = RuntimeError(message)
    error.__dict__[_UNREADABLE] = True
    return error


def is_unreadable(error: BaseException) -> bool:
    """Whether an error says that code wanted to know the numbers of one example."""
    return _UNREADABLE in error.__dict__


class BatchedTensor(Tensor):
    """One example of a batch; see the module. Made by `batched`, never by hand."""

    __torch_function__ = disabled
    _value: Tensor
    _level: Any

    @property
    def requires_grad(self) -> bool:
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._value.requires_grad = value
        refreshed(self)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self._value.requires_grad_(requires_grad)
        return refreshed(self)

    @property
    def is_leaf(self) -> bool:
        return self._value.is_leaf

    @property
    def grad_fn(self) -> Any:
        return self._value.grad_fn

    @property
    def grad(self) -> Tensor | None:
        grad = self._value.grad
        return None if grad is None else batched(self._level, grad)

    def retain_grad(self) -> None:
        self._value.retain_grad()

    def register_hook(self, hook: Any) -> Any:
        return self._value.register_hook(lambda grad: lowered(
            hook(batched(self._level, grad)), self._level))

    def detach(self) -> Tensor:
        return batched(self._level, self._value.detach())

    @property
    def data(self) -> Tensor:
        return batched(self._level, self._value.data)

    def _become(self, made: Any) -> Tensor:
        """An in-place view: the example is from now on what `made`, a view of it, is."""
        self._value, self._spec = made._value, made._spec
        inplace.bump(self)
        return refreshed(self)

    def _all_examples(self) -> Any:
        return self._value._all_examples()

    def untyped_storage(self) -> Any:
        return self._value.untyped_storage()

    def item(self) -> Any:
        raise unreadable(_ITEM)

    def tolist(self) -> Any:
        raise unreadable(_ITEM.replace(".item()", ".tolist()"))

    def numpy(self, *, force: bool = False) -> Any:
        raise unreadable(_ITEM.replace(".item()", ".numpy()"))

    def __bool__(self) -> bool:
        raise unreadable(_CONTROL)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return shown(self)


def shown(tensor: Any) -> str:
    """A tensor as the transforms of `func` have it: one layer for each that wraps it."""
    value, levels = fully_lowered(tensor)
    derivatives = [one for one in STATE.transforms if one.birth and one.owns(value)]
    layers = {level.number: f"BatchedTensor(lvl={level.number}, bdim=0, value=" for level in levels}
    layers |= {one.number: f"GradTrackingTensor(lvl={one.number}, value=" for one in derivatives}
    for one in reversed(derivatives):
        value = one.outside(value)
    text = tensor_repr(value)
    for number in sorted(layers):
        text = f"{layers[number]}\n{textwrap.indent(text, '    ')}\n)"
    return text


def example_spec(value: Any) -> Spec:
    """The spec of one example of a batch."""
    whole = value._spec
    return spec(whole.dtype, whole.shape[1:], whole.strides[1:], whole.device, whole.conj,
                whole.neg)


def batched(level: Any, value: Any) -> Any:
    """One example at this level; the batch is the value's first dimension."""
    made = object.__new__(BatchedTensor)
    made._storage, made._spec, made._offset = _NO_STORAGE, example_spec(value), 0
    made._node = made._grad = made._extra = None
    made._output_nr = 0
    made._value, made._level = value, level
    return refreshed(made)


def refreshed(tensor: Any) -> Any:
    """Take over what the value's place in the tape has become."""
    tensor._counter = tensor._value._counter
    tensor._requires_grad = tensor._value.requires_grad
    return tensor


def lowered(tensor: Any, level: Any) -> Any:
    """The value of a tensor that is batched at this level, others as they are."""
    if isinstance(tensor, BatchedTensor) and tensor._level is level:
        return tensor._value
    return tensor


def fully_lowered(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """The tensor below all levels, and the levels it was batched at, the outermost first."""
    levels = []
    while isinstance(tensor, BatchedTensor):
        levels.append(tensor._level)
        tensor = tensor._value
    return tensor, tuple(reversed(levels))


def raised(tensor: Any, levels: tuple[Any, ...]) -> Any:
    """The inverse of `fully_lowered`."""
    for level in levels:
        tensor = batched(level, tensor)
    return tensor


def active_levels() -> tuple[Any, ...]:
    """The batch levels of this thread, the outermost first."""
    return tuple([level for level in STATE.levels if level.is_batch])


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The tensor with its batch dimensions that stands behind one inside `vmap`, for printing."""
    if not isinstance(tensor, BatchedTensor):
        return tensor
    return fully_lowered(tensor)[0] if recurse else tensor._value
