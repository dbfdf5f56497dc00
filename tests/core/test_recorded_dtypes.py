"""Calls over pairs of dtypes: result dtypes, values and refusals are those of PyTorch 2.13."""

import json
import math
import sys
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = json.loads((FIXTURES / "dtypes.json").read_text())
PARTS = 12
#: Relative errors of functions that are no arithmetic.
TOLERANCES = {"float32": 1e-6, "complex64": 1e-6, "float64": 1e-14, "complex128": 1e-14}


@pytest.fixture(scope="module")
def cases():
    sys.path.insert(0, str(FIXTURES))
    try:
        import dtype_cases
    finally:
        sys.path.remove(str(FIXTURES))
    return dtype_cases


def agree(made, wanted):
    if not isinstance(made, list) or not isinstance(wanted, list):
        return made == wanted
    tolerance = TOLERANCES.get(wanted[0], 0)
    return made[0] == wanted[0] and len(made[1]) == len(wanted[1]) and all(
        a == b or (tolerance and math.isclose(float(a), float(b), rel_tol=tolerance))
        for a, b in zip(made[1], wanted[1], strict=True))


def test_the_table_holds_every_case(cases):
    assert [expression for expression, _ in TABLE] == list(cases.CASES)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_recorded_calls(cases, part):
    wrong = [(expression, made, wanted) for expression, wanted in TABLE[part::PARTS]
             if not agree(made := cases.described(torch, expression), wanted)]
    assert not wrong
