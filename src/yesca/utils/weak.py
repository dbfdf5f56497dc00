"""`torch.utils.weak`: weak references that compare by identity, for keys that are tensors."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from .._tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that is equal to another where both are to one living object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        # Numbers of dead objects may have been given to new ones: only living ones are compared.
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        if mine is None or theirs is None:
            return self is other
        return mine is theirs

    def __ne__(self, other: object) -> bool:
        return not self == other


class WeakIdKeyDictionary(MutableMapping):  # type: ignore[type-arg]
    """A dictionary that compares keys by identity, and forgets those that die.

    >>> import yesca as torch
    >>> x = torch.ones(2)
    >>> notes = WeakIdKeyDictionary()
    >>> notes[x] = "mine"
    >>> x in notes, torch.ones(2) in notes
    (True, False)
    >>> del x
    >>> len(notes)
    0
    """

    def __init__(self, dict: Any = None,  # noqa: A002 - PyTorch's name
                 ref_type: Any = WeakIdRef) -> None:
        self.data: dict[Any, Any] = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def remove(key: Any) -> None:
            there = own()
            if there is not None:
                there.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # cannot be referred to weakly
            return False

    def __len__(self) -> int:
        return len(self.data)

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """Living keys with their values; the dictionary may change meanwhile."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs())

    keys = __iter__  # type: ignore[assignment]
    items = _pairs  # type: ignore[assignment]

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        return (value for _, value in self._pairs())

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def copy(self) -> WeakIdKeyDictionary:
        """A dictionary of its own with the same keys and values."""
        return WeakIdKeyDictionary(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        made = self.__class__()
        for key, value in self._pairs():
            made[key] = copy.deepcopy(value, memo)
        return made

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.__class__(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: calling it gives the tensor, or None once it is gone."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
