"""Programs over blocks, made faster: what is joined, and what is kept."""

from yesca.core.dtypes import bool_, float32, int32, int64
from yesca.loops import ir
from yesca.loops.block_printer import describe
from yesca.loops.blocks import (
    TRUE, Fold, Keep, Let, Loop, Nest, Place, Program, Write, coordinate,
)
from yesca.passes.block_programs import expanded, join_folds, prepare

N = ir.argument(7, int32)
HERE = coordinate(0, 64)


def loaded(mask=TRUE, other=0.0):
    return ir.make("load", float32, (ir.cast(HERE, int64), mask, ir.const(other, float32)), (6, 0))


def program(*statements):
    return Program("test", statements, (int32,) * 6 + (int64, int32) + (float32,) * 8, 8,
                   frozenset((6,)), (), False)


def fold(value, slot, kind="sum"):
    return Nest((64,), (Fold(kind, value, 0, slot),))


def test_independent_reductions_share_a_loop():
    x = loaded()
    made = join_folds([fold(x, 8), fold(x * x, 9, "max"), fold(x - ir.argument(8, float32), 10)])
    assert [len(nest.effects) for nest in made] == [2, 1]
    # Not over a number that the second one needs, nor over a store.
    needed = Let(11, ir.argument(8, float32) + 1.0)
    made = join_folds([fold(x, 8), needed, fold(x * ir.argument(11, float32), 9)])
    assert len(made) == 3
    store = Nest((64,), (Write(6, float32, HERE, x, TRUE),))
    assert len(join_folds([fold(x, 8), store, fold(x * x, 9)])) == 3
    other = Nest((32,), (Fold("sum", x, 0, 9),))
    assert len(join_folds([fold(x, 8), other])) == 2


def exponentials(mask):
    x = ir.operate("exp", loaded(mask, float("-inf")) - 1.0)
    store = Nest((64,), (Write(6, float32, HERE, x / ir.argument(8, float32), mask),))
    return prepare(program(fold(x, 8), store))


def test_dear_values_are_kept():
    mask = HERE < N
    made = exponentials(mask)
    first, second = made.statements
    kept = first.effects[1]
    assert isinstance(kept, Keep) and not kept.full and first.bound[0] is mask
    assert made.places == (Place(0, float32, (64,)),)
    # Beyond the mask nothing is stored: the later loop makes the value of the rest itself.
    assert "where((i0 < s7), t0[i0], exp((-inf - 1.0)))" in describe(made)
    assert second.effects[0].mask is mask


def test_values_are_kept_whole_where_no_mask_ends_them():
    made = exponentials(HERE.ne(3))
    kept = made.statements[0].effects[1]
    assert kept.full and "(t0[i0] / s8)" in describe(made)


def test_cheap_values_are_made_twice():
    x = loaded() + 1.0
    made = prepare(program(fold(x, 8), Nest((64,), (Write(6, float32, HERE, x, TRUE),))))
    assert made.places == ()


def test_loops_are_looked_into():
    x = ir.operate("exp", loaded())
    body = (fold(x, 8), Nest((64,), (Write(6, float32, HERE, x, TRUE),)))
    zero, one = ir.const(0, int32), ir.const(1, int32)
    made = prepare(program(Loop(8, zero, N, one, body)))
    assert len(made.places) == 1


def test_functions_become_arithmetic():
    made = expanded(exponentials(HERE < N))
    assert "exp(" not in describe(made)
    first = made.statements[0]
    assert first.bound[0].dtype is bool_
