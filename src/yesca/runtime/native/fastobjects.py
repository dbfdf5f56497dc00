"""Objects of the fast call path: where their slots are, and how new ones are made."""

from ...core.node_base import NodeBase, Saved
from ...core.storage import UntypedStorage
from ...core.tensor_base import Extra
from ...targets.native import Unit, external, i64, load_obj, obj, ptr, store_obj, void
from .. import layout
from . import fastkey as k
from .objects import incref, long_from

unit = Unit("fastobjects")

S_ADDRESS = layout.slot_offset(UntypedStorage, "_address")
S_BYTES = layout.slot_offset(UntypedStorage, "_nbytes")
S_DEVICE = layout.slot_offset(UntypedStorage, "_device")
S_OWNER = layout.slot_offset(UntypedStorage, "_owner")
S_FLAGS = layout.slot_offset(UntypedStorage, "_flags")
S_TYPED = layout.slot_offset(UntypedStorage, "_typed")
N_PLAN = layout.slot_offset(NodeBase, "_plan")
N_SCALARS = layout.slot_offset(NodeBase, "_scalars")
N_EDGES = layout.slot_offset(NodeBase, "_edges")
N_PORTS = layout.slot_offset(NodeBase, "_ports")
N_MASK = layout.slot_offset(NodeBase, "_mask")
N_SAVED = layout.slot_offset(NodeBase, "_saved")
N_SEQUENCE = layout.slot_offset(NodeBase, "_sequence")
N_EXTRA = layout.slot_offset(NodeBase, "_extra")
A_STORAGE = layout.slot_offset(Saved, "storage")
A_SPEC = layout.slot_offset(Saved, "spec")
A_OFFSET = layout.slot_offset(Saved, "offset")
A_COUNTER = layout.slot_offset(Saved, "counter")
A_VERSION = layout.slot_offset(Saved, "version")
E_HOOKS = layout.slot_offset(Extra, "hooks")
E_RETAIN = layout.slot_offset(Extra, "retain")
E_NAME = layout.slot_offset(Extra, "name")
E_AFTER = layout.slot_offset(Extra, "after")
E_TAKES = layout.slot_offset(Extra, "takes")
# Places in fastkey's state, besides the types named there.
VERSION_TYPE, NODE_TYPE, SAVED_TYPE, EXTRA_TYPE = 64, 72, 80, 88
CPU, ZERO, FAIL, EMPTY, SEQUENCE = 112, 120, 128, 136, 144
NO_GRAD_TYPE, SEVERAL_TYPE = 472, 480  # what views have besides that are no plain ones
BIRTH = 488  # what version counters start with: ZERO, but where `func` takes a derivative
RUNNING = 168  # calls that have let other threads run

new_object = external("PyType_GenericAlloc", [obj, i64], obj)


@unit.function(inline=True)
def put(thing: obj, place: i64, value: obj) -> void:
    """Fill an empty slot with a new reference."""
    incref(value)
    store_obj(thing, place, value)


@unit.function(inline=True)
def shared(place: i64) -> obj:
    """An object of the state, borrowed."""
    return load_obj(k.state, place)


@unit.function
def new_tensor(spec: obj, storage: obj, offset: obj, version: obj) -> obj:
    """A tensor off the tape; takes over the references to storage, offset and version."""
    made = new_object(shared(k.TENSOR_TYPE), 0)
    if made is None:
        return None
    nothing = obj(k.none_object)
    store_obj(made, k.T_STORAGE, storage)
    store_obj(made, k.T_OFFSET, offset)
    store_obj(made, k.T_VERSION, version)
    put(made, k.T_SPEC, spec)
    put(made, k.T_REQUIRES, obj(k.false_object))
    put(made, k.T_NODE, nothing)
    put(made, k.T_OUTPUT, shared(ZERO))
    put(made, k.T_GRAD, nothing)
    put(made, k.T_EXTRA, nothing)
    return made


@unit.function
def new_result(spec: obj, address: ptr, owner: obj, nbytes: obj) -> obj:
    """A tensor over a new storage, which takes the owner's reference over."""
    storage = new_object(shared(k.STORAGE_TYPE), 0)
    if storage is None:
        return None
    store_obj(storage, S_ADDRESS, long_from(i64(address)))
    put(storage, S_BYTES, nbytes)
    put(storage, S_DEVICE, shared(CPU))
    store_obj(storage, S_OWNER, owner)
    put(storage, S_FLAGS, shared(ZERO))
    put(storage, S_TYPED, obj(k.none_object))
    return over(spec, storage)


@unit.function
def over(spec: obj, storage: obj) -> obj:
    """A tensor over all of a storage, whose reference it takes over."""
    version = new_object(shared(VERSION_TYPE), 0)
    if version is None:
        return None
    put(version, k.V_VALUE, shared(BIRTH))
    zero = shared(ZERO)
    incref(zero)
    return new_tensor(spec, storage, zero, version)
