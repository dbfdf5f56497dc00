"""How many partial results a fold keeps."""

from yesca.core.dtypes import float32
from yesca.loops import scalar
from yesca.loops.folds import LANES, WIDE
from yesca.loops.ir import Buffer, Stage, Store, fold, fold_kind, fold_lanes, load, walk
from yesca.passes.widths import widths

X = load(0, float32)


def stage(value):
    return Stage("rows", (Buffer(float32), Buffer(float32, True, False)), (), (Store(1, value),))


def decided(value):
    return {fold_kind(n): fold_lanes(n) for n in walk(*widths(stage(value)).roots())
            if n.op == "fold"}


def test_cheap_values_are_folded_wide():
    assert decided(fold("sum", X * X)) == {"sum": WIDE}
    assert decided(fold("sum", scalar.exp(X))) == {"sum": LANES}


def test_each_level_has_a_width_of_its_own():
    assert decided(fold("sum", scalar.exp(X - fold("max", X)))) == {"max": WIDE, "sum": LANES}


def test_what_is_decided_stays():
    once = widths(stage(fold("sum", scalar.exp(X), lanes=WIDE)))
    assert decided(fold("sum", scalar.exp(X), lanes=WIDE)) == {"sum": WIDE}
    assert widths(once) == once
