"""What other libraries call when they are done with memory that DLPack has given them.

Machine code, because they may call at any time: from a thread without the GIL, and while an error
is on its way to the program (a library that refuses a capsule drops it with its error set), where
a Python function cannot run.
"""

from ...targets.native import (
    Unit, external, i32, i64, load_obj, load_ptr, obj, ptr, stack,
)  # fmt: skip
from .objects import capsule_pointer

unit = Unit("capsules")

#: Places of `manager_ctx` in DLManagedTensor and DLManagedTensorVersioned (dlpack.h).
OF_PLAIN, OF_VERSIONED = 48, 8
#: The capsule names, as addresses of C strings that stay: plain, versioned.
names = unit.global_("names", 16)

_alive = external("Py_IsInitialized", [], i32)
_take_gil = external("PyGILState_Ensure", [], i32)
_give_gil = external("PyGILState_Release", [i32])
_take_error = external("PyErr_Fetch", [ptr, ptr, ptr])
_put_error = external("PyErr_Restore", [ptr, ptr, ptr])
_decrease = external("Py_DecRef", [obj])
_is_valid = external("PyCapsule_IsValid", [obj, ptr], i32)


@unit.function
def drop(managed: ptr, place: i64):
    """Give back the reference to what keeps a tensor: the error that is set stays as it is."""
    if managed is None or _alive() == 0:
        return
    state = _take_gil()
    error = stack(24)
    _take_error(error, error + 8, error + 16)
    _decrease(load_obj(managed, place))
    _put_error(load_ptr(error, 0), load_ptr(error, 8), load_ptr(error, 16))
    _give_gil(state)


@unit.function
def delete_plain(managed: ptr):
    """The deleter of a DLManagedTensor."""
    drop(managed, OF_PLAIN)


@unit.function
def delete_versioned(managed: ptr):
    """The deleter of a DLManagedTensorVersioned."""
    drop(managed, OF_VERSIONED)


@unit.function
def destroy(capsule: obj):
    """A capsule dies: what nobody has taken, so that the name is the old one, is given back."""
    if _is_valid(capsule, load_ptr(names, 0)) != 0:
        drop(capsule_pointer(capsule, load_ptr(names, 0)), OF_PLAIN)
    elif _is_valid(capsule, load_ptr(names, 8)) != 0:
        drop(capsule_pointer(capsule, load_ptr(names, 8)), OF_VERSIONED)
