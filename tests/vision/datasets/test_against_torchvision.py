"""Each dataset gives torchvision's samples, attributes and text for the same files."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from dataset_files import CASES, NEED_SCIPY, accept, nothing, told, write_image

import yesca as torch
from yesca.vision import datasets

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures" / "datasets.json").read_text())


def as_json(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", CASES)
def test_the_same_files_give_the_same(name, tmp_path, monkeypatch):
    pytest.importorskip("PIL", reason="images need Pillow")
    if name in NEED_SCIPY:
        pytest.importorskip("scipy", reason="MATLAB files need SciPy")
    write, calls = CASES[name]
    write(tmp_path)
    cls = getattr(datasets, name)
    accept(cls, tmp_path, monkeypatch.setattr)
    for call, recorded in zip(calls, RECORDED[name], strict=True):
        for root in (tmp_path, str(tmp_path)):
            seen = as_json(told(cls(root, **call), tmp_path))
            assert seen == recorded, call


def test_noise_is_the_same_and_leaves_the_generator_alone():
    pytest.importorskip("PIL", reason="images need Pillow")
    recorded, number = RECORDED["FakeData"]
    torch.manual_seed(5)
    fake = datasets.FakeData(4, (3, 7, 5), 6, random_offset=2)
    assert as_json(told(fake, "none")) == recorded
    assert torch.rand(1).item() == number
    with pytest.raises(IndexError, match="FakeData index out of range"):
        fake[4]


MISSING = {"USPS": FileNotFoundError, "ImageFolder": FileNotFoundError}


@pytest.mark.parametrize("name", CASES)
def test_without_files_the_error_says_what_to_do(name, tmp_path):
    _, calls = CASES[name]
    nothing(tmp_path)
    with pytest.raises(MISSING.get(name, RuntimeError)) as raised:
        getattr(datasets, name)(tmp_path, **calls[0])
    if name not in MISSING:
        assert "You can use download=True to download it" in str(raised.value)
        assert str(raised.value).startswith("Dataset not found")


@pytest.mark.parametrize("name, call, text", [
    ("EMNIST", {"split": "all"}, "Unknown value 'all' for argument split. Valid values are "
     "{'byclass', 'bymerge', 'balanced', 'letters', 'digits', 'mnist'}."),
    ("QMNIST", {"what": "x"}, "Unknown value 'x' for argument what"),
    ("SVHN", {"split": 3}, "Expected type str for argument split, but got type <class 'int'>."),
    ("STL10", {"folds": 10}, r"Value for argument folds should be in the range \[0, 10\), but got"),
    ("STL10", {"folds": "1"}, "Expected type None or int for argument folds, but got type"),
    ("Caltech101", {"target_type": "x"}, "Unknown value 'x' for argument target_type"),
    ("Flowers102", {"split": "dev"}, "Valid values are {'train', 'val', 'test'}"),
    ("Food101", {"split": "val"}, "Valid values are {'train', 'test'}"),
    ("OxfordIIITPet", {"target_types": ["x"]}, "argument target_types"),
    ("DTD", {"partition": 11}, "integer with `1 <= partition <= 10`, but got 11 instead"),
    ("DTD", {"partition": "1"}, "but got 1 instead"),
    ("Imagenette", {"size": "10px"}, "Valid values are {'full', '320px', '160px'}"),
    ("MovingMNIST", {"split_ratio": 20}, "should be `1 <= split_ratio <= 19`, but got 20"),
    ("VOCDetection", {"year": "2006"}, "Unknown value '2006' for argument year"),
    ("VOCSegmentation", {"image_set": "test"}, "Valid values are {'train', 'trainval', 'val'}"),
])
def test_unknown_words_are_refused(name, call, text, tmp_path):
    with pytest.raises(ValueError, match=text):
        getattr(datasets, name)(tmp_path, **call)


class Coco:
    """What `CocoDetection` asks of pycocotools."""

    def __init__(self, path):
        content = json.loads(Path(path).read_text())
        self.imgs = {image["id"]: image for image in content["images"]}
        self.annotations = content["annotations"]

    def loadImgs(self, id):
        return [self.imgs[id]]

    def getAnnIds(self, id):
        return [at for at, each in enumerate(self.annotations) if each["image_id"] == id]

    def loadAnns(self, ids):
        return [self.annotations[at] for at in ids]


def test_coco_asks_its_package(tmp_path, monkeypatch):
    pytest.importorskip("PIL", reason="images need Pillow")
    monkeypatch.setitem(sys.modules, "pycocotools", None)
    with pytest.raises(ImportError, match="pip install pycocotools"):
        datasets.CocoDetection(tmp_path, "a.json")
    package = SimpleNamespace(coco=SimpleNamespace(COCO=Coco))
    monkeypatch.setitem(sys.modules, "pycocotools", package)
    monkeypatch.setitem(sys.modules, "pycocotools.coco", package.coco)
    for seed in (1, 2):
        write_image(tmp_path / f"{seed}.png", 4, 5, 3, seed=seed)
    (tmp_path / "a.json").write_text(json.dumps({
        "images": [{"id": 9, "file_name": "2.png"}, {"id": 4, "file_name": "1.png"}],
        "annotations": [{"image_id": 9, "caption": "two"}, {"image_id": 9, "caption": "three"}]}))
    data = datasets.CocoDetection(tmp_path, tmp_path / "a.json", target_transform=len)
    assert data.ids == [4, 9] and [target for _, target in (data[0], data[1])] == [0, 2]
    assert data[1][0].mode == "RGB" and data[1][0].size == (5, 4)
    captions = datasets.CocoCaptions(tmp_path, tmp_path / "a.json")
    assert captions[1][1] == ["two", "three"]
    with pytest.raises(ValueError, match="Index must be of type integer, got <class 'str'>"):
        data["4"]
