"""Train several set-ups on MNIST from the same seed, and tell how they differ.

What `batch_norm.py`, `learning_rate_finder.py` and `optimizers.py` have in common: the arguments, a
row for each epoch while it runs, a table and a chart of all set-ups at the end.
"""

import argparse
from pathlib import Path

import charts
import mnist
import torch

DATA = Path(__file__).resolve().parent / "data" / "mnist"


def parse_arguments(description, plot, epochs, arguments=None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR")
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--samples", type=int, metavar="N", help="train on the first N images only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=float, default=0.98, help="test accuracy to reach")
    parser.add_argument("--plot", type=Path, default=Path(plot), metavar="FILE")
    chosen = parser.parse_args(arguments)
    if chosen.epochs < 1:
        parser.error("--epochs must be at least 1")
    return chosen


def run(setups, chosen):
    """Train each set-up; returns {name: [mnist.Epoch, ...]}.

    setups: {name: function that returns model, optimizer, and scheduler or None}. Each starts from
    the same seed, so models of one shape start with the same weights and see the same batches.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loaders = mnist.make_loaders(chosen.data, chosen.samples)
    wide = max(map(len, setups))
    print(f"{'':{wide}}  epoch   train loss   test loss   test acc   seconds")
    histories = {}
    for name, make in setups.items():
        torch.manual_seed(chosen.seed)
        model, optimizer, scheduler = make(device)
        rows = histories[name] = []
        for row in mnist.each_epoch(model, loaders, optimizer, chosen.epochs, device, scheduler):
            rows.append(row)
            print(
                f"{name:{wide}}{len(rows):7d}{row.train_loss:13.4f}{row.test_loss:12.4f}"
                f"{row.test_accuracy:11.4f}{row.seconds:10.2f}",
                flush=True,
            )
    return histories


def first_epoch(history, target):
    """The number of the first epoch whose test accuracy is at least `target`, or None."""
    reached = (n for n, row in enumerate(history, start=1) if row.test_accuracy >= target)
    return next(reached, None)


def print_summary(histories, target):
    wide = max(map(len, histories))
    heading = f"first >= {100 * target:g} %"
    print(f"\n{'':{wide}}  last test acc   best test acc   {heading}   s per epoch")
    for name, rows in histories.items():
        accuracies = [row.test_accuracy for row in rows]
        reached = first_epoch(rows, target)
        when = "never" if reached is None else f"epoch {reached}"
        seconds = sum(row.seconds for row in rows) / len(rows)
        print(
            f"{name:{wide}}{accuracies[-1]:15.4f}{max(accuracies):16.4f}"
            f"{when:>{3 + len(heading)}}{seconds:14.2f}"
        )


def save_plot(path, histories):
    """Test accuracy and training loss by epoch, one curve for each set-up."""
    accuracies, losses = [], []
    for name, rows in histories.items():
        numbers = list(range(1, len(rows) + 1))
        accuracies.append(charts.Line(name, numbers, [row.test_accuracy for row in rows]))
        losses.append(charts.Line(name, numbers, [row.train_loss for row in rows]))
    charts.save(
        path,
        charts.line_chart("Test accuracy", accuracies, "epoch", "share of the test images"),
        charts.line_chart("Training loss", losses, "epoch", "cross-entropy", log_y=True),
    )
    print(f"\ncurves in {path}")
