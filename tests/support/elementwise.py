"""Evaluate expressions of the loop IR on arrays, and measure errors in units of the last place."""

import numpy as np
from yesca.core import dtypes
from yesca.loops import interpret, ir
from yesca.passes.expand_math import expand


def stage_of(*expressions, inputs):
    """A flat stage that loads `inputs` arrays and stores the expressions."""
    count = len(inputs)
    buffers = [ir.Buffer(d) for d in inputs] + [ir.Buffer(e.dtype, True) for e in expressions]
    stores = [ir.Store(count + i, e) for i, e in enumerate(expressions)]
    return ir.Stage("flat", tuple(buffers), (), tuple(stores))


def run(stage, *arrays):
    """Values of the stage's stores, each of the shape of the arrays."""
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    return [np.broadcast_to(v, shape) for v in interpret.evaluate(stage, arrays)]


def apply(name, *arrays):
    """An elementary function of arrays of one dtype, expanded into arithmetic."""
    dtype = dtypes.BY_NAME[arrays[0].dtype.name]
    loads = [ir.load(k, dtype) for k in range(len(arrays))]
    stage = expand(stage_of(ir.operate(name, *loads), inputs=[dtype] * len(arrays)))
    return run(stage, *arrays)[0]


def ulps(got, exact):
    """|got - exact| in units of the last place of got's dtype; infinite where a special value,
    an infinity or the sign of a zero is wrong."""
    info = np.finfo(got.dtype)
    exact = np.asarray(exact)
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        _, exponent = np.frexp(np.where(np.isfinite(exact) & (exact != 0), exact, 1))
        lowest = info.minexp - info.nmant
        exponent = np.where(exact == 0, lowest, np.maximum(exponent - info.nmant - 1, lowest))
        error = np.abs(got.astype(exact.dtype) - exact) / np.ldexp(np.ones_like(exact), exponent)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    same &= (got != 0) | (rounded != 0) | (np.signbit(got) == np.signbit(rounded))
    both = np.isfinite(got) & np.isfinite(rounded) & ((got != 0) | (rounded != 0) | same)
    return np.where(both, error, np.where(same, 0.0, np.inf))


def specials(kind):
    """Zeros, infinities, NaN, the ends of the normal and denormal ranges, numbers around 1."""
    info = np.finfo(kind)
    positive = [0.0, np.inf, info.smallest_subnormal, info.tiny, info.tiny * kind(0.75), info.max,
                1.0, 0.5, 2.0, 3.0, 1 + info.eps, 1 - info.epsneg]
    return np.array(positive + [-x for x in positive] + [np.nan], kind)
