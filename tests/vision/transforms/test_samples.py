"""Transforms of whole samples give torchvision's results (recorded in samples.json)."""

import json
from pathlib import Path

import pytest
import sample_cases as cases
import transform_facts as facts

import yesca as torch
from yesca.vision import tv_tensors as tv
from yesca.vision.transforms import v2

RECORDED = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "samples.json").read_text(encoding="utf-8"))
NAMES = {"v2": v2, "tv": tv}


@pytest.mark.parametrize("text", cases.EXACT + cases.NEAR)
def test_samples(text):
    theirs = RECORDED["samples"][text]
    mine = json.loads(json.dumps(facts.sample_facts(torch, NAMES, text, 5)))
    assert mine.pop("repr") == theirs.pop("repr")
    near = 0 if text in cases.EXACT else 1
    wrong = {}
    for kind in theirs:  # the angles of turned boxes go through sines, which round
        tolerance = max(near, 0.01) if kind == "turned" else near
        if why := facts.agree(mine[kind], theirs[kind], tolerance):
            wrong[kind] = why
    assert not wrong


@pytest.mark.parametrize("text", cases.REFUSED)
def test_refusals(text):
    kind, message = facts.refusal(torch, NAMES, text)
    theirs, words = RECORDED["refused"][text]
    assert kind == theirs
    assert words[:18] in message, f"{message!r} for {words!r}"
