"""What machine code product kernels become: instructions that would cost more than the arithmetic.

Times depend on what else runs; the code that LLVM makes for a named CPU does not.
"""

from __future__ import annotations

import functools
import re

import pytest

from yesca.runtime.compiler import Compiler, probed_features
from yesca.targets.products import product_kernel, product_target

TRIPLE = "x86_64-unknown-linux-gnu"


@functools.cache
def assembly(kind: str, dtype: str, cpu: str) -> str:
    compiler = Compiler(TRIPLE, cpu)
    target = product_target(TRIPLE, probed_features(compiler))
    module = compiler.parse(product_kernel(kind, dtype, target, "kernel"))
    compiler.optimise(module)
    return compiler.assembly(module)


def innermost_loop(text: str, function: str) -> list[str]:
    """The instructions of the longest loop without inner ones of a function."""
    body = re.search(rf"^{function}:\n(.*?)^\.Lfunc_end", text, re.M | re.S)[1]
    lines = [line.strip() for line in body.splitlines()]
    lines = [line for line in lines if line and line[0] not in "#" and line[:2] not in (".p", ".c")]
    found: list[str] = []
    start = 0
    for place, line in enumerate(lines):
        if line.startswith(".L"):
            start = place
        elif re.match(r"j\w+\s", line) and line.endswith(lines[start].partition(":")[0]):
            loop = lines[start + 1 : place + 1]
            found = max(found, loop, key=len)
    return found


@pytest.mark.parametrize("way", ["across", "along"])
@pytest.mark.parametrize("dtype,fma", [("float32", "vfmadd231ps"), ("float64", "vfmadd231pd")])
def test_a_full_micro_kernel_does_little_but_multiply_and_load(dtype, fma, way):
    """12 sums a step: their multiply-adds, 8 loads, and less than 4 others on average."""
    loop = innermost_loop(assembly("tile", dtype, "x86-64-v3"), f"kernel_6{way}")
    steps = sum(line.startswith(fma) for line in loop) / 12
    assert steps == 4
    assert len(loop) < (12 + 8 + 4) * steps
    assert not any("rsp" in line for line in loop), "a register is kept on the stack"


@pytest.mark.parametrize("kind", ["pack", "tile"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_masked_stores_where_masks_are_vectors(dtype, kind):
    """These CPUs take some of them apart into dozens of operations."""
    text = assembly(kind, dtype, "x86-64-v3")
    assert not re.search(r"vmaskmovp[sd]\s+%\w+, %\w+, [^%\n]*\(", text)


def test_floats_are_transposed_by_three_shuffles_a_vector():
    loop = innermost_loop(assembly("pack", "float32", "x86-64-v3"), "kernel_transpose")
    shuffles = [line for line in loop if re.match(r"v(unpck|shuf|perm|insert|blend)", line)]
    assert 16 <= len(shuffles) <= 24
