"""Every operator gives what the loop interpreter gives, without NumPy, on both call paths."""

import contextlib
import functools
import types

import numpy as np
import operator_cases
from interpreted import interpreted, python_path

import yesca
from yesca.dispatch.call import OPERATORS

TOLERANCES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}
#: Kinds whose implementation may call NumPy.
LIBRARY = ("library",)
#: Composites of those kinds.
OF_LIBRARIES = ("svd", "pinverse", "matrix_power", "igamma", "igammac", "polygamma")


def dtypes_of(one):
    if one.kind in ("elementwise", "reduce"):
        return ("float32", "bfloat16", "int64", "bool")
    return ("float32", "int64")


def outcomes(one, dtype, runner=contextlib.nullcontext, ahead=False):
    """Results, or the error, of every case; all of them from fresh arguments.

    ahead: call once before, since the compiler, unlike kernels, may use NumPy.
    """
    function = getattr(OPERATORS, one.name)
    found = []
    for case in operator_cases.cases(one, yesca, dtype):
        try:
            if ahead:
                operator_cases.call(one, function, case)
            with runner():
                found.append(operator_cases.call(one, function, case))
        except (RuntimeError, IndexError, NotImplementedError) as error:
            found.append((type(error), str(error)))
    return found


@functools.cache
def functions_of_numpy():
    """(module, name, function) of all that are public."""
    kinds = (np.ufunc, types.FunctionType, types.BuiltinFunctionType)
    return [(home, name, value) for home in (np, np.linalg, np.fft, np.random)
            for name, value in vars(home).items()
            if isinstance(value, kinds) and not name.startswith("_")]


@contextlib.contextmanager
def without_numpy():
    """NumPy's functions raise."""
    def refuse(*args, **kwargs):
        raise AssertionError("an operator called NumPy")

    kept = functions_of_numpy()
    for home, name, _ in kept:
        setattr(home, name, refuse)
    try:
        yield
    finally:
        for home, name, value in kept:
            setattr(home, name, value)


def test_every_operator_has_cases():
    """An operator whose arguments cannot be guessed gives `samples` in its record."""
    without = [name for name, one in operator_cases.records().items()
               if operator_cases.generated(one) and operator_cases.cases(one, yesca) is None]
    assert not without


def test_values(one):
    """Machine code against the interpreter."""
    runner = contextlib.nullcontext if one.kind in LIBRARY or one.name in OF_LIBRARIES \
        else without_numpy
    for dtype in dtypes_of(one):
        got = outcomes(one, dtype, runner, ahead=not one.name.endswith("_"))
        wanted = outcomes(one, dtype, interpreted)
        tolerance = TOLERANCES.get(dtype, 1e-6)
        for mine, other in zip(got, wanted):
            if isinstance(other, tuple) and isinstance(other[0], type):
                assert mine == other
                continue
            operator_cases.check_same(yesca, mine, other, tolerance, tolerance)


def test_paths(one):
    """The builtin of machine code and its Python twin give the same bits."""
    got = outcomes(one, "float32")
    again = outcomes(one, "float32")  # now the plan is known to the builtin
    portable = outcomes(one, "float32", python_path)
    for mine, second, other in zip(got, again, portable):
        operator_cases.check_same(yesca, second, mine)
        operator_cases.check_same(yesca, other, mine)
