"""Square float32 products with plain and transposed factors."""

import torch
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
torch.manual_seed(0)
result = {}
for size in (256, 1024, 2048):
    names = {"a": torch.randn(size, size), "b": torch.randn(size, size)}
    for layout, statement in (("NN", "a @ b"), ("NT", "a @ b.t()"), ("TN", "a.t() @ b")):
        result[f"{size} {layout}"] = seconds_per_call(statement, names, batches=8)
report(result)
