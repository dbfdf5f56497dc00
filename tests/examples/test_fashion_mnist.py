"""examples/fashion_mnist.py on generated files: the dataset class, the download, the whole run."""

import gzip
import json
import re
import shutil
import struct
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def write_idx(path, magic, shape, content):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(struct.pack(f">{1 + len(shape)}I", magic, *shape) + bytes(content))


@pytest.fixture
def clothes(tmp_path):
    """Ten kinds of toy clothing: kind k is a bright band of two rows."""
    folder = tmp_path / "clothes"
    folder.mkdir()
    for prefix, count in (("train", 640), ("t10k", 100)):
        labels = [index % 10 for index in range(count)]
        pixels = bytearray()
        for label in labels:
            for row in range(28):
                pixels += bytes([255 if row // 2 == label else 0]) * 28
        write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", 2051, (count, 28, 28), pixels)
        write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", 2049, (count,), labels)
    return folder


def test_download_and_dataset(run_program, clothes, tmp_path):
    told = json.loads(run_program(HERE / "programs" / "fashion_download.py", EXAMPLES, clothes,
                                  tmp_path / "fetched"))
    assert told["files"] == sorted(path.name for path in clothes.iterdir())
    assert told["length"] == 100
    assert told["image"] == [[784], "torch.float32", 0.0, 1.0] and told["label"] == [[], 3]


def test_the_whole_program(run_program, clothes, tmp_path):
    printed = run_program(EXAMPLES / "fashion_mnist.py", "--data", clothes, "--fashion", clothes,
                          "--epochs", 2, "--target", 0.9)
    rows = re.findall(r"^(MNIST|Fashion-MNIST) +(\d+) +(\d\.\d{4}) +(\d\.\d{4}) +(\d\.\d{4}) ",
                      printed, re.MULTILINE)
    assert [row[:2] for row in rows[:4]] == [
        ("MNIST", "1"), ("MNIST", "2"), ("Fashion-MNIST", "1"), ("Fashion-MNIST", "2")]
    # The same images, network and seed: a dataset of one's own changes nothing.
    assert rows[0][2:] == rows[2][2:] and rows[1][2:] == rows[3][2:]
    assert float(rows[3][4]) > 0.9
    shares = re.findall(r"^(\S.*?) +(\d\.\d{3})  (#*)$", printed, re.MULTILINE)
    assert len(shares) == 10 and {"Ankle boot", "T-shirt/top"} <= {name for name, *_ in shares}
    assert all(len(bar) == round(30 * float(share)) for _, share, bar in shares)
    assert (tmp_path / "fashion_mnist.svg").is_file()


def test_failures_are_told_in_a_line(run_program, clothes, tmp_path):
    calls = [["--data", str(clothes), "--fashion", str(clothes / "none")]]
    for name in ("labels", "swapped", "cut", "empty"):
        folder = tmp_path / name
        shutil.copytree(clothes, folder)
        calls.append(["--data", str(clothes), "--fashion", str(folder)])
    write_idx(tmp_path / "labels" / "train-labels-idx1-ubyte.gz", 2049, (3,), [1, 2, 3])
    shutil.copy(clothes / "train-labels-idx1-ubyte.gz",
                tmp_path / "swapped" / "train-images-idx3-ubyte.gz")
    images = (clothes / "train-images-idx3-ubyte.gz").read_bytes()
    (tmp_path / "cut" / "train-images-idx3-ubyte.gz").write_bytes(images[:-99])
    write_idx(tmp_path / "empty" / "train-images-idx3-ubyte.gz", 2051, (), [])
    told = json.loads(run_program(HERE / "programs" / "failures.py", EXAMPLES, "fashion_mnist",
                                  json.dumps(calls)))
    assert told[0].endswith(
        "train-images-idx3-ubyte.gz is not there; --download fetches Fashion-MNIST")
    assert "640 images but 3 labels of train" in told[1]
    assert "starts with 2049, expected 2051" in told[2]
    assert all(line.startswith("fashion_mnist: ") for line in told) and len(told) == 5
