"""A derivative that is being taken: which tensors are its function's own, and how they print.

A function under a derivative may write to what it has made, and to its arguments, but not to what
it has captured. Its own are told by their version counters: those of tensors made meanwhile start
with the derivative's `birth`, which is larger than that of all derivatives before it.
"""

from __future__ import annotations

import threading
from typing import Any

from .._tensor import Tensor
from ..autograd.inplace import gradient_edge
from ..core.tensor_base import BIRTH, TensorBase
from ..dispatch.state import STATE
from ..operators.record import Record
from ..profiler import names
from ._batched import fully_lowered, shown

_CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
    "in-place operation (aten::{}) that would mutate a captured Tensor. This is not supported; "
    "please rewrite the function being transformed to explicitly accept the mutated Tensor(s) as "
    "inputs.")
_MOST = (1 << 63) // BIRTH - 1  # counters have 64 bits
#: In-place operators that PyTorch has for tensors only, numbers being made tensors ...
_OF_TENSORS = frozenset("add_ sub_ mul_ div_ floor_divide_ true_divide_ divide_ multiply_ "
                        "subtract_".split())
#: ... and those that it has twice.
_OF_BOTH = frozenset(
    "eq_ ne_ lt_ le_ gt_ ge_ not_equal_ less_ less_equal_ greater_ greater_equal_ remainder_ fmod_ "
    "pow_ float_power_ bitwise_and_ bitwise_or_ bitwise_xor_ fill_ masked_fill_ lerp_ "
    "copysign_".split())


class _Births(threading.local):
    last = 0


_births = _Births()


def _next_birth() -> int:
    """Starts anew between derivatives only, so that inner ones have larger numbers than outer."""
    if _births.last > _MOST // 2 and STATE.derivative is None:
        _births.last = 0
    _births.last = min(_births.last + 1, _MOST)
    return _births.last * BIRTH


class Derivative:
    """One derivative of `func`, as `STATE.transforms` has it."""

    def __init__(self) -> None:
        self.number = len(STATE.transforms) + 1
        self.birth = _next_birth()
        self._inputs: dict[int, tuple[Any, Any]] = {}  # by identity: an argument, what was given
        self._counters: dict[int, Any] = {}

    def admit(self, tensor: Any, given: Any) -> Any:
        """An argument of the function, made of a tensor that was given."""
        value = fully_lowered(tensor)[0]
        self._inputs[id(value)] = value, fully_lowered(given)[0]
        self._counters[id(value._counter)] = value._counter
        return tensor

    def owns(self, tensor: Any) -> bool:
        """Whether a tensor is an argument, or was made inside; so are views of such a one."""
        counter = tensor._counter
        return counter is None or counter.value >= self.birth or id(counter) in self._counters

    def check_write(self, target: Any, what: Record | str, values: tuple[Any, ...]) -> None:
        """Refuse to write what the function has captured."""
        if not self.owns(target):
            name = what if isinstance(what, str) else _operator(what, values)
            raise RuntimeError(_CAPTURED.format(name))

    def shown(self, tensor: Any) -> str:
        """What `repr` gives while this is the innermost derivative."""
        return shown(tensor)

    def outside(self, value: Any) -> Any:
        """A tensor as it is outside: on the tape only as far as others than the arguments go."""
        given = self._inputs.get(id(value))
        if given is not None:
            return given[1]
        if value.requires_grad and not foreign([value], [own for own, _ in self._inputs.values()]):
            return value.detach()
        return value


def foreign(outputs: list[Any], own: list[Any]) -> bool:
    """Whether the tape of the outputs leads to anything but these leaves."""
    leaves = {id(fully_lowered(t)[0]) for t in own}
    values = [fully_lowered(t)[0] for t in outputs]
    stack = [gradient_edge(t) for t in values if t.requires_grad]
    seen = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, TensorBase):
            if id(node) not in leaves:
                return True
        else:
            stack.extend([e for e in node._edges if e is not None])
    return False


def _operator(record: Record, values: tuple[Any, ...]) -> str:
    """PyTorch's name of an in-place operator, with that of the overload."""
    name = names.of(record, True).partition("::")[2]
    if name == "_index_put_impl_":
        return "index_put_"
    if name == "scatter_":
        tensors = sum(isinstance(value, Tensor) for value in values)
        return "scatter_.src" if tensors == 3 else "scatter_.value"
    if name in _OF_TENSORS:
        return f"{name}.Tensor"
    if name not in _OF_BOTH:
        return name
    return f"{name}.Tensor" if isinstance(values[-1], Tensor) else f"{name}.Scalar"
