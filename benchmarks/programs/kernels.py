"""Softmax over rows: a kernel of the program's own on the side "yesca", the built-in elsewhere."""

import os

import torch
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
torch.manual_seed(0)


def own_softmax():
    """The kernel that a user writes: a row is a block, a program a row."""
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(out_ptr, x_ptr, columns, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        row = tl.program_id(0) * columns
        x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=-float("inf"))
        top = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row + offsets, top / tl.sum(top, axis=0), mask=offsets < columns)

    def softmax(x):
        out = torch.empty_like(x)
        rows, columns = x.shape
        kernel[(rows,)](out, x, columns, BLOCK=triton.next_power_of_2(columns))
        return out

    return softmax


def main():
    own = os.environ.get("BENCHMARK_SIDE") == "yesca"
    softmax = own_softmax() if own else lambda x: torch.softmax(x, -1)
    figures = {}
    for rows, columns in ((4096, 1024), (64, 50257)):
        names = {"softmax": softmax, "x": torch.randn(rows, columns)}
        figures[f"softmax {rows}x{columns}"] = seconds_per_call("softmax(x)", names,
                                                                batch_seconds=0.05)
    report(figures)


main()
