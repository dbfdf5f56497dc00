"""Nested containers as flat lists: tuples, lists, dictionaries and named tuples, with a structure.

>>> leaves, structure = tree_flatten({"a": 1, "b": (2, 3)})
>>> leaves
[1, 2, 3]
>>> tree_unflatten([10 * x for x in leaves], structure)
{'a': 10, 'b': (20, 30)}
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ._pytree_dumps import treespec_dumps, treespec_loads
from ._pytree_nodes import (
    BUILTIN_TYPES, CONSTANT_NODES, LEAF, SERIALIZED_TYPE_TO_PYTHON_TYPE, STANDARD_DICT_TYPES,
    SUPPORTED_NODES, SUPPORTED_SERIALIZED_TYPES, ConstantNode, Context, DumpableContext, FlattenFn,
    FromDumpableContextFn, GetAttrKey, KeyPath, LeafSpec, MappingKey, NodeDef, PyTree, SequenceKey,
    ToDumpableContextFn, TreeSpec, UnflattenFn, _deregister_pytree_node, _register_namedtuple,
    _register_pytree_node, is_constant_class, is_namedtuple, is_namedtuple_class,
    is_namedtuple_instance, is_structseq, is_structseq_class, is_structseq_instance, node_type,
    register_constant, register_dataclass, register_pytree_node,
)

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn",
    "FromDumpableContextFn", "is_structseq", "is_structseq_class", "is_structseq_instance",
    "TreeSpec", "LeafSpec", "NodeDef", "KeyPath", "SequenceKey",
    "MappingKey", "GetAttrKey", "ConstantNode", "SUPPORTED_NODES", "SUPPORTED_SERIALIZED_TYPES",
    "SERIALIZED_TYPE_TO_PYTHON_TYPE", "STANDARD_DICT_TYPES", "BUILTIN_TYPES", "CONSTANT_NODES",
    "register_pytree_node", "_register_pytree_node", "_deregister_pytree_node",
    "_register_namedtuple", "register_dataclass", "register_constant", "is_constant_class",
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "treespec_leaf",
    "treespec_tuple", "treespec_dict", "treespec_dumps", "treespec_loads", "treespec_pprint",
    "tree_flatten", "tree_unflatten", "tree_iter", "tree_leaves", "tree_structure",
    "tree_is_leaf", "arg_tree_leaves", "tree_map", "tree_map_", "map_only", "tree_map_only",
    "tree_map_only_", "tree_all", "tree_any", "tree_all_only", "tree_any_only",
    "tree_flatten_with_path", "tree_leaves_with_path", "tree_map_with_path", "keystr", "key_get",
]

PyTreeSpec = TreeSpec
Kinds = type | tuple[type, ...] | types.UnionType
IsLeaf = Callable[[Any], bool] | None


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple of parts."""
    children = list(iterable)
    if not all(isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /,
                  **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dictionary of parts."""
    children = dict(mapping, **kwargs)
    if not all(isinstance(child, TreeSpec) for child in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The container of this structure, with a star for each leaf.

    >>> treespec_pprint(tree_structure({"a": 1, "b": (2, 3)}))
    "{'a': *, 'b': (*, *)}"
    """
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


# ---- leaves ------------------------------------------------------------------------------------

def _parts(tree: Any, is_leaf: IsLeaf) -> tuple[Any, list[Any], Any] | None:
    """(registered type, parts, the rest) of a container; None for a leaf."""
    kind = node_type(tree)
    found = SUPPORTED_NODES.get(kind)
    if found is None or is_leaf is not None and is_leaf(tree):
        return None
    return (kind, *found.flatten_fn(tree))


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is no container, or `is_leaf` says so."""
    return is_leaf is not None and is_leaf(tree) or node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, from left to right, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    found = _parts(tree, is_leaf)
    if found is None:
        leaves.append(tree)
        return LEAF
    kind, parts, context = found
    return TreeSpec(kind, context, [_flatten(p, leaves, is_leaf) for p in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The container of this structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError("Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                        f"{type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    found = _parts(tree, is_leaf)
    if found is None:
        yield tree
    else:
        for part in found[1]:
            yield from tree_iter(part, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves, from left to right."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments."""
    return tree_leaves((*args, *kwargs.values()))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


# ---- maps --------------------------------------------------------------------------------------

def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The same container with `func` of each leaf (and of what is in its place in `rests`)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten(func(*row) for row in zip(leaves, *others, strict=True))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call `func` as `tree_map` does; gives the container as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chooses(kinds: Kinds | Callable[[Any], bool]) -> Callable[[Any], bool]:
    if isinstance(kinds, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, kinds)
    if not callable(kinds):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return kinds


def map_only(kinds: Kinds | Callable[[Any], bool], /) -> Callable[..., Any]:
    """Decorator for a function of leaves: those that are not of the types stay as they are."""
    chosen = _chooses(kinds)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(x: Any) -> Any:
            return func(x) if chosen(x) else x

        return wrapped

    return decorate


def tree_map_only(kinds: Kinds | Callable[[Any], bool], /, func: Callable[[Any], Any], tree: Any,
                  is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, for leaves of types, or that a predicate chooses; the others stay."""
    return tree_map(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Kinds | Callable[[Any], bool], /, func: Callable[[Any], Any], tree: Any,
                   is_leaf: IsLeaf = None) -> Any:
    """As `tree_map_`, for leaves of types, or that a predicate chooses."""
    return tree_map_(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kinds: Kinds, /, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for all leaves of types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


def tree_any_only(kinds: Kinds, /, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for some leaf of types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


# ---- with the way to each leaf -----------------------------------------------------------------

def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) of all leaves.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": 1, "b": (2, 3)})]
    [("['a']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    """
    return list(_walk((), tree, is_leaf))


def _walk(path: KeyPath, tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = node_type(tree)
    keyed = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if keyed is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
                         "flatten_with_keys_fn argument to register_pytree_node.")
    for key, part in keyed(tree)[0]:
        yield from _walk((*path, key), part, is_leaf)


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None
                           ) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """(path, leaf) of all leaves, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
                       ) -> Any:
    """As `tree_map`, with the path of each leaf as the first argument."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten(func(path, leaf, *row)
                          for (path, leaf), *row in zip(found, *others, strict=True))


def keystr(kp: KeyPath) -> str:
    """A path as Python writes it."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- values for whole parts --------------------------------------------------------------------

def broadcast_to(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """A value for each leaf of the structure, where `tree` may end early; None if it cannot."""
    found = _parts(tree, None)
    if found is None:
        return [tree] * spec.num_leaves
    kind, parts, context = found
    if kind is not spec.type or len(parts) != spec.num_children or context != spec.context:
        return None
    values: list[Any] = []
    for part, child in zip(parts, spec.children(), strict=True):
        below = broadcast_to(part, child)
        if below is None:
            return None
        values += below
    return values
