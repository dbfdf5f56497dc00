"""Three computations without gradients, each a function that sets one up and gives its call."""

import torch
from torch import nn
from torch.nn import functional as F


def expression():
    """Fourteen elementwise operators on four million floats."""
    x, y = torch.randn(4_000_000), torch.randn(4_000_000)

    def function(x, y):
        return ((x * y + x).tanh() * 0.5 + (y - x).sigmoid() * x - y * y).relu() + 1.0

    return function, (x, y)


def normalised():
    """A normalised sum on 4096 rows of 512."""
    norm = nn.LayerNorm(512)
    x, r = torch.randn(4096, 512), torch.randn(4096, 512)

    def function(x, r):
        return norm(F.gelu(x) + r)

    return function, (x, r)


def network():
    """784-256-128-10 on one row."""
    model = nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    return model.eval(), (torch.randn(1, 784),)


INFERENCE = {"elementwise": expression, "layer_norm(gelu + r)": normalised, "network": network}
