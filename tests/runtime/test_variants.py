"""Which kernel a layout gets."""

from yesca.core.dtypes import float32
from yesca.loops import ir
from yesca.runtime.variants import AT_ONCE_FROM, SPECIALISE_FROM, flat_variant
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
