"""examples/csv_images.py: pictures that a CSV file lists, read when they are asked for."""

import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
image = pytest.importorskip("PIL.Image", reason="images need Pillow")


def table(printed):
    row = r"^ +(\d+) +(\d\.\d{4}) +(\d\.\d{4}) +\d+\.\d\d +\d+\.\d\d  (#*)$"
    return re.findall(row, printed, re.MULTILINE)


@pytest.mark.slow
def test_shapes_are_learnt(run_program):
    rows = table(run_program(EXAMPLES / "csv_images.py", "--epochs", 8))
    assert [int(row[0]) for row in rows] == list(range(1, 9))
    assert float(rows[-1][2]) > 0.8
    assert all(len(row[3]) == round(24 * float(row[2])) for row in rows)


@pytest.mark.slow
def test_workers_change_nothing(run_program):
    arguments = ("--pictures", 60, "--epochs", 2)
    alone, helped = (table(run_program(EXAMPLES / "csv_images.py", *arguments, "--workers", n))
                     for n in (0, 2))
    assert len(alone) == 2 and alone == helped


def write(folder, *rows):
    (folder / "labels.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")


def test_pictures_of_ones_own(run_program, tmp_path):
    for number in range(10):
        image.new("RGB", (30, 20), (number * 20, 0, 0)).save(tmp_path / f"{number}.png")
    write(tmp_path, ("label", "more", "file"), *(
        ("dark" if n < 5 else "bright", "x", f"{n}.png") for n in range(10)))
    printed = run_program(EXAMPLES / "csv_images.py", "--data", tmp_path, "--epochs", 1)
    assert "8 pictures to train, 2 to test, 2 classes (bright, dark), 2 workers" in printed
    assert len(table(printed)) == 1


def test_failures_are_told_in_a_line(run_program, tmp_path):
    names = ("no index", "no columns", "no rows", "no file", "no picture")
    folders = [tmp_path / name for name in names]
    for folder in folders:
        folder.mkdir()
    write(folders[1], ("name", "label"))
    write(folders[2], ("file", "label"))
    for folder in folders[3:]:
        write(folder, ("file", "label"), *[("none.png", "a")] * 5)
    (folders[4] / "none.png").write_text("no picture")
    calls = [["--data", str(folder), "--workers", "0"] for folder in folders]
    printed = run_program(HERE / "programs" / "failures.py", EXAMPLES, "csv_images",
                          json.dumps([*calls, ["--epochs", "0"]]))
    told = json.loads(printed.splitlines()[-1])
    assert told[0] == f"csv_images: there is no {folders[0]}/labels.csv"
    assert told[1].endswith("the first line must name the columns file and label")
    assert told[2].endswith("labels.csv lists no pictures")
    assert told[3] == f"csv_images: there is no {folders[3]}/none.png"
    assert told[4].startswith("csv_images: cannot identify image file")
    assert told[5] == "2"  # as argparse ends a program
