"""`default_collate`, `default_convert` and the registry."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import yesca as torch
from yesca.utils.data import default_collate, default_convert
from yesca.utils.data._utils.collate import collate, default_collate_fn_map

Pair = namedtuple("Pair", "a b")


def test_numbers():
    assert default_collate([1, 2]).dtype is torch.int64
    assert default_collate([1.5, 2.0]).dtype is torch.float64
    assert default_collate([True, False]).dtype is torch.bool
    assert default_collate([np.float32(1), np.float32(2)]).dtype is torch.float32
    assert default_collate([np.float64(1), np.float64(2)]).dtype is torch.float64
    assert default_collate([np.int16(1)]).dtype is torch.int16


def test_tensors_and_arrays():
    assert default_collate([torch.arange(2), torch.arange(2)]).tolist() == [[0, 1], [0, 1]]
    assert default_collate([np.arange(2), np.arange(2)]).tolist() == [[0, 1], [0, 1]]
    with pytest.raises(TypeError, match="found <U1"):
        default_collate([np.array(["a"])])
    with pytest.raises(RuntimeError):
        default_collate([torch.arange(2), torch.arange(3)])


def test_containers():
    batch = default_collate([{"x": (1, "a")}, {"x": (2, "b")}])
    assert batch["x"][0].tolist() == [1, 2] and batch["x"][1] == ("a", "b")
    assert type(default_collate([OrderedDict(x=1)])) is OrderedDict
    pair = default_collate([Pair(1, [2, 3]), Pair(4, [5, 6])])
    assert type(pair) is Pair and [part.tolist() for part in pair.b] == [[2, 5], [3, 6]]
    with pytest.raises(RuntimeError, match="should be of equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        default_collate([object()])


def test_registry():
    class Point:
        pass

    def points(batch, *, collate_fn_map=None):
        return len(batch)

    assert collate([Point(), Point()], collate_fn_map={Point: points}) == 2
    default_collate_fn_map[Point] = points
    try:
        assert default_collate([(Point(), 1)])[0] == 1
    finally:
        del default_collate_fn_map[Point]


def test_convert():
    converted = default_convert({"x": np.arange(2), "y": ["a", 3], "z": Pair(np.float32(1), 2)})
    assert converted["x"].tolist() == [0, 1] and converted["y"] == ["a", 3]
    assert converted["z"].a.item() == 1.0
    assert default_convert((1, "a")) == [1, "a"]
    assert default_convert(np.array(["a"]))[0] == "a"
