"""Gradients at zeros, infinities, NaN, large numbers and ties are those that PyTorch has."""

import json
import math
from pathlib import Path

import extreme_gradients
import operator_cases
import pytest

import yesca
from yesca.dispatch.call import OPERATORS

INF, NAN = float("inf"), float("nan")
RECORDED = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "extremes.json").read_text())

PLACE = "PyTorch's differ with the place of the element in a vector register"
ORDER = "which of equal elements is picked depends on the C++ library's partial sorts"
RANK = "quotients by what is 0 but for rounding"
BORDER = "the zeros around an image are multiplied, and 0 times infinity is NaN; PyTorch skips them"
#: (operator, name of the elements): why gradients differ, and rightly.
OTHERS = {
    **{(name, "nan"): PLACE for name in ("hardswish", "hardtanh", "relu6", "softshrink")},
    **{(name, pattern): ORDER for name in ("kthvalue", "topk") for pattern in ("ties", "zeros")},
    ("kthvalue", "large"): ORDER,
    ("qr", "ties"): RANK, ("svd", "zeros"): RANK,
    **{(f"conv{kind}", pattern): BORDER for kind in ("1d", "2d", "3d", "_tbc", "_transpose1d")
       for pattern in ("infinities", "nan")},
    ("grid_sample", "infinities"): "PyTorch's differ between two dimensions and three",
    ("grid_sample", "nan"): "PyTorch takes NaN for the first element's place, depending on the CPU",
    ("mode", "nan"): "PyTorch sorts NaN anywhere",
    ("digamma", "all"): "infinite at the poles, where PyTorch's sine of a multiple of pi is not 0",
    ("special_i1", "all"): "NaN at NaN, where PyTorch has 0.5",
    ("special_i1e", "all"): "NaN at NaN, where PyTorch has 0.5",
    ("special_log_ndtr", "all"): "the limit at -infinity, where PyTorch has NaN",
    ("logcumsumexp", "infinities"): "0 of sums without any term, where PyTorch has NaN",
    **{(name, "nan"): "a NaN that meets nothing keeps its gradient, where PyTorch has NaN"
       for name in ("index_reduce", "scatter_reduce")},
    **{("ldexp", name): "PyTorch's factor is a power of integers, 0 for negative ones"
       for name in extreme_gradients.PATTERNS},
    **{("as_strided_scatter", name): "PyTorch keeps the gradient of the overwritten elements"
       for name in extreme_gradients.PATTERNS},
}


def WANTED(one):  # noqa: N802 - read by conftest
    return one.name in RECORDED["operators"]


def differing(one):
    """{name of the elements: where gradients differ}; what PyTorch refuses is left out."""
    got = extreme_gradients.gradients(yesca, one, getattr(OPERATORS, one.name))
    found = {}
    for key, numbers in RECORDED["operators"][one.name].items():
        for k, number in enumerate(numbers):
            wanted = RECORDED["patterns"][number]
            mine = got[key][k] if key in got else "!"
            apart = [] if wanted[:1] == "!" else extreme_gradients.differences(mine, wanted)
            if apart:
                found.setdefault(key.partition(" ")[2], []).append((key, k, *apart))
    return found


def test_gradients(one):
    found = differing(one)
    excepted = {name for operator, name in OTHERS if operator == one.name}
    assert found.keys() == excepted, found


def test_all_are_recorded():
    """No operator is left out by chance."""
    kinds = {operator_cases.records()[name].kind for name in RECORDED["operators"]}
    assert {"elementwise", "reduce", "view", "composite", "map", "rows"} <= kinds
    assert len(RECORDED["operators"]) >= 300


#: First and second derivatives as PyTorch 2.13 gives them where functions bend.
BENDS = {
    "entr": (yesca.special.entr, [0.0, -1.0, 0.5], [INF, NAN, math.log(2) - 1], [-INF, 1.0, -2.0]),
    "elu": (lambda x: yesca.nn.functional.elu(x, 3.0), [0.0, 1.0], [3.0, 1.0], [0.0, 0.0]),
    "celu": (yesca.nn.functional.celu, [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]),
    "huber": (lambda x: yesca.nn.functional.huber_loss(
        x, yesca.zeros_like(x), reduction="sum", delta=2.0), [2.0, -2.0, 1.0, 3.0],
        [2.0, -2.0, 1.0, 2.0], [0.0, 0.0, 1.0, 0.0]),
}


@pytest.mark.parametrize("name", BENDS)
def test_derivatives_where_functions_bend(name):
    function, values, first, second = BENDS[name]
    x = yesca.tensor(values, dtype=yesca.float64, requires_grad=True)
    slope, = yesca.autograd.grad(function(x).sum(), x, create_graph=True)
    bend, = yesca.autograd.grad(slope.sum(), x)
    for found, expected in ((slope, first), (bend, second)):
        assert yesca.allclose(found, yesca.tensor(expected, dtype=yesca.float64), equal_nan=True)
