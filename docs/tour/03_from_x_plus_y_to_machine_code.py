"""Tour, 3: from `x + y` to machine code.

What an operator computes is written once, as a Python function over expressions. Run with
expressions for arguments it gives a *stage*, a small program over "every point"; the compiler turns
the stage into LLVM text, and LLVM turns that into the code that `x + y` calls.
"""

import re

import numpy as np

import yesca as torch
from yesca.core.dtypes import float32
from yesca.loops.interpret import evaluate
from yesca.loops.ir import Buffer, Stage, Store, load
from yesca.loops.printer import describe
from yesca.loops.scalar import exp
from yesca.passes.pipeline import lower
from yesca.runtime import kernels
from yesca.targets.llvm import emit_module

# --- a body, run by hand --------------------------------------------------------------------------


def logistic(x):
    """Looks like mathematics on numbers; `x` is an expression."""
    return 1.0 / (1.0 + exp(-x))


x, out = Buffer(float32), Buffer(float32, output=True)
stage = Stage("flat", (x, out), (), (Store(1, logistic(load(0, float32))),))
print(describe(stage))
#> flat stage
#>   b0: in float32
#>   b1: out float32
#>   t0 = 1.0  # float32
#>   t1 = load b0  # float32
#>   t2 = neg(t1)  # float32
#>   t3 = exp(t2)  # float32
#>   t4 = t0 + t3  # float32
#>   t5 = t0 / t4  # float32
#>   b1 = t5

# A stage knows no sizes and no machine. The interpreter runs it with NumPy: slow, and obvious.
# Whatever the compiler makes of a stage must compute the same, and the tests compare the two.
(values,) = evaluate(stage, [np.float32([-1, 0, 1]), np.zeros(3, np.float32)], [])
print(np.allclose(values, [0.268941, 0.5, 0.731059]))
#> True

# --- the stage of x + y ---------------------------------------------------------------------------

a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 30.0])
before = kernels.count()
c = a + b
stage, variant = kernels.loaded()[before]

# `add` is `self + alpha * other` in PyTorch. Alpha is a number given at run time, so that another
# alpha, or another shape, needs no other kernel.
print(describe(stage))
#> flat stage
#>   b0: in float32
#>   b1: in float32
#>   b2: out float32
#>   argument0: float32
#>   t0 = load b1  # float32
#>   t1 = argument0  # float32
#>   t2 = load b0  # float32
#>   t3 = fma(t0, t1, t2)  # float32
#>   b2 = t3

# --- LLVM text ------------------------------------------------------------------------------------

# Passes first put the stage into simple terms (`exp` becomes a polynomial, for instance), then the
# target writes the loops around it. Points `lo` to `hi` are this call's share: a large tensor is
# handed out in pieces to several threads. `%w` has the addresses, sizes and strides.
text = emit_module([(lower(stage), "add", variant)])
head = text[:text.index("\nentry:")].splitlines()
print(*head, sep="\n")
#> declare float @llvm.fma.f32(float, float, float)
#> define void @add(ptr %w, i64 %lo, i64 %hi) #0 {


def innermost(text):
    """The loop for contiguous operands, its values numbered from 1."""
    lines = text[:text.index("call float @llvm.fma")].splitlines()
    start = max(k for k, line in enumerate(lines) if line.startswith("body"))
    block = text.splitlines()[start + 1:]
    block = block[:next(k for k, line in enumerate(block) if line.startswith("  br "))]
    names = {}
    for line in block:
        line = re.sub(r", align.*", "", line)
        yield re.sub(r"%[a-z]\d+", lambda m: names.setdefault(m[0], f"%{len(names) + 1}"), line)


print(*innermost(text), sep="\n")
#>   %1 = add i64 %2, %3
#>   %4 = getelementptr float, ptr %5, i64 %2
#>   %6 = load float, ptr %4
#>   %7 = getelementptr float, ptr %8, i64 %2
#>   %9 = load float, ptr %7
#>   %10 = call float @llvm.fma.f32(float %6, float %11, float %9)
#>   %12 = getelementptr float, ptr %13, i64 %2
#>   store float %10, ptr %12
#>   %14 = add nsw i64 %2, 1
#>   store i64 %14, ptr %15

# LLVM makes vector instructions of that loop, for the processor at hand; the result is kept on disk
# (`python -m yesca cache`), so that the next run of a program compiles nothing.
print(c)
#> tensor([11., 22., 33.])

# --- one kernel, whatever the shape ---------------------------------------------------------------

before = kernels.count()
for shape in ((3,), (2, 3), (4, 1, 3)):
    for _ in range(3):
        (torch.ones(shape) + b).add(b, alpha=0.5)
print(kernels.count() - before, "more: the one that `torch.ones` fills with")
#> 1 more: the one that `torch.ones` fills with
