"""The tensor operators that most programs call, in three sizes, without and with a gradient.

`sweep.txt` has an operator a line: its name, the statement, and the leaf of the gradient if any.
"""

import math
import sys
from pathlib import Path

import torch
from timing import report, seconds_per_call, use_two_threads

SHAPES = {"16": (4, 4), "100 k": (400, 250), "4 M": (2000, 2000)}


def inputs(rows, columns):
    x = torch.randn(rows, columns)
    return {
        "torch": torch,
        "x": x,
        "y": torch.randn(rows, columns),
        "z": torch.zeros(rows, columns),
        "p": torch.rand(rows, columns) + 0.1,
        "v": torch.randn(columns),
        "w": torch.randn(columns, columns) / math.sqrt(columns),
        "m": x > 0,
        "i": torch.randint(columns, (rows, columns)),
        "k": torch.randint(9, (rows, columns)),
    }


use_two_threads()
torch.manual_seed(0)
lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
result = {}
for size in sys.argv[1:]:
    names = inputs(*SHAPES[size])
    for line in lines:
        operator, statement, leaf = map(str.strip, line.split("|"))
        timed = {"batch_seconds": 0.002, "batches": 6}
        result[f"{operator} {size}"] = seconds_per_call(statement, names, **timed)
        if leaf:
            wanted = {**names, leaf: names[leaf].detach().requires_grad_()}
            wanted["slope"] = torch.ones_like(eval(statement, wanted))
            result[f"{operator} {size}, backward"] = seconds_per_call(
                f"torch.autograd.grad({statement}, {leaf}, slope)", wanted, **timed
            )
report(result)
