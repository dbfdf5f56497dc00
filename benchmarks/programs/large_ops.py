"""Large operators, where the cost is the memory traffic or the arithmetic."""

import torch
from timing import report, seconds_per_call, use_two_threads
from torch.nn import functional as F

use_two_threads()
torch.manual_seed(0)
x, y = torch.randn(2048, 2048), torch.randn(2048, 2048)
names = {
    "torch": torch,
    "F": F,
    "x": x,
    "y": y,
    "mask": x > 0,
    "weight": torch.randn(2048),
    "bias": torch.randn(2048),
}
cases = {
    "x + y": "x + y",
    "exp": "x.exp()",
    "tanh": "x.tanh()",
    "gelu": "F.gelu(x)",
    "sum": "x.sum()",
    "sum(0)": "x.sum(0)",
    "softmax(-1)": "x.softmax(-1)",
    "layer_norm": "F.layer_norm(x, (2048,), weight, bias)",
    "x > y": "x > y",
    "where": "torch.where(mask, x, y)",
}
report(
    {name: seconds_per_call(statement, names, batches=20) for name, statement in cases.items()}
)
