"""Calling a module and finding its parameters: what each line of a model does first.

Twins in Python are `Module.__call__` and `Module.__getattr__`, to which everything goes that is out
of the ordinary: hooks, compiled modules, a `forward` that is no plain function, names that lack.
"""

from ...targets.native import (
    Unit, bool_, external, i64, load_i64, load_obj, memcpy, obj, ptr, stack, store_obj, u64,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .objects import call_one, decref, incref, type_of

unit = Unit("fastmodule")

#: What `nn.modules._fast` enters: the twins, interned names, types, and the tables of global hooks.
known = unit.global_("known", 256)
CALL, GETATTR, FORWARD, COMPILED, FUNCTION, DICT, ORDERED = range(0, 56, 8)
HOOKS, TABLES, GLOBALS = 64, 96, 128  # four names, three names, four tables

own_dict = external("PyObject_GenericGetDict", [obj, ptr], obj)
entry = external("PyDict_GetItemWithError", [obj, obj], obj)
entries = external("PyDict_Size", [obj], i64)
find = external("_PyType_Lookup", [obj, obj], obj)
bind = external("PyMethod_New", [obj, obj], obj)
vectorcall = external("PyObject_VectorcallDict", [obj, ptr, u64, obj], obj)
call_whole = external("PyObject_Call", [obj, obj, obj], obj)

_MOST = 8  # arguments by position; a call with more takes the other way


@unit.function(inline=True)
def is_dict(thing: obj) -> bool_:
    """Whether `thing` is a dictionary whose items no subclass guards."""
    found = type_of(thing)
    return found == load_obj(known, DICT) or found == load_obj(known, ORDERED)


@unit.function
def calls_forward(own: obj) -> bool_:
    """Whether there is nothing to do but to call `forward`, going by the module's dictionary."""
    for index in range(4):
        hooks = entry(own, load_obj(known, HOOKS + index * 8))
        if hooks is None or not is_dict(hooks) or entries(hooks) != 0:
            return False
        if entries(load_obj(known, GLOBALS + index * 8)) != 0:
            return False
    return entry(own, load_obj(known, COMPILED)) is None


@unit.function
def call(module: obj, arguments: obj, names: obj) -> obj:
    """`module(*args, **kwargs)`, as the function of a type slot."""
    total = load_i64(arguments, layout.TUPLE_SIZE)
    if total > _MOST:
        return by_twin(module, arguments, names)
    of_class = find(type_of(module), load_obj(known, FORWARD))
    own = own_dict(module, None)
    forward = obj(ptr(0))
    if own is not None:
        if of_class is not None and type_of(of_class) == load_obj(known, FUNCTION):
            if calls_forward(own):
                forward = entry(own, load_obj(known, FORWARD))
                if forward is None:
                    forward = of_class
                incref(forward)
        decref(own)
    if forward is None:
        k.clear_error()
        return by_twin(module, arguments, names)
    given = stack(8 * (_MOST + 1))
    store_obj(given, 0, module)
    memcpy(given + 8, ptr(arguments) + layout.TUPLE_ITEMS, total * 8)
    made = obj(ptr(0))
    if forward == of_class:
        made = vectorcall(forward, given, u64(total + 1), names)
    else:
        made = vectorcall(forward, given + 8, u64(total), names)
    decref(forward)
    return made


@unit.function
def by_twin(module: obj, arguments: obj, names: obj) -> obj:
    """The call by way of `Module.__call__`'s twin, which is bound to the module."""
    bound = bind(load_obj(known, CALL), module)
    if bound is None:
        return None
    made = call_whole(bound, arguments, names)
    decref(bound)
    return made


@unit.function
def get_attribute(module: obj, name: obj) -> obj:
    """A parameter, buffer or module of a module, by its name."""
    found = obj(ptr(0))
    own = own_dict(module, None)
    if own is not None:
        for index in range(3):
            if found is None:
                table = entry(own, load_obj(known, TABLES + index * 8))
                if table is not None and is_dict(table):
                    found = entry(table, name)
        if found is not None:
            incref(found)
        decref(own)
        if found is not None:
            return found
    k.clear_error()
    bound = bind(load_obj(known, GETATTR), module)
    if bound is None:
        return None
    made = call_one(bound, name)
    decref(bound)
    return made
