"""After `expand` only primitive operations are left, and few of them where speed counts."""

import pytest
from elementwise import stage_of
from yesca.core.dtypes import float32, float64, int32
from yesca.loops import ir
from yesca.passes.expand_math import bodies, expand

#: Operations (without bit casts) of float32 functions that models spend their time in.
BUDGET = {"exp": 21, "tanh": 25, "erf": 29, "log": 31, "sin": 40, "cos": 39}


def expanded(name, dtype):
    count = ir.OPERATIONS[name][0]
    loads = [ir.load(k, dtype) for k in range(count)]
    return expand(stage_of(ir.operate(name, *loads), inputs=[dtype] * count))


@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("name", sorted(bodies()))
def test_only_primitive_operations_are_left(name, dtype):
    left = {node.op for node in ir.walk(*expanded(name, dtype).roots())}
    assert not left & set(bodies())
    assert left <= set(ir.OPERATIONS) | {"load", "const"}
    assert not left & {"idiv", "irem", "fold", "scan"}


@pytest.mark.parametrize("name", BUDGET)
def test_number_of_operations(name):
    nodes = ir.walk(*expanded(name, float32).roots())
    assert sum(n.op not in ("load", "const", "bitcast") for n in nodes) <= BUDGET[name]


def test_every_elementary_function_has_a_body():
    primitive = set("""add sub mul div idiv irem neg abs fma sqrt floor ceil trunc round minimum
        maximum copysign and or xor not shl shr lt le gt ge eq ne where cast bitcast""".split())
    assert set(ir.OPERATIONS) - primitive == set(bodies())


def test_integers():
    for name, left in (("pow", "mul"), ("fmod", "irem")):
        ops = {node.op for node in ir.walk(*expanded(name, int32).roots())}
        assert left in ops and not ops & set(bodies())


def test_other_expressions_are_kept():
    x = ir.load(0, float32)
    stage = stage_of(ir.fold("sum", x * x), inputs=[float32])
    assert expand(stage) == stage
