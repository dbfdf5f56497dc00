"""Mixed precision on MNIST: how many samples a second with and without it, and is it as good?

    python examples/mixed_precision.py                 # with PyTorch
    python -m yesca examples/mixed_precision.py        # with yesca, the same file

The network of `mnist.py` is trained three times, from the same weights and on the same batches:
all in float32; under `autocast` with products in bfloat16; and with products in float16, whose
small gradients would become zero, so that a `GradScaler` enlarges the loss. The weights stay in
float32 each time. What it gains is up to the machine: units for products of halves, and layers wide
enough to feed them (`--batch-size` and `--width` make them so).
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import mnist
import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader

DATA = Path(__file__).resolve().parent / "data" / "mnist"
WARM_UP = 3  # steps that are not timed: kernels are compiled there
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Figures(NamedTuple):
    """A row of the closing table."""

    samples_per_second: float
    train_loss: float
    test_accuracy: float
    skipped: int  # steps with an infinite gradient, which the scaler leaves out


def make_model(width, device):
    """The classifier of `mnist.py`, its first layer `width` wide."""
    layers = list(mnist.DigitClassifier().layers)
    if width != layers[0].out_features:
        layers[0], layers[3] = nn.Linear(784, width), nn.Linear(width, 128)
    return nn.Sequential(*layers).to(device)


def train_step(model, images, labels, optimizer, scaler, precision):
    """One step: the forward pass under autocast, the loss scaled, the gradients scaled back."""
    device = images.device.type
    with autocast(device_type=device, dtype=precision, enabled=precision is not None):
        outputs = model(images)
        loss = nn.functional.cross_entropy(outputs, labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return loss


def train(precision, loaders, chosen, device):
    """Train from the seed; returns the `Figures`."""
    train_loader, test_loader = loaders
    torch.manual_seed(chosen.seed)
    model = make_model(chosen.width, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = GradScaler(device.type, enabled=precision is torch.float16)
    seconds, skipped = 0.0, 0
    for _ in range(chosen.epochs):
        model.train()
        losses, count = 0.0, 0
        start = time.perf_counter()
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            scale = scaler.get_scale()
            loss = train_step(model, images, labels, optimizer, scaler, precision)
            skipped += scaler.get_scale() < scale
            losses += loss.item() * len(labels)
            count += len(labels)
        seconds += time.perf_counter() - start
    tested = mnist.evaluate(model, test_loader, nn.CrossEntropyLoss(), device)
    return Figures(chosen.epochs * count / seconds, losses / count, tested.accuracy, skipped)


def warm_up(precision, loaders, chosen, device):
    """A few steps of a model that is thrown away."""
    model = make_model(chosen.width, device)
    optimizer = torch.optim.Adam(model.parameters())
    scaler = GradScaler(device.type, enabled=precision is torch.float16)
    images, labels = next(iter(loaders[0]))
    for _ in range(WARM_UP):
        train_step(model, images.to(device), labels.to(device), optimizer, scaler, precision)


def print_table(rows):
    plain = rows["float32"].samples_per_second
    print("precision   samples/s   to float32   train loss   test acc   skipped steps")
    for name, row in rows.items():
        print(f"{name:9}{row.samples_per_second:12,.0f}{row.samples_per_second / plain:12.2f}x"
              f"{row.train_loss:13.4f}{row.test_accuracy:11.4f}{row.skipped:16d}")


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description="Compare float32 with mixed precision on MNIST.")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, metavar="N", help="train on the first N images only")
    parser.add_argument("--batch-size", type=int, default=64, metavar="N")
    parser.add_argument("--width", type=int, default=256, metavar="N", help="of the first layer")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    if chosen.epochs < 1:
        parser.error("--epochs must be at least 1")
    return chosen


def main(arguments=None):
    chosen = parse_arguments(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    split = mnist.load_split(chosen.data, "train", chosen.samples)
    loaders = (DataLoader(split, batch_size=chosen.batch_size, shuffle=True),
               DataLoader(mnist.load_split(chosen.data, "t10k"), batch_size=256))
    rows = {}
    for name, precision in PRECISIONS.items():
        warm_up(precision, loaders, chosen, device)
        rows[name] = train(precision, loaders, chosen, device)
    print_table(rows)
    return rows


if __name__ == "__main__":
    main()
