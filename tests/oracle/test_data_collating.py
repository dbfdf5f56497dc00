"""Samples to batches, against PyTorch."""

import collections
import types

import numpy as np
import pytest
import torch
from data_cases import Fixed, Listed, Mapping, Pair, Plain, a, compare_modules

import yesca
import yesca.utils.data

pytestmark = pytest.mark.oracle


def compare(case):
    compare_modules(case, yesca, torch)


ARRAY = np.arange(3)
# Not here: arrays turned round, which yesca copies, and NumPy's bytes, which it leaves as they are.
SAMPLES = {
    "ints": [1, 2], "floats": [1.5, 2.0], "bools": [True, False], "mixed": [1, 2.5],
    "mixed the other way": [1.5, 2], "strings": ["a", "b"], "bytes": [b"a", b"b"],
    "none": [None], "object": [object()], "complex": [1j], "nothing": [], "dataclass": [Plain()],
    "set": [{1}], "range": [range(2), range(2)], "bytearray": [bytearray(b"ab")] * 2,
    "arrays": [ARRAY, ARRAY], "float16 arrays": [ARRAY.astype(np.float16)] * 2,
    "uint16 arrays": [ARRAY.astype(np.uint16)] * 2, "text arrays": [np.array(["a"])],
    "object arrays": [np.array([None])], "0-d arrays": [np.array(1.5)] * 2,
    "shapes": [ARRAY, ARRAY[:2]], "strided": [np.arange(6)[::2]] * 2,
    "empty arrays": [ARRAY[:0]] * 2, "dates": [np.array(["2020-01-01"], "datetime64[D]")],
    "float32": [np.float32(1), np.float32(2)], "float64": [np.float64(1)], "int16": [np.int16(1)],
    "bool_": [np.bool_(True)], "str_": [np.str_("a")],
    "two kinds": [np.float32(1), np.float64(2)], "uint8": [np.uint8(1), np.uint8(2)],
    "uint32": [np.uint32(7)], "tuples": [(1, "a"), (2, "b")], "lists": [[1, 2.0], [3, 4.0]],
    "uneven": [[1], [1, 2]], "dicts": [{"x": 1, "y": (2, 3)}, {"x": 4, "y": (5, 6)}],
    "missing key": [{"x": 1}, {"y": 1}], "more keys": [{"x": 1}, {"x": 2, "y": 1}],
    "named": [Pair(1, [2, 3]), Pair(4, [5, 6])], "ordered": [collections.OrderedDict(x=1)],
    "default dict": [collections.defaultdict(list, x=1)], "counter": [collections.Counter("aab")],
    "proxy": [types.MappingProxyType({"x": 1})], "mapping": [Mapping({"x": 1})],
    "own list": [Listed([1, 2]), Listed([3, 4])], "fixed list": [Fixed([1]), Fixed([2])],
    "deque": [collections.deque([1, 2])], "user dict": [collections.UserDict(x=1)],
    "user list": [collections.UserList([1])], "nested": [{"a": [Pair(1, {"b": 2.0})]}] * 3,
    "nested strings": [(("a", "b"),), (("c", "d"),)], "memoryview": [memoryview(b"ab")] * 2,
    "large int": [2**62, 1], "too large int": [2**63], "infinite": [float("inf")],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_collating(name):
    samples = SAMPLES[name]
    compare(lambda m: a(m).default_collate(samples))
    compare(lambda m: a(m).default_collate(tuple(samples)))
    compare(lambda m: a(m).default_convert(samples))
    if samples:
        compare(lambda m: a(m).default_convert(samples[0]))


TENSORS = {
    "0-d": lambda m: [m.tensor(1), m.tensor(2)], "rows": lambda m: [m.arange(3), m.arange(3)],
    "grad": lambda m: [m.ones(2, requires_grad=True)] * 2,
    "shapes": lambda m: [m.ones(2), m.ones(3)],
    "dtypes": lambda m: [m.ones(2), m.ones(2).double()], "empty": lambda m: [m.ones(0)] * 2,
    "turned": lambda m: [m.arange(6).reshape(2, 3).t()] * 2, "bools": lambda m: [m.ones(2) > 0],
    "half": lambda m: [m.ones(2).half()] * 3, "complex": lambda m: [m.ones(2) + 1j],
    "with a number": lambda m: [m.ones(()), 1.0], "bfloat16": lambda m: [m.ones(2).bfloat16()],
    "parameter": lambda m: [m.nn.Parameter(m.ones(2))] * 2,
    "in tuples": lambda m: [(m.ones(2), 1), (m.zeros(2), 2)],
}


@pytest.mark.parametrize("name", TENSORS)
def test_collating_tensors(name):
    compare(lambda m: a(m).default_collate(TENSORS[name](m)))
    compare(lambda m: a(m).default_convert(TENSORS[name](m)))
