"""examples/mnist.py: the same figures as PyTorch for the same seed, and the whole program."""

import gzip
import json
import math
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
RECORDED = json.loads((HERE.parent / "fixtures" / "mnist.json").read_text())


def write_idx(path, magic, shape, content):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(struct.pack(f">{1 + len(shape)}I", magic, *shape) + bytes(content))


def table_rows(printed):
    """The figures of the closing table: [train loss, train accuracy, test loss, test accuracy]."""
    rows = re.findall(r"^ +(\d+)((?: +\d\.\d{4}){4}) +\d+\.\d\d$", printed, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    return [[float(figure) for figure in figures.split()] for _, figures in rows]


@pytest.fixture
def bars(tmp_path):
    """A toy data set: digit k is a bright band of two rows, which any network learns at once."""
    folder = tmp_path / "bars"
    folder.mkdir()
    for prefix, count in (("train", 640), ("t10k", 100)):
        labels = [index % 10 for index in range(count)]
        pixels = bytearray()
        for label in labels:
            rows = [255 if row // 2 == label else 0 for row in range(28)]
            pixels += bytes(value for value in rows for _ in range(28))
        write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", 2051, (count, 28, 28), pixels)
        write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", 2049, (count,), labels)
    return folder


def test_first_steps_give_the_losses_of_pytorch(run_program):
    losses = json.loads(run_program(HERE / "programs" / "mnist_first_steps.py", 60, EXAMPLES))
    for step, (loss, expected) in enumerate(zip(losses, RECORDED["first_steps"], strict=False)):
        # The shuffles, weights and dropout masks are equal; only the order of additions is not,
        # and training lets that difference grow.
        assert math.isclose(loss, expected, rel_tol=1e-5 * 1.1**step), (step, loss, expected)
    assert len(losses) == 60


@pytest.mark.slow
def test_ten_epochs_give_the_figures_of_pytorch(run_program):
    rows = table_rows(run_program(EXAMPLES / "mnist.py", "--seed", 0))
    expected = [list(row.values()) for row in RECORDED["epochs"]]
    assert rows[0] == pytest.approx(expected[0], rel=0.01)
    assert len(rows) == 10
    for row, recorded in zip(rows, expected, strict=True):
        # Rounding has the two runs part slowly; both stay equally good.
        assert row == pytest.approx(recorded, abs=0.012)


def test_whole_program_on_a_toy_data_set(run_program, bars, tmp_path):
    printed = run_program(
        EXAMPLES / "mnist.py", "--data", bars, "--epochs", 3, "--save", tmp_path / "toy.pt"
    )
    rows = table_rows(printed)
    assert len(rows) == 3
    assert rows[-1][3] > 0.9
    assert re.search(r"^samples +640 to train, 100 to test$", printed, re.MULTILINE)
    assert re.search(r"^parameters +235,146$", printed, re.MULTILINE)
    accuracy = re.search(r"^test accuracy +(\d\.\d{4})$", printed, re.MULTILINE)[1]
    assert f"(accuracy after reloading: {accuracy})" in printed
    assert "o training loss, x test loss" in printed
    assert (tmp_path / "toy.pt").stat().st_size > 4 * 235146


def test_wrong_file_is_refused(bars):
    (bars / "train-images-idx3-ubyte.gz").write_bytes(
        (bars / "train-labels-idx1-ubyte.gz").read_bytes()
    )
    result = subprocess.run(
        [sys.executable, "-m", "yesca", str(EXAMPLES / "mnist.py"), "--data", str(bars)],
        capture_output=True,
        encoding="utf-8",
        cwd=bars,
    )
    assert result.returncode == 1
    assert "train-images-idx3-ubyte.gz: starts with 2049, expected 2051" in result.stderr
