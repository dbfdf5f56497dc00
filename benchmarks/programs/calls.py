"""Everyday calls on small tensors: factories, views, writes, indexing, random numbers, bridges."""

from pathlib import Path

import numpy
import torch
from timing import report, seconds_per_call, use_two_threads
from torch.nn import functional

use_two_threads()
torch.manual_seed(0)
a = torch.randn(4, 4)
names = {
    "torch": torch, "F": functional, "a": a, "b": torch.randn(4, 4), "m": a > 0, "v": a[0].clone(),
    "g": torch.randn(4, 4, requires_grad=True), "k": torch.arange(16).reshape(4, 4),
    "c": torch.randn(2, 3, 4), "i": torch.tensor([2, 0]), "y": torch.tensor([0, 1, 2, 3]),
    "out": torch.empty(4, 4), "s": torch.tensor(3.0), "array": numpy.ones((4, 4), numpy.float32),
    "norm": torch.nn.LayerNorm(4), "embedding": torch.nn.Embedding(10, 4),
    "image": torch.randn(1, 3, 8, 8), "weight": torch.randn(4, 3, 3, 3),
}
statements = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
report({statement: seconds_per_call(statement, names) for statement in statements})
