"""Product kernels against NumPy: shapes, strides, dtypes, epilogues and machines."""

from __future__ import annotations

import random
import threading

import llvmlite.binding as llvm
import numpy as np
import pytest
from product_kernels import (
    HOST, MACHINES, TRIPLE, array, half_bits, half_values, product, stages,
)

from yesca.targets.products import plan_product, product_kernel, product_target
from yesca.targets.products_micro import TILE_WORDS


def expected(a, b, initial, alpha, beta, activation) -> np.ndarray:
    result = alpha * (a.astype(np.float64) @ b.astype(np.float64))
    if initial is not None and beta != 0:
        result = result + beta * initial.astype(np.float64)
    return np.maximum(result, 0) if activation == "relu" else result


SIZES = (1, 2, 3, 4, 5, 7, 8, 10, 13, 14, 15, 16, 17, 29, 31, 32, 33, 64, 65, 97)
LAYOUTS = ("rows", "columns", "rows", "columns", "gaps", "repeated")


def check_one(draw: random.Random, dtype: str, machine: str, sizes: tuple[int, int, int]) -> tuple:
    generator = np.random.default_rng(draw.randrange(1 << 30))
    m, n, k = sizes
    batch = draw.choice([1, 1, 2, 3])
    a = array(generator, draw.choice([1, batch]), m, k, draw.choice(LAYOUTS), dtype)
    b = array(generator, draw.choice([1, batch]), k, n, draw.choice(LAYOUTS), dtype)
    room = np.full((batch, m, n + draw.choice([0, 2])), 7.0, dtype)
    c = room[:, :, :n]
    kind = draw.choice(["none", "bias", "matrix", "result"])
    initial = None
    if kind == "bias":
        initial = generator.standard_normal(n).astype(dtype)
    elif kind == "matrix":
        initial = generator.standard_normal(c.shape).astype(dtype)
    elif kind == "result":
        c[:] = generator.standard_normal(c.shape)
        initial = c
    alpha, beta = draw.choice([1.0, -0.5]), draw.choice([1.0, 0.0, 0.25])
    activation = draw.choice(["none", "relu"])
    right = np.broadcast_to(expected(a, b, initial, alpha, beta, activation), c.shape)
    plan = product(
        a, b, c, initial, machine=machine, alpha=alpha, beta=beta, activation=activation
    )
    tolerance = (4 + k**0.5) * (5e-6 if dtype == "float32" else 1e-14)
    np.testing.assert_allclose(c, right, rtol=0, atol=tolerance, err_msg=f"{sizes} {plan.stages}")
    assert (room[:, :, n:] == 7).all(), "wrote past the columns of C"
    return tuple(stage.kernel for stage in plan.stages)


@pytest.mark.parametrize("machine", [name for name in MACHINES if "without" not in name])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shapes_and_layouts(dtype, machine):
    draw = random.Random(f"{dtype} {machine}")
    ways = set()
    for _ in range(120):
        sizes = draw.choice(SIZES), draw.choice(SIZES), draw.choice(SIZES)
        ways.add(check_one(draw, dtype, machine, sizes))
    for sizes in ((130, 300, 700), (300, 600, 40), (140, 10, 300), (20, 40, 1000), (40, 600, 70)):
        for _ in range(3):
            ways.add(check_one(draw, dtype, machine, sizes))
    ways.add(check_one(draw, dtype, machine, (900, 530, 600)))  # units pack A, K in two blocks
    for _ in range(12):
        ways.add(check_one(draw, dtype, machine, (draw.choice([1, 2]), 512, 60)))
    assert {"pack", "tile", "row", "dot", "dots"} <= {kernel for way in ways for kernel in way}


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (0, 0, 0)])
def test_nothing_to_do(sizes):
    m, n, k = sizes
    a, b, c = np.ones((2, m, k)), np.ones((2, k, n)), np.ones((2, m, n))
    plan = product(a, b, c)
    assert plan.stages == () and plan.scratch_bytes == 0 and plan.flops == 0


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("m,n", [(1, 1), (1, 5), (5, 1), (3, 5), (20, 40), (300, 600)])
def test_no_inner_steps_gives_what_is_added(m, n, machine):
    a, b = np.ones((1, m, 0), np.float32), np.ones((1, 0, n), np.float32)
    c = np.full((1, m, n), np.nan, np.float32)
    product(a, b, c, machine=machine)
    assert (c == 0).all()
    bias = np.arange(n, dtype=np.float32) - 2
    product(a, b, c, bias, machine=machine, beta=2.0, activation="relu")
    assert (c == np.maximum(2 * bias, 0)).all()


@pytest.mark.parametrize("m,n,k", [(1, 40, 20), (40, 1, 20), (3, 40, 20), (40, 40, 400)])
def test_nan_and_infinity_go_where_they_should(m, n, k):
    generator = np.random.default_rng(3)
    for layout in ("rows", "columns"):
        a = array(generator, 1, m, k, "rows", "float32")
        b = array(generator, 1, k, n, layout, "float32")
        a[0, m - 1, 2], b[0, 3, n - 1] = np.nan, np.inf
        c = np.empty((1, m, n), np.float32)
        product(a, b, c, activation="relu")
        with np.errstate(invalid="ignore"):
            right = a.astype(np.float64) @ b.astype(np.float64)
        right = np.where(right < 0, 0, right)
        np.testing.assert_allclose(c, right, rtol=1e-4, atol=1e-4)
        product(a, b, c, np.full_like(c, np.nan), beta=0.0)
        assert np.isnan(c).sum() == np.isnan(right).sum()


@pytest.mark.parametrize(
    "m,n,k",
    [(64, 256, 784), (300, 300, 900), (1, 500, 300), (16, 70, 500), (500, 1, 300), (70, 600, 90)],
)
def test_the_same_bits_however_units_are_split(m, n, k):
    generator = np.random.default_rng(4)
    a = array(generator, 2, m, k, "rows", "float32")
    b = array(generator, 2, k, n, "columns", "float32")

    def singly(function, words, units):
        for unit in reversed(range(units)):
            function(words, unit, unit + 1)

    def threads(function, words, units):
        cuts = [0, units // 3, units // 2, units]
        crew = [
            threading.Thread(target=function, args=(words, low, high))
            for low, high in zip(cuts, cuts[1:])
        ]
        for worker in crew:
            worker.start()
        for worker in crew:
            worker.join()

    results = []
    for run in (None, singly, threads):
        c = np.empty((2, m, n), np.float32)
        product(a, b, c, run=run)
        results.append(c)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_types_are_products_of_float32(dtype, machine):
    generator, draw = np.random.default_rng(5), random.Random(5)
    for m, n, k in [(1, 30, 50), (3, 4, 37), (20, 70, 33), (33, 17, 300), (70, 1, 20), (15, 9, 1)]:
        for _ in range(3):
            shapes = (2, m, k, draw.choice(LAYOUTS)), (2, k, n, draw.choice(LAYOUTS))
            a, b = (half_bits(array(generator, *shape, "float32"), dtype) for shape in shapes)
            c = np.full((2, m, n), np.nan, np.float32)
            product(a, b, c, dtype=dtype, machine=machine)
            right = half_values(a, dtype).astype(np.float64) @ half_values(b, dtype)
            np.testing.assert_allclose(c, right, rtol=0, atol=1e-5 * (2 + k**0.5))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_every_half_value_is_read_right(dtype, machine):
    bits = np.arange(1 << 16, dtype=np.uint16)
    right = half_values(bits, dtype)
    one = half_bits(np.ones((1, 9, 1)), dtype)
    row = np.empty((1, 9, 1 << 16), np.float32)
    product(one, bits.reshape(1, 1, -1), row, dtype=dtype, machine=machine)
    np.testing.assert_array_equal(row[0], np.broadcast_to(right, row[0].shape))
    column = np.empty((1, 1 << 16, 1), np.float32)
    product(bits.reshape(1, -1, 1), one[:, :1], column, dtype=dtype, machine=machine)
    np.testing.assert_array_equal(column.ravel(), right)


def check_pieces(dtype: str, machine: str, rows: int, steps: int, sizes: tuple[int, int, int]):
    """A product whose A lies in `rows` pieces, or B in `steps`, anywhere, perhaps overlapping."""
    generator = np.random.default_rng(3)
    m, n, k = sizes
    size = np.dtype(dtype).itemsize
    x = generator.standard_normal((m, k + 40)).astype(dtype)
    y = generator.standard_normal((k, n + 40)).astype(dtype)
    starts = [generator.integers(40, size=many).tolist() if many > 1 else [0]
              for many in (rows, steps)]  # fmt: skip
    a = np.concatenate([x[:, at:at + k] for at in starts[0]])
    b = np.concatenate([y[:, at:at + n] for at in starts[1]])
    if rows > 1:  # B's steps side by side, as a gradient of weights reads them
        b = y[:, :n].T.copy().T
        strides, given = ((0, *x.strides), (0, *b.strides)), (x, b)
    else:
        a = generator.standard_normal((m, k * steps)).astype(dtype)
        strides, given = ((0, *a.strides), (0, *y.strides)), (a, y)
    room = np.full((m * rows, n + 3), 7, dtype)
    plan = plan_product(dtype, 1, m * rows, n, k * steps, *strides, (0, room.strides[0]),
                        target=product_target(TRIPLE, MACHINES[machine][0]),
                        a_pieces=tuple(at * size for at in starts[0]),
                        b_pieces=tuple(at * size for at in starts[1]))  # fmt: skip
    addresses = {role: z.ctypes.data for role, z in zip("abc", (*given, room))}
    for function, words, units in stages(plan, addresses, machine):
        for unit in range(units):
            function(words, unit, unit + 1)
    np.testing.assert_allclose(room[:, :n], a.astype(np.float64) @ b.astype(np.float64), rtol=0,
                               atol=2e-3 if dtype == "float32" else 1e-10)
    assert (room[:, n:] == 7).all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operands_in_pieces(dtype, machine):
    for sizes in [(1, 1, 1), (1, 70, 1), (3, 33, 2), (5, 40, 3), (17, 300, 32), (32, 50, 500),
                  (90, 20, 700)]:  # fmt: skip
        check_pieces(dtype, machine, 9, 1, sizes)
        check_pieces(dtype, machine, 1, 9, sizes)


def test_plan_counts_and_depends_on_sizes_alone():
    target = product_target(TRIPLE, HOST)
    given = ("float32", 2, 3, 5, 7, (84, 28, 4), (140, 20, 4), (60, 20))
    plan = plan_product(*given, target=target)
    assert plan == plan_product(*given, target=target)
    assert plan.flops == 2 * 2 * 3 * 5 * 7 and plan.bytes_read == 2 * 4 * (21 + 35)
    assert plan.bytes_written == 2 * 4 * 15
    assert all(stage.grain <= stage.units for stage in plan.stages)
    scalars = {name: place for place, name in plan.stages[-1].scalars}
    assert plan.stages[-1].words[scalars["alpha"]] == 0x3F800000


WIDE, NARROW = "+avx512f,+avx512vl,+avx512bw,+avx512dq,+fma", "+avx2,+fma"


@pytest.mark.parametrize("features", [WIDE, NARROW])
@pytest.mark.parametrize("m,n,k,packed", [
    (256, 784, 64, 0),  # a gradient of weights: units pack A, B is read where it lies
    # B's rows are far apart and few units are high: both are packed once, or B by units
    (256, 784, 512, {WIDE: (256 + 784) * 512, NARROW: 256 * 512}),
    # B is packed, and A, its rows read from end to end, or its far columns by units
    (1024, 256, 1600, {WIDE: (1024 + 256) * 1600, NARROW: 256 * 1600}),
    (1024, 64, 1600, 64 * 1600),  # too narrow for packing A to pay
    (2048, 784, 1024, {WIDE: (2048 + 784) * 1024, NARROW: 784 * 1024}),
])  # fmt: skip
def test_packed_operands_take_no_more_memory_than_they_need(m, n, k, packed, features):
    packed = packed[features] if isinstance(packed, dict) else packed
    plan = plan_product("float32", 1, m, n, k, (0, 4, 4 * m), (0, 4 * n, 4), (0, 4 * n),
                        target=product_target("x86_64-unknown-linux-gnu", features))  # fmt: skip
    assert 4 * packed <= plan.scratch_bytes <= 4 * packed * 1.1


@pytest.mark.parametrize("dtype,size,high", [("float32", 4, 120), ("float64", 8, 60)])
@pytest.mark.parametrize("features", [WIDE, NARROW])
def test_units_that_pack_are_high_as_each_reads_all_of_b(features, dtype, size, high):
    target = product_target("x86_64-unknown-linux-gnu", features)
    n = 4096
    plan = plan_product(dtype, 1, n, n, n, (0, size * n, size), (0, size * n, size), (0, size * n),
                        target=target)  # fmt: skip
    words = dict(zip(TILE_WORDS, plan.stages[-1].words, strict=False))
    high = high if target.vector_registers == 16 else high * 7 // 10  # these have wider tiles
    assert words["a_packs"] and words["block_rows"] >= high
    panels = words["block_rows"] // target.tile(dtype)[0]
    assert panels * words["a_panel"] <= target.blocking.room_bytes


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("m,n,k", [
    (64, 256, 784), (200, 200, 64), (264, 100, 600), (130, 9, 575), (28, 40, 100), (130, 500, 700),
])
def test_few_rows_are_one_launch_in_which_units_pack_b(m, n, k, layout):
    generator = np.random.default_rng(7)
    a = array(generator, 2, m, k, "rows", "float32")
    b = array(generator, 2, k, n, layout, "float32")
    room = np.full((2, m, n + 3), 7, np.float32)
    c = room[:, :, :n]
    target = product_target(TRIPLE, HOST)
    plan = product(a, b, c)
    np.testing.assert_allclose(c, expected(a, b, None, 1, 0, "none"), rtol=0, atol=5e-4)
    assert (room[:, :, n:] == 7).all()
    full = target.blocking
    panels = full.upright_panels if 4 * k * n > 1 << 20 else full.spared_panels
    few = m <= panels * target.tile("float32")[0]
    if few and (layout == "columns" or n % 16 and not target.mask_registers):
        words = dict(zip(TILE_WORDS, plan.stages[0].words, strict=False))
        assert len(plan.stages) == 1 and words["b_packs"] and not plan.scratch_bytes


@pytest.mark.parametrize("m,n", [(1600, 256), (256, 1024), (700, 700)])
def test_the_last_units_are_a_small_part_of_the_work(m, n):
    plan = plan_product("float32", 1, m, n, 1600, (0, 6400, 4), (0, 4 * n, 4), (0, 4 * n),
                        target=product_target(TRIPLE, HOST))  # fmt: skip
    assert plan.stages[-1].units >= 20


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_few_rows_are_cut_by_the_bytes_of_the_matrix(rows):
    """A vector does little with what it reads: threads share out the reading."""
    def stage(columns, k):
        strides = (0, 4 * k, 4), (0, 4, 4 * k), (0, 4 * columns)
        plan = plan_product("float32", 1, rows, columns, k, *strides,
                            target=product_target(TRIPLE, HOST))
        return plan.stages[0]

    large, small = stage(256, 784), stage(10, 128)
    assert large.units >= 3 * large.grain
    assert small.units == 1


def test_a_batch_against_one_matrix_is_one_product():
    target = product_target(TRIPLE, HOST)
    plan = plan_product(
        "float32", 8, 30, 50, 40, (4800, 160, 4), (0, 200, 4), (6000, 200), target=target
    )
    alone = plan_product(
        "float32", 1, 240, 50, 40, (0, 160, 4), (0, 200, 4), (0, 200), target=target
    )
    assert [stage.units for stage in plan.stages] == [stage.units for stage in alone.stages]


@pytest.mark.parametrize("kind", ["pack", "tile", "row", "dot", "dots"])
def test_kernels_compile_for_aarch64(kind):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "aarch64-unknown-linux-gnu"
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip("this LLVM has no aarch64")
    setting = target.create_target_machine(opt=2, cpu="generic", features="+neon")
    for dtype in ("float32", "float64", *(["bfloat16", "float16"] if kind == "pack" else [])):
        text = product_kernel(kind, dtype, product_target(triple, "+neon"), "entry")
        module = llvm.parse_assembly(text)
        module.triple = triple
        module.verify()
        assembly = setting.emit_assembly(module)
        assert "entry:" in assembly
        assert not any(call in assembly for call in ("bl\tfma", "bl\t__"))


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("sizes", [(64, 784, 256), (50, 20, 36), (600, 256, 2030), (1, 300, 130),
                                   (200, 40, 1), (500, 3, 2500)], ids=str)
def test_units_write_the_blocks_that_a_stage_names(sizes, layout):
    m, k, n = sizes
    generator = np.random.default_rng(5)
    a = array(generator, 2, m, k, "rows", "float32")
    b = array(generator, 2, k, n, layout, "float32")
    c = np.empty((2, m, n), np.float32)
    written: list[np.ndarray] = []

    def singly(function, words, units):
        written.clear()
        for unit in range(units):
            c[:] = np.nan
            function(words, unit, unit + 1)
            written.append(~np.isnan(c))

    plan = product(a, b, c, run=singly)
    stage = plan.stages[-1]
    blocks = stage.blocks
    assert stage.pointers[0] == (0, "c") and blocks.strides in ((4 * m * n, 4 * n), (4 * m * n, 4))
    assert all(one.blocks is None for one in plan.stages[:-1])
    assert len(written) == 2 * blocks.row_blocks * blocks.column_blocks
    for unit, found in enumerate(written):
        block, column = divmod(unit, blocks.column_blocks)
        matrix, row = divmod(block, blocks.row_blocks)
        named = np.zeros((2, blocks.rows, blocks.columns), bool)
        top, left = row * blocks.block_rows, column * blocks.block_columns
        named[matrix, top:top + blocks.block_rows, left:left + blocks.block_columns] = True
        assert named.any() and (found == named.reshape(found.shape)).all()
