"""Train a small network to read handwritten digits (MNIST), start to finish.

    python examples/mnist.py                      # with PyTorch
    python -m yesca examples/mnist.py             # with yesca, the same file

The four gzip files of the data set are in `examples/data/mnist`; `--data DIR` reads others of the
same format (Fashion-MNIST, for one). The trained weights are written to `mnist_mlp.pt`.
"""

import argparse
import gzip
import struct
import sys
import time
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

IMAGE_MAGIC, LABEL_MAGIC = 2051, 2049  # first word of an IDX file: bytes in 3 or 1 dimensions


# --- data -----------------------------------------------------------------------------------------


def read_idx(path, magic, rank):
    """The bytes of a gzipped IDX file as a uint8 tensor with `rank` dimensions."""
    with gzip.open(path, "rb") as file:
        found, *shape = struct.unpack(f">{1 + rank}I", file.read(4 * (1 + rank)))
        if found != magic:
            raise ValueError(f"{path}: starts with {found}, expected {magic} of an IDX file")
        content = bytearray(file.read())
    return torch.frombuffer(content, dtype=torch.uint8).reshape(shape)


def load_split(folder, prefix, samples=None):
    """Images as float rows between 0 and 1, labels as int64: all, or the first `samples`."""
    images = read_idx(folder / f"{prefix}-images-idx3-ubyte.gz", IMAGE_MAGIC, 3)  # (N, 28, 28)
    labels = read_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", LABEL_MAGIC, 1)  # (N,)
    images, labels = images[:samples], labels[:samples]
    return TensorDataset(images.flatten(1).float() / 255.0, labels.long())  # (N, 784), (N,)


def make_loaders(folder, samples=None):
    train = DataLoader(load_split(folder, "train", samples), batch_size=64, shuffle=True)
    test = DataLoader(load_split(folder, "t10k"), batch_size=256)
    return train, test


# --- model ----------------------------------------------------------------------------------------


class DigitClassifier(nn.Module):
    """784 pixels to 10 logits through two hidden layers."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(784, 256),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(256, 128),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(128, 10),
        )

    def forward(self, images):
        return self.layers(images)  # (B, 784) -> (B, 10)


# --- one epoch ------------------------------------------------------------------------------------


class ProgressBar:
    """A bar on the terminal, redrawn at most twenty times a second; silent in a file or a pipe."""

    def __init__(self, title, total, width=30):
        self.title, self.total, self.width = title, total, width
        self.shown = sys.stderr.isatty()
        self.next_draw = 0.0

    def update(self, done, note):
        now = time.perf_counter()
        if self.shown and (now >= self.next_draw or done == self.total):
            self.next_draw = now + 0.05
            full = self.width * done // self.total
            bar = "#" * full + "." * (self.width - full)
            print(f"\r{self.title} [{bar}] {done}/{self.total}  {note}", end="", file=sys.stderr)

    def close(self, note):
        if self.shown:
            print(f"  {note}", file=sys.stderr)


class Tally:
    """Mean loss and accuracy over the samples seen so far."""

    def __init__(self):
        self.loss_sum, self.correct, self.count = 0.0, 0, 0

    def add(self, loss, logits, labels):
        self.loss_sum += loss.item() * labels.size(0)
        self.correct += logits.argmax(dim=1).eq(labels).sum().item()
        self.count += labels.size(0)

    @property
    def loss(self):
        return self.loss_sum / self.count

    @property
    def accuracy(self):
        return self.correct / self.count


def train_step(model, images, labels, criterion, optimizer):
    """One optimizer step on one batch; returns loss and logits."""
    optimizer.zero_grad()
    logits = model(images)
    loss = criterion(logits, labels)
    loss.backward()
    optimizer.step()
    return loss, logits


def train_one_epoch(model, loader, criterion, optimizer, device, bar):
    model.train()
    tally = Tally()
    for step, (images, labels) in enumerate(loader, start=1):
        images, labels = images.to(device), labels.to(device)
        loss, logits = train_step(model, images, labels, criterion, optimizer)
        tally.add(loss, logits, labels)
        bar.update(step, f"loss {tally.loss:.4f}")
    return tally


@torch.no_grad()
def evaluate(model, loader, criterion, device):
    model.eval()
    tally = Tally()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        tally.add(criterion(logits, labels), logits, labels)
    return tally


# --- the whole run --------------------------------------------------------------------------------


class Epoch(NamedTuple):
    """The figures of one row of the closing table."""

    train_loss: float
    train_accuracy: float
    test_loss: float
    test_accuracy: float
    seconds: float


def each_epoch(model, loaders, optimizer, epochs, device, scheduler=None):
    """Train and evaluate `epochs` times; yields the `Epoch` of each when it is over."""
    train_loader, test_loader = loaders
    criterion = nn.CrossEntropyLoss()
    for number in range(1, epochs + 1):
        start = time.perf_counter()
        bar = ProgressBar(f"epoch {number:2d}/{epochs}", len(train_loader))
        fitted = train_one_epoch(model, train_loader, criterion, optimizer, device, bar)
        if scheduler is not None:
            scheduler.step()
        tested = evaluate(model, test_loader, criterion, device)
        seconds = time.perf_counter() - start
        bar.close(f"test accuracy {tested.accuracy:.4f}  {seconds:.1f} s")
        yield Epoch(fitted.loss, fitted.accuracy, tested.loss, tested.accuracy, seconds)


def train(model, loaders, epochs, device):
    """Train and evaluate `epochs` times with Adam; returns one `Epoch` for each."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return list(each_epoch(model, loaders, optimizer, epochs, device))


def save_and_reload(model, path, loader, device):
    """Save the weights, load them into a new model, and return the accuracy of that one."""
    torch.save(model.state_dict(), path)
    restored = DigitClassifier().to(device)
    restored.load_state_dict(torch.load(path, weights_only=True))
    return evaluate(restored, loader, nn.CrossEntropyLoss(), device).accuracy


# --- report ---------------------------------------------------------------------------------------


def plot_losses(history, height=8):
    """The two loss curves as lines of text: `o` training, `x` test, `*` both in one place."""
    top = max(max(row.train_loss, row.test_loss) for row in history)
    canvas = [[" "] * (4 * len(history)) for _ in range(height)]
    for number, row in enumerate(history):
        for mark, loss in (("o", row.train_loss), ("x", row.test_loss)):
            line = height - 1 - round(loss / (top or 1.0) * (height - 1))
            column = 4 * number + 3
            canvas[line][column] = mark if canvas[line][column] == " " else "*"
    levels = [top * (height - 1 - line) / (height - 1) for line in range(height)]
    drawn = [f"  {level:6.3f} |{''.join(row).rstrip()}" for level, row in zip(levels, canvas)]
    axis = "         +" + "".join(f"{number:4d}" for number in range(1, len(history) + 1))
    return "\n".join(drawn + [axis + "  epoch", "  o training loss, x test loss"])


def print_summary(history, model, loaders, path, reloaded_accuracy):
    parameters = sum(parameter.numel() for parameter in model.parameters())
    samples = [len(loader.dataset) for loader in loaders]
    print("epoch   train loss   train acc   test loss   test acc   seconds")
    for number, row in enumerate(history, start=1):
        print(
            f"{number:5d}{row.train_loss:13.4f}{row.train_accuracy:12.4f}"
            f"{row.test_loss:12.4f}{row.test_accuracy:11.4f}{row.seconds:10.2f}"
        )
    print()
    print(plot_losses(history))
    print()
    print(f"samples         {samples[0]:,} to train, {samples[1]:,} to test")
    print(f"parameters      {parameters:,}")
    print(f"time per epoch  {sum(row.seconds for row in history) / len(history):.2f} s")
    print(f"test accuracy   {history[-1].test_accuracy:.4f}")
    print(f"saved to        {path} (accuracy after reloading: {reloaded_accuracy:.4f})")


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description="Train a small network on MNIST.")
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here / "data" / "mnist", metavar="DIR")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path("mnist_mlp.pt"), metavar="FILE")
    chosen = parser.parse_args(arguments)
    if chosen.epochs < 1:
        parser.error("--epochs must be at least 1")
    return chosen


def main(arguments=None):
    chosen = parse_arguments(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(chosen.seed)
    loaders = make_loaders(chosen.data)
    model = DigitClassifier().to(device)
    history = train(model, loaders, chosen.epochs, device)
    reloaded_accuracy = save_and_reload(model, chosen.save, loaders[1], device)
    print_summary(history, model, loaders, chosen.save, reloaded_accuracy)
    return history


if __name__ == "__main__":
    main()
