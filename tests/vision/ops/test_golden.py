"""Operators on boxes and images give torchvision's results for the same seed."""

import json
from pathlib import Path

import pytest
import vision_ops

import yesca as torch
from yesca.vision import ops

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "vision_ops.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", vision_ops.CASES)
def test_results(name):
    got, expected = vision_ops.recorded(torch, ops, name), GOLDEN[name]
    assert [row[:2] for row in got] == [row[:2] for row in expected]
    for (_, _, values), (_, _, wanted) in zip(got, expected):
        assert values == pytest.approx(wanted, rel=2e-5, abs=2e-6, nan_ok=True)
