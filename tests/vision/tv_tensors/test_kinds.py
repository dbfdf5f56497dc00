"""Tensors that say what they are."""

import copy
import pickle

import pytest

import yesca as torch
from yesca.vision import tv_tensors as tv


def boxes(**more):
    return tv.BoundingBoxes([[1, 2, 5, 6]], format="XYXY", canvas_size=(8, 9), **more)


def test_operators_give_plain_tensors():
    image = tv.Image(torch.ones(3, 4, 5))
    assert type(image + 1) is torch.Tensor and type(image[0]) is torch.Tensor
    assert type(image.add_(1)) is torch.Tensor and image.sum() == 120


@pytest.mark.parametrize("copied", [
    lambda x: x.clone(), lambda x: x.to(torch.float64), lambda x: x.detach(), copy.deepcopy])
def test_copies_keep_their_kind(copied):
    made = copied(boxes(clamping_mode=None))
    assert type(made) is tv.BoundingBoxes and made.canvas_size == (8, 9)
    assert made.clamping_mode is None and made.format is tv.BoundingBoxFormat.XYXY


def test_the_type_of_results_can_be_set():
    with tv.set_return_type("TVTensor"):
        made = boxes() * 2
        assert type(made) is tv.BoundingBoxes and made.canvas_size == (8, 9)
        parts = tv.Image(torch.ones(2, 4, 4)).unbind(0)
        assert [type(part) for part in parts] == [tv.Image, tv.Image]
        assert type(tv.KeyPoints([[1, 2]], canvas_size=(3, 3)) + 1) is tv.KeyPoints
    assert type(boxes() * 2) is torch.Tensor


def test_wrap():
    made = tv.wrap(torch.zeros(2, 4), like=boxes(), format=tv.BoundingBoxFormat.XYWH)
    assert made.format is tv.BoundingBoxFormat.XYWH and made.canvas_size == (8, 9)
    assert type(tv.wrap(torch.zeros(1, 2, 2), like=tv.Mask(torch.ones(1, 2, 2)))) is tv.Mask


def test_shapes_and_gradients():
    assert tv.Image(torch.zeros(4, 5)).shape == (1, 4, 5)
    assert boxes().ndim == 2 and tv.KeyPoints([1, 2], canvas_size=(3, 3)).shape == (1, 2)
    leaf = torch.ones(1, 2, 2, requires_grad=True)
    image = tv.Image(leaf)
    (image * 3).sum().backward()
    assert image.requires_grad and leaf.grad.tolist() == [[[3, 3], [3, 3]]]


def test_representation():
    assert repr(boxes()) == (
        "BoundingBoxes([[1, 2, 5, 6]], format=BoundingBoxFormat.XYXY, canvas_size=(8, 9), "
        "clamping_mode=soft)")
    assert repr(tv.Image(torch.zeros(1, 1, 1))) == "Image([[[0.]]], )"


def test_pickling():
    assert pickle.loads(pickle.dumps(tv.BoundingBoxFormat.XYWH)) is tv.BoundingBoxFormat.XYWH
