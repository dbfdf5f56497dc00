"""Which boxes are kept, checked box by box in plain Python; and what is refused."""

import numpy as np
import pytest
import vision_ops

import yesca as torch
from yesca.vision import ops


def kept(boxes, scores, threshold):
    """The best box, then the best of those that no kept one overlaps by more."""
    chosen = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if not chosen or overlaps(boxes[i], boxes[chosen]).max() <= threshold:
            chosen.append(i)
    return chosen


def overlaps(a, b):
    """The area in common over that together, rounded as the boxes are, as doubles."""
    w = np.maximum(np.minimum(a[2], b[:, 2]) - np.maximum(a[0], b[:, 0]), 0)
    h = np.maximum(np.minimum(a[3], b[:, 3]) - np.maximum(a[1], b[:, 1]), 0)
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return (w * h / ((a[2] - a[0]) * (a[3] - a[1]) + area - w * h)).astype(np.float64)


def scattered(count, dtype="float32", step=1):
    generator = np.random.default_rng(count)
    corner = np.floor(generator.uniform(0, 60, (count, 2)) / step) * step
    boxes = np.concatenate([corner, corner + np.ceil(generator.uniform(1, 30, (count, 2)))], 1)
    return boxes.astype(dtype), generator.permutation(count).astype(dtype) / count


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("count", "threshold"), [
    (1, 0.5), (7, 0.3), (64, 0.0), (65, 0.5), (300, 0.3), (700, 0.6), (300, 1.0)])
def test_nms(count, threshold, dtype):
    boxes, scores = scattered(count, dtype)
    got = ops.nms(torch.from_numpy(boxes), torch.from_numpy(scores), threshold)
    assert got.dtype == torch.int64 and got.tolist() == kept(boxes, scores, threshold)


def test_the_first_of_equal_scores_is_kept():
    boxes, _ = scattered(40, step=10)
    scores = np.repeat(np.float32([0.5, 0.25]), 20)
    got = ops.nms(torch.from_numpy(boxes), torch.from_numpy(scores), 0.2)
    assert got.tolist() == kept(boxes, scores, 0.2)


def test_the_threshold_is_not_rounded_to_the_boxes():
    """An overlap of float32's 0.1 is more than 0.1."""
    boxes = torch.tensor([[0.0, 0.0, 10.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    assert ops.nms(boxes, torch.tensor([1.0, 0.5]), 0.1).tolist() == [0]
    assert ops.nms(boxes.double(), torch.tensor([1.0, 0.5]).double(), 0.1).tolist() == [0, 1]


def test_no_boxes_and_boxes_of_no_size():
    assert ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).shape == (0,)
    assert ops.nms(torch.zeros(3, 4), torch.arange(3.0), 0.5).tolist() == [2, 1, 0]
    nothing = ops.batched_nms(torch.zeros(0, 4), torch.zeros(0), torch.zeros(0).long(), 0.5)
    assert nothing.shape == (0,) and nothing.dtype == torch.int64


def test_boxes_that_are_trained_may_be_asked():
    boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0]], requires_grad=True)
    assert ops.nms(boxes, torch.ones(1, requires_grad=True), 0.5).tolist() == [0]


@pytest.mark.parametrize("count", [60, 1200])
def test_categories_do_not_meet(count):
    boxes, scores = scattered(count)
    groups = np.arange(count) % 3
    got = ops.batched_nms(torch.from_numpy(boxes), torch.from_numpy(scores),
                          torch.from_numpy(groups), 0.4)
    expected = [int(i) for g in range(3) for i in np.flatnonzero(groups == g)[
        kept(boxes[groups == g], scores[groups == g], 0.4)]]
    assert got.tolist() == sorted(expected, key=lambda i: -scores[i])


@pytest.mark.parametrize(("boxes", "scores", "words"), [
    (torch.zeros(4), torch.zeros(1), "boxes should be a 2d tensor, got 1D"),
    (torch.zeros(1, 5), torch.zeros(1), "4 elements in dimension 1, got 5"),
    (torch.zeros(1, 4), torch.zeros(1, 1), "scores should be a 1d tensor, got 2D"),
    (torch.zeros(1, 4), torch.zeros(2), "same number of elements in dimension 0, got 1 and 2"),
    (torch.zeros(1, 4), torch.zeros(1).double(), "same type as scores"),
    (torch.zeros(1, 4).long(), torch.zeros(1).long(), "not implemented for torch.int64"),
])
def test_what_nms_refuses(boxes, scores, words):
    with pytest.raises(RuntimeError, match=words):
        ops.nms(boxes, scores, 0.5)


def test_what_other_functions_refuse():
    boxes = torch.zeros(1, 4)
    for call in (lambda: ops.box_convert(boxes, "xyxy", "xy"), lambda: ops.box_area(boxes, "xywhr"),
                 lambda: ops.box_iou(boxes, boxes, "cxcy"),
                 lambda: ops.generalized_box_iou_loss(boxes, boxes, "max"),
                 lambda: ops.sigmoid_focal_loss(boxes, boxes, alpha=2),
                 lambda: ops.sigmoid_focal_loss(boxes, boxes, reduction="max"),
                 lambda: ops.stochastic_depth(boxes, 1.5, "row"),
                 lambda: ops.stochastic_depth(boxes, 0.5, "column"),
                 lambda: ops.drop_block2d(boxes, 0.5, 3),
                 lambda: ops.drop_block2d(boxes[None, None], -0.5, 3),
                 lambda: ops.drop_block2d(torch.zeros(1, 1, 4, 4), 0.5, 2)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(NotImplementedError):
        ops.box_convert(boxes, "xyxy", "xywhr")


def test_the_same_form_is_a_copy():
    boxes = vision_ops.boxes(torch, 2, 0)
    copied = ops.box_convert(boxes, "xywhr", "xywhr")
    assert torch.equal(copied, boxes) and copied.data_ptr() != boxes.data_ptr()
