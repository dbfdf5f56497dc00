"""The counter: bytes and operations of a stage, counted by hand."""

from yesca.core.dtypes import float16, float32, float64, int64
from yesca.loops import ir
from yesca.loops.cost import Cost, cost
from yesca.loops.ir import Buffer, Stage, Store

IN, OUT = Buffer(float32), Buffer(float32, output=True)
x, y = ir.load(0, float32), ir.load(1, float32)


def test_flat():
    stage = Stage("flat", (IN, IN, OUT), (), (Store(2, ir.operate("fma", x, y, x)),))
    assert cost(stage, 100) == Cost(800, 400, 200)
    assert cost(stage, 100, elements=(100, 1, 100)) == Cost(404, 400, 200)


def test_what_is_the_same_everywhere_is_free():
    rate = ir.argument(0, float32)
    stage = Stage("flat", (IN, OUT), (float32,), (Store(1, x * (rate * rate + 1.0)),))
    assert cost(stage, 10).flops == 10


def test_moves_and_comparisons_are_no_arithmetic():
    value = ir.operate("where", x < 0.0, -x, x)
    stage = Stage("flat", (IN, OUT), (), (Store(1, value),))
    assert cost(stage, 10) == Cost(40, 40, 0)
    whole = Stage("flat", (Buffer(int64), Buffer(int64, True)), (),
                  (Store(1, ir.load(0, int64) + 1),))
    assert cost(whole, 10) == Cost(80, 80, 0)


def test_rows():
    """exp(x - max), its sum, the quotient: softmax of 5 rows of 8."""
    shifted = ir.operate("exp", x - ir.fold("max", x))
    stage = Stage("rows", (IN, OUT), (), (Store(1, shifted / ir.fold("sum", shifted)),))
    assert cost(stage, 5, 8) == Cost(160, 160, 5 * 40)


def test_one_value_a_row():
    mean = ir.fold("sum", x) * 0.125
    stage = Stage("rows", (IN, Buffer(float32, True, inner=False)), (), (Store(1, mean),))
    assert cost(stage, 5, 8) == Cost(160, 20, 40 + 5)


def test_gathering_and_scattering():
    """Accesses at computed places are counted one by one."""
    place = ir.load(1, int64)
    buffers = (IN, Buffer(int64), OUT)
    gather = Stage("flat", buffers, (), (Store(2, ir.load(0, float32, place)),))
    assert cost(gather, 100, elements=(7, 100, 100)) == Cost(400 + 800, 400, 0)
    scatter = Stage("flat", buffers, (), (Store(2, x, place, accumulate="sum"),))
    assert cost(scatter, 100, elements=(100, 100, 7)) == Cost(400 + 800 + 400, 400, 100)


def test_costs_add_up_and_half_types_are_half():
    half = Stage("flat", (Buffer(float16), Buffer(float64, True)), (),
                 (Store(1, ir.cast(ir.load(0, float16), float64)),))
    assert cost(half, 10) + Cost(1, 2, 3) == Cost(21, 82, 3)
    assert cost(half, 10).nbytes == 100
