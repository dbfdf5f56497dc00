"""What counts as a container (`register_pytree_node`), and what the structure of one is."""

from __future__ import annotations

import dataclasses
import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..base.frames import warn

Context = Any
PyTree = Any
Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]
FlattenFn, UnflattenFn = Flatten, Unflatten
DumpableContext = Any
ToDumpableContextFn = FromDumpableContextFn = Callable[[Any], Any]
KeyPath = tuple[Any, ...]


class NodeDef(NamedTuple):
    """How a type is taken apart and put together."""

    type: Any
    flatten_fn: Flatten
    unflatten_fn: Unflatten
    flatten_with_keys_fn: Flatten | None = None


class Serialized(NamedTuple):
    """How the structure of a type is written as JSON; `serialized_type_name` may be missing."""

    typ: Any
    serialized_type_name: str | None
    to_dumpable_context: Callable[[Any], Any] | None
    from_dumpable_context: Callable[[Any], Any] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, Serialized] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()


# ---- the way to a leaf -------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """A key of a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


# ---- registration ------------------------------------------------------------------------------

def register_pytree_node(
    cls: Any, flatten_fn: Flatten, unflatten_fn: Unflatten, *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Flatten | None = None,
) -> None:
    """Let a class count as a container.

    Args:
        flatten_fn: gives the list of parts, and what else is needed to put them together.
        unflatten_fn: the container of parts and that.
        serialized_type_name: the name of the class in texts of `treespec_dumps`.
        to_dumpable_context, from_dumpable_context: what is no JSON by itself, as JSON and back.
        flatten_with_keys_fn: as `flatten_fn`, with (key, part) for each part.

    Raises ValueError for a class that counts already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _enter(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn, serialized_type_name,
           to_dumpable_context, from_dumpable_context)


def _enter(cls: Any, flatten: Flatten, unflatten: Unflatten, keyed: Flatten | None = None,
           name: str | None = None, dump: Callable[[Any], Any] | None = None,
           load: Callable[[Any], Any] | None = None) -> None:
    if (dump is None) != (load is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be "
                         "None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, keyed)
    SUPPORTED_SERIALIZED_TYPES[cls] = Serialized(cls, name, dump, load)
    if name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_pytree_node(cls: Any, flatten_fn: Flatten, unflatten_fn: Unflatten,
                          **options: Any) -> None:
    """The former name of `register_pytree_node`; a class may come again."""
    warn("`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
         "`torch.utils._pytree.register_pytree_node` instead.", FutureWarning)
    if cls in SUPPORTED_NODES:
        warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.")
        _deregister_pytree_node(cls)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: Any) -> None:
    """Let a class be a leaf again."""
    del SUPPORTED_NODES[cls]
    name = SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name
    if name is not None:
        del SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    CONSTANT_NODES.discard(cls)


def register_dataclass(cls: Any, *, field_names: list[str] | None = None,
                       drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Let a dataclass count as a container of its fields; those that are None are no leaves.

    A class that is no dataclass but is made from its fields needs `field_names`.

    Raises ValueError for fields that are neither named nor dropped, or are none.
    """
    if dataclasses.is_dataclass(cls):
        own = [f.name for f in dataclasses.fields(cls) if f.init]
        names = own if field_names is None else field_names
        wanted = set(own) - set(drop_field_names or ()) if field_names is not None else set(own)
        if set(names) != wanted:
            raise ValueError("field_names does not include all dataclass fields.\n"
                             + _differing(wanted - set(names), set(names) - wanted))
    elif field_names is None:
        raise ValueError("field_names must be specified with a list of all fields used to "
                         f"initialize {cls}, as it is not a dataclass.")
    else:
        names = field_names

    def flatten(value: Any) -> tuple[list[Any], Any]:
        there = [n for n in names if getattr(value, n) is not None]
        return [getattr(value, n) for n in there], [there, [n for n in names if n not in there]]

    def unflatten(parts: Iterable[Any], context: Any) -> Any:
        there, absent = context
        return cls(**dict(zip(there, parts, strict=True)), **dict.fromkeys(absent))

    def keyed(value: Any) -> tuple[list[Any], Any]:
        parts, context = flatten(value)
        return [(GetAttrKey(n), p) for n, p in zip(context[0], parts, strict=True)], context

    _enter(cls, flatten, unflatten, keyed, serialized_type_name)


def _differing(missing: set[str], unexpected: set[str]) -> str:
    text = ""
    if missing:
        text += (f"Missing fields in `field_names`: {missing}. If you want to include these fields "
                 "in the pytree, please add them to `field_names`, otherwise please add them to "
                 "`drop_field_names`.\n")
    if unexpected:
        text += (f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, "
                 "or add them to `drop_field_names`.\n")
    return text


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """Stands in a structure for a value that belongs to it."""

    value: Any


def register_constant(cls: type) -> None:
    """Let values of a class belong to the structure: they are no leaves.

    Raises TypeError for a class that compares or hashes by identity.
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` "
                        "implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` "
                        "implementation.")
    _enter(cls, lambda x: ([], ConstantNode(x)), lambda parts, context: context.value,
           lambda x: ([], ConstantNode(x)))
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: Any) -> bool:
    """Whether a class was given to `register_constant`."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# ---- Python's containers -----------------------------------------------------------------------

def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is a named tuple's."""
    fields = getattr(cls, "_fields", None)
    return (isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)
            and all(isinstance(f, str) for f in fields) and callable(getattr(cls, "_make", None)))


def is_namedtuple(obj: Any) -> bool:
    """Whether a value, or a class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is of tuples with named fields that the interpreter makes (time's, os's)."""
    return (isinstance(cls, type) and cls.__bases__ == (tuple,)
            and all(isinstance(getattr(cls, name, None), int) for name in
                    ("n_fields", "n_sequence_fields", "n_unnamed_fields")))


def is_structseq(obj: Any) -> bool:
    """Whether a value, or a class, is such a tuple."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: Any) -> bool:
    """Whether a value is such a tuple."""
    return is_structseq_class(type(obj))


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Give a named tuple's class a name in texts of `treespec_dumps`."""
    _enter(cls, *SUPPORTED_NODES[namedtuple][1:], serialized_type_name, _dump_class, _load_class)


def _dump_class(cls: Any) -> Any:
    found = SUPPORTED_SERIALIZED_TYPES.get(cls)
    if found is None or found.serialized_type_name is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`.")
    return found.serialized_type_name


def _load_class(name: Any) -> Any:
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {name} because "
                                  "we couldn't find a serializated name.")
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def _dump_default(context: Any) -> Any:
    made, keys = context
    return {"default_factory_module": made.__module__, "default_factory_name": made.__qualname__,
            "dict_context": keys}


def _load_default(dumped: Any) -> Any:
    module = importlib.import_module(dumped["default_factory_module"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


def _keyed(flatten: Flatten, key: Callable[[Any], Any], keys: Callable[[Any], Iterable[Any]]
           ) -> Flatten:
    def keyed(tree: Any) -> tuple[list[Any], Any]:
        parts, context = flatten(tree)
        return [(key(k), p) for k, p in zip(keys(tree), parts, strict=True)], context

    return keyed


def _container(cls: Any, flatten: Flatten, unflatten: Unflatten, key: Callable[[Any], Any],
               keys: Callable[[Any], Iterable[Any]], name: str, *dumps: Any) -> None:
    _enter(cls, flatten, unflatten, _keyed(flatten, key, keys), name, *dumps)


def _places(tree: Any) -> Iterable[int]:
    return range(len(tree))


_container(tuple, lambda t: (list(t), None), lambda v, c: tuple(v), SequenceKey, _places,
           "builtins.tuple")
_container(list, lambda t: (list(t), None), lambda v, c: list(v), SequenceKey, _places,
           "builtins.list")
_container(dict, lambda t: (list(t.values()), list(t)),
           lambda v, c: dict(zip(c, v, strict=True)), MappingKey, list, "builtins.dict")
_container(namedtuple, lambda t: (list(t), type(t)), lambda v, c: c._make(v), GetAttrKey,
           lambda t: t._fields, "collections.namedtuple", _dump_class, _load_class)
_container(OrderedDict, lambda t: (list(t.values()), list(t)),
           lambda v, c: OrderedDict(zip(c, v, strict=True)), MappingKey, list,
           "collections.OrderedDict")
_container(defaultdict, lambda t: (list(t.values()), [t.default_factory, list(t)]),
           lambda v, c: defaultdict(c[0], zip(c[1], v, strict=True)), MappingKey, list,
           "collections.defaultdict", _dump_default, _load_default)
_container(deque, lambda t: (list(t), t.maxlen), lambda v, c: deque(v, c), SequenceKey, _places,
           "collections.deque")
STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)


def node_type(tree: Any) -> Any:
    """The type under which a value is registered, if it is."""
    kind = type(tree)
    return namedtuple if is_namedtuple_class(kind) else kind


# ---- structures --------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class TreeSpec:
    """The structure of a container: its type, what else is needed to rebuild it, its parts.

    A leaf has no type.
    """

    type: Any
    _context: Any = None
    _children: list[TreeSpec] = dataclasses.field(default_factory=list)
    num_nodes: int = dataclasses.field(init=False)
    num_leaves: int = dataclasses.field(init=False)
    num_children: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        leaf = self.type is None
        counts = {
            "num_nodes": 1 + sum(c.num_nodes for c in self._children),
            "num_leaves": 1 if leaf else sum(c.num_leaves for c in self._children),
            "num_children": len(self._children)}
        for name, count in counts.items():
            object.__setattr__(self, name, count)

    @property
    def context(self) -> Any:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The former name of `children()`."""
        warn("`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a "
             "single child, or `treespec.children()` to get all children.", FutureWarning)
        return self._children

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the parts."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The container of this structure with these leaves."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(given)} but "
                             f"the spec refers to a pytree that holds {self.num_leaves} items "
                             f"({self}).")
        return self._build(iter(given))

    def _build(self, rest: Any) -> Any:
        if self.type is None:
            return next(rest)
        parts = [child._build(rest) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What stands in `tree` in the place of each leaf of this structure.

        Raises ValueError where `tree` is not of this structure down to there.
        """
        if self.type is None:
            return [tree]
        parts = _matching(self, tree)
        return [found for part, child in zip(parts, self._children, strict=True)
                for found in child.flatten_up_to(part)]

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inside = (",\n" + " " * (indent + 2)).join(c.__repr__(indent + 2) for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inside}])"

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self is other or (str(self.type), self._context, self._children) == (
            str(other.type), other._context, other._children)

    def __hash__(self) -> int:
        return hash((self.type, str(self._context), self.num_children))


def _matching(spec: TreeSpec, tree: Any) -> list[Any]:
    """The parts of a container that is as the structure says, in its order."""
    kind = node_type(tree)
    dicts = {spec.type, kind} <= STANDARD_DICT_TYPES
    own = spec.type in BUILTIN_TYPES
    if kind != spec.type and not dicts:
        raise ValueError(f"{'Node type' if own else 'Type'} mismatch; expected {spec.type!r}, but "
                         f"got {kind!r}.")
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(parts) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got "
                         f"{len(parts)}.")
    if dicts:
        return _by_keys(spec._context[1] if spec.type is defaultdict else spec._context, tree)
    if context != spec._context and kind is not deque:
        if not own:
            raise ValueError(f"Node context mismatch for custom node type {spec.type!r}.")
        raise ValueError(f"Node context mismatch for node type {spec.type!r}; expected "
                         f"{spec._context!r}, but got {context!r}.")
    return parts


def _by_keys(expected: list[Any], tree: Mapping[Any, Any]) -> list[Any]:
    missing, extra = set(expected) - set(tree), set(tree) - set(expected)
    if missing or extra:
        text = f"; missing key(s): {missing}" if missing else ""
        text += f"; extra key(s): {extra}" if extra else ""
        raise ValueError(f"Node keys mismatch{text}.")
    return [tree[key] for key in expected]


class LeafSpec(TreeSpec):
    """The former class of leaves: they are structures without a type."""

    def __init__(self) -> None:
        warn("`isinstance(treespec, LeafSpec)` is deprecated, use `isinstance(treespec, TreeSpec) "
             "and treespec.is_leaf()` instead.", FutureWarning)
        super().__init__(None)


LEAF = TreeSpec(None)
