"""Expressions over the coordinates of a block: what is a line, where a mask ends, what is left."""

import pytest

from yesca.core.dtypes import bool_, float32, int32, int64
from yesca.loops import ir
from yesca.loops.block_printer import describe
from yesca.loops.blocks import (
    FALSE, TRUE, Atomic, Branch, Fold, Keep, Let, Loop, Nest, Place, Product, Program, Scan, While,
    Write, axes_of, beyond, bounds, common_bound, coordinate, mapped, mapped_statement, number_of,
    resolved, roots_of, split, substitute, work,
)

I, J = coordinate(0, 8), coordinate(1, 16)
N = ir.argument(7, int32)


def test_coordinates():
    assert coordinate(2, 1).op == "const"
    assert axes_of(I + J * 2) == {0, 1} and axes_of(N) == frozenset()


@pytest.mark.parametrize(("expr", "number"), [
    (N * 3 + J, 1), (ir.cast(I * N + J * 2 - N, int64), 2), (-J, -1), (N, 0), (J - J, 0),
    (J * N, None), (N - J, -1),
])
def test_lines(expr, number):
    start, step = split(expr, 1)
    assert 1 not in axes_of(start) | axes_of(step)
    assert number_of(step) == number


@pytest.mark.parametrize("expr", [J * J, J & 3, ir.operate("irem", J, N),
                                  ir.cast(J, float32)])
def test_what_is_no_line(expr):
    assert split(expr, 1) is None
    assert split(expr, 0) is not None


def test_where_masks_end():
    ends = bounds((N * 4 + J < 100) & (I < 3) & (N > J), 1)
    assert [part for part, _ in ends] == [N * 4 + J < 100, N > J]
    (_, place), = bounds(J <= N, 1)
    assert place.op == "add"
    assert bounds(J * 2 < N, 1) == [] and bounds((J < N) | (I < N), 1) == []
    assert bounds((N < J) & J.eq(N), 1) == []


def loaded(mask, other):
    return ir.make("load", float32, (ir.cast(J, int64), mask, ir.const(other, float32)), (6, 0))


def test_what_is_left_beyond_a_mask():
    mask = J < N
    x = ir.operate("exp", loaded(mask & (I < 3), 2.0)) + 1.0
    assert beyond(x, mask) is ir.operate("exp", ir.const(2.0, float32)) + 1.0
    assert resolved(mask & (I < 3), mask, TRUE) is (I < 3)
    assert resolved(mask | (I < 3), mask, TRUE) is TRUE
    assert resolved(ir.operate("not", mask), mask, TRUE) is FALSE
    assert resolved(ir.operate("where", mask, x, x + 1.0), mask, FALSE).op == "add"


def test_nests_that_end_early():
    mask = J < N
    x = loaded(mask, 0.0)
    write = Write(6, float32, J, x, mask)
    assert common_bound(Nest((8, 16), (write,)))[0] is mask
    assert common_bound(Nest((8, 16), (Fold("sum", x, 1, 8), write)))[0] is mask
    assert common_bound(Nest((8, 16), (Fold("sum", x, 0, 8),))) is None
    assert common_bound(Nest((8, 16), (Fold("prod", x, 1, 8),))) is None
    assert common_bound(Nest((8, 16), (Write(6, float32, J, x, TRUE),))) is None
    place = Place(0, float32, (8, 16))
    assert common_bound(Nest((8, 16), (Keep(place, x),))) is None
    assert common_bound(Nest((8, 16), (Keep(place, x, full=False),)))[0] is mask
    # Where two masks differ neither ends the loop.
    assert common_bound(Nest((8, 16), (write, Fold("sum", loaded(J < 3, 0.0), 1, 8)))) is None


def test_work():
    assert work(N) == 0 and work(N + 1, N + 1) == 1
    assert work(ir.operate("exp", ir.argument(8, float32))) == 20


def statements():
    place, row = Place(0, float32, (8, 16)), Place(1, float32, (16,))
    x, one = loaded(J < N, 0.0), ir.const(1, int32)
    truth = N < 3
    effects = (Write(6, float32, J, x, truth), Keep(place, x), Fold("sum", x, 0, row))
    return (
        Let(8, N + 1), Nest((8, 16), effects), Product(place, place, row, row),
        Nest((8, 16), (Scan((x,), (9,), (10,), (x + 1.0,), 0, (place,), False, False),)),
        Loop(8, one, N, one, (Branch(truth, (Let(8, one),), ()),)),
        While((Let(8, N),), truth, (Nest((), (Atomic("add", 6, N, (one,), truth, 9),)),)),
    )


def test_printed():
    text = describe(Program("all", statements(), (int32,) * 11, 8, frozenset((6,)),
                            (Place(0, float32, (8, 16)),), False))
    assert text.splitlines() == [
        "program all", "  t0: float32[8, 16]", "  s8 = (s7 + 1)", "  each of [8, 16]",
        "    memory s6[i1] = memory s6[int64(i1)] where (i1 < s7) else 0.0 where (s7 < 3)",
        "    t0 = memory s6[int64(i1)] where (i1 < s7) else 0.0",
        "    t1 = sum over 0 of memory s6[int64(i1)] where (i1 < s7) else 0.0",
        "  t1 = t0 @ t0 + t1", "  each of [8, 16]",
        "    t0 = scan over 0 of memory s6[int64(i1)] where (i1 < s7) else 0.0: s9 = "
        "(memory s6[int64(i1)] where (i1 < s7) else 0.0 + 1.0)",
        "  for s8 in 1..s7 by 1", "    if (s7 < 3)", "      s8 = 1", "    else",
        "  while", "    s8 = s7", "    holds (s7 < 3)", "    each of []",
        "      s9 = atomic add memory s6[s7], 1 where (s7 < 3)",
    ]


def test_every_expression_is_replaced():
    other = ir.argument(3, int32)
    for statement in statements():
        made = mapped_statement(statement, lambda e: substitute(e, {N: other}))
        assert "s7" not in describe(Program("p", (made,), (), 8, frozenset(), (), False))
    effect = Keep(Place(0, bool_, (8,)), I < N)
    assert list(roots_of(mapped(effect, lambda e: TRUE))) == [TRUE]
