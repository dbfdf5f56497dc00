"""Loading data: epochs in one process, epochs from worker processes, and starting the workers."""

import sys
import time
import warnings
from pathlib import Path

import torch
from timing import report, use_two_threads
from torch.utils.data import DataLoader, Dataset, TensorDataset

warnings.filterwarnings("ignore", message="This DataLoader will create")
ROWS, FILES, READY = 60_000, 10_000, 512


class MNISTDataset(Dataset):
    def __init__(self, images, labels):
        self.images = images
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return self.images[idx], self.labels[idx]


class Pictures(Dataset):
    """Small PNG files, decoded by Pillow."""

    def __init__(self, folder):
        self.paths = sorted(Path(folder).glob("*.png"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        import numpy as np
        from PIL import Image

        with Image.open(self.paths[index]) as picture:
            pixels = np.asarray(picture, dtype=np.float32)
        return torch.from_numpy(pixels).unsqueeze(0) / 255.0, index % 10


class Ready(Dataset):
    """Whole batches of 1 MB."""

    def __len__(self):
        return READY

    def __getitem__(self, index):
        return torch.full((256, 1024), float(index))


class Numbers(Dataset):
    """Samples that cost nothing."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index


def write_pictures(folder):
    import numpy as np
    from PIL import Image

    random = np.random.default_rng(0)
    blots = random.integers(0, 256, (64, 7, 7), dtype=np.uint8)
    for number in range(FILES):
        pixels = np.kron(blots[number % 64], np.ones((4, 4), np.uint8))
        pixels[0, :2] = number // 256, number % 256
        Image.fromarray(pixels).save(Path(folder) / f"{number:05}.png")


def epoch(loader):
    """Seconds that an epoch takes, from making the iterator to its end."""
    start = time.perf_counter()
    count = sum(1 for _ in loader)
    assert count == len(loader)
    return time.perf_counter() - start


def mnist(kind):
    data = kind(torch.rand(ROWS, 784), torch.randint(0, 10, (ROWS,)))
    loader = DataLoader(data, batch_size=64, shuffle=True)
    return min(epoch(loader) for _ in range(4))


def pictures():
    folder = Path("pictures")
    folder.mkdir()
    write_pictures(folder)
    loader = DataLoader(Pictures(folder), batch_size=64, shuffle=True, num_workers=2)
    return min(epoch(loader) for _ in range(2))


def ready():
    """Every batch is read once by this process."""
    loader = DataLoader(Ready(), batch_size=None, num_workers=2, persistent_workers=True)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        total = sum(batch.sum().item() for batch in loader)
        times.append(time.perf_counter() - start)
        assert total == 256 * 1024 * READY * (READY - 1) / 2
    return min(times)


def startup(method):
    """From making the iterator to the first batch of the last worker."""
    times = []
    for _ in range(2 if method == "spawn" else 5):
        start = time.perf_counter()
        iterator = iter(DataLoader(Numbers(), num_workers=4, multiprocessing_context=method))
        batches = [next(iterator) for _ in range(4)]
        times.append(time.perf_counter() - start)
        assert len(batches) == 4
        del iterator
    return min(times)


CASES = {
    "TensorDataset": lambda: mnist(TensorDataset),
    "own Dataset": lambda: mnist(MNISTDataset),
    "PNG files": pictures,
    "1 MB batches": ready,
    "4 workers by spawn": lambda: startup("spawn"),
    "4 workers by fork": lambda: startup("fork"),
}

if __name__ == "__main__":
    use_two_threads()
    torch.manual_seed(0)
    name = sys.argv[1]
    report({name: CASES[name]()})
