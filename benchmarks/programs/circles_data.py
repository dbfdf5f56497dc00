"""Points in a square, and whether each lies in a circle: plain lists, the same for all sides."""

import random

LAYERS = (2, 16, 16, 8, 2)
BATCH, RATE = 32, 0.05


def circles(count=512):
    """(points, labels): lists of [x, y] and of 0 or 1."""
    draw = random.Random(0)
    points = [[draw.uniform(-1.2, 1.2), draw.uniform(-1.2, 1.2)] for _ in range(count)]
    return points, [int(x * x + y * y < 1.0) for x, y in points]
