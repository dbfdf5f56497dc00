"""The value of a one-element tensor as a Python number: what `loss.item()` costs.

Plain tensors of the commonest dtypes are read here; all else goes to the Python twin.
"""

from ...core.dtypes import DType
from ...core.spec import Spec
from ...targets.native import (
    Unit, bool_, external, f64, i64, load_f32, load_f64, load_i64, load_obj, load_u8, obj, ptr,
)  # fmt: skip
from .. import layout
from . import fastkey as k
from .fastcall import unhindered
from .fastobjects import CPU, S_BYTES, shared
from .fastrun import address_of_operand
from .objects import call_one, incref, long_as, long_from, type_of

unit = Unit("fastitem")

# Places in fastkey's state: the dtypes read here, the Python twins, and the number 1.
FLOAT32, FLOAT64, INT64, BOOL, ITEM, AS_FLOAT, AS_TRUTH = 224, 232, 240, 248, 256, 264, 272
P_DTYPE = layout.slot_offset(Spec, "dtype")
P_NUMEL = layout.slot_offset(Spec, "numel")
P_BYTES = layout.slot_offset(Spec, "nbytes")
P_DEVICE = layout.slot_offset(Spec, "device")
P_NEG = layout.slot_offset(Spec, "neg")
D_SIZE = layout.slot_offset(DType, "itemsize")

float_from = external("PyFloat_FromDouble", [f64], obj)


@unit.function
def in_memory(thing: obj) -> bool_:
    """Whether a tensor is a plain one whose bytes are there, and are its values or conjugates."""
    if not unhindered():
        return False
    if not k.is_tensor(type_of(thing)):
        return False
    spec, storage = load_obj(thing, k.T_SPEC), load_obj(thing, k.T_STORAGE)
    offset = load_obj(thing, k.T_OFFSET)
    if spec is None or storage is None or offset is None:
        return False
    if type_of(storage) != load_obj(k.state, k.STORAGE_TYPE):
        return False
    if load_obj(spec, P_DEVICE) != shared(CPU) or load_obj(spec, P_NEG) != obj(k.false_object):
        return False
    start = long_as(offset) * long_as(load_obj(load_obj(spec, P_DTYPE), D_SIZE))
    return start + long_as(load_obj(spec, P_BYTES)) <= long_as(load_obj(storage, S_BYTES))


@unit.function
def readable(thing: obj) -> bool_:
    """Whether it has one element as well."""
    return in_memory(thing) and long_as(load_obj(load_obj(thing, k.T_SPEC), P_NUMEL)) == 1


@unit.function
def place_of(thing: obj, itemsize: i64) -> ptr:
    """Where the first element is."""
    return ptr(address_of_operand(thing, itemsize))


@unit.function
def truth(value: bool_) -> obj:
    """A new reference to True or False."""
    made = obj(k.true_object) if value else obj(k.false_object)
    incref(made)
    return made


@unit.function
def item(thing: obj) -> obj:
    """`x.item()`."""
    if readable(thing):
        dtype = load_obj(load_obj(thing, k.T_SPEC), P_DTYPE)
        if dtype == load_obj(k.state, FLOAT32):
            return float_from(f64(load_f32(place_of(thing, 4))))
        if dtype == load_obj(k.state, INT64):
            return long_from(load_i64(place_of(thing, 8)))
        if dtype == load_obj(k.state, BOOL):
            return truth(load_u8(place_of(thing, 1)) != 0)
        if dtype == load_obj(k.state, FLOAT64):
            return float_from(load_f64(place_of(thing, 8)))
    return call_one(load_obj(k.state, ITEM), thing)


@unit.function
def as_float(thing: obj) -> obj:
    """`float(x)`."""
    if readable(thing):
        dtype = load_obj(load_obj(thing, k.T_SPEC), P_DTYPE)
        if dtype == load_obj(k.state, FLOAT32):
            return float_from(f64(load_f32(place_of(thing, 4))))
        if dtype == load_obj(k.state, FLOAT64):
            return float_from(load_f64(place_of(thing, 8)))
    return call_one(load_obj(k.state, AS_FLOAT), thing)


@unit.function
def as_truth(thing: obj) -> obj:
    """`bool(x)`."""
    if readable(thing):
        if load_obj(load_obj(thing, k.T_SPEC), P_DTYPE) == load_obj(k.state, BOOL):
            return truth(load_u8(place_of(thing, 1)) != 0)
    return call_one(load_obj(k.state, AS_TRUTH), thing)
