"""Results lie in memory as those that PyTorch was recorded with, whatever order operands lie in."""

import json
import warnings
from pathlib import Path

import format_cases
import pytest

import yesca

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "formats.json").read_text())
#: Layouts and shapes of cases whose strides differ, and why that is right.
OTHER = {
    # PyTorch takes the sum over one channel for a product, whose strides follow the operands'.
    "einsum": ("transposed", "reversed"),
    # PyTorch's view refuses what a copy does.
    "local_response": ("x2x4x4",),
}
LAYOUTS = [f"{layout} {'x'.join(map(str, shape))}"
           for layout in format_cases.LAYOUTS for shape in format_cases.SHAPES]


@pytest.mark.parametrize("kind, results, labels", (
    ("images", format_cases.image_results, LAYOUTS),
    ("matrices", format_cases.matrix_results, format_cases.MATRICES)))
def test_places(kind, results, labels):
    """Strides and offsets of results, for operands in every layout."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = results(yesca)
    for name, number in RECORDED["kinds"][kind].items():
        wanted = RECORDED["patterns"][number].split(";")
        for label, got, want in zip(labels, found[name], wanted, strict=True):
            if not any(part in label for part in OTHER.get(name, ())):
                assert got == want, (name, label)
