"""Small operators, where the cost is the call and not the arithmetic."""

import torch
from timing import report, seconds_per_call, use_two_threads
from torch.nn.functional import relu

use_two_threads()
torch.manual_seed(0)
names = {
    "a": torch.randn(4, 4),
    "b": torch.randn(4, 4),
    "g": torch.randn(4, 4, requires_grad=True),
    "i": torch.tensor([2, 0]),
    "x": torch.randn(8, 64),
    "linear": torch.nn.Linear(64, 64),
    "relu": relu,
}
cases = {
    "a + b": "a + b",
    "a * 2.0": "a * 2.0",
    "g + b": "g + b",
    "a @ b": "a @ b",
    "g @ b": "g @ b",
    "a.view(16)": "a.view(16)",
    "a[0]": "a[0]",
    "a[i]": "a[i]",
    "a.sum()": "a.sum()",
    "relu(g)": "relu(g)",
    "linear(x)": "linear(x)",
    "forward, backward": "((g * b + a).relu().sum()).backward()",
}
report({name: seconds_per_call(statement, names) for name, statement in cases.items()})
