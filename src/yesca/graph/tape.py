"""The words that recording leaves: shared by the builtin call path and its Python twin.

`runtime/native/capture.py` appends to the same blocks, so that a recording does not tell which of
the two took a call.
"""

from __future__ import annotations

import copyreg
import ctypes
from typing import Any

from ..core.storage import UntypedStorage
from ..runtime.recording import (
    CALLS, CLOSED, COUNT, HEADER_WORDS, MOST_BYTES, MOST_CALLS, MOST_VALUES, NODE, PENDING_BYTES,
    ROOM, STORAGES, USED, VALUES, VALUE_SHIFT, WATCHED, number_words,
)

_address_slot: Any = UntypedStorage.__dict__["_address"]
_owner_slot: Any = UntypedStorage.__dict__["_owner"]


class RecordedStorage(UntypedStorage):
    """A storage that a recording reads or writes, as long as the recording has not run.

    It is a plain storage again afterwards. New results have no bytes until then; whoever asks for
    the address of either kind makes the recording run first.
    """

    __slots__ = ()
    recorder: Any = None  # each recorder has a subclass of its own

    @property
    def _address(self) -> int:  # type: ignore[override]
        self.recorder.touch()
        return _address_slot.__get__(self)  # type: ignore[no-any-return]

    @_address.setter
    def _address(self, value: int) -> None:
        self.recorder.touch()
        _address_slot.__set__(self, value)

    @property
    def _owner(self) -> Any:  # type: ignore[override]
        self.recorder.touch()
        return _owner_slot.__get__(self)

    @_owner.setter
    def _owner(self, value: Any) -> None:
        self.recorder.touch()
        _owner_slot.__set__(self, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copies and pickles are those of the plain storage that this becomes."""
        self.recorder.touch()
        reduce = copyreg.dispatch_table.get(UntypedStorage)
        return UntypedStorage.__reduce_ex__(self, protocol) if reduce is None else reduce(self)


_NOTHING = (0,) * (PENDING_BYTES + 1 - COUNT)


class LostStorage(RecordedStorage):
    """A result of a recording that could not be run."""

    __slots__ = ()

    @property
    def _address(self) -> int:  # type: ignore[override]
        raise RuntimeError("This tensor has no value: the compiled program that computes it failed "
                           "or was interrupted.")


class Tape:
    """One recording: the storages by number, and what differs between two runs of it."""

    def __init__(self, recorder: Any) -> None:
        self.storage_class = type("RecordedStorage", (RecordedStorage,),
                                  {"__slots__": (), "recorder": recorder,
                                   "__module__": UntypedStorage.__module__})
        self.storages: list[Any] = []
        self.header = (ctypes.c_int64 * HEADER_WORDS)()
        self.values = (ctypes.c_int64 * (MOST_VALUES + ROOM))()
        self.values_address = ctypes.addressof(self.values)
        self.address = ctypes.addressof(self.header)
        self.header[VALUES] = self.values_address
        self.header[STORAGES] = id(self.storages)
        self.header[WATCHED] = id(self.storage_class)

    def full(self) -> bool:
        """Whether the next call could find no room."""
        header = self.header
        return (header[CALLS] >= MOST_CALLS or header[USED] >= MOST_VALUES
                or header[PENDING_BYTES] > MOST_BYTES)

    def closed(self) -> bool:
        """Whether it takes no calls just now."""
        return self.header[PENDING_BYTES] >= CLOSED

    def adopt(self, storage: UntypedStorage, start: int) -> None:
        """Give a storage that exists already its number; start: the first offset seen in it."""
        self._enter(storage, self.header[USED])
        self._value(start)
        storage.__class__ = self.storage_class

    def new(self, nbytes: int) -> UntypedStorage:
        """A storage without bytes yet."""
        made = UntypedStorage._wrap(0, nbytes, None, 0)
        _address_slot.__delete__(made)
        self.header[PENDING_BYTES] += nbytes
        self._enter(made, 0)
        made.__class__ = self.storage_class
        return made

    def _enter(self, storage: UntypedStorage, value: int) -> None:
        number: int = self.header[COUNT]
        storage._number = number + (value << VALUE_SHIFT)
        self.storages.append(storage)
        self.header[COUNT] = number + 1

    def offset(self, storage: UntypedStorage, start: int) -> int:
        """The offset as the key holds it: that in an earlier storage comes with each run, and the
        key says where among its values; one that equals the first one shares its place."""
        try:
            _address_slot.__get__(storage)
        except AttributeError:
            return start
        first = storage._number >> VALUE_SHIFT
        if self.values[first] == start:
            return -1 - first
        self._value(start)
        return -int(self.header[USED])

    def number(self, value: Any) -> None:
        """A run-time number."""
        for word in number_words(value):
            self._value(word)

    def _value(self, word: int) -> None:
        used = self.header[USED]
        self.values[used] = word
        self.header[USED] = used + 1

    def clear(self, root: int) -> list[Any]:
        """Start anew at a trie's root; gives the storages of the recording that ends."""
        header = self.header
        header[NODE] = root
        header[COUNT:PENDING_BYTES + 1] = _NOTHING
        done, self.storages = self.storages, []
        header[STORAGES] = id(self.storages)
        return done


def address_of(storage: UntypedStorage) -> int:
    """The address of an earlier storage; runs nothing."""
    return _address_slot.__get__(storage)  # type: ignore[no-any-return]


def settle(storage: UntypedStorage) -> None:
    """Make it a plain storage again."""
    storage.__class__ = UntypedStorage


def abandon(storages: list[Any]) -> None:
    """Give up a recording: earlier storages are plain again, its results are lost."""
    for storage in storages:
        try:
            _address_slot.__get__(storage)
        except AttributeError:
            storage.__class__ = LostStorage
        else:
            settle(storage)


def materialise(storage: UntypedStorage, address: int, owner: Any) -> None:
    """Give a new storage its bytes."""
    _address_slot.__set__(storage, address)
    _owner_slot.__set__(storage, owner)
    storage.__class__ = UntypedStorage


