"""Images in a folder, their labels in a CSV file: a dataset that opens a picture when it is asked.

    python examples/csv_images.py                 # with PyTorch and torchvision
    python -m yesca examples/csv_images.py        # with yesca, the same file

`labels.csv` has a row for each picture: the name of its file, and its label as a word. Only this
index is read at the start; `__getitem__` opens one file. `transform` makes the picture a tensor,
`target_transform` makes the label a row with a one in its place. A loader collects batches of
them, in worker processes if there are any.

Without `--data DIR` the program draws pictures of its own: discs, squares, crosses and stripes.
"""

import argparse
import csv
import random
import sys
import tempfile
import time
from pathlib import Path

import torch
from PIL import Image, ImageDraw, UnidentifiedImageError
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import transforms

SIZE = 24  # height and width of the pictures that are drawn here
SHAPES = ("cross", "disc", "square", "stripes")


# --- data -----------------------------------------------------------------------------------------


class CsvImageDataset(Dataset):
    """Pictures of a folder that `labels.csv` lists; opened one by one, as they are asked for."""

    def __init__(self, folder, transform=None, target_transform=None):
        self.folder = Path(folder)
        self.rows = read_index(self.folder / "labels.csv")
        self.classes = sorted({label for _, label in self.rows})
        self.transform, self.target_transform = transform, target_transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        name, word = self.rows[index]
        with Image.open(self.folder / name) as file:
            image = file.convert("L")  # now, and only now, the pixels are decoded
        label = self.classes.index(word)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label


def read_index(path):
    """The rows of a CSV file with the columns `file` and `label`."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if not {"file", "label"} <= set(reader.fieldnames or ()):
            raise ValueError(f"{path}: the first line must name the columns file and label")
        rows = [(row["file"], row["label"]) for row in reader]
    if not rows:
        raise ValueError(f"{path} lists no pictures")
    return rows


class OneHot:
    """A label as a row of zeros with a one in its place. (A class: workers can be sent it.)"""

    def __init__(self, count):
        self.count = count

    def __call__(self, label):
        return torch.zeros(self.count, dtype=torch.float).scatter_(0, torch.tensor(label), value=1)


def load(folder):
    """The dataset with its transforms: pictures (1, H, W) between 0 and 1, labels (classes,)."""
    data = CsvImageDataset(folder, transform=transforms.ToTensor())
    data.target_transform = transforms.Lambda(OneHot(len(data.classes)))
    return data


def draw_pictures(folder, count, seed=0):
    """Write `count` pictures and their index."""
    chance = random.Random(seed)
    rows = [("file", "label")]
    for number in range(count):
        shape = SHAPES[number % len(SHAPES)]
        image = Image.new("L", (SIZE, SIZE), chance.randrange(60))
        draw_shape(ImageDraw.Draw(image), shape, chance)
        image.save(folder / f"{number:05d}.png")
        rows.append((f"{number:05d}.png", shape))
    with open(folder / "labels.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def draw_shape(draw, shape, chance):
    ink, half = chance.randrange(120, 256), chance.randrange(4, 9)
    x, y = (chance.randrange(half, SIZE - half) for _ in range(2))
    box = [x - half, y - half, x + half, y + half]
    if shape == "disc":
        draw.ellipse(box, fill=ink)
    elif shape == "square":
        draw.rectangle(box, fill=ink)
    elif shape == "cross":
        draw.line([x - half, y, x + half, y], fill=ink, width=3)
        draw.line([x, y - half, x, y + half], fill=ink, width=3)
    else:
        for row in range(y - half, y + half, 4):
            draw.line([x - half, row, x + half, row], fill=ink, width=2)


# --- training -------------------------------------------------------------------------------------


def make_model(classes):
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(144, classes),
    )


def train_one_epoch(model, loader, optimizer):
    """Mean loss, and the seconds that were spent waiting for batches."""
    model.train()
    total, count, waited = 0.0, 0, 0.0
    asked = time.perf_counter()
    for images, targets in loader:  # (B, 1, H, W), (B, classes)
        waited += time.perf_counter() - asked
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), targets)
        loss.backward()
        optimizer.step()
        total, count = total + loss.item() * len(images), count + len(images)
        asked = time.perf_counter()
    return total / count, waited


@torch.no_grad()
def evaluate(model, loader):
    """The share of pictures whose largest logit is where the one is."""
    model.eval()
    right = count = 0
    for images, targets in loader:
        right += (model(images).argmax(1) == targets.argmax(1)).sum().item()
        count += len(images)
    return right / count


def print_row(number, loss, accuracy, seconds, waited, width=24):
    bar = "#" * round(width * accuracy)
    print(f"{number:5d}{loss:13.4f}{accuracy:11.4f}{seconds:10.2f}{waited:9.2f}  {bar}", flush=True)


def run(folder, chosen):
    data = load(folder)
    held = max(1, len(data) // 5)
    seeded = torch.Generator().manual_seed(chosen.seed)
    fit, test = random_split(data, [len(data) - held, held], generator=seeded)
    options = {"batch_size": chosen.batch, "num_workers": chosen.workers}
    loaders = DataLoader(fit, shuffle=True, **options), DataLoader(test, **options)
    torch.manual_seed(chosen.seed)
    model = make_model(len(data.classes))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    print(f"{len(fit)} pictures to train, {len(test)} to test, {len(data.classes)} classes "
          f"({', '.join(data.classes)}), {chosen.workers} workers\n")
    print("epoch   train loss   test acc   seconds   waited")
    accuracies = []
    for number in range(1, chosen.epochs + 1):
        start = time.perf_counter()
        loss, waited = train_one_epoch(model, loaders[0], optimizer)
        seconds = time.perf_counter() - start
        accuracies.append(evaluate(model, loaders[1]))
        print_row(number, loss, accuracies[-1], seconds, waited)
    return accuracies


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description="Train on pictures that a CSV file lists.")
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with labels.csv")
    parser.add_argument("--pictures", type=int, default=800, help="how many to draw without --data")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    if chosen.epochs < 1 or chosen.batch < 1 or chosen.workers < 0:
        parser.error("--epochs and --batch must be at least 1, --workers at least 0")
    if chosen.pictures < 5:
        parser.error("--pictures must be at least 5")
    return chosen


def main(arguments=None):
    chosen = parse_arguments(arguments)
    try:
        if chosen.data is not None:
            return run(chosen.data, chosen)
        with tempfile.TemporaryDirectory() as folder:
            draw_pictures(Path(folder), chosen.pictures, chosen.seed)
            return run(folder, chosen)
    except FileNotFoundError as error:
        sys.exit(f"csv_images: there is no {error.filename}")
    except (UnidentifiedImageError, ValueError) as error:
        sys.exit(f"csv_images: {error}")


if __name__ == "__main__":
    main()
