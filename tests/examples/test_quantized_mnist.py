"""examples/quantized_mnist.py: the whole program, on the real digits."""

import re
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_program(run_program):
    lines = run_program(EXAMPLES / "quantized_mnist.py", "--epochs", "1", "--samples",
                        "12000").splitlines()
    assert lines[0] == "weights    size in bytes   test accuracy   µs per image"
    assert len({len(line) for line in lines}) == 1  # the columns line up
    rows = [re.fullmatch(r"(\w+) +([\d,]+) +(0\.\d{4}) +([\d.]+)", line).groups()
            for line in lines[1:]]
    sizes = [int(size.replace(",", "")) for _, size, _, _ in rows]
    weights = 784 * 256 + 256 * 128 + 128 * 10
    assert [row[0] for row in rows] == ["float32", "int8"] and sizes == [4 * weights, weights]
    exact, quantised = (float(row[2]) for row in rows)
    assert exact > 0.9 and abs(exact - quantised) <= 0.003  # 0.3 points of ten thousand images
