"""Nested containers as flat lists: tuples, lists, dictionaries and named tuples, with a structure.

>>> leaves, structure = tree_flatten({"a": 1, "b": (2, 3)})
>>> leaves
[1, 2, 3]
>>> tree_unflatten([10 * x for x in leaves], structure)
{'a': 10, 'b': (20, 30)}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a container: its type, what else is needed to rebuild it, its parts."""

    type: Any
    context: Any
    children_specs: list[TreeSpec] = field(default_factory=list)

    @property
    def num_leaves(self) -> int:
        return 1 if self.type is None else sum(c.num_leaves for c in self.children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inside = ",\n  ".join(repr(c) for c in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inside}])"

    def __hash__(self) -> int:
        return hash((self.type, str(self.context), len(self.children_specs)))


LeafSpec = TreeSpec(None, None)
SUPPORTED_NODES: dict[Any, tuple[Flatten, Unflatten]] = {
    tuple: (lambda t: (list(t), None), lambda v, c: tuple(v)),
    list: (lambda t: (list(t), None), lambda v, c: list(v)),
    dict: (lambda t: (list(t.values()), list(t)), lambda v, c: dict(zip(c, v, strict=True))),
    OrderedDict: (lambda t: (list(t.values()), list(t)),
                  lambda v, c: OrderedDict(zip(c, v, strict=True))),
    defaultdict: (lambda t: (list(t.values()), (t.default_factory, list(t))),
                  lambda v, c: defaultdict(c[0], zip(c[1], v, strict=True))),
    deque: (lambda t: (list(t), t.maxlen), lambda v, c: deque(v, c)),
    namedtuple: (lambda t: (list(t), type(t)), lambda v, c: c._make(v)),
}


def register_pytree_node(cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten,
                         **options: Any) -> None:
    """Let a class count as a container."""
    SUPPORTED_NODES[cls] = (flatten_fn, unflatten_fn)


def _kind(tree: Any) -> Any:
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if isinstance(tree, tuple) and getattr(kind, "_fields", None) is not None \
            and getattr(kind, "_make", None) is not None:
        return namedtuple
    return None


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None
                 ) -> tuple[list[Any], TreeSpec]:
    """The leaves, from left to right, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        leaves.append(tree)
        return LeafSpec
    parts, context = SUPPORTED_NODES[kind][0](tree)
    return TreeSpec(kind, context, [_flatten(p, leaves, is_leaf) for p in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The container of this structure with these leaves."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(given)} but "
                         f"the spec refers to a pytree that holds {treespec.num_leaves} items "
                         f"({treespec}).")
    rest = iter(given)

    def build(spec: TreeSpec) -> Any:
        if spec.type is None:
            return next(rest)
        return SUPPORTED_NODES[spec.type][1]([build(c) for c in spec.children_specs],
                                             spec.context)

    return build(treespec)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any,
             is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same container with `func` of each leaf (and of the leaves of `rests` beside it)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(r, is_leaf)[0] for r in rests]
    return tree_unflatten([func(*row) for row in zip(leaves, *others, strict=True)], spec)


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """As `tree_map`, for leaves of a type; the others stay."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree)


def tree_all(predicate: Callable[[Any], bool], tree: Any) -> bool:
    """Whether a predicate holds for all leaves."""
    return all(predicate(x) for x in tree_leaves(tree))


def tree_any(predicate: Callable[[Any], bool], tree: Any) -> bool:
    """Whether a predicate holds for some leaf."""
    return any(predicate(x) for x in tree_leaves(tree))


def broadcast_to(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """A value for each leaf of the structure, where `tree` may end early; None if it cannot."""
    if spec.type is None:
        return [tree] if _kind(tree) is None else None
    kind = _kind(tree)
    if kind is None:
        return [tree] * spec.num_leaves
    if kind is not spec.type:
        return None
    parts, context = SUPPORTED_NODES[kind][0](tree)
    if len(parts) != len(spec.children_specs) or context != spec.context:
        return None
    found: list[Any] = []
    for part, child in zip(parts, spec.children_specs, strict=True):
        below = broadcast_to(part, child)
        if below is None:
            return None
        found += below
    return found
