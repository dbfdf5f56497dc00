"""float16 and bfloat16: made, promoted, summed in float32, printed and drawn as in PyTorch 2.13."""

import json
import sys
from pathlib import Path

import pytest

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = json.loads((FIXTURES / "halves.json").read_text())
PARTS = 8


@pytest.fixture(scope="module")
def halves():
    sys.path.insert(0, str(FIXTURES))
    try:
        import half_cases
    finally:
        sys.path.remove(str(FIXTURES))
    return half_cases


def test_the_table_holds_every_case(halves):
    assert [row[0] for row in TABLE] == halves.EXPRESSIONS


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_recorded_calls(halves, part):
    made = [[expression, *(halves.described(torch, name, expression) for name in halves.NAMES)]
            for expression, *_ in TABLE[part::PARTS]]
    assert not [pair for pair in zip(made, TABLE[part::PARTS], strict=True) if pair[0] != pair[1]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_are_not_stuck_where_the_dtype_is(dtype):
    """One more than 2048 (or 256) is not to be had in the dtype: sums are in float32."""
    ones = torch.ones(60000, dtype=dtype)
    for many in (ones, ones.view(2, 30000).t(), torch.ones(120000, dtype=dtype)[::2]):
        assert many.sum().item() == torch.tensor(60000.0).to(dtype).item()
        assert many.mean().item() == 1 and many.var().item() == 0
    assert ones.cumsum(0)[-1].item() == torch.tensor(60000.0).to(dtype).item()
    assert ones.norm().item() == torch.tensor(60000.0).sqrt().to(dtype).item()
    assert ones.view(60, 1000).softmax(1).sum().item() == pytest.approx(60, rel=0.01)
