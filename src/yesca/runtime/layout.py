"""A probe of the running interpreter: where objects keep what native code reads.

Offsets belong to a build of CPython, so they are found by looking at live objects, never taken
from a header. What the probe cannot find is None, and `INLINE` is False then: native code calls
the C API for everything, and the portable path serves where builtins of machine code cannot.
The names in capitals are constants to native code (`layout.REFCOUNT`).
"""

import ctypes
import struct
import sys
import sysconfig

from ..base import settings

# Method flags: part of CPython's stable ABI.
METH_VARARGS, METH_KEYWORDS, METH_NOARGS, METH_O, METH_FASTCALL = 1, 2, 4, 8, 0x80

_WORD = 8


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _find_word(thing, value: int, start: int, nbytes: int):
    """Offset of the first word of `thing` in [start, nbytes) that holds `value`, or None."""
    for offset in range(start, nbytes - _WORD + 1, _WORD):
        if _word(id(thing) + offset) == value:
            return offset
    return None


def _refcount_offset():
    thing = object()
    before = [_word(id(thing) + offset) for offset in (0, 8)]
    held = [thing] * 5
    after = [_word(id(thing) + offset) for offset in (0, 8)]
    del held
    changed = [index for index in (0, 1) if after[index] - before[index] == 5]
    return changed[0] * _WORD if len(changed) == 1 else None


def _mortal(thing) -> bool:
    """Whether references to `thing` are counted (they are not for immortal objects)."""
    before = _word(id(thing))
    held = [thing] * 3
    after = _word(id(thing))
    del held
    return after == before + 3


def _float_value_offset():
    thing = 1.2345678901234567e89
    bits = struct.unpack("<Q", struct.pack("<d", thing))[0]
    return _find_word(thing, bits, 0, sys.getsizeof(thing))


def _list_items_offset(size: int):
    """Where a list holds the address of its items: behind its size, or nowhere that we know."""
    things = [object(), object()]
    if _word(id(things) + size) != len(things):
        return None
    first = _word(_word(id(things) + size + _WORD))
    return size + _WORD if first == id(things[0]) else None


def _probe_cpython() -> bool:
    return (
        sys.implementation.name == "cpython"
        and sys.byteorder == "little"
        and struct.calcsize("P") == _WORD
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and not sysconfig.get_config_var("Py_TRACE_REFS")  # two more words in each object
    )


IS_CPYTHON = _probe_cpython()
_pair = (object(), object())
REFCOUNT = _refcount_offset() if IS_CPYTHON else None
TYPE = _find_word(_pair, id(tuple), 0, 32) if IS_CPYTHON else None
TUPLE_ITEMS = _find_word(_pair, id(_pair[0]), 16, sys.getsizeof(_pair)) if IS_CPYTHON else None
TUPLE_SIZE = _find_word(_pair, len(_pair), 16, 32) if IS_CPYTHON else None
LIST_ITEMS = _list_items_offset(TUPLE_SIZE) if TUPLE_SIZE is not None else None
FLOAT_VALUE = _float_value_offset() if IS_CPYTHON else None

#: Native code may count references itself: no object is immortal in this interpreter.
INLINE_REFCOUNT = bool(
    IS_CPYTHON and REFCOUNT == 0 and _mortal(None) and _mortal(object()) and _mortal(0)
)
#: Native code may read types, tuples, lists and floats by offset.
INLINE = None not in (REFCOUNT, TYPE, TUPLE_ITEMS, TUPLE_SIZE, LIST_ITEMS, FLOAT_VALUE)


def uses_builtins() -> bool:
    """Whether builtins of machine code serve; else the portable path does (YESCA_PORTABLE=1)."""
    return IS_CPYTHON and INLINE and not settings.PORTABLE.get()


def slot_offset(cls: type, name: str) -> int:
    """Byte offset of a `__slots__` member inside instances of `cls`.

    Found by storing a marker in an instance and looking for it. Raises RuntimeError when that
    does not single out one place.
    """
    instance = cls.__new__(cls)
    member = getattr(cls, name)
    marker = object()
    places = []
    for candidate in (marker, object()):
        member.__set__(instance, candidate)
        words = range(0, cls.__basicsize__ - _WORD + 1, _WORD)
        places.append({w for w in words if _word(id(instance) + w) == id(candidate)})
    member.__delete__(instance)
    common = places[0] & places[1]
    if len(common) != 1:
        raise RuntimeError(f"[layout] no single place for {cls.__name__}.{name}: {common}")
    return common.pop()
