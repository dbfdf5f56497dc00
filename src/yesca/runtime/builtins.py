"""Native functions as Python builtins and methods.

CPython calls a native function directly (0.04 µs and up) where it has one of these signatures:

    METH_FASTCALL                 (self: obj, arguments: ptr, count: i64) -> obj
    METH_FASTCALL|METH_KEYWORDS   (self: obj, arguments: ptr, count: i64, names: obj) -> obj
    METH_O                        (self: obj, argument: obj) -> obj
    METH_NOARGS                   (self: obj, nothing: obj) -> obj

The flags follow from the native function's parameters; a result of NULL means that a Python error
is set. Definitions are never freed: a builtin may outlive every Python object of this module.
"""

import ctypes

from ..targets.native import NativeFunction, i64, obj, ptr
from . import layout, units

_FLAGS = {
    (obj, ptr, i64): layout.METH_FASTCALL,
    (obj, ptr, i64, obj): layout.METH_FASTCALL | layout.METH_KEYWORDS,
    (obj, obj): layout.METH_O,
    (obj,): layout.METH_NOARGS,
}


_TP_CALL = 50  # its number in CPython's stable ABI


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def _definition(function: NativeFunction, name: str, doc: str | None) -> int:
    signature = tuple(function.parameters.values())
    if signature not in _FLAGS or function.result is not obj:
        raise TypeError(
            f"[builtins] {function!r} has parameters {signature}, returning {function.result}: "
            "no builtin looks like that; see runtime/builtins.py"
        )
    definition = _MethodDefinition(
        name.encode(), units.address(function), _FLAGS[signature], doc.encode() if doc else None
    )
    keep_forever(definition)
    return ctypes.addressof(definition)


def keep_forever(thing) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def builtin(function: NativeFunction, name: str | None = None, doc: str | None = None,
            bound: object = None):  # fmt: skip
    """A builtin function; `bound` is what the native function gets as `self` (NULL if None)."""
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    )(("PyCFunction_NewEx", ctypes.pythonapi))
    owner = None if bound is None else id(bound)  # the builtin takes its own reference
    return make(_definition(function, name or function.name, doc), owner, None)


def method(cls: type, function: NativeFunction, name: str, doc: str | None = None):
    """A method descriptor for instances of `cls`, to be set as `cls.<name>`.

    CPython checks that `self` is an instance. Set under an operator's name (`__add__`), the
    type's slot finds it there.
    """
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(
        ("PyDescr_NewMethod", ctypes.pythonapi)
    )
    return make(cls, _definition(function, name, doc))


def slot_place(cls: type, slot: int) -> int:
    """The address inside the heap type `cls` that holds the function of a type slot.

    `slot` is a number of CPython's stable ABI (Py_nb_add is 7). The class must define the
    operation already. Found by looking for the function that `PyType_GetSlot` reports; 0 when
    it does not single out one place.
    """
    get_slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(
        ("PyType_GetSlot", ctypes.pythonapi)
    )
    function = get_slot(cls, slot)
    if not function:
        return 0
    start = id(cls)
    end = start + type(cls).__basicsize__ - 7
    places = [
        place for place in range(start, end, 8)
        if ctypes.c_uint64.from_address(place).value == function
    ]  # fmt: skip
    return places[0] if len(places) == 1 else 0


def call_wrapper(cls: type, function: NativeFunction):
    """What a class holds as `__call__` so that its type slot, and that of each subclass, is native.

    The native function is `(self: obj, arguments: obj, names: obj) -> obj`, a tuple and a
    dictionary or NULL. CPython makes such wrappers for types written in C; what it needs to know
    of the slot is taken from a wrapper of its own. None where that is not found.
    """
    like = type(call_wrapper)
    get_slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(
        ("PyType_GetSlot", ctypes.pythonapi)
    )
    wrapper = like.__call__
    wrapped = get_slot(like, _TP_CALL)
    words = (ctypes.c_uint64 * (wrapper.__sizeof__() // 8)).from_address(id(wrapper))
    places = [place for place, word in enumerate(words) if word == wrapped]
    if len(places) != 1 or id(like) not in words[: places[0]]:
        return None
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p
    )(("PyDescr_NewWrapper", ctypes.pythonapi))
    return make(cls, words[places[0] - 1], units.address(function))
