"""How much turned boxes overlap, checked by cutting one box with the sides of the other."""

import math

import numpy as np
import pytest

import yesca as torch
from yesca.vision import ops


def corners(box):
    cx, cy, w, h, r = box
    turn = math.radians(r)
    wide = np.array([math.cos(turn), -math.sin(turn)]) * w / 2
    tall = np.array([math.sin(turn), math.cos(turn)]) * h / 2
    centre = np.array([cx, cy])
    return [centre + wide + tall, centre - wide + tall, centre - wide - tall, centre + wide - tall]


def area(points):
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(
        points, points[1:] + points[:1]))) / 2 if points else 0.0


def common(one, other):
    """One box, less what lies outside each side of the other."""
    points, around = corners(one), corners(other)
    centre = np.mean(around, axis=0)
    for start, end in zip(around, around[1:] + around[:1]):
        normal = np.array([start[1] - end[1], end[0] - start[0]])
        normal = normal if normal @ (centre - start) > 0 else -normal
        depth = [normal @ (each - start) for each in points]
        kept = []
        for i, each in enumerate(points):
            before = i - 1
            if (depth[i] >= 0) != (depth[before] >= 0):
                part = depth[before] / (depth[before] - depth[i])
                kept.append(points[before] + part * (each - points[before]))
            if depth[i] >= 0:
                kept.append(each)
        points = kept
    return area(points)


def iou(one, other):
    shared = common(one, other)
    return shared / (one[2] * one[3] + other[2] * other[3] - shared)


def scattered(seed, count):
    generator = np.random.default_rng(seed)
    centres, sizes = generator.uniform(0, 12, (count, 2)), generator.uniform(1, 9, (count, 2))
    return np.concatenate([centres, sizes, generator.uniform(-200, 200, (count, 1))], 1)


@pytest.mark.parametrize("limit", [1 << 20, 100])
def test_turned_boxes(limit, monkeypatch):
    from yesca.vision.ops import _turned

    monkeypatch.setattr(_turned, "_LIMIT", limit)
    first, second = scattered(0, 20), scattered(1, 15)
    expected = [[iou(a, b) for b in second] for a in first]
    got = ops.box_iou(torch.from_numpy(first), torch.from_numpy(second), "cxcywhr")
    assert np.allclose(got.numpy(), expected, atol=1e-9) and (got > 0.05).sum() > 50
    single = ops.box_iou(torch.from_numpy(first).float(), torch.from_numpy(second).float(),
                         fmt="cxcywhr")
    assert np.allclose(single.numpy(), expected, atol=2e-5)


def test_sides_on_each_other():
    box = torch.tensor([[5.0, 5.0, 4.0, 2.0, 30.0]])
    same = torch.tensor([[5.0, 5.0, 4.0, 2.0, 30.0], [5.0, 5.0, 2.0, 4.0, 120.0],
                         [5.0, 5.0, 4.0, 2.0, 210.0], [5.0, 5.0, 2.0, 1.0, 30.0],
                         [50.0, 5.0, 4.0, 2.0, 30.0], [5.0, 5.0, 0.0, 2.0, 30.0]])
    got = ops.box_iou(box, same, fmt="cxcywhr")
    assert torch.allclose(got, torch.tensor([[1.0, 1.0, 1.0, 0.25, 0.0, 0.0]]), atol=1e-4)
    far = torch.tensor([[1e5, 1e5, 4.0, 2.0, 0.0], [1e5 + 2, 1e5, 4.0, 2.0, 0.0]])
    assert torch.allclose(ops.box_iou(far, far, "cxcywhr"), torch.tensor(
        [[1.0, 1 / 3], [1 / 3, 1.0]]), atol=1e-3)


def test_other_forms_of_turned_boxes():
    boxes = torch.from_numpy(scattered(2, 6))
    expected = ops.box_iou(boxes, boxes[:4], "cxcywhr")
    for fmt in ("xywhr", "xyxyxyxy"):
        whole = ops.box_convert(boxes, "cxcywhr", "xywhr")
        made = whole if fmt == "xywhr" else ops.box_convert(whole, "xywhr", fmt)
        centred = ops.box_convert(made, fmt, "cxcywhr")
        assert torch.allclose(ops.box_iou(made, made[:4], fmt),
                              ops.box_iou(centred, centred[:4], "cxcywhr"))
    assert expected.shape == (6, 4) and torch.allclose(
        expected.diagonal(), torch.ones(4).double(), atol=1e-6)
    assert ops.box_iou(boxes[:0], boxes, "cxcywhr").shape == (0, 6)
    assert ops.box_iou(boxes, boxes[:0], "cxcywhr").shape == (6, 0)
