"""Block pointers and tensor descriptors: machine code, interpreter and slices agree."""

import pytest
from kernel_checks import run

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl


@torch.kernel
def copied(x_ptr, out_ptr, rows, columns, row_stride, column_stride, top, left,
           PADDING: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x_ptr, (rows, columns), (row_stride, column_stride), (0, left),
                               (BM, BN), (1, 0))
    source = tl.advance(source, (top, 0))
    target = tl.make_block_ptr(out_ptr, [BM, BN], [BN, 1], [0, 0], [BM, BN], order=[1, 0])
    tl.store(target, tl.load(source, boundary_check=(0, -1), padding_option=PADDING))


@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize(("top", "left"), [(0, 0), (5, 2), (-3, 6), (9, 9), (-20, 1)])
def test_blocks_that_leave_the_tensor(top, left, padding):
    x = torch.randn(7, 10).t()
    expected = torch.full((8, 4), 0.0 if padding == "zero" else float("nan"))
    for i in range(8):
        for j in range(4):
            if 0 <= i + top < 10 and 0 <= j + left < 7:
                expected[i, j] = x[i + top, j + left]
    _, out = run(copied, (1,), x, torch.zeros(8, 4), 10, 7, *x.stride(), top, left, padding,
                 BM=8, BN=4)
    torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)


@torch.kernel
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    top, left = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (top, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, left), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1)), total)
        a, b = tl.advance(a, (0, BK)), tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (top, left), (BM, BN), (1, 0))
    tl.store(c, total, boundary_check=(0, 1))
    if top + left == 0:
        tl.store(c_ptr + M * N, b.offsets[0])  # where the loop has left it


def test_loops_carry_block_pointers():
    a, b = torch.randn(20, 37), torch.randn(37, 50)
    *_, c = run(product, (2, 4), a, b, torch.zeros(1001), 20, 50, 37, BM=16, BN=16, BK=8,
                close=1e-4)
    torch.testing.assert_close(c[:-1].reshape(20, 50), a @ b, rtol=1e-4, atol=1e-4)
    assert c[-1] == 40


@torch.kernel
def wandering(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    place = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    total = tl.zeros((BLOCK,), tl.float32)
    turn = 0
    while turn < 5:
        for _ in tl.static_range(2):
            total += tl.load(place, boundary_check=(0,))
            place = tl.advance(place, [BLOCK // 2])
        turn += 1
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


def test_other_loops():
    x = torch.arange(30.0)
    _, out = run(wandering, (1,), x, torch.zeros(8), 30, BLOCK=8)
    padded = torch.cat([x, torch.zeros(50)])
    assert torch.equal(out, sum(padded[4 * k:4 * k + 8] for k in range(10)))


@torch.kernel
def chosen(x_ptr, out_ptr, n):
    place = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (4,), (0,))
    if n > 10:
        place = tl.advance(place, (3,))
    tl.store(out_ptr + tl.arange(0, 4), tl.load(place))


def test_branches():
    for n, first in ((8, 0), (12, 3)):
        x = torch.arange(float(n))
        assert run(chosen, (1,), x, torch.zeros(4), n)[1].tolist() == [
            first, first + 1, first + 2, first + 3]


@torch.kernel
def described(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BM, BN])
    for k in range(tl.cdiv(N, BN)):
        row, column = tl.program_id(0) * BM, k * BN
        target.store([row, column], source.load([row, column]) * 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_descriptors(dtype):
    x = (torch.randn(13, 21) * 9).to(dtype)
    _, out = run(described, (4,), x, torch.zeros(13, 21, dtype=dtype), 13, 21, BM=4, BN=8)
    assert torch.equal(out, x * 2)


@torch.kernel
def refused(x_ptr, n, KIND: tl.constexpr):
    place = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (4,), (0,))
    if KIND == "mask":
        tl.load(place, mask=tl.arange(0, 4) < n)
    elif KIND == "store mask":
        tl.store(place, 0.0, mask=tl.arange(0, 4) < n)
    elif KIND == "lengths":
        tl.make_block_ptr(x_ptr, (n, n), (1,), (0,), (4,), (0,))
    elif KIND == "offsets":
        tl.advance(place, (1, 2))
    elif KIND == "block":
        tl.make_block_ptr(x_ptr + tl.arange(0, 4), (n,), (1,), (0,), (4,), (0,))
    elif KIND == "power":
        tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (3,), (0,))
    elif KIND == "padding":
        tl.load(place, boundary_check=(0,), padding_option="one")
    elif KIND == "stride":
        tl.make_tensor_descriptor(x_ptr, [n], [2], [4])
    elif KIND == "pointers":
        tl.load(x_ptr + tl.arange(0, 4), boundary_check=(0,))
    elif KIND == "advance":
        tl.advance(x_ptr, (1,))
    else:
        for _ in range(n):
            place = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (4,), (0,))


@pytest.mark.parametrize(("kind", "words"), [
    ("mask", "cannot be specified for loading"), ("store mask", "cannot both be specified"),
    ("lengths", "same length"), ("offsets", "2 offsets for 1"), ("block", "Expected `base`"),
    ("power", "power of two"), ("padding", "Padding option one"), ("stride", "last dim must be 1"),
    ("pointers", "not supported for loading"), ("advance", "make_block_ptr gave"),
    ("loop", "Only its offsets may change"),
])
def test_refusals(kind, words):
    with pytest.raises(kernels.CompilationError, match=words):
        refused[(1,)](torch.ones(8), 8, kind)


def test_the_interpreter_sees_blocks_that_leave_the_tensor():
    @torch.kernel
    def unchecked(x_ptr, n):
        place = tl.make_block_ptr(x_ptr, (n,), (1,), (2,), (8,), (0,))
        tl.store(place, 1.0)

    with pytest.raises(IndexError, match="offset 8"):
        unchecked.interpret[(1,)](torch.ones(8), 8)
