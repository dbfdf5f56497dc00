"""Structures of containers as text (JSON)."""

from __future__ import annotations

import enum
import importlib
import json
from typing import Any

from ._pytree_nodes import (
    LEAF, SERIALIZED_TYPE_TO_PYTHON_TYPE, SUPPORTED_SERIALIZED_TYPES, TreeSpec,
)

PROTOCOL = 1


class _Encoder(json.JSONEncoder):
    def default(self, obj: Any) -> Any:
        if isinstance(obj, enum.Enum):
            kind = type(obj)
            return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}",
                    "name": obj.name}
        return super().default(obj)


def _member(found: dict[str, Any]) -> Any:
    """The member of an enumeration that a dictionary stands for, or the dictionary."""
    if "__enum__" not in found:
        return found
    module, _, path = found["fqn"].partition(":")
    holder: Any = importlib.import_module(module)
    for name in path.split("."):
        holder = getattr(holder, name)
    return holder[found["name"]]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text.

    Raises NotImplementedError for types without a `serialized_type_name`, TypeError for what is
    no JSON, ValueError for another protocol than 1.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError("Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                        f"{type(treespec)}.")
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return json.dumps((PROTOCOL, _dumped(treespec)), cls=_Encoder)


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    way = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if way is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if way.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg.")
    if way.to_dumpable_context is not None:
        context = way.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=_Encoder)
        except TypeError as error:
            raise TypeError("Unable to serialize context. Please make the context json dump-able, "
                            "or register a custom serializer using _register_pytree_node."
                            ) from error
    return {"type": way.serialized_type_name, "context": context,
            "children_spec": [_dumped(child) for child in spec.children()]}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote."""
    protocol, dumped = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return _loaded(dumped)


def _loaded(dumped: dict[str, Any]) -> TreeSpec:
    name, context = dumped["type"], dumped["context"]
    if name is None and context is None and not dumped["children_spec"]:
        return LEAF
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    made = json.loads(context, object_hook=_member) if read is None else read(context)
    return TreeSpec(kind, made, [_loaded(child) for child in dumped["children_spec"]])
