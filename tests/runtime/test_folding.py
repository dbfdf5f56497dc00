"""Reductions as stages: how their operands are read."""

import pytest

import yesca as torch
from yesca.core.devices import CPU
from yesca.core.dtypes import float32
from yesca.core.spec import spec
from yesca.runtime import folding
from yesca.runtime.folding import Source
from yesca.runtime.references import Ref


def test_what_is_the_same_along_the_folded_axis_is_read_once_a_row():
    vector = Ref(0, spec(float32, (4,), (1,), CPU))
    seen = Source(vector, (1,), (0,), broadcast=True).seen((4,), [(3, 0), (8, 0)], 0)
    assert seen.row
    assert (seen.spec.shape, seen.spec.strides) == ((4, 3), (1, 0))


def test_an_operand_that_stands_alone_has_its_axis():
    vector = Ref(0, spec(float32, (4,), (1,), CPU))
    seen = Source(vector, (1,), (0,)).seen((4,), [(8, 0)], 0)
    assert not seen.row
    assert tuple(seen.spec.shape) == (4, 8)


def test_a_sum_of_an_expanded_tensor():
    x = torch.arange(4.0)
    assert x[:, None].expand(4, 9).sum(1).tolist() == [0, 9, 18, 27]
    assert x.expand(9, 4).sum().item() == 54


@pytest.mark.parametrize("size", [32769, 40000, 65537, 70001, 1003000, 4194304, 3248000])
def test_pieces_cover_all_and_are_even_where_that_is_possible(size):
    count, length, left = folding._pieces(size, 16384)
    assert count * length + left == size and 8192 <= length <= 32768
    divisors = [n for n in range(8192, 32769) if size % n == 0]
    assert bool(left) == (not divisors)
    if any(n % folding.VECTOR_ELEMENTS == 0 for n in divisors):
        assert length % folding.VECTOR_ELEMENTS == 0
