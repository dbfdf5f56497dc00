"""Derivatives of expressions: against differences, and PyTorch's choices at the corners."""

import math

import numpy as np
import pytest
from elementwise import run, stage_of
from yesca.core.dtypes import float16, float32, float64, int64
from yesca.loops import ir, scalar
from yesca.loops.derive import RULES, backward, derivative

x, y = ir.load(0, float64), ir.load(1, float64)
UNARY = {
    "neg": (-2, 2), "abs": (-2, 2), "sqrt": (0.1, 4), "exp": (-2, 2), "exp2": (-2, 2),
    "expm1": (-2, 2), "log": (0.1, 4), "log2": (0.1, 4), "log10": (0.1, 4), "log1p": (-0.9, 4),
    "sin": (-4, 4), "cos": (-4, 4), "tan": (-1, 1), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9),
    "atan": (-4, 4), "sinh": (-2, 2), "cosh": (-2, 2), "tanh": (-2, 2), "asinh": (-2, 2),
    "acosh": (1.1, 4), "atanh": (-0.9, 0.9), "erf": (-2, 2), "erfc": (-2, 2),
    "erfinv": (-0.9, 0.9), "ndtr": (-2, 2), "lgamma": (0.3, 5), "digamma": (0.3, 5),
}
BINARY = ["add", "sub", "mul", "div", "minimum", "maximum", "pow", "atan2", "copysign", "fmod"]


def values(*expressions, arrays):
    from yesca.passes.expand_math import expand

    stage = expand(stage_of(*expressions, inputs=[float64] * len(arrays)))
    return run(stage, *(np.asarray(a, float) for a in arrays))


def test_every_operation_has_a_rule():
    assert set(ir.OPERATIONS) <= set(RULES)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    points = np.random.default_rng(0).uniform(*UNARY[name], 40)
    step = 1e-5
    r = ir.operate(name, x)
    (high,), (low,) = (values(r, arrays=[points + s]) for s in (step, -step))
    (found,) = values(derivative(r, x), arrays=[points])
    assert np.allclose(found, (high - low) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    random = np.random.default_rng(0)
    a, b = random.uniform(0.5, 3, 40), random.uniform(0.6, 2, 40)
    step = 1e-5
    r = ir.operate(name, x, y)
    by_x, by_y = values(*backward([r], [ir.const(1, float64)], [x, y]), arrays=[a, b])
    for found, da, db in ((by_x, step, 0), (by_y, 0, step)):
        (high,), (low,) = (values(r, arrays=[a + s * da, b + s * db]) for s in (1, -1))
        assert np.allclose(found, (high - low) / (2 * step), rtol=1e-6, atol=1e-7)


def test_fma_and_shared_expressions():
    r = scalar.fma(x, y, scalar.exp(x)) * x
    found = values(*backward([r], [ir.const(1, float64)], [x, y]), arrays=[[0.5], [2.0]])
    e = math.exp(0.5)
    assert np.allclose(np.ravel(found), [2 * 0.5 * 2 + e + 0.5 * e, 0.25])


def test_a_branch_not_taken_gives_no_nan():
    r = scalar.where(x > 0.0, scalar.log(x) * scalar.sqrt(x), 0.0)
    (found,) = values(derivative(r, x), arrays=[[0.0, -1.0, 1.0]])
    assert found.tolist() == [0.0, 0.0, 1.0]
    nested = scalar.where(x > 0.0, scalar.where(x > 1.0, x * 2.0, 1.0 / x), x * 3.0)
    (found,) = values(derivative(nested, x), arrays=[[0.0, -1.0, 0.5, 2.0]])
    assert found.tolist() == [3.0, 3.0, -4.0, 2.0]


@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_ties_are_split(name):
    r = ir.operate(name, x, y)
    found = values(*backward([r], [ir.const(3, float64)], [x, y]),
                   arrays=[[1.0, 1.0, 2.0, math.nan], [1.0, 2.0, 1.0, 1.0]])
    first = [1.5, 3, 0, 3] if name == "minimum" else [1.5, 0, 3, 3]
    second = [1.5, 0, 3, 3] if name == "minimum" else [1.5, 3, 0, 3]
    assert [f.tolist() for f in found] == [first, second]


def test_corners_of_power():
    r = ir.operate("pow", x, y)
    by_x, by_y = values(*backward([r], [ir.const(1, float64)], [x, y]),
                        arrays=[[0, 0, 0, -2, 0, 2], [0, 2, -1, 3, 0.5, 0]])
    assert by_x.tolist() == [0, 0, -math.inf, 12, math.inf, 0]
    assert np.array_equal(by_y, [0, 0, -math.inf, math.nan, 0, math.log(2)], equal_nan=True)


def test_corners():
    (found,) = values(derivative(scalar.absolute(x), x), arrays=[[-1.0, 0.0, 2.0]])
    assert found.tolist() == [-1, 0, 1]
    r = ir.operate("atan2", x, y)
    found = values(*backward([r], [ir.const(1, float64)], [x, y]), arrays=[[0.0], [0.0]])
    assert np.ravel(found).tolist() == [0, 0]


def test_piecewise_constant_functions_and_independent_inputs():
    r = scalar.floor(x) * 2.0 + scalar.where(x > y, const_one := ir.const(1, float64), 0.0)
    assert const_one.dtype is float64
    assert backward([r], [const_one], [x, y]) == [ir.const(0, float64)] * 2


def test_casts():
    half = ir.load(0, float16)
    r = ir.cast(half, float32) * 3.0
    found = derivative(r, half)
    assert found is ir.cast(ir.const(3, float32), float16)
    assert derivative(ir.cast(ir.cast(x, int64), float64), x) is ir.const(0, float64)


def test_second_derivative():
    (found,) = values(derivative(derivative(scalar.sin(x) * x, x), x), arrays=[[0.3, 2.0]])
    points = np.array([0.3, 2.0])
    assert np.allclose(found, 2 * np.cos(points) - points * np.sin(points))


def test_a_fold_needs_a_written_formula():
    with pytest.raises(NotImplementedError, match="written backward formula"):
        derivative(ir.fold("max", x), x)
