"""Which writes to memory that overlaps are refused, as PyTorch was recorded to do."""

import json
from pathlib import Path

import overlap_cases
import pytest

import yesca

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "overlaps.json").read_text())
#: Where PyTorch does otherwise: (call, operands).
OTHER = {
    # It writes a whole result to one place.
    *((call, "written column") for call in ("addmv_ y", "sum_out y", "max_out y")),
    # It refuses an operand that is copied here before the first write.
    *(("put_ y", name) for name in ("same", "equal", "shifted", "shifted back")),
}


def test_outcomes():
    names = list(overlap_cases.layouts(yesca))
    written = [name for name in names if name.startswith("written")]
    found = overlap_cases.results(yesca)
    assert found.keys() == RECORDED.keys()
    for call, wanted in RECORDED.items():
        for name, got, want in zip(names if call.endswith(" y") else written, found[call], wanted,
                                   strict=True):
            assert (got == want) is ((call, name) not in OTHER), (call, name, got, want)


def test_refused_writes_change_nothing():
    x = yesca.arange(6.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
        x[1:] += x[:-1]
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
        x.div_(x[2])
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x[:1].expand(3).add_(1)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x._version == 0


def test_operands_with_gaps_are_read_before_they_are_written():
    """Their ranges meet, which PyTorch lets through; here the old values count."""
    x = yesca.arange(8.0)
    x[::2].add_(x[:4])
    assert x.tolist() == [0.0, 1.0, 3.0, 3.0, 6.0, 5.0, 9.0, 7.0]


def test_expanded_targets_that_may_be_written():
    x = yesca.zeros(1, 3)
    wide = x.expand(2, 3)
    assert wide.zero_() is wide and wide.fill_(2) is wide
    with pytest.warns(UserWarning, match="Use of masked_fill_ on expanded tensors is deprecated"):
        wide.masked_fill_(yesca.tensor([True, False, True]), 1)
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        wide[yesca.tensor([0])] = yesca.tensor([4.0, 5.0, 6.0])
    assert x.tolist() == [[4.0, 5.0, 6.0]]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide[:] = 3


def test_warnings_about_expanded_targets_name_the_program():
    target = yesca.ones(1).expand(2)
    with pytest.warns(UserWarning, match="Use of masked_fill_ on expanded tensors") as caught:
        target.masked_fill_(yesca.tensor(True), 1)
    assert [w.filename for w in caught] == [__file__]
