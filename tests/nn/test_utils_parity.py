"""The functions of `torch.nn.utils` against recorded calls of PyTorch's."""

import json
from pathlib import Path

import pytest
import utils_cases

import yesca as torch
from yesca.nn import utils

FIXTURE = Path(__file__).parents[1] / "fixtures" / "utils.json"
TABLE = json.loads(FIXTURE.read_text(encoding="utf-8"))
#: What changes a module for good has tests of its own.
ELSEWHERE = {"init", "memory_format", "parametrizations", "parametrize", "rnn", "stateless",
             "spectral_norm", "remove_spectral_norm", "weight_norm", "remove_weight_norm"}


def agree(found, expected, where):
    """Texts, names and whole numbers are the same, floats to a few roundings of float32."""
    if isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), where
        for place, (got, wanted) in enumerate(zip(found, expected, strict=True)):
            agree(got, wanted, (*where, place))
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=2e-6, abs=2e-6, nan_ok=True), where
    else:
        assert found == expected, where


@pytest.mark.parametrize("text", utils_cases.CASES)
def test_a_call_does_what_it_does_in_pytorch(text):
    found, expected = utils_cases.called(torch, text), TABLE[text]
    assert sorted(found) == sorted(expected), found
    for part, wanted in expected.items():
        agree(found[part], wanted, (part,))


def test_every_function_has_a_case():
    called = " ".join(utils_cases.CASES)
    names = [name for name in utils.__all__ if name not in ELSEWHERE]
    assert not [name for name in names if f"utils.{name}" not in called]
    assert not [name for name in utils.rnn.__all__ if f"rnn.{name}" not in called]
