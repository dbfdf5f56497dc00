"""Two nests as one: what the joined stage computes, and what is refused."""

import numpy as np

from yesca.core.dtypes import float32
from yesca.loops import scalar
from yesca.loops.interpret import evaluate
from yesca.loops.ir import Buffer, Stage, Store, fold, load
from yesca.loops.nests import Nest, Operand, Place
from yesca.passes.fuse import fusions

X, Y = load(0, float32), load(1, float32)


def nest(value, inputs, output, sizes=(6, 4), kind="flat", guard=None, row=False):
    """One store of a value of loads; inputs and output are (memory, byte strides)."""
    buffers = (*(Buffer(float32) for _ in inputs), Buffer(float32, True, not row))
    stage = Stage(kind, buffers, (), (Store(len(inputs), value, None, guard),))
    return Nest(stage, sizes, tuple(Operand(Place(m), s) for m, s in (*inputs, output)), ())


def fused(a, b):
    return next(fusions(a, b), None)


DENSE = (4, 24)


def test_a_value_takes_the_place_of_its_load():
    first = nest(scalar.exp(X), [(0, DENSE)], (1, DENSE))
    second = nest(X * Y, [(1, DENSE), (2, DENSE)], (3, DENSE))
    made = fused(first, second)
    assert made is not None and [o.place.memory for o in made.operands] == [0, 1, 2, 3]
    assert {s.value for s in made.stage.stores} == {
        scalar.exp(X), scalar.exp(X) * load(2, float32)}


def test_a_fold_takes_in_what_it_folds():
    first = nest(X * 2.0, [(0, (4,))], (1, (4,)), (24,))
    second = nest(fold("sum", X), [(1, DENSE)], (2, (0, 4)), kind="rows", row=True)
    made = fused(first, second)
    assert made is not None and made.rows and made.sizes == (6, 4)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    out = evaluate(made.stage, [x, None, None])
    assert np.allclose(out[1].reshape(-1), 2 * x.sum(1))


def test_an_output_that_is_written_again_is_written_once():
    first = nest(X + 1.0, [(0, DENSE)], (1, DENSE))
    second = nest(X * 2.0, [(1, DENSE)], (1, DENSE))
    made = fused(first, second)
    assert made is not None and len(made.stage.stores) == 1
    assert made.stage.stores[0].value == (X + 1.0) * 2.0


def test_other_points_are_not_to_be_read():
    first = nest(X + 1.0, [(0, DENSE)], (1, DENSE))
    turned = nest(X * 2.0, [(1, (24, 4))], (2, DENSE), (4, 6))
    assert fused(first, turned) is not None  # the same points in another order
    shifted = nest(X * 2.0, [(1, (4, 0))], (2, DENSE))
    assert fused(first, shifted) is None


def test_guarded_values_are_not_handed_on():
    first = nest(X, [(0, DENSE)], (1, DENSE), guard=X > 0.0)
    assert fused(first, nest(X * 2.0, [(1, DENSE)], (2, DENSE))) is None
