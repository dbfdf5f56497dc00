"""The verifier: each rule refuses the stage that breaks it, and says what is wrong."""

import pytest

from yesca.core.dtypes import (
    bfloat16, bool_, complex64, float8_e5m2, float16, float32, float64, int32, int64, uint8,
)
from yesca.loops import ir
from yesca.loops.ir import Buffer, Stage, Store, make
from yesca.loops.verify import InvalidStage, verify
from yesca.passes.pipeline import lower

IN, OUT = Buffer(float32), Buffer(float32, output=True)
ROW = Buffer(float32, output=True, inner=False)
x = ir.load(0, float32)
place = ir.coord("point")


def flat(value, **options):
    return Stage("flat", (IN, OUT), (), (Store(1, value, **options),))


def rows(value, out=ROW, **options):
    return Stage("rows", (IN, out), (), (Store(1, value, **options),))


def into(dtype, value):
    return Stage("flat", (IN, Buffer(dtype, output=True)), (), (Store(1, value),))


GOOD = {
    "a flat stage": flat(ir.operate("exp", x) + 1.0),
    "a fold": rows(ir.fold("sum", x)),
    "a fold of a fold": rows(ir.fold("sum", x - ir.fold("max", x))),
    "a running value": rows(ir.scan("sum", x), OUT),
    "a guarded store of each point": rows(x, guard=x > 0.0),
    "a store elsewhere": flat(x, offset=place, accumulate="sum"),
    "an index": into(int64, place),
    "a number": Stage("flat", (IN, OUT), (float32,), (Store(1, x * ir.argument(0, float32)),)),
    "a table": Stage("table", (IN, OUT), (), (Store(1, x),)),
    "an integer power": into(int64, ir.operate("pow", place, place)),
}
BAD = {
    "an unknown kind": (Stage("round", (), (), ()), "unknown kind 'round'"),
    "a half argument": (Stage("flat", (), (float16,), ()), "float16 does not travel"),
    "an unknown operation": (flat(make("frob", float32, (x,))), "no such operation"),
    "a complex value": (flat(make("neg", complex64, (x,))), "pairs of real"),
    "one operand too few": (flat(make("add", float32, (x,))), "takes 2 operands"),
    "operands of two dtypes": (
        flat(make("add", float32, (x, ir.const(1, float64)))), "operands have one dtype"),
    "a result of another dtype": (flat(make("lt", float32, (x, x))), "gives bool"),
    "a condition that is none": (flat(make("where", float32, (x, x, x))), "condition is bool"),
    "a root of integers": (into(int64, make("sqrt", int64, (place,))), "not an operation of int64"),
    "bits of floats": (flat(make("xor", float32, (x, x))), "not an operation of float32"),
    "a bitcast of sizes": (into(int64, make("bitcast", int64, (x,))), "sizes differ"),
    "a constant of another type": (flat(make("const", float32, (), 1)), "Python float"),
    "an argument too many": (flat(ir.argument(0, float32)), "has 0 arguments"),
    "an argument as another": (
        Stage("flat", (IN, OUT), (float64,), (Store(1, ir.argument(0, float32)),)),
        "declares it as float64"),
    "an index without an axis": (into(int64, ir.coord("inner")), "no such index"),
    "an index that is no int64": (
        into(int32, make("coord", int32, (), "point")), "indices are int64"),
    "a buffer too many": (flat(ir.load(7, float32)), "has 2 buffers"),
    "a load as another dtype": (into(float64, ir.load(0, float64)), "buffer holds float32"),
    "an offset that is none": (flat(make("load", float32, (x,), 0)), "one int64"),
    "a load of what is written": (flat(ir.load(1, float32)), "does not read what it writes"),
    "a fold without an axis": (flat(ir.fold("sum", x)), "has no inner axis"),
    "an unknown fold": (rows(make("fold", float32, (x,), "median")), "one of sum"),
    "a place as a float": (rows(make("fold", float32, (x,), "argmax")), "gives int64"),
    "a fold of running values": (rows(ir.fold("max", ir.scan("sum", x))), "stage of its own"),
    "a store beyond the buffers": (
        Stage("flat", (IN,), (), (Store(4, x),)), r"\[store to b4\] the stage has 1"),
    "a store to an input": (Stage("flat", (IN,), (), (Store(0, x),)), "is an input"),
    "a store of another dtype": (into(float64, x), "value is float32, the buffer float64"),
    "a float offset": (flat(x, offset=x), "offset is float32, not int64"),
    "a guard of integers": (flat(x, guard=place), "guard is int64, not bool"),
    "an unknown accumulation": (flat(x, accumulate="mean"), "nothing accumulates by 'mean'"),
    "a sum of bytes": (Stage("flat", (Buffer(float8_e5m2), Buffer(float8_e5m2, output=True)), (), (
        Store(1, ir.load(0, float8_e5m2), accumulate="sum"),)), "too narrow to combine in"),
    "a fold of halves": (Stage("rows", (Buffer(bfloat16), Buffer(bfloat16, True, False)), (), (
        Store(1, ir.fold("sum", ir.load(0, bfloat16))),)), "too narrow to combine in"),
    "a table stored elsewhere": (
        Stage("table", (IN, OUT), (), (Store(1, x, ir.const(0, int64)),)), "pieces of a table"),
    "many values for one": (rows(x), "varies along the inner axis; fold it"),
    "complex memory": (
        Stage("flat", (Buffer(complex64),), (), ()), "two real buffers"),
    "an output left alone": (
        Stage("flat", (IN, OUT, OUT), (), (Store(1, x),)), r"\[b2\] an output that no store"),
    "one place written twice": (
        Stage("flat", (IN, OUT), (), (Store(1, x), Store(1, -x))), "only the last would stay"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_stages(name):
    verify(GOOD[name])
    verify(lower(GOOD[name]), lowered=True)


@pytest.mark.parametrize("name", BAD)
def test_bad_stages(name):
    stage, message = BAD[name]
    with pytest.raises(InvalidStage, match=message):
        verify(stage)


def test_no_function_is_left_after_lowering():
    stage = flat(ir.operate("exp", x))
    with pytest.raises(InvalidStage, match="left after lowering"):
        verify(stage, lowered=True)
    verify(into(bool_, ir.cast(x, bool_)), lowered=True)
    verify(into(uint8, ir.cast(x, uint8)), lowered=True)
