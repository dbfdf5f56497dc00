"""Chains of views give the sizes, strides, offsets and errors that PyTorch was recorded with."""

import json
import warnings
from pathlib import Path

import stride_programs

import yesca

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "strides.json").read_text())
#: PyTorch has no words of its own for a size that a tensor without dimensions cannot have.
WORDLESS = "!RuntimeError: numel: integer multiplication overflow"


def test_chains():
    for seed, wanted in enumerate(RECORDED):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = stride_programs.run(yesca, seed)
        for (call, got), want in zip(found, wanted, strict=True):
            if want == WORDLESS:
                want, got = want.partition(":")[0], got.partition(":")[0]
            assert got == want, (seed, call)


def test_views_are_of_the_memory_that_they_say():
    """An offset is no part of what a view is planned by."""
    x = yesca.arange(12)
    for first in (2, 5, 7):
        part = x[first:first + 3]
        assert part.as_strided((2,), (1,), 1).tolist() == [1, 2]
        assert part.as_strided((2,), (1,)).tolist() == [first, first + 1]
        assert x[first].as_strided((), (), 3).item() == 3
    small = yesca.arange(3)
    for whole in (x[:3], small):
        try:
            assert whole.as_strided((4,), (1,)).tolist() == [0, 1, 2, 3]
        except RuntimeError as error:
            assert whole is small
            assert "are out of bounds for storage of size 24" in str(error)
        else:
            assert whole is not small
