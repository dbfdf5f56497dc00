"""Every model has torchvision's state; small ones start, give and learn as its do."""

import json
import warnings
from pathlib import Path

import pytest
import vision_models

import yesca as torch
from yesca.vision import models

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "models.json").read_text(encoding="utf-8"))


def numbers(value):
    if isinstance(value, dict):
        return [x for each in value.values() for x in numbers(each)]
    return [x for each in value for x in numbers(each)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", GOLDEN["outlines"])
def test_names_and_shapes(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of two models, on their start
        assert vision_models.outline(torch, models, name) == GOLDEN["outlines"][name]


def test_no_model_is_left_out():
    listed = models.list_models(models) + models.list_models(models.segmentation)
    assert sorted(listed) == sorted(GOLDEN["outlines"]) and set(listed) == set(models.list_models())


def check(name):
    got, expected = vision_models.run(torch, models, name), GOLDEN["runs"][name]
    assert list(got) == list(expected)
    for part, values in expected.items():
        wanted = pytest.approx(numbers(values), rel=1e-6, abs=1e-9)
        assert numbers(got[part]) == wanted, part


@pytest.mark.parametrize("name", [n for n in vision_models.RUNS if n not in vision_models.SLOW])
def test_start_results_and_gradients(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", vision_models.SLOW)
def test_start_results_and_gradients_of_large_models(name):
    check(name)
