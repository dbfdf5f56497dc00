"""Who compiles: yesca does, but for the side that shows its eager mode; PyTorch runs eagerly."""

import os

import torch

SIDE = os.environ.get("BENCHMARK_SIDE", "yesca" if "yesca" in torch.__file__ else "torch")


def compiled(function_or_module):
    """`torch.compile` of it on the side that is measured compiled, else itself."""
    return torch.compile(function_or_module) if SIDE == "yesca" else function_or_module
