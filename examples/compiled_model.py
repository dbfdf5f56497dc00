"""Compile a model without touching it: one line wraps it, the rest of the program stays as it is.

    python examples/compiled_model.py                              # with PyTorch
    python -m yesca examples/compiled_model.py                     # with yesca, the same file
    TORCH_LOGS=fusion python -m yesca examples/compiled_model.py   # which operators became one loop

Run one by one, a sum, a product and an activation each read their operands from memory and write
their result back. Compiled they are one loop: memory is read once and written once. The first
call is the slow one, because that is when there is something to compile.
"""

import time

import torch
from torch import nn

ROWS, WIDTH = 1024, 1024


class Scaled(nn.Module):
    """Adds, multiplies, activates; then a layer of weights."""

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.linspace(-1, 1, WIDTH))
        self.scale = nn.Parameter(torch.linspace(0.5, 2, WIDTH))
        self.head = nn.Linear(WIDTH, 16)

    def forward(self, x):
        hidden = torch.relu((x + self.shift) * self.scale)  # (B, WIDTH)
        return self.head(hidden)  # (B, 16)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@torch.no_grad()
def main():
    torch.manual_seed(0)
    model = Scaled().eval()
    x = torch.randn(ROWS, WIDTH)
    expected = model(x)

    compiled = torch.compile(model)  # the one line

    first = seconds(lambda: compiled(x))
    later = min(seconds(lambda: compiled(x)) for _ in range(20))
    eager = min(seconds(lambda: model(x)) for _ in range(20))

    print(f"largest difference: {(compiled(x) - expected).abs().max().item():.1e}")
    print(f"parameters shared:  {compiled.head.weight is model.head.weight}")
    print(f"first call:         {1e3 * first:8.3f} ms")
    print(f"later calls:        {1e3 * later:8.3f} ms")
    print(f"one by one:         {1e3 * eager:8.3f} ms")


if __name__ == "__main__":
    main()
