"""Which kernel a layout gets."""

from yesca.core.dtypes import float32, int64
from yesca.loops import ir
from yesca.runtime.variants import AT_ONCE_FROM, SPECIALISE_FROM, flat_variant, row_variant
from yesca.targets.llvm import GENERAL


def stage(number):
    """A stage of its own for each number: row + vector + number."""
    made = ir.load(0, float32) + ir.load(1, float32) + float(number)
    buffers = (ir.Buffer(float32), ir.Buffer(float32), ir.Buffer(float32, True))
    return ir.Stage("flat", buffers, (), (ir.Store(2, made),))


def test_a_broadcast_gets_its_kernel_at_the_second_use():
    assert flat_variant(stage(1), (1, 0, 1), SPECIALISE_FROM) is GENERAL
    assert flat_variant(stage(1), (1, 0, 1), SPECIALISE_FROM).pattern == "c0c"


def test_a_large_broadcast_gets_it_at_once_because_plans_stay():
    assert flat_variant(stage(2), (1, 0, 1), AT_ONCE_FROM).pattern == "c0c"


def test_others_are_general():
    for _ in range(3):
        assert flat_variant(stage(3), (1, 0, 1), SPECIALISE_FROM - 1) is GENERAL
        assert flat_variant(stage(3), (1, 1, 1), AT_ONCE_FROM) is GENERAL
        assert flat_variant(stage(3), (1, 7, 1), AT_ONCE_FROM) is GENERAL


def scatter(value):
    """Rows that add elements, or what `value` makes of them, where an index says; a check."""
    element, index = ir.load(0, float32), ir.load(1, int64)
    bad = index < 0
    buffers = (ir.Buffer(float32, False, True), ir.Buffer(int64, False, True),
               ir.Buffer(float32, True), ir.Buffer(int64, True))
    return ir.Stage("rows", buffers, (), (
        ir.Store(2, element, index, None, "sum"), ir.Store(3, value(element, index), None, bad)))


def test_a_check_of_indices_leaves_columns_side_by_side():
    sizes, steps = (64,), ((1,), (0,), (1,), (0,))
    same = scatter(lambda element, index: index)
    assert row_variant(same, (True, True, False, False), (64, 1, 0, 0), sizes, steps).columns


def test_columns_that_would_say_different_things_in_one_place_go_one_by_one():
    sizes, steps = (64,), ((1,), (0,), (1,), (0,))
    own = scatter(lambda element, index: ir.cast(element, int64))
    assert row_variant(own, (True, True, False, False), (64, 1, 0, 0), sizes, steps) is GENERAL
