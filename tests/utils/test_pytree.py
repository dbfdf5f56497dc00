"""Containers as flat lists."""

import dataclasses
import enum
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from yesca.utils import _pytree as pytree
from yesca.utils._pytree import (
    broadcast_to, tree_flatten, tree_leaves, tree_map, tree_map_only, tree_structure,
    tree_unflatten,
)

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize("tree", [
    3, (), [1, (2, 3)], {"a": 1, "b": [2]}, OrderedDict(x=1, y=(2,)), Pair(1, {"k": 2}),
    (None, [None]), defaultdict(list, k=[1]), deque([1, (2,)], 4),
])
def test_there_and_back(tree):
    leaves, structure = tree_flatten(tree)
    made = tree_unflatten(leaves, structure)
    assert made == tree
    assert type(made) is type(tree)
    assert structure.num_leaves == len(leaves)


def test_maps():
    assert tree_map(lambda a, b: a + b, (1, [2]), (10, [20])) == (11, [22])
    assert tree_map_only(int, str, {"a": 1, "b": 2.0}) == {"a": "1", "b": 2.0}
    assert tree_leaves([(1, 2), {"z": 3}]) == [1, 2, 3]
    with pytest.raises(ValueError, match="holds 2 items"):
        tree_unflatten([1], tree_flatten((1, 2))[1])


def test_values_for_whole_parts():
    structure = tree_flatten((1, {"a": 2, "b": 3}))[1]
    assert broadcast_to(0, structure) == [0, 0, 0]
    assert broadcast_to((0, None), structure) == [0, None, None]
    assert broadcast_to((0, {"a": 1, "b": 2}), structure) == [0, 1, 2]
    assert broadcast_to((0,), structure) is None


@dataclasses.dataclass
class Point:
    x: object
    y: object = None


class Colour(enum.Enum):
    RED = 1


class Box:
    def __init__(self, inside):
        self.inside = inside


class Unit:
    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


@pytest.fixture
def registered():
    yield
    for cls in (Point, Box, Unit, Pair):
        if cls in pytree.SUPPORTED_NODES:
            pytree._deregister_pytree_node(cls)


def test_dataclasses(registered):
    pytree.register_dataclass(Point, serialized_type_name="tests.Point")
    assert tree_map(lambda v: v + 1, Point(1)) == Point(2)
    spec = tree_structure(Point([1, 2]))
    assert repr(spec) == "TreeSpec(Point, [['x'], ['y']], [TreeSpec(list, None, [*,\n    *])])"
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(Point(1, 2))] \
        == [".x", ".y"]
    with pytest.raises(ValueError, match="Missing fields in `field_names`: {'y'}"):
        pytree.register_dataclass(Point, field_names=["x"])
    with pytest.raises(ValueError, match="field_names must be specified with a list"):
        pytree.register_dataclass(Box)


def test_classes_of_ones_own(registered):
    pytree.register_pytree_node(Box, lambda b: ([b.inside], None), lambda v, c: Box(*v))
    assert tree_map(lambda v: v * 2, [Box(3)])[0].inside == 6
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Box, None, None)
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn for type"):
        pytree.tree_leaves_with_path(Box(1))
    with pytest.raises(NotImplementedError, match="No registered serialization name for"):
        pytree.treespec_dumps(tree_structure(Box(1)))
    with pytest.warns(FutureWarning, match="`torch.utils._pytree._register_pytree_node`"), \
            pytest.warns(UserWarning, match="Overwriting the previous registration"):
        pytree._register_pytree_node(Box, lambda b: ([], b.inside), lambda v, c: Box(c))
    assert tree_leaves(Box(1)) == []


def test_constants_belong_to_the_structure(registered):
    pytree.register_constant(Unit)
    assert tree_flatten([1, Unit("m")])[0] == [1]
    assert tree_structure(Unit("m")) == tree_structure(Unit("m")) != tree_structure(Unit("s"))
    assert pytree.is_constant_class(Unit) and not pytree.is_constant_class(int)
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(Box)


@pytest.mark.parametrize("tree", [
    1, (), [1, (2, {"a": 3})], OrderedDict(z=1), defaultdict(list, k=1), deque([1], 3),
    {Colour.RED.name: 1},
])
def test_structures_as_text(tree):
    spec = tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert hash(pytree.treespec_loads(pytree.treespec_dumps(spec))) == hash(spec)


def test_texts_are_those_of_pytorch(registered):
    assert pytree.treespec_dumps(tree_structure([1, {"a": 2}])) == (
        '[1, {"type": "builtins.list", "context": "null", "children_spec": [{"type": null, '
        '"context": null, "children_spec": []}, {"type": "builtins.dict", "context": "[\\"a\\"]", '
        '"children_spec": [{"type": null, "context": null, "children_spec": []}]}]}]')
    with pytest.raises(NotImplementedError, match="Can't serialize TreeSpec of namedtuple class"):
        pytree.treespec_dumps(tree_structure(Pair(1, 2)))
    pytree._register_namedtuple(Pair, serialized_type_name="tests.Pair")
    spec = tree_structure(Pair(1, 2))
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(ValueError, match="Unknown protocol 2"):
        pytree.treespec_dumps(spec, 2)
    with pytest.raises(TypeError, match="Unable to serialize context"):
        pytree.treespec_dumps(pytree.treespec_dict({object(): pytree.treespec_leaf()}))


@pytest.mark.parametrize(("spec", "tree", "text"), [
    ((1, 2), [1, 2], "Node type mismatch; expected <class 'tuple'>, but got <class 'list'>"),
    ((1, 2), (1,), "Node arity mismatch; expected 2, but got 1"),
    ({"a": 1}, {"b": 1}, r"missing key\(s\): {'a'}; extra key\(s\): {'b'}"),
    (Pair(1, 2), namedtuple("Other", "first second")(1, 2), "Node context mismatch"),
])
def test_trees_that_do_not_match(spec, tree, text):
    with pytest.raises(ValueError, match=text):
        tree_structure(spec).flatten_up_to(tree)


def test_the_rest_of_a_tree_may_go_deeper():
    assert tree_structure({"a": 1, "b": [2]}).flatten_up_to({"b": [(5, 6)], "a": {}}) \
        == [{}, (5, 6)]
    assert tree_map(lambda a, b: (a, b), [1, 2], [(3,), None]) == [(1, (3,)), (2, None)]


def test_ways_to_leaves():
    tree = {"a": [1, Pair(2, 3)]}
    paths = pytree.tree_leaves_with_path(tree)
    assert [pytree.keystr(path) for path, _ in paths] == [
        "['a'][0]", "['a'][1].first", "['a'][1].second"]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in paths)
    assert pytree.tree_map_with_path(lambda path, leaf: len(path), tree) == {"a": [2, Pair(3, 3)]}


def test_leaves_by_type():
    tree = {"a": 1, "b": 2.5, "c": "x"}
    assert tree_map_only(int | float, str, tree) == {"a": "1", "b": "2.5", "c": "x"}
    assert tree_map_only(lambda v: v == 1, str, tree)["a"] == "1"
    assert pytree.tree_all_only(int, lambda v: v == 1, tree)
    assert not pytree.tree_any_only((int, float), lambda v: v > 3, tree)
    assert pytree.arg_tree_leaves(1, [2], c=(3,)) == [1, 2, 3]
    assert pytree.tree_map_(lambda v: None, tree) is tree
    with pytest.raises(TypeError, match="must be a type, a tuple of types, or a callable"):
        pytree.map_only(3)


def test_tuples_of_the_interpreter():
    now = time.localtime(0)
    assert pytree.is_structseq(now) and pytree.is_structseq_class(type(now))
    assert not pytree.is_structseq_instance(Pair(1, 2)) and not pytree.is_structseq_instance((1,))
    assert tree_leaves(now) == [now]


def test_structures_by_hand():
    leaf = pytree.treespec_leaf()
    assert pytree.treespec_tuple([leaf, leaf]) == tree_structure((1, 2))
    assert pytree.treespec_dict(a=leaf) == tree_structure({"a": 1})
    with pytest.raises(ValueError, match="Expected a tuple of TreeSpec values"):
        pytree.treespec_tuple([1])
    with pytest.warns(FutureWarning, match="LeafSpec"):
        assert pytree.LeafSpec().is_leaf()
