"""Training curves: thirty steps of ten kinds of model follow those of PyTorch.

`PYTHONPATH=src python tests/fixtures/record_curves.py`, with PyTorch installed, records what is
compared with, and how far apart PyTorch's own kernels and thread counts are.
"""

import json
from pathlib import Path

import curve_cases
import pytest

import yesca as torch

FIXTURE = Path(__file__).parents[1] / "fixtures" / "curves.json"
TABLE = json.loads(FIXTURE.read_text(encoding="utf-8"))
WRAPS = {"eager": lambda model: model, "compiled": torch.compile}


def follow(losses, expected):
    """The whole curve to 1e-3, or to twice what lies between PyTorch's own ways of computing it."""
    assert curve_cases.distance(losses, expected["losses"]) <= max(1e-3, 2 * expected["spread"])


@pytest.mark.parametrize("way", WRAPS)
@pytest.mark.parametrize("name", curve_cases.CASES)
def test_the_losses_follow_pytorch(name, way):
    losses = curve_cases.curve(torch, name, wrap=WRAPS[way])
    expected = TABLE[name]["float32"]
    assert losses[0] == pytest.approx(expected["losses"][0], rel=1e-6)  # equal first weights
    follow(losses, expected)


@pytest.mark.parametrize("name", curve_cases.CASES)
def test_the_losses_under_autocast_follow_pytorch(name):
    losses = curve_cases.curve(torch, name, autocast=True)
    follow(losses, TABLE[name]["bfloat16"])
    # It is not the float32 curve: the layers did compute in bfloat16.
    assert curve_cases.distance(losses, TABLE[name]["float32"]["losses"]) > 1e-5


@pytest.mark.parametrize("way", WRAPS)
def test_a_gpt_under_autocast_follows_pytorch_for_longer(way):
    losses = curve_cases.curve(
        torch, "gpt", wrap=WRAPS[way], autocast=True, steps=curve_cases.LONG)
    expected = TABLE["gpt"]["long"]["losses"]
    assert len(losses) == 50
    assert curve_cases.distance(losses, expected) <= 0.02
    assert losses[-1] < 0.75 * losses[0]


@pytest.mark.parametrize("name", curve_cases.CASES)
def test_threads_change_no_curve(name):
    before = torch.get_num_threads()
    try:
        curves = []
        for count in (1, 3):
            torch.set_num_threads(count)
            curves.append(curve_cases.curve(torch, name))
    finally:
        torch.set_num_threads(before)
    assert curves[0] == curves[1]


@pytest.mark.parametrize("name", curve_cases.CASES)
def test_a_curve_is_one_that_learns(name):
    """What the curves above are worth: PyTorch's own moves far more than they may differ."""
    losses = TABLE[name]["float32"]["losses"]
    assert sum(losses[-4:]) < 0.95 * sum(losses[:4])
