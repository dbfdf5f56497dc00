"""Grids, drawings and flows as torchvision makes them, and what it refuses."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import vision_utils_cases as cases

import yesca as torch
from yesca.vision import utils

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "vision_utils.json").read_text())
NO_PILLOW = ("make_grid", "flow_to_image")


def need_pillow(case):
    if case[0] not in NO_PILLOW:
        pytest.importorskip("PIL", reason="images need Pillow")


@pytest.mark.parametrize("name", cases.cases(torch))
def test_values(name):
    case = cases.cases(torch)[name]
    need_pillow(case)
    shape, values = cases.called(utils, case)
    assert shape == RECORDED[name][0]
    if isinstance(values, list):
        assert values == pytest.approx(RECORDED[name][1], abs=2e-5)
    else:
        assert values == RECORDED[name][1]


@pytest.mark.parametrize("name", cases.refused(torch))
def test_what_is_refused(name):
    case = cases.refused(torch)[name]
    need_pillow(case)
    kind, text = cases.error_of(utils, case)
    assert [kind, re.sub("yesca", "torch", text)] == RECORDED[name]


def test_arguments_are_left_alone():
    batch = cases.values(torch, 4, 3, 5, 5)
    before = batch.clone()
    utils.make_grid(batch, normalize=True, scale_each=True)
    assert torch.equal(batch, before)
    leaf = batch.clone().requires_grad_()
    assert not utils.make_grid(leaf).requires_grad


def test_nothing_to_draw_warns():
    image = torch.zeros(3, 8, 8, dtype=torch.uint8)
    with pytest.warns(UserWarning, match="boxes doesn't contain any box. No box was drawn"):
        assert utils.draw_bounding_boxes(image, torch.zeros(0, 4)) is image
    with pytest.warns(UserWarning, match="masks doesn't contain any mask. No mask was drawn"):
        assert utils.draw_segmentation_masks(image, torch.zeros(0, 8, 8, dtype=torch.bool)) is image


def test_labels_are_written_as_pillow_writes_them():
    draw = pytest.importorskip("PIL.ImageDraw", reason="images need Pillow")
    from PIL import Image, ImageFont

    image = torch.zeros(3, 40, 60, dtype=torch.uint8)
    boxes = torch.tensor([[2, 2, 50, 30], [5, 20, 30, 38]])
    made = utils.draw_bounding_boxes(image, boxes, ["one", None], ["red", "lime"], width=2)
    expected = Image.new("RGB", (60, 40))
    pen = draw.Draw(expected)
    pen.rectangle([2, 2, 50, 30], outline="red", width=2)
    pen.text((5, 5), "one", fill="red", font=ImageFont.load_default())
    pen.rectangle([5, 20, 30, 38], outline="lime", width=2)
    assert made.permute(1, 2, 0).contiguous().numpy().tobytes() == expected.tobytes()
    on_white = utils.draw_bounding_boxes(image, boxes[:1], ["one"], fill_labels=True,
                                         label_background_colors="white")
    assert (on_white == 255).all(dim=0).sum() > 40
    with pytest.warns(UserWarning, match="Argument 'font_size' will be ignored since 'font'"):
        utils.draw_bounding_boxes(image, boxes, font_size=12)
    with pytest.raises(OSError, match="cannot open resource"):
        utils.draw_bounding_boxes(image, boxes, font="/none.ttf")


def test_files_of_images(tmp_path):
    pytest.importorskip("PIL", reason="images need Pillow")
    from yesca.vision.io import decode_image

    image = torch.tensor([0.0, 0.001, 0.5, 0.9999, 1.0, 2.0, -1.0, 0.3]).view(1, 2, 4)
    utils.save_image(image, tmp_path / "a.png")
    read = decode_image(tmp_path / "a.png")
    assert read[0].flatten().tolist() == [0, 0, 128, 255, 255, 255, 0, 77]
    assert torch.equal(read[0], read[2])
    file = io.BytesIO()
    utils.save_image([image] * 3, file, format="png", nrow=2, padding=1)
    assert decode_image(torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)).shape == (
        3, 7, 11)
    with pytest.raises(ValueError, match="unknown file extension: .xyz"):
        utils.save_image(image, str(tmp_path / "a.xyz"))


def test_what_other_packages_take():
    assert utils._make_ntuple(3, 2) == (3, 3) and utils._make_ntuple([1, 2], 5) == (1, 2)
    assert utils._log_api_usage_once(utils) is None


def test_without_pillow_the_error_names_what_to_install():
    code = ("import sys; sys.modules['PIL'] = None; import yesca as torch\n"
            "from yesca.vision import utils\n"
            "print(utils.make_grid(torch.zeros(4, 3, 2, 2)).shape)\n"
            "try:\n    utils.save_image(torch.zeros(3, 2, 2), 'a.png')\n"
            "except ImportError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "torch.Size([3, 6, 18])", "images need Pillow: pip install 'yesca[vision]'"]
