"""Views, writes in place and indexing give what NumPy's arrays over the same memory give."""

import random
import warnings

import alias_programs
import properties
import pytest

import yesca


def walk(choose, steps):
    """One program, compared after every step."""
    program = alias_programs.Program(yesca, choose)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Use of .* on expanded tensors is deprecated")
        for _ in range(steps):
            program.step()
            program.check()


@properties.programs(300)
def test_programs(choose):
    """Values, sizes, strides, offsets and counts of writes of all tensors, after every step."""
    walk(choose, choose(range(1, 16)))


@pytest.mark.parametrize(("name", "fault"), [
    ("fill_", lambda self, number: self.data.fill_(number)),
    ("narrow", lambda self, dim, start, length: self.clone().split(
        [start, length, self.shape[dim] - start - length], dim)[1]),
    ("index_add_", lambda self, dim, index, source: self.index_copy_(dim, index, source)),
])
def test_faults_are_found(name, fault, monkeypatch):
    """A write that is not counted, a view that is a copy, an index that does not add."""
    monkeypatch.setattr(yesca.Tensor, name, fault)
    with pytest.raises(AssertionError):
        for seed in range(400):
            walk(random.Random(seed).choice, 12)
