"""Find a learning rate in one epoch: let it grow until the loss does.

    python examples/learning_rate_finder.py             # with PyTorch
    python -m yesca examples/learning_rate_finder.py    # with yesca, the same file

The rate grows exponentially from 1e-7 to 1 over the batches of one epoch. At first it is too small
to learn anything, then the loss falls, and where the rate is too large the loss rises again. Two
rates are read off the smoothed loss: the *steepest*, where it falls fastest by the logarithm of the
rate, and the *lowest*, where it is smallest. At the lowest the rise has begun already, at the
steepest there is much room left. The suggestion is the rate halfway between them, by logarithm:
just before the loss starts to rise.

The network is then trained with the suggestion, beside the rate that `mnist.py` takes. The loss by
learning rate is written to `learning_rate_finder.svg`.
"""

import math
from typing import NamedTuple

import charts
import comparing
import mnist
import torch
from torch import nn

LOWEST, HIGHEST, USUAL = 1e-7, 1.0, 1e-3


class Sweep(NamedTuple):
    """One epoch of growing rates: the rate, the loss and the smoothed loss of each batch."""

    rates: list
    losses: list
    smoothed: list


def sweep(model, loader, device):
    """Train one epoch with a learning rate that grows from LOWEST to HIGHEST."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=LOWEST)
    growth = (HIGHEST / LOWEST) ** (1 / (len(loader) - 1))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=growth)
    bar = mnist.ProgressBar("sweep", len(loader))
    model.train()
    rates, losses = [], []
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        rates.append(scheduler.get_last_lr()[0])
        loss, _ = mnist.train_step(model, images, labels, criterion, optimizer)
        losses.append(loss.item())
        scheduler.step()
        bar.update(len(losses), f"lr {rates[-1]:.1e}  loss {losses[-1]:.4f}")
    bar.close("done")
    return Sweep(rates, losses, smooth(losses, 0.95))


def smooth(values, keep):
    """A moving average that forgets exponentially, without the bias of its start at 0."""
    average, smoothed = 0.0, []
    for count, value in enumerate(values, start=1):
        average = keep * average + (1 - keep) * value
        smoothed.append(average / (1 - keep**count))
    return smoothed


class Suggestion(NamedTuple):
    """Where the smoothed loss falls fastest, where it is lowest, and what to take in between."""

    steepest: float
    taken: float
    lowest: float


def suggestion(found):
    """Read a learning rate off a sweep. ValueError: the loss never falls."""
    lowest = min(range(len(found.rates)), key=found.smoothed.__getitem__)
    logs = [math.log10(rate) for rate in found.rates]
    slopes = {
        k: (found.smoothed[k + 1] - found.smoothed[k - 1]) / (logs[k + 1] - logs[k - 1])
        for k in range(1, lowest)
    }
    if not slopes:
        raise ValueError("the loss never falls: there is no learning rate to suggest")
    steepest = min(slopes, key=slopes.__getitem__)
    halfway = math.sqrt(found.rates[steepest] * found.rates[lowest])
    return Suggestion(found.rates[steepest], halfway, found.rates[lowest])


def print_sweep(found, rows=15):
    """The smoothed loss at some of the rates, as numbers and as bars."""
    print("learning rate      loss")
    last, top = len(found.rates) - 1, 1.25 * found.smoothed[0]
    for row in range(rows):
        k = last * row // (rows - 1)
        loss = found.smoothed[k]
        bar = "#" * round(30 * min(loss / top, 1.0))
        print(f"{found.rates[k]:13.1e}{loss:10.4f}  {bar}{'>' if loss > top else ''}")


def save_plot(path, found, read):
    # Beyond the rise the loss is large without bounds, and would press all else flat.
    shown = [k for k, loss in enumerate(found.smoothed) if loss <= 1.5 * found.smoothed[0]]
    rates = [found.rates[k] for k in shown]
    lines = [charts.Line("smoothed loss", rates, [found.smoothed[k] for k in shown])]
    marks = [("steepest", read.steepest), ("taken", read.taken), ("lowest", read.lowest)]
    charts.save(path, charts.line_chart(
        "Loss while the learning rate grows", lines, "learning rate", "cross-entropy",
        log_x=True, marks=marks,
    ))
    print(f"\nloss by learning rate in {path}\n")


def with_rate(rate):
    def make(device):
        model = mnist.DigitClassifier().to(device)
        return model, torch.optim.Adam(model.parameters(), lr=rate), None

    return make


def main(arguments=None):
    chosen = comparing.parse_arguments(
        "Find a learning rate for the digit classifier, and train with it.",
        plot="learning_rate_finder.svg", epochs=3, arguments=arguments,
    )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(chosen.seed)
    loader, _ = mnist.make_loaders(chosen.data, chosen.samples)
    found = sweep(mnist.DigitClassifier().to(device), loader, device)
    read = suggestion(found)
    print_sweep(found)
    print(f"\nsteepest at {read.steepest:.1e}, lowest at {read.lowest:.1e}")
    print(f"suggested learning rate: {read.taken:.1e}")
    save_plot(chosen.plot, found, read)
    setups = {
        f"usual, {USUAL:.1e}": with_rate(USUAL),
        f"suggested, {read.taken:.1e}": with_rate(read.taken),
    }
    histories = comparing.run(setups, chosen)
    comparing.print_summary(histories, chosen.target)
    return read, histories


if __name__ == "__main__":
    main()
