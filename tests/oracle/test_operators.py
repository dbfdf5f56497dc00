"""Every operator against PyTorch's of the same name: values, gradients, dtypes, errors.

The arguments are those of the generated tests (tests/support/operator_cases.py), made twice from
the same numbers. `python -m pytest tests/oracle -k "add or mul"` picks operators.
"""

import math
import warnings

import operator_cases
import operator_facts
import pytest
import torch

import yesca
from yesca.dispatch.call import OPERATORS

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

#: (relative, absolute) tolerances: those of torch.testing, twice that for bfloat16, which PyTorch
#: rounds at every step of some operators.
TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (3.2e-2, 2e-3), "float32": (1.3e-6, 1e-5),
              "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}
DTYPES = ("float32", "bfloat16", "float64", "int64", "bool")
#: Of equal elements any may be picked, so that indices are not compared.
ANY_OF_EQUALS = ("mode", "median", "nanmedian", "kthvalue", "topk")
#: Where the two differ, and rightly: (operator, dtype or test) and why.
DIFFER = {
    ("histc", "bfloat16"): "PyTorch rounds the edges of the bins",
    ("cross", "bfloat16"): "PyTorch rounds both products",
    ("logit", "bfloat16"): "PyTorch rounds the quotient, which is near 1",
    ("isin", "bool"): "works here", ("topk", "bool"): "works here",
    ("mm", "bool"): "PyTorch accepts bool where nothing is multiplied",
    ("view_copy", "layouts"): "PyTorch's does not look at strides, though view does",
    ("gradient", "bool"): "works here",
    ("ldexp", "gradients"): "PyTorch's derivative is a power of integers, 0 for negative ones",
    ("conv_transpose1d", "bfloat16"): "PyTorch rounds partial sums on CPUs without AVX-512",
    ("as_strided_scatter", "gradients"): "PyTorch keeps the gradient of the overwritten elements",
}


def operators():
    """Operators that PyTorch has, but for those that take other arguments there."""
    for one in operator_cases.sampled():
        function = operator_facts.public(torch, one.name)
        if function is not None:
            yield pytest.param(one, function, id=one.name)


OPERATOR = pytest.mark.parametrize(("one", "function"), list(operators()))


def attempt(one, function, case):
    """The result, or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return operator_cases.call(one, function, case)
    except Exception as error:
        return error


def pairs(one, function, dtype, layout="contiguous"):
    """Results of both packages for every case. A TypeError of PyTorch is about its signature, a
    NotImplementedError about a dtype that it has no kernel for: both are left out."""
    ours = operator_cases.cases(one, yesca, dtype, layout)
    theirs = operator_cases.cases(one, torch, dtype, layout)
    for mine, other in zip(ours, theirs, strict=True):
        wanted = attempt(one, function, other)
        if isinstance(wanted, (TypeError, NotImplementedError)):
            continue
        yield attempt(one, getattr(OPERATORS, one.name), mine), wanted


def check(got, wanted, scale=1.0):
    """Structure, dtypes, shapes, values."""
    if isinstance(got, Exception):
        raise got
    mine, other = operator_cases.tensors_in(yesca, got), operator_cases.tensors_in(torch, wanted)
    assert len(mine) == len(other)
    if not other:
        assert got == wanted
    for a, b in zip(mine, other):
        dtype = str(b.dtype).removeprefix("torch.")
        assert str(a.dtype) == str(b.dtype)
        assert tuple(a.shape) == tuple(b.shape)
        relative, absolute = TOLERANCES.get(dtype, (0.0, 0.0))
        for x, y in zip(operator_cases.values_of(a), operator_cases.values_of(b)):
            close = x == y or (math.isnan(x) and math.isnan(y)) or \
                abs(x - y) <= scale * (absolute + relative * abs(y))
            assert close, f"{dtype}: {x} where PyTorch has {y}"


@OPERATOR
def test_values(one, function):
    """Results, and the class of an error where PyTorch refuses the arguments."""
    for dtype in DTYPES:
        if (one.name, dtype) in DIFFER:
            continue
        for got, wanted in pairs(one, function, dtype):
            if isinstance(wanted, Exception):
                assert isinstance(got, type(wanted)), (dtype, wanted, got)
            elif one.name in ANY_OF_EQUALS and isinstance(wanted, tuple):
                check(got[0], wanted[0])
            else:
                check(got, wanted)


@OPERATOR
def test_layouts(one, function):
    """The same for arguments that are not contiguous."""
    for layout in () if (one.name, "layouts") in DIFFER else ("transposed", "sliced"):
        for got, wanted in pairs(one, function, "float32", layout):
            if not isinstance(wanted, Exception):
                check(got, wanted)


def gradients(package, one, function, case):
    """Gradients of all floating-point arguments for one cotangent."""
    case = operator_cases.map_tensors(
        package, case, lambda t: t.detach().requires_grad_() if t.dtype == package.float64 else t)
    inputs = [t for t in operator_cases.tensors_in(package, case) if t.requires_grad]
    results = [r for r in operator_cases.tensors_in(package, operator_cases.call(
        one, function, case)) if r.requires_grad]
    if not inputs or not results:
        return []
    weights = [(package.arange(r.numel(), dtype=package.float64) % 3 + 0.5).reshape(r.shape)
               for r in results]
    found = package.autograd.grad(results, inputs, weights, allow_unused=True)
    return [None if g is None else g + 0 for g in found]  # PyTorch has zeros without memory


@OPERATOR
def test_gradients(one, function):
    """Gradients, in float64; an absent one counts as zeros."""
    if (one.name, "gradients") in DIFFER:
        pytest.skip(DIFFER[one.name, "gradients"])
    ours = operator_cases.cases(one, yesca, "float64", small=True)
    theirs = operator_cases.cases(one, torch, "float64", small=True)
    for mine, other in zip(ours, theirs, strict=True):
        try:
            wanted = gradients(torch, one, function, other)
        except Exception:  # PyTorch refuses the arguments or has no derivative
            continue
        got = gradients(yesca, one, getattr(OPERATORS, one.name), mine)
        for a, b in zip(got, wanted, strict=True):
            if a is not None and b is not None:
                check(a, b, scale=10.0)
            else:
                present = a if b is None else b
                assert present is None or not present.any()


def test_coverage():
    """A fixed part of PyTorch's operators is compared: a name that goes missing is noticed."""
    assert len(list(operators())) >= 250
