"""Machine code of programs over blocks: addresses, long blocks, long chains, other machines."""

import pytest
from kernel_checks import run

import yesca as torch
from yesca.kernels import language as tl
from yesca.runtime.compiler import Compiler


@torch.kernel
def moved(x_ptr, index_ptr, out_ptr, n, step, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    gathered = tl.load(x_ptr + index, mask=mask & (index > 0), other=-1.0)
    tl.store(out_ptr + (n - 1 - offsets), gathered, mask=mask)
    tl.store(out_ptr + n + index * step, gathered * 2, mask=mask)
    same = tl.load(x_ptr + 3 + offsets * 0, mask=mask, other=0.0)
    tl.store(out_ptr + 2 * n + offsets, same, mask=(offsets % 3 == 0) & mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64,
                                   torch.uint8])
def test_gather_and_scatter(dtype):
    n = 21
    x, index = torch.arange(n).to(dtype), torch.randperm(n).to(torch.int32)
    if dtype is torch.uint8:
        index[index == 0] = 1  # -1 is no byte
    *_, out = run(moved, (1,), x, index, torch.zeros(3 * n, dtype=dtype), n, 1, BLOCK=32)
    values = torch.where(index > 0, x[index.long()], torch.tensor(-1, dtype=torch.int32).to(dtype))
    assert torch.equal(out[:n], values.flip(0))
    assert torch.equal(out[n:2 * n][index.long()], values * 2)
    assert out[2 * n:].tolist() == [3 * (k % 3 == 0) for k in range(n)]


def test_truth_values_in_memory():
    @torch.kernel
    def flip(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(out_ptr + offsets, ~x, mask=offsets < n)
        tl.store(out_ptr + n - 1 - offsets, ~x, mask=(offsets < n) & (offsets > 30))

    x = torch.arange(33) % 3 == 0
    _, out = run(flip, (1,), x, torch.zeros(33, dtype=torch.bool), 33, BLOCK=64)
    assert torch.equal(out[3:], ~x[3:]) and torch.equal(out[:2], ~x[31:].flip(0))


@torch.kernel
def exponentials(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.exp(tl.load(x_ptr + offsets, mask=offsets < n, other=0.25))
    tl.store(out_ptr + offsets, x / tl.sum(x, 0), mask=offsets < n)


@pytest.mark.parametrize("n", [0, 1, 16, 17, 64, 200_000])
def test_what_is_left_of_a_block_counts(n):
    """The masked-off rest of the block is a number in the sum, on the heap where it is long."""
    block = 1 << 18 if n > 64 else 64
    x = torch.randn(n) * 0.1
    _, out = run(exponentials, (1,), x, torch.zeros(n), n, BLOCK=block, close=1e-5)
    whole = x.double().exp().sum() + (block - n) * torch.tensor(0.25, dtype=torch.float64).exp()
    torch.testing.assert_close(out, (x.double().exp() / whole).float(), rtol=1e-4, atol=1e-9)


def test_blocks_on_the_heap_are_used_again_by_each_program():
    @torch.kernel
    def rows(x_ptr, n, BLOCK: tl.constexpr):
        places = x_ptr + tl.program_id(0) * n + tl.arange(0, BLOCK)
        x = tl.exp(tl.load(places))
        tl.store(places, x / tl.sum(x, 0))

    n = 1 << 19  # two megabytes
    x = torch.randn(3, n)
    expected = torch.softmax(x, 1)
    rows[(3,)](x, n, BLOCK=n)
    torch.testing.assert_close(x, expected, rtol=1e-4, atol=0)


def test_masks_of_several_parts():
    @torch.kernel
    def boxed(x_ptr, out_ptr, low, high, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        r, c = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
        mask = (r < rows) & (c >= low) & (c < high)
        x = tl.load(x_ptr + r * COLUMNS + c, mask=mask, other=1.0)
        total = tl.sum(x, 1)
        tl.store(out_ptr + r * COLUMNS + c, x / total[:, None], mask=mask)

    x = torch.rand(8, 64)
    _, out = run(boxed, (1,), x, torch.zeros(8, 64), 5, 50, 6, ROWS=8, COLUMNS=64, close=1e-6)
    filled = torch.ones(8, 64)
    filled[:6, 5:50] = x[:6, 5:50]
    expected = torch.zeros(8, 64)
    expected[:6, 5:50] = (filled / filled.sum(1, keepdim=True))[:6, 5:50]
    torch.testing.assert_close(out, expected)


def test_long_chains():
    @torch.kernel
    def chain(x_ptr):
        x = tl.load(x_ptr + tl.arange(0, 4))
        for _ in tl.static_range(2000):
            x = x * 0.5 + 1
        tl.store(x_ptr + tl.arange(0, 4), x)

    x = torch.zeros(4)
    chain[(1,)](x)
    assert x.tolist() == [2.0] * 4


@pytest.mark.parametrize(("triple", "cpu"), [
    ("x86_64-unknown-linux-gnu", "x86-64-v2"), ("x86_64-unknown-linux-gnu", "x86-64-v3"),
    ("aarch64-unknown-linux-gnu", "generic"),
])
def test_other_machines(triple, cpu):
    x, index = torch.zeros(16).half(), torch.zeros(16, dtype=torch.int32)
    for text in (moved.source(x, index, x, 16, 2, BLOCK=64),
                 exponentials.source(x.float(), x, 16, BLOCK=64)):
        compiler = Compiler(triple, cpu)
        module = compiler.parse(text)
        compiler.optimise(module)
        assert "kernel_" in compiler.assembly(module)
