"""Containers as flat lists."""

from collections import OrderedDict, namedtuple

import pytest

from yesca.utils._pytree import (
    broadcast_to, tree_flatten, tree_leaves, tree_map, tree_map_only, tree_unflatten,
)

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize("tree", [
    3, (), [1, (2, 3)], {"a": 1, "b": [2]}, OrderedDict(x=1, y=(2,)), Pair(1, {"k": 2}),
    (None, [None]),
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
