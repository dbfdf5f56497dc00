"""The network of `mnist.py` on pieces of clothing, read by a dataset class: how much harder is it?

    python examples/fashion_mnist.py --download             # with PyTorch and torchvision
    python -m yesca examples/fashion_mnist.py --download    # with yesca, the same file

`FashionMNISTDataset` has the three methods of any dataset: `__init__` reads the files, `__len__`
counts the images, `__getitem__` gives one of them with its label. The network is trained twice
from the same seed, on digits and on clothing; the curves are written to `fashion_mnist.svg`.
Without `--download` nothing is fetched: the four files have to be in `--fashion DIR`.
"""

import argparse
import struct
import sys
from pathlib import Path

import comparing
import mnist
import torch
from torch.utils.data import DataLoader, Dataset

MIRROR = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
FILES = {  # name -> MD5
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
           "Bag", "Ankle boot")


class FashionMNISTDataset(Dataset):
    """Images as float rows between 0 and 1, labels as whole numbers from 0 to 9."""

    def __init__(self, folder, train=True, samples=None):
        prefix = "train" if train else "t10k"
        images = mnist.read_idx(folder / f"{prefix}-images-idx3-ubyte.gz", mnist.IMAGE_MAGIC, 3)
        labels = mnist.read_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", mnist.LABEL_MAGIC, 1)
        if len(images) != len(labels):
            raise ValueError(f"{folder}: {len(images)} images but {len(labels)} labels of {prefix}")
        self.images, self.labels = images[:samples].flatten(1), labels[:samples].long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index].float() / 255.0, self.labels[index]  # (784,), ()


def download(folder, mirror=MIRROR, files=FILES):
    """Fetch the files that are missing; one that is not what it should be is not kept."""
    from torchvision.datasets.utils import download_url

    for name, md5 in files.items():
        download_url(mirror + name, folder, name, md5)


def make_loaders(folder, samples=None):
    train = DataLoader(FashionMNISTDataset(folder, True, samples), batch_size=64, shuffle=True)
    test = DataLoader(FashionMNISTDataset(folder, False), batch_size=256)
    return train, test


@torch.no_grad()
def accuracy_by_class(model, loader, device):
    """The share of each kind of clothing that is recognised."""
    model.eval()
    right, count = torch.zeros(10), torch.zeros(10)
    for images, labels in loader:
        found = model(images.to(device)).argmax(dim=1).cpu()
        count += torch.bincount(labels, minlength=10)
        right += torch.bincount(labels[found == labels], minlength=10)
    return (right / count.clamp(min=1)).tolist()


def train(name, loaders, chosen, device):
    """Train on one of the two; prints a row for each epoch. Returns the rows and the model."""
    torch.manual_seed(chosen.seed)
    model = mnist.DigitClassifier().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    rows = []
    for row in mnist.each_epoch(model, loaders, optimizer, chosen.epochs, device):
        rows.append(row)
        print(
            f"{name:13}{len(rows):7d}{row.train_loss:13.4f}{row.test_loss:12.4f}"
            f"{row.test_accuracy:11.4f}{row.seconds:10.2f}",
            flush=True,
        )
    return rows, model


def print_classes(shares, width=30):
    """A bar for each kind of clothing, the hardest first."""
    print("\nrecognised in the test images")
    for share, name in sorted(zip(shares, CLASSES)):
        print(f"{name:12}{share:7.3f}  {'#' * round(width * share)}")


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description="Train one network on digits and on clothing.")
    parser.add_argument("--data", type=Path, default=comparing.DATA, metavar="DIR", help="MNIST")
    parser.add_argument("--fashion", type=Path, default=Path("fashion_mnist"), metavar="DIR")
    parser.add_argument("--download", action="store_true", help="fetch what is missing of the "
                        "clothing (30 MB)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--samples", type=int, metavar="N", help="train on the first N images only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=float, default=0.88, help="test accuracy to reach")
    parser.add_argument("--plot", type=Path, default=Path("fashion_mnist.svg"), metavar="FILE")
    chosen = parser.parse_args(arguments)
    if chosen.epochs < 1:
        parser.error("--epochs must be at least 1")
    return chosen


def main(arguments=None):
    chosen = parse_arguments(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        if chosen.download:
            download(chosen.fashion)
        sets = {"MNIST": mnist.make_loaders(chosen.data, chosen.samples),
                "Fashion-MNIST": make_loaders(chosen.fashion, chosen.samples)}
    except FileNotFoundError as error:
        sys.exit(f"fashion_mnist: {error.filename} is not there; --download fetches Fashion-MNIST")
    except (EOFError, OSError, RuntimeError, ValueError, struct.error) as error:
        sys.exit(f"fashion_mnist: {error}")
    print("               epoch   train loss   test loss   test acc   seconds")
    histories = {}
    for name, loaders in sets.items():
        histories[name], model = train(name, loaders, chosen, device)
    comparing.print_summary(histories, chosen.target)
    print_classes(accuracy_by_class(model, sets["Fashion-MNIST"][1], device))
    comparing.save_plot(chosen.plot, histories)
    return histories


if __name__ == "__main__":
    main()
