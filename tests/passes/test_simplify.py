"""Simplification changes no bit."""

import numpy as np
import pytest
from elementwise import run, specials, stage_of
from yesca.core.dtypes import (
    bfloat16, bool_, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float16, float32, float64, int8,
    int32, int64, uint8, uint32,
)
from yesca.loops import ir, scalar
from yesca.passes.simplify import holds, simplify

x, y = ir.load(0, float32), ir.load(1, float32)
i, b, c = ir.load(0, int32), ir.load(0, bool_), ir.load(1, bool_)
half = ir.load(0, float16)
number = ir.const


def simple(expression):
    stage = stage_of(expression, inputs=[float32, float32])
    return simplify(stage).stores[0].value


@pytest.mark.parametrize("before, after", [
    (x * 1.0, x), (1.0 * x, x), (x / 1.0, x), (x * -1.0, -x), (x + -0.0, x), (x - 0.0, x),
    (-(-x), x), (scalar.absolute(-x), scalar.absolute(x)), (x - (-y), x + y), (x + (-y), x - y),
    (scalar.absolute(x) + 0.0, scalar.absolute(x)), (x / 4.0, x * 0.25),
    (scalar.fma(x, 1.0, y), x + y), (scalar.fma(x, y, -0.0), x * y),
    (scalar.where(x > y, x, x), x), (scalar.where(~(x > y), x, y), scalar.where(x > y, y, x)),
    (scalar.where(number(True, bool_), x, y), x), (scalar.maximum(x, x), x),
    (i + 0, i), (i * 0, number(0, int32)), (i & -1, i), (i | 0, i), (i ^ 0, i), (i << 0, i),
    (b & number(True, bool_), b), (b | number(True, bool_), number(True, bool_)), (~~b, b),
    (ir.cast(ir.cast(i, int64), int32), i), (ir.cast(ir.cast(x, float64), float32), x),
    (ir.cast(ir.cast(i, int64), int8), ir.cast(i, int8)),
    (ir.cast(ir.cast(half, float32), float64), ir.cast(half, float64)),
    (ir.bitcast(ir.bitcast(x, int32), float32), x),
])
def test_removed(before, after):
    assert simple(before) is after


@pytest.mark.parametrize("expression", [
    x + 0.0, x - (-0.0 * number(1, float32)), x * 0.0, x / 3.0, x - x, scalar.fma(x, y, 0.0),
    ir.cast(ir.cast(x, int32), float32), ir.cast(ir.cast(i, float32), int32),
    ir.cast(ir.cast(i, int8), int32), scalar.exp(number(1, float32)),
])
def test_kept(expression):
    """What looks like an identity and is none: signed zeros, NaN, rounding."""
    found = simple(expression)
    assert found.op == expression.op and len(found.args) == len(expression.args)


def test_constants_are_folded():
    one, third = number(1, float32), number(3, float32)
    assert simple(one / third) is number(float(np.float32(1) / np.float32(3)), float32)
    assert simple(number(2**31 - 1, int32) + 1) is number(-(2**31), int32)
    assert simple(number(1, uint8) - 2) is number(255, uint8)
    assert simple(ir.bitcast(one, uint32)) is number(0x3F800000, uint32)
    assert simple(ir.cast(number(2.7, float32), int64)) is number(2, int64)
    assert simple(one / 0.0).attr == float("inf")
    assert simple(scalar.where(one < third, x, y)) is x


@pytest.mark.parametrize("source, target, expected", [
    (int8, float16, True), (int32, float32, False), (int32, float64, True), (uint8, int8, False),
    (uint8, int32, True), (int32, uint32, False), (float16, float32, True), (bool_, int8, True),
    (float64, float32, False), (float32, int64, False), (int64, float64, False),
    (float8_e5m2, float16, True), (float8_e8m0fnu, float16, False), (float8_e5m2, int32, False),
    (float8_e8m0fnu, bfloat16, True), (float8_e5m2, float8_e4m3fn, False),
])
def test_which_dtypes_hold_which(source, target, expected):
    assert holds(source, target) is expected


def test_values_stay():
    a, d = (v.ravel() for v in np.meshgrid(specials(np.float32), specials(np.float32)))
    expressions = [x * 1.0 + -0.0, x / 4.0 - (-y), scalar.where(~(x > y), x, -(-y)),
                   scalar.fma(x, 1.0, y), scalar.absolute(-x) + 0.0]
    stage = stage_of(*expressions, inputs=[float32, float32])
    for before, after in zip(run(stage, a, d), run(simplify(stage), a, d), strict=True):
        same = (before == after) & (np.signbit(before) == np.signbit(after))
        assert np.all(same | (np.isnan(before) & np.isnan(after)))


def test_guards_and_offsets_are_simplified_too():
    buffers = (ir.Buffer(float32), ir.Buffer(float32, True))
    store = ir.Store(1, x, offset=ir.coord("point") + 0, guard=~~(x > 1.0))
    (found,) = simplify(ir.Stage("flat", buffers, (), (store,))).stores
    assert found.offset is ir.coord("point") and found.guard is (x > 1.0)
