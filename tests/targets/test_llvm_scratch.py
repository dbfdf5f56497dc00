"""Values kept on the stack between the passes over a row."""

import numpy as np

from yesca.core.dtypes import float32
from yesca.loops import scalar
from yesca.loops.ir import Buffer, Stage, Store, fold, load
from yesca.passes.pipeline import lower
from yesca.runtime import kernels, threads
from yesca.targets.llvm import GENERAL, Variant, emit_stage

KEPT = Variant(kept=True)


def softmax():
    x = load(0, float32)
    value = scalar.exp(x)
    return Stage("rows", (Buffer(float32), Buffer(float32, True)), (),
                 (Store(1, value / fold("sum", value)),))


def cheap():
    x = load(0, float32)
    return Stage("rows", (Buffer(float32), Buffer(float32, True)), (),
                 (Store(1, x / fold("sum", x)),))


def lines(stage, variant):
    return emit_stage(lower(stage), "k", variant)[0].splitlines()


def test_what_is_dear_is_made_once():
    kept, made_twice = lines(softmax(), KEPT), lines(softmax(), GENERAL)
    assert sum("align 64" in line for line in kept) == 1
    assert len(kept) < 0.75 * len(made_twice)


def test_what_is_cheap_is_read_again():
    assert lines(cheap(), KEPT) == lines(cheap(), GENERAL)


def test_both_give_the_same_bits():
    for size in (1, 15, 16, 17, 63, 64, 65, 200):
        x = np.sin(np.arange(3 * size, dtype=np.float32)).reshape(3, size)
        results = []
        for variant in (KEPT, GENERAL):
            out = np.zeros_like(x)
            words = np.array([x.ctypes.data, out.ctypes.data, size, 4, 4, 1, 3,
                              4 * size, 4 * size], np.int64)
            threads.launch(kernels.address(softmax(), variant), words.ctypes.data, 3, 3)
            results.append(out)
        assert (results[0] == results[1]).all()
        np.testing.assert_allclose(results[0], np.exp(x) / np.exp(x).sum(1, keepdims=True), 1e-5)
