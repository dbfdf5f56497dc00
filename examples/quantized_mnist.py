"""Train the network of mnist.py, quantise its weights to int8, and compare the two.

    python examples/quantized_mnist.py               # with PyTorch
    python -m yesca examples/quantized_mnist.py      # with yesca, the same file

Weights take a quarter of the bytes. Activations are quantised as they come, by the range of each
batch; the test set is therefore read in batches, as a server would, and the time is that of single
images, where reading the weights is most of the work.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import mnist


class Row(NamedTuple):
    """The figures of one model."""

    name: str
    weight_bytes: int
    accuracy: float
    microseconds: float


def weight_bytes(model):
    """The bytes of the linear layers' weights."""
    found = 0
    for layer in model.layers:
        weight = getattr(layer, "weight", None)
        if weight is not None:
            weight = weight() if callable(weight) and not torch.is_tensor(weight) else weight
            found += weight.numel() * weight.element_size()
    return found


@torch.no_grad()
def microseconds_per_image(model, images, repeats=20):
    """The best of several runs over single images."""
    singles = list(images.split(1))
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for image in singles:
            model(image)
        best = min(best, (time.perf_counter() - start) / len(singles))
    return 1e6 * best


def measured(name, model, loader):
    tested = mnist.evaluate(model, loader, nn.CrossEntropyLoss(), torch.device("cpu"))
    images = loader.dataset.tensors[0][:100]
    return Row(name, weight_bytes(model), tested.accuracy, microseconds_per_image(model, images))


def quantized(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that this is going to move to torchao
        return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


def print_table(rows):
    print("weights    size in bytes   test accuracy   µs per image")
    for row in rows:
        print(f"{row.name:8s}{row.weight_bytes:16,}{row.accuracy:16.4f}{row.microseconds:15.1f}")


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description="Quantise a small network trained on MNIST.")
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here / "data" / "mnist", metavar="DIR")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--samples", type=int, help="train on the first ones only")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments=None):
    chosen = parse_arguments(arguments)
    torch.manual_seed(chosen.seed)
    loaders = mnist.make_loaders(chosen.data, chosen.samples)
    model = mnist.DigitClassifier()
    mnist.train(model, loaders, chosen.epochs, torch.device("cpu"))
    rows = [measured("float32", model.eval(), loaders[1]),
            measured("int8", quantized(model), loaders[1])]
    print_table(rows)
    return rows


if __name__ == "__main__":
    main()
