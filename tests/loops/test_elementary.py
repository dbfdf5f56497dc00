"""Elementary functions as arithmetic: within 2 units of the last place, specials exact."""

import math

import numpy as np
import pytest
from elementwise import apply, run, specials, stage_of, ulps

from yesca.core import dtypes
from yesca.loops import ir
from yesca.passes.expand_math import expand

LIMIT = 2.0
#: function: ranges sampled densely for float32 and float64
RANGES = {
    "exp": ((-110, 92), (-750, 712)), "exp2": ((-152, 130), (-1080, 1026)),
    "expm1": ((-20, 92), (-40, 712)), "log": ((0, 4), (0, 4)), "log2": ((0, 4), (0, 4)),
    "log10": ((0, 4), (0, 4)), "log1p": ((-1, 3), (-1, 3)), "sin": ((-100, 100), (-100, 100)),
    "cos": ((-100, 100), (-100, 100)), "tan": ((-100, 100), (-100, 100)),
    "asin": ((-1, 1), (-1, 1)), "acos": ((-1, 1), (-1, 1)), "atan": ((-5, 5), (-5, 5)),
    "sinh": ((-91, 91), (-712, 712)), "cosh": ((-91, 91), (-712, 712)),
    "tanh": ((-10, 10), (-20, 20)), "asinh": ((-3, 3), (-3, 3)), "acosh": ((1, 4), (1, 4)),
    "atanh": ((-1, 1), (-1, 1)),
}
NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
               "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}
EXTENDED = np.finfo(np.longdouble).nmant > 60
needs_extended = pytest.mark.skipif(not EXTENDED, reason="long double is double here")


def reference(name, *arrays):
    """The function in a wider format: float64 for float32, long double for float64."""
    wide = np.float64 if arrays[0].dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        return getattr(np, NUMPY_NAMES.get(name, name))(*(a.astype(wide) for a in arrays))


def check(name, *arrays, exact=None, limit=LIMIT):
    got = apply(name, *arrays)
    errors = ulps(got, reference(name, *arrays) if exact is None else exact)
    worst = int(np.argmax(errors))
    assert errors[worst] <= limit, \
        f"{name}: {errors[worst]} ulp at {[a[worst] for a in arrays]}: {got[worst]}"


def steps_of(name, *arrays):
    """(operation, values of its operands, its value) of each product and conversion of floats."""
    dtype = dtypes.BY_NAME[arrays[0].dtype.name]
    inputs = [dtype] * len(arrays)
    loads = [ir.load(k, dtype) for k in range(len(arrays))]
    (store,) = expand(stage_of(ir.operate(name, *loads), inputs=inputs)).stores
    nodes = [n for n in ir.walk(store.value) if n.dtype.is_floating_point]
    values = dict(zip(nodes, run(stage_of(*nodes, inputs=inputs), *arrays), strict=True))
    return [(n.op, [values[a] for a in n.args], values[n]) for n in nodes
            if n.op in ("mul", "cast") and all(a in values for a in n.args)]


def magnitudes(kind, count=2000):
    """Numbers of every order of magnitude, of both signs."""
    random = np.random.default_rng(1)
    if kind is np.float32:
        return random.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    return random.integers(0, 2**64, count // 4, dtype=np.uint64).view(np.float64)


@pytest.mark.parametrize("name", RANGES)
def test_single(name):
    low, high = RANGES[name][0]
    dense = np.random.default_rng(0).uniform(low, high, 20000).astype(np.float32)
    check(name, np.concatenate([dense, specials(np.float32), magnitudes(np.float32)]))


@needs_extended
@pytest.mark.parametrize("name", RANGES)
def test_double(name):
    low, high = RANGES[name][1]
    dense = np.random.default_rng(0).uniform(low, high, 1500)
    check(name, np.concatenate([dense, specials(np.float64), magnitudes(np.float64)]))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp", "exp2", "pow"])
def test_what_is_surely_zero_comes_without_underflow(name, kind):
    """Machines take a hundred times longer for a product that underflows, and softmax of masked
    scores has many of them."""
    x = np.array([-np.inf, -1e30, -3000.0, np.nan], kind)
    arrays = (np.full(4, 2, kind), x) if name == "pow" else (x,)
    np.testing.assert_array_equal(apply(name, *arrays), np.array([0, 0, 0, np.nan], kind))
    for op, operands, value in steps_of(name, *arrays):
        tiny = np.abs(value) < np.finfo(value.dtype).tiny
        exact = np.any([operand == 0 for operand in operands], axis=0)
        assert (exact | ~tiny).all(), f"{op} of {operands} is {value}"


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_near_multiples_of_a_quarter_turn(name):
    near = (np.arange(1, 4000) * (math.pi / 2)).astype(np.float32)
    check(name, np.concatenate([near, np.nextafter(near, np.float32(np.inf))]))


@pytest.mark.parametrize("kind", [np.float32, pytest.param(np.float64, marks=needs_extended)])
def test_power(kind):
    random = np.random.default_rng(0)
    count = 4000 if kind is np.float32 else 400
    base = np.exp(random.uniform(-5, 5, count))
    exponent = random.uniform(-1, 1, count) * (88 if kind is np.float32 else 708) \
        / np.abs(np.log(base))
    close = 1 + random.uniform(-1e-3, 1e-3, count)
    x = np.concatenate([base, close, -base]).astype(kind)
    y = np.concatenate([exponent, random.uniform(-9e4, 9e4, count),
                        random.integers(-9, 9, count)]).astype(kind)
    check("pow", x, y)


@pytest.mark.parametrize("name", ["pow", "atan2", "fmod"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_special_pairs(name, kind):
    values = np.concatenate([specials(kind), kind([-3, 2.5, -2.5, 1e20, -1e20, 1 / 3])])
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    limit = 0.0 if name == "fmod" else LIMIT
    function = {"pow": math.pow, "atan2": math.atan2, "fmod": np.fmod}[name]
    exact = np.array([_called(function, a, b, kind) for a, b in zip(x, y, strict=True)])
    check(name, x, y, exact=exact, limit=limit)


def _called(function, x, y, kind):
    """The C function; NumPy's where Python's raises."""
    if function is np.fmod:
        with np.errstate(all="ignore"):
            return float(np.fmod(x, y))
    try:
        return function(float(x), float(y))
    except (ValueError, OverflowError, ZeroDivisionError):
        with np.errstate(all="ignore"):
            return float(np.power(kind(x), kind(y)))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_remainder_is_exact(kind):
    random = np.random.default_rng(0)
    count = 2000 if kind is np.float32 else 150
    x = np.concatenate([random.uniform(-9, 9, count), random.integers(-99, 99, count),
                        10.0 ** random.uniform(-37, 37, count)]).astype(kind)
    y = np.concatenate([random.uniform(-2, 2, count), random.integers(-9, 9, count),
                        10.0 ** random.uniform(-44, 37, count)]).astype(kind)
    with np.errstate(all="ignore"):
        check("fmod", x, y, exact=np.fmod(x, y), limit=0.0)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8])
def test_integer_power(kind):
    x, y = (a.ravel() for a in np.meshgrid(np.arange(-6, 7), np.arange(-4, 21)))
    x, y = x.astype(kind), np.abs(y).astype(kind) if kind is np.uint8 else y.astype(kind)
    bits = 8 * np.dtype(kind).itemsize
    expected = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        value = pow(a, b, 1 << bits) if b >= 0 else a ** (b % 2) if abs(a) == 1 else 0
        expected.append(value & ((1 << bits) - 1))
    got = apply("pow", x, y).astype(np.int64) & ((1 << bits) - 1 if bits < 64 else -1)
    assert got.tolist() == [e - (1 << 64) if e >> 63 else e for e in expected]


def over(function, x):
    return np.array([function(float(v)) for v in x])


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions(name):
    random = np.random.default_rng(0)
    function = getattr(math, name)
    x = np.concatenate([random.uniform(-6, 10.2, 10000).astype(np.float32),
                        random.uniform(-0.5, 0.5, 5000).astype(np.float32),
                        specials(np.float32)])
    check(name, x, exact=over(function, x))
    x = np.concatenate([random.uniform(-6, 27.5, 1000), random.uniform(-0.5, 0.5, 500),
                        specials(np.float64)])
    check(name, x, exact=over(function, x), limit=LIMIT + 1)  # the reference has an error too


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_normal_distribution(kind):
    """Within 2**-23.8 of all; exactly 0 and 1 where the tail is nothing."""
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(-15, 15, 10000), random.uniform(-2, 2, 5000),
                        specials(kind)]).astype(kind)
    exact = over(lambda v: math.erfc(-v * math.sqrt(0.5)) / 2, x)
    got = apply("ndtr", x).astype(np.float64)
    assert np.array_equal(np.isnan(got), np.isnan(x))
    assert np.nanmax(np.abs(got - exact)) < (2.0**-23.8 if kind is np.float32 else 2.0**-52)
    assert apply("ndtr", kind([0.0, -0.0, 20, -20, np.inf, -np.inf])).tolist() == [
        0.5, 0.5, 1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_inverse_error_function(kind):
    random = np.random.default_rng(0)
    eps = np.finfo(kind).eps
    x = np.concatenate([random.uniform(-1, 1, 500), 10.0 ** random.uniform(-30, -1, 100),
                        1 - 10.0 ** random.uniform(np.log10(eps), -1, 400)]).astype(kind)
    x = x[np.abs(x) < 1]
    y = apply("erfinv", x).astype(np.float64)
    # one Newton step in float64 from the result finds what is missing
    slope = 2 / math.sqrt(math.pi) * np.exp(-y * y)
    residue = np.where(np.abs(x) < 0.5, over(math.erf, y) - x,
                       np.copysign(1 - np.abs(x.astype(np.float64)) - over(math.erfc, np.abs(y)),
                                   x))
    assert np.max(np.abs(residue / slope / y)) < 3 * eps
    edges = apply("erfinv", kind([0.0, -0.0, 1, -1, 1.5, np.nan]))
    assert str(edges.tolist()) == "[0.0, -0.0, inf, -inf, nan, nan]"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_gamma_functions(kind):
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(0, 12, 600), random.uniform(-6, 0, 300),
                        10.0 ** random.uniform(-30, 30, 200), [1, 2, 3, 0.5]]).astype(kind)
    x = x[x != np.round(x)]
    eps = np.finfo(kind).eps

    def near(got, exact, allowed):
        assert np.max(np.abs(got - exact) / np.maximum(1, np.abs(exact))) < allowed * eps

    near(apply("lgamma", x), over(math.lgamma, x), 8)  # the reference is off by up to 6
    psi = apply("digamma", x).astype(np.float64)
    middle = x[(x > 0.05) & (x < 50)]
    step = apply("digamma", middle + kind(1)).astype(np.float64)
    near(psi[(x > 0.05) & (x < 50)], step - 1 / middle.astype(np.float64), 30)
    near(apply("digamma", kind([1.0, 0.5])),
         np.array([-0.5772156649015329, -1.9635100260214235]), 2)


def test_gamma_functions_at_special_values():
    x = np.array([0.0, -0.0, -1, -2, -np.inf, np.inf, np.nan, 1, 2])
    assert str(apply("lgamma", x).tolist()) == "[inf, inf, inf, inf, inf, inf, nan, 0.0, 0.0]"
    assert str(apply("digamma", x[:7]).tolist()) == "[-inf, inf, nan, nan, nan, inf, nan]"
