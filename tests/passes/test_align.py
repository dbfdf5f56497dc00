"""Common dimensions of two nests."""

from yesca.core.dtypes import float32
from yesca.loops.ir import Buffer, Stage, Store, fold, load, operate
from yesca.loops.nests import Nest, Operand, Place
from yesca.passes.align import alignments, in_order


def nest(kind, sizes, inputs, output, value=None):
    """A stage over inputs, (memory, strides) each; it stores the sum of all that it reads."""
    loads = [load(k, float32) for k in range(len(inputs))]
    made = loads[0]
    for other in loads[1:]:
        made = operate("add", made, other)
    if kind == "rows" and value == "fold":
        made = fold("sum", made)
    buffers = tuple(Buffer(float32, False) for _ in inputs)
    buffers += (Buffer(float32, True, value != "fold"),)
    stage = Stage(kind, buffers, (), (Store(len(inputs), made),))
    return Nest(stage, sizes, tuple(Operand(Place(m), s) for m, s in (*inputs, output)), ())


def first(a, b):
    return next(iter(alignments(a, b)), None)


def test_joined_dimensions_are_split_where_the_other_nest_has_two():
    a = nest("flat", (24,), [(0, (4,))], (1, (4,)))
    b = nest("flat", (6, 4), [(1, (4, 24)), (2, (4, 0))], (3, (4, 24)))
    one, other = first(a, b)
    assert one.sizes == other.sizes == (6, 4)
    assert one.operands[0].strides == (4, 24)


def test_the_order_of_dimensions_follows_the_memory_in_common():
    a = nest("flat", (5, 3), [(0, (12, 4))], (1, (4, 20)))
    b = nest("flat", (3, 5), [(1, (20, 4))], (2, (4, 12)))
    one, other = first(a, b)
    assert one.operands[1].strides == other.operands[0].strides
    assert other.operands[1].strides == (12, 4)


def test_an_inner_axis_stays_whole():
    rows = nest("rows", (6, 4), [(1, (4, 24))], (2, (0, 4)), "fold")
    one, other = first(nest("flat", (24,), [(0, (4,))], (1, (4,))), rows)
    assert one.sizes == other.sizes == (6, 4)
    assert first(nest("flat", (4, 6), [(0, (4, 16))], (1, (24, 4))), rows).__class__ is tuple
    across = nest("rows", (4, 6), [(1, (24, 4))], (3, (0, 4)), "fold")
    assert first(rows, across) is None


def test_one_point_a_row():
    rows = nest("rows", (6, 4), [(0, (4, 24))], (1, (0, 4)), "fold")
    each = nest("flat", (4,), [(1, (4,))], (2, (4,)))
    one, other = first(rows, each)
    assert one.sizes == other.sizes == (6, 4)
    assert other.operands[1].strides == (0, 4)


def test_nests_that_share_nothing_are_left_apart():
    a = nest("flat", (24,), [(0, (4,))], (1, (4,)))
    b = nest("flat", (24,), [(2, (4,))], (3, (4,)))
    assert first(a, b) is None
    assert first(a, nest("flat", (12,), [(1, (4,))], (3, (4,)))) is None


def test_the_order_of_a_walk():
    whole = nest("flat", (24,), [(0, (4,))], (1, (4,)))
    assert in_order(whole, 0, (6, 4), (4, 24))
    assert in_order(whole, 0, (6, 1, 2, 2), (4, 24, 24, 48))
    assert not in_order(whole, 0, (4, 6), (24, 4))  # the same points, columns first
    assert not in_order(whole, 0, (6, 2), (4, 24))
    turned = nest("flat", (4, 6), [(0, (24, 4))], (1, (4, 16)))
    assert in_order(turned, 0, (4, 6), (24, 4)) and in_order(turned, 1, (6, 4), (16, 4)) is False
    assert not in_order(turned, 0, (6, 4), (4, 24))


def test_rows_in_the_order_of_a_walk():
    rows = nest("rows", (6, 4), [(0, (4, 24))], (1, (0, 4)), "fold")
    assert in_order(rows, 0, (6, 4), (4, 24)) and in_order(rows, 0, (24,), (4,))
    across = nest("rows", (4, 6), [(0, (24, 4))], (1, (0, 4)), "fold")
    assert not in_order(across, 0, (6, 4), (4, 24))
