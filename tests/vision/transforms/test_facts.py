"""Transforms give torchvision's images, draws, reprs and errors (recorded in transforms.json)."""

import json
from pathlib import Path

import pytest
import transform_cases as cases
import transform_facts as facts

import yesca as torch
from yesca.vision import transforms as T
from yesca.vision.transforms import functional as F

RECORDED = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "transforms.json").read_text(encoding="utf-8"))
NAMES = {"T": T, "F": F}


@pytest.mark.parametrize("text", cases.EXACT + cases.NEAR)
def test_transforms(text):
    theirs = RECORDED["transforms"][text]
    mine = json.loads(json.dumps(facts.transform_facts(torch, NAMES, text, cases.SEED)))
    assert mine.pop("repr") == theirs.pop("repr")
    tolerance = 0 if text in cases.EXACT else 1
    wrong = {kind: why for kind in theirs if (why := facts.agree(mine[kind], theirs[kind],
                                                                 tolerance))}
    assert not wrong


@pytest.mark.parametrize("text", cases.REFUSED)
def test_refusals(text):
    kind, message = facts.refusal(torch, NAMES, text)
    theirs, words = RECORDED["refused"][text]
    assert kind == theirs
    assert words[:18] in message or words.startswith("'"), f"{message!r} for {words!r}"


@pytest.mark.parametrize(("dtype", "white"), [
    (torch.uint8, 128), (torch.int8, 64), (torch.int32, 1 << 30), (torch.float32, 1.0)])
def test_pixels_of_two_values(dtype, white):
    made = F.convert_image_dtype(torch.tensor([[[True, False]]]), dtype)
    assert made.dtype is dtype and made.tolist() == [[[white, 0]]]
    bright = torch.tensor([[[0, 100, 128]]], dtype=torch.uint8)
    assert F.convert_image_dtype(bright, torch.bool).tolist() == [[[False, False, True]]]
