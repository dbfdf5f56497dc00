"""Random programs of views, writes, hooks and passes backward, against what PyTorch 2.13 did."""

import json
import sys
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
TAPES = json.loads((FIXTURES / "tapes.json").read_text())


@pytest.fixture(scope="module")
def cases():
    sys.path.insert(0, str(FIXTURES))
    try:
        import tape_cases
    finally:
        sys.path.remove(str(FIXTURES))
    return tape_cases


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
@pytest.mark.parametrize(("seed", "statements", "outcomes", "state"), TAPES,
                         ids=[str(seed) for seed, *_ in TAPES])
def test_program(cases, seed, statements, outcomes, state):
    names = cases.start(torch)
    assert [cases.step(names, s) for s in statements] == outcomes
    assert json.loads(json.dumps(cases.state(names))) == state
