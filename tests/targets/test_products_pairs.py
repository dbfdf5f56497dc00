"""Products of bfloat16 pairs, by tiles and by registers, against float64."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest
from product_kernels import (
    HOST, MACHINES, TARGETS, TRIPLE, array, half_bits, half_values, product,
)

from yesca.runtime.compiler import Compiler
from yesca.targets.products import pairs_pay, plan_product, product_kernel, product_target
from yesca.targets.products_text import ProductTarget

OWN = product_target(TRIPLE, HOST)
WAYS = {"tiles": OWN} if OWN.tiles else {}
if "+avx512bf16" in HOST:
    WAYS["registers"] = dataclasses.replace(OWN, pairs=True, tiles=False)
TARGETS.update(WAYS)
MACHINES.update(dict.fromkeys(WAYS, MACHINES["host"]))
needed = pytest.mark.skipif(not WAYS, reason="this CPU has no products of bfloat16 pairs")
SAPPHIRE = "+avx512f,+avx512vl,+avx512bw,+avx512dq,+fma,+avx512bf16,+amx-tile,+amx-bf16"
ZEN = SAPPHIRE.replace("+amx-tile,+amx-bf16", "+sse4a")
SIZES = [(16, 64, 32), (33, 40, 31), (100, 90, 70), (9, 200, 65), (200, 9, 64), (64, 64, 9),
         (31, 33, 129), (96, 32, 96), (70, 300, 33), (160, 65, 300)]


def room(m, n, gap, narrow):
    return np.full((2, m, n + gap), 0x4040 if narrow else 7.0, np.uint16 if narrow else np.float32)


def values(c):
    return half_values(c, "bfloat16") if c.dtype == np.uint16 else c


def tolerance(right, k, narrow):
    return (1e-5 + k * 1e-6) * (1 + np.abs(right)) + (np.abs(right) / 250 if narrow else 0)


@needed
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("way", ["tiles", "registers"])
def test_shapes_and_layouts(way, narrow):
    if way not in WAYS:
        pytest.skip(f"this CPU has no {way} for pairs")
    generator = np.random.default_rng(3)
    layouts = itertools.cycle(itertools.product(("rows", "columns", "gaps", "repeated"), repeat=2))
    for (m, n, k), batches in itertools.product(SIZES, [(2, 2), (1, 2), (2, 1)]):
        for left, right_layout in itertools.islice(layouts, 3):
            a = half_bits(array(generator, batches[0], m, k, left, "float32"), "bfloat16")
            b = half_bits(array(generator, batches[1], k, n, right_layout, "float32"), "bfloat16")
            whole = room(m, n, 3, narrow)
            c = whole[:, :, :n]
            plan = product(a, b, c, dtype="bfloat16", machine=way, narrow=narrow)
            assert [stage.kernel for stage in plan.stages] == ["pairs_pack", "pairs"]
            exact = (half_values(a, "bfloat16").astype(np.float64)
                     @ half_values(b, "bfloat16").astype(np.float64))
            exact = np.broadcast_to(exact, c.shape)
            wrong = np.abs(values(c) - exact) > tolerance(exact, k, narrow)
            assert not wrong.any(), (m, n, k, batches, left, right_layout, wrong.sum())
            assert (whole[:, :, n:] == room(1, 1, 0, narrow)[0, 0, 0]).all()


@needed
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_added_and_scaled(way, narrow):
    generator = np.random.default_rng(4)
    m, n, k = 70, 45, 64
    a = half_bits(generator.standard_normal((2, m, k)), "bfloat16")
    b = half_bits(generator.standard_normal((2, k, n)), "bfloat16")
    exact = half_values(a, "bfloat16").astype(np.float64) @ half_values(b, "bfloat16")
    for initial in (generator.standard_normal(n), generator.standard_normal((2, m, n))):
        initial = initial.astype(np.float32)
        for alpha, beta, activation in [(1, 1, "none"), (-0.5, 2, "relu"), (2, 0, "none")]:
            c = room(m, n, 0, narrow)
            product(a, b, c, initial, dtype="bfloat16", machine=way, narrow=narrow, alpha=alpha,
                    beta=beta, activation=activation)
            right = alpha * exact + beta * initial
            right = np.maximum(right, 0) if activation == "relu" else right
            assert (np.abs(values(c) - right) <= 2 * tolerance(right, k, narrow)).all()


@needed
@pytest.mark.parametrize("way", WAYS)
def test_units_in_any_pieces_give_the_same_bits(way):
    generator = np.random.default_rng(5)
    a = half_bits(generator.standard_normal((3, 130, 100)), "bfloat16")
    b = half_bits(generator.standard_normal((3, 100, 140)), "bfloat16")
    whole, pieces = np.empty((2, 3, 130, 140), np.float32)

    def by_ones(function, words, units):
        for unit in reversed(range(units)):
            function(words, unit, unit + 1)

    product(a, b, whole, dtype="bfloat16", machine=way)
    product(a, b, pieces, dtype="bfloat16", machine=way, run=by_ones)
    assert (whole == pieces).all()


@needed
@pytest.mark.parametrize("way", WAYS)
def test_infinity_and_nan_stay_in_their_row_and_column(way):
    a, b = np.ones((2, 1, 40, 70), np.float32)
    b = b.transpose(0, 2, 1).copy()
    a[0, 3, 69], b[0, 5, 7] = np.inf, np.nan
    c = np.zeros((1, 40, 40), np.float32)
    product(half_bits(a, "bfloat16"), half_bits(b, "bfloat16"), c, dtype="bfloat16", machine=way)
    assert np.isinf(c[0, 3]).sum() == 39 and np.isnan(c[0, :, 7]).all()
    left = np.delete(np.delete(c[0], 3, 0), 7, 1)
    assert (left == 70).all()


def test_only_products_that_pay():
    target = product_target("x86_64-unknown-linux-gnu", SAPPHIRE)
    assert target.pairs and target.tiles
    assert pairs_pay("bfloat16", 64, 64, 64, target)
    assert not pairs_pay("bfloat16", 1, 4096, 4096, target)
    assert not pairs_pay("bfloat16", 16, 16, 16, target)
    assert not pairs_pay("float16", 64, 64, 64, target)
    other = product_target("x86_64-unknown-linux-gnu", ZEN)
    assert other.pairs and not other.tiles
    slow = product_target("x86_64-unknown-linux-gnu", ZEN.replace(",+sse4a", ""))
    assert not slow.pairs
    plain = ProductTarget(64, 32, fma=True, masked=True, mask_registers=True, half=True)
    assert not pairs_pay("bfloat16", 64, 64, 64, plain)


def test_rows_that_lie_along_k_are_read_in_place():
    target = product_target("x86_64-unknown-linux-gnu", SAPPHIRE)
    plan = functools.partial(plan_product, "bfloat16", 1, n=64, a_strides=(0, 512, 2),
                             b_strides=(0, 128, 2), c_strides=(0, 256), target=target)
    packed = {m: plan(m=m, k=256).scratch_bytes for m in (64, 70)}
    assert packed[64] < 2 * 256 * 64 + 256 < packed[70] < 2 * 256 * 96 + 512
    assert plan(m=64, k=255).scratch_bytes > 2 * 256 * 128


@pytest.mark.parametrize("features", [SAPPHIRE, ZEN])
@pytest.mark.parametrize("kind", ["pairs_pack", "pairs"])
def test_kernels_compile_anywhere(kind, features):
    triple = "x86_64-unknown-linux-gnu"
    text = product_kernel(kind, "bfloat16", product_target(triple, features), "entry")
    compiler = Compiler(triple, "x86-64-v4", features)
    module = compiler.parse(text)
    compiler.optimise(module)
    assembly = compiler.assembly(module)
    if kind == "pairs":
        tiles = "amx-tile" in features
        assert ("tdpbf16ps" in assembly) == tiles and ("vdpbf16ps" in assembly) != tiles


