"""See, count and rewrite the operators that a program runs, from outside of it.

    python examples/dispatch_modes.py                # with PyTorch (FLOPs want `tabulate` there)
    python -m yesca examples/dispatch_modes.py       # with yesca, the same file

A dispatch mode gets every operator below autograd, those of the backward pass too. What it returns
is what the program gets.
"""

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

aten = torch.ops.aten


class Log(TorchDispatchMode):
    """Keeps the names of all operators."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is not aten.detach.default:  # the tape's own
            self.lines.append(str(func))
        return func(*args, **(kwargs or {}))


class Rewrite(TorchDispatchMode):
    """Runs other functions in the place of some operators."""

    def __init__(self, replacements):
        super().__init__()
        self.replacements = replacements

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.replacements.get(func, func)(*args, **(kwargs or {}))


def coarse_mm(a, b):
    """A product of matrices whose entries are rounded to eighths."""
    return torch.mm((a * 8).round() / 8, (b * 8).round() / 8)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3, bias=False))
    x, labels = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    loss_of = nn.CrossEntropyLoss()

    with Log() as log:
        loss_of(model(x), labels).backward()
    print("forward and backward:", *log.lines, sep="\n  ")

    with FlopCounterMode():
        loss_of(model(x), labels).backward()

    exact = model(x)
    with Rewrite({aten.mm.default: coarse_mm}):
        coarse = model(x)
    print(f"rounded products move the outputs by {(exact - coarse).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
