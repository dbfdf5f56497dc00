"""The MNIST network's linear layers at batch 1: quantized, or as they are on the float32 side."""

import os
import warnings

import torch
from timing import report, seconds_per_call, use_two_threads
from torch import nn

SIZES = ((784, 256), (256, 128), (128, 10))

use_two_threads()
torch.manual_seed(0)
warnings.simplefilter("ignore")  # PyTorch warns of the end of its own quantisation
layers = nn.ModuleList(nn.Linear(*sizes) for sizes in SIZES).eval()
if not os.environ.get("BENCHMARK_SIDE", "").endswith("float32"):
    layers = torch.ao.quantization.quantize_dynamic(layers, {nn.Linear}, dtype=torch.qint8)
inputs = [torch.randn(1, size) for size, _ in SIZES]
first, second, third = layers
x, y, z = inputs
result = {}
with torch.no_grad():
    for (rows, columns), layer, given in zip(SIZES, layers, inputs):
        result[f"{rows} to {columns}"] = seconds_per_call(
            "layer(given)", {"layer": layer, "given": given}, batch_seconds=0.02)
    result["all layers"] = seconds_per_call(
        "first(x); second(y); third(z)",
        {"first": first, "second": second, "third": third, "x": x, "y": y, "z": z},
        batch_seconds=0.02)
report(result)
