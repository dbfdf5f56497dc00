"""The arguments of a launch: which become words of the machine code, and what code fits them.

`sorted_out` looks at each of them. What it found is kept in `Form`s, so that arguments of classes,
specs and constants that were there before take a fraction of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from ..core.devices import CPU
from ..core.tensor_base import TensorBase
from ..dispatch.state import STATE
from . import types
from .sources import constant_key

_LOW, _HIGH = -(1 << 31), 1 << 31
#: Classes of tensors that kernels take as they are.
_taken: set[type] = set()
#: Classes of constants whose values are told apart by `==`.
_TOLD_APART = frozenset({int, bool, str, type(None)})
_spec, _storage, _flags = map(attrgetter, ("_spec", "_storage", "_flags"))
_MOST_KNOWN = 1 << 12  # specs and constants of one form
Sorted = tuple[Any, list[Any], list[Any]]  # machine code, its words, the tensors among them


@dataclass
class Form:
    """How arguments of some classes are sorted out: places of what was given, in order.

    whole  integers that come as words; 1, and what is wider than int32, is sorted out anew
    known  specs and constants -> machine code, for tensors that share no memory
    """

    tensors: list[int]
    words: list[int]
    whole: list[int]
    constants: list[int]
    known: dict[Any, Any] = field(default_factory=dict)

    def sorted_out(self, given: tuple[Any, ...]) -> Sorted | None:
        """The code that is known for arguments, its words and tensors; None: not known."""
        tensors = [given[k] for k in self.tensors]
        made = self.known.get(self._key(given, tensors))
        return None if made is None else (made, [given[k] for k in self.words], tensors)

    def _key(self, given: tuple[Any, ...], tensors: list[Any]) -> Any:
        for k in self.whole:
            if given[k] == 1 or not _LOW <= given[k] < _HIGH:
                return None
        storages = [*map(_storage, tensors)]
        if len({*map(id, storages)}) < len(storages) or any(map(_flags, storages)):
            return None  # they may share memory
        return (*map(_spec, tensors), *[given[k] for k in self.constants])

    def remember(self, given: tuple[Any, ...], made: Any) -> None:
        """Keep the code that these arguments have led to."""
        key = self._key(given, [given[k] for k in self.tensors])
        if key is not None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            self.known[key] = made


def form_of(fixed: dict[str, bool], order: tuple[int, ...], given: tuple[Any, ...]) -> Form | None:
    """The form of arguments that a kernel has taken, None for constants that are hard to tell.

    order: the place of each parameter's argument in what was given
    """
    form = Form([], [], [], [])
    for k, known in zip(order, fixed.values(), strict=True):
        cls = type(given[k])
        if known or not (cls in _taken or cls in (int, float, bool)):
            if cls not in _TOLD_APART and cls.__eq__ is not object.__eq__:
                return None
            form.constants.append(k)
            continue
        form.words.append(k)
        if cls in _taken:
            form.tensors.append(k)
        elif cls is int:
            form.whole.append(k)
    return form


def sorted_out(fixed: dict[str, bool], values: list[Any]
               ) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
    """What tells apart the machine code for these arguments; its words; the tensors among them.

    fixed: of each parameter, whether its value is known when the kernel is compiled

    NumPy's scalars become Python's numbers in `values`. Raises ValueError and TypeError for what
    no kernel takes.
    """
    key: list[Any] = []
    words: list[Any] = []
    tensors: list[Any] = []
    for k, (value, known) in enumerate(zip(values, fixed.values(), strict=True)):
        cls = value.__class__
        if known:
            if cls is not int:
                value = values[k] = plain(value)
            key.append(constant_key(value))
            continue
        if cls in _taken and value._spec.device is CPU and not value._spec.neg:
            key.append(value._spec.dtype)
            tensors.append(value)
        elif cls is int and value != 1 and _LOW <= value < _HIGH:
            key.append(types.int32)
        else:
            value = values[k] = plain(value)
            kind = argument_kind([*fixed][k], value)
            if kind is None:
                key.append(constant_key(value))
                continue
            if kind == "pointer":
                _taken.add(cls)
                tensors.append(value)
                kind = value._spec.dtype
            key.append(kind)
        words.append(value)
    key.append(aliases(tensors))
    return tuple(key), words, tensors


def plain(value: Any) -> Any:
    """A scalar of NumPy's as a Python number; anything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () \
            and value.dtype.kind in "biuf":
        return value.item()
    return value


def argument_kind(name: str, value: Any) -> Any:
    """"pointer", the type of a number, or None for what is known when the kernel is compiled."""
    if value.__class__ is int:
        return None if value == 1 else types.of_number(value)
    if isinstance(value, TensorBase):
        batched = value.__class__.__name__ == "BatchedTensor"
        if value._spec.device.type != "cpu" or batched:
            found = "batched" if batched else value.device
            raise ValueError(
                f"Pointer argument ({name}) cannot be accessed from Triton ({found} "
                "tensor?); kernels run on tensors of the CPU. An operator around the kernel "
                "(torch.library.custom_op) can have rules for others: register_fake, register_vmap")
        if value._spec.neg:
            raise ValueError(
                f"Pointer argument ({name}) is a tensor with the negative bit: its memory holds "
                "the numbers with the other sign; pass resolve_neg() of it")
        return "pointer"
    return types.of_number(value) if isinstance(value, (bool, float)) else None


def refuse_lost(name: str, given: tuple[Any, ...]) -> None:
    """Raise RuntimeError where a launch would lose a derivative that `torch.func` takes.

    As in PyTorch, whose tensors have no address there. Ordinary autograd takes what a kernel
    writes for new values, and so does a function that runs off the tape, as an operator's does.
    """
    derivative = STATE.derivative
    for tensor in given:
        if STATE.tape and isinstance(tensor, TensorBase) and derivative.owns(tensor) and (
                tensor._requires_grad or any(_tangent(level, tensor) is not None
                                             for level in STATE.levels)):
            raise RuntimeError(
                "Cannot access data pointer of Tensor that doesn't have storage: a derivative of "
                f"torch.func is being taken, and the kernel {name} has none. Give it one in an "
                "operator (torch.library.triton_op, register_autograd) or a "
                "torch.autograd.Function, or pass x.detach()")


def _tangent(level: Any, tensor: Any) -> Any:
    from ..autograd.duals import DualLevel

    return level.tangent(tensor) if isinstance(level, DualLevel) else None


def aliases(tensors: list[Any]) -> tuple[int, ...]:
    """Of each tensor, which memory it is in: the first tensor whose memory it shares."""
    storages = [t._storage for t in tensors]
    known = [*map(id, storages)]
    found = [known.index(k) for k in known]
    # Only what code outside knows the address of can lie in two storages.
    shared = [k for k, s in enumerate(storages) if s._flags and found[k] == k]
    if len(shared) > 1:
        spans = {k: (storages[k]._address, storages[k]._nbytes) for k in shared}
        first = {k: next(j for j, (other, size) in spans.items() if j == k
                         or start < other + size and other < start + nbytes)
                 for k, (start, nbytes) in spans.items()}
        found = [first.get(k, k) for k in found]
    return tuple(found)
