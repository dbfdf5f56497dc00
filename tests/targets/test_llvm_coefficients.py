"""The constants of long polynomials are put where loops read them as plain operands."""

import re

import numpy as np

from yesca.core.dtypes import float32
from yesca.loops import scalar
from yesca.loops.ir import Buffer, Expr, Stage, Store, const, load
from yesca.passes.pipeline import lower
from yesca.runtime import kernels, threads
from yesca.runtime.compiler import Compiler
from yesca.targets.llvm import GENERAL, REGISTERED, coefficients, emit_module, emit_stage

LONG = tuple(0.5 ** k + 2.0 for k in range(REGISTERED + 2))


def polynomial(factors: tuple[float, ...]) -> Stage:
    """A stage that is one polynomial by Horner's rule."""
    x = load(0, float32)
    value: Expr = const(factors[-1], float32)
    for factor in reversed(factors[:-1]):
        value = scalar.fma(value, x, factor)
    return Stage("flat", (Buffer(float32), Buffer(float32, True)), (), (Store(1, value),))


def test_many_are_parked_and_few_are_not():
    assert emit_stage(polynomial(LONG), "long")[0].count("load volatile float") == len(LONG)
    assert "volatile" not in emit_stage(polynomial(LONG[:REGISTERED]), "short")[0]


def test_what_simplifies_arithmetic_stays_in_sight():
    found = {node.attr for node in coefficients(polynomial((0.0, -1.0, float("inf"), 3.0, 5.0)))}
    assert found == {3.0, 5.0}


def test_the_loop_makes_none_anew():
    x = load(0, float32)
    stage = lower(Stage("flat", (Buffer(float32), Buffer(float32, True)), (),
                        (Store(1, scalar.ndtr(x)),)))
    compiler = Compiler("x86_64-unknown-linux-gnu", "x86-64-v3")
    module = compiler.parse(emit_module([(stage, "normal", GENERAL)]))
    compiler.optimise(module)
    blocks = re.split(r"\n\.LBB\w+:", compiler.assembly(module))
    turns = [b for b in blocks if len(re.findall(r"vfmadd\w+ps\s.*%ymm", b)) > 12]
    assert turns  # the loops over full vectors, and what stands before them is another block
    assert all(len(re.findall(r"\.LCPI|vbroadcastss", turn)) <= 3 for turn in turns)


def test_values_are_those_of_the_rule():
    address = kernels.address(polynomial(LONG), GENERAL, "polynomial")
    x = np.linspace(0, 2, 1003, dtype=np.float32)
    made = np.empty_like(x)
    words = np.array([x.ctypes.data, made.ctypes.data, len(x), 4, 4, 0], np.int64)
    threads.launch(address, words.ctypes.data, len(x), len(x))
    value = np.float64(LONG[-1])
    for factor in reversed(LONG[:-1]):
        value = value * x.astype(np.float64) + factor
    np.testing.assert_allclose(made, value, rtol=1e-6)
