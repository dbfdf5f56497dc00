"""Square products with plain and transposed factors, in float32 or the dtype that is named."""

import sys

import torch
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
torch.manual_seed(0)
result = {}
kind = sys.argv[1] if len(sys.argv) > 1 else "float32"
for size in (256, 1024, 2048):
    names = {name: torch.randn(size, size).to(getattr(torch, kind)) for name in "ab"}
    for layout, statement in (("NN", "a @ b"), ("NT", "a @ b.t()"), ("TN", "a.t() @ b")):
        result[f"{size} {layout}"] = seconds_per_call(statement, names, batches=8)
report(result)
