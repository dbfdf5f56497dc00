"""Pascal VOC: pictures with a box around each thing, or with its area."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from ..transforms.kernels.pillow import pillow
from .folder import pil_loader
from .utils import CORRUPTED, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["DATASET_YEAR_DICT", "VOCDetection", "VOCSegmentation"]

_SITE = "https://thor.robots.ox.ac.uk/pascal/VOC/"


def _year(year: str, name: str, md5: str, folder: str, saved: str = "") -> dict[str, str]:
    return {"url": f"{_SITE}voc{year}/{name}.tar", "filename": f"{saved or name}.tar", "md5": md5,
            "base_dir": os.path.join(*folder.split("/"))}


DATASET_YEAR_DICT = {
    "2012": _year("2012", "VOCtrainval_11-May-2012", "6cd6e144f989b92b3379bac3b3de84fd",
                  "VOCdevkit/VOC2012"),
    "2011": _year("2011", "VOCtrainval_25-May-2011", "6c3384ef61512963050cb5d687e5bf1e",
                  "TrainVal/VOCdevkit/VOC2011"),
    "2010": _year("2010", "VOCtrainval_03-May-2010", "da459979d0c395079b5c75ee67908abb",
                  "VOCdevkit/VOC2010"),
    "2009": _year("2009", "VOCtrainval_11-May-2009", "a3e00b113cfcfebf17e343f59da3caa1",
                  "VOCdevkit/VOC2009"),
    "2008": _year("2008", "VOCtrainval_14-Jul-2008", "2629fa636546599198acfcfbfcf1904a",
                  "VOCdevkit/VOC2008", saved="VOCtrainval_11-May-2012"),
    "2007": _year("2007", "VOCtrainval_06-Nov-2007", "c52e279531787c972589f7e41ab4ae64",
                  "VOCdevkit/VOC2007"),
    "2007-test": _year("2007", "VOCtest_06-Nov-2007", "b6e924de25625d8de591ea690078ad9f",
                       "VOCdevkit/VOC2007"),
}


class _VOC(VisionDataset):
    _SPLITS_DIR: str
    _TARGET_DIR: str
    _TARGET_FILE_EXT: str

    def __init__(
        self,
        root: str | os.PathLike[str],
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        transforms: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [str(number) for number in range(2007, 2013)])
        sets = ["train", "trainval", "val", *(["test"] if year == "2007" else [])]
        self.image_set = verify_str_arg(image_set, "image_set", sets)
        facts = DATASET_YEAR_DICT["2007-test" if image_set == "test" else year]
        self.url, self.filename, self.md5 = facts["url"], facts["filename"], facts["md5"]
        base = os.path.join(self.root, facts["base_dir"])
        if download:
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.md5)
        if not os.path.isdir(base):
            raise RuntimeError(CORRUPTED)
        with open(os.path.join(base, "ImageSets", self._SPLITS_DIR, f"{image_set}.txt")) as file:
            names = [line.strip() for line in file]
        self.images = [os.path.join(base, "JPEGImages", f"{name}.jpg") for name in names]
        self.targets = [os.path.join(base, self._TARGET_DIR, name + self._TARGET_FILE_EXT)
                        for name in names]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, target = pil_loader(self.images[index]), self._target(index)
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def _target(self, index: int) -> Any:
        raise NotImplementedError


class VOCSegmentation(_VOC):
    """Pictures with the area of each thing. A sample is two PIL images: the picture (RGB), and one
    whose colours have the numbers of the classes.

    Args:
        root: the folder of `VOCdevkit` (of 2011: `TrainVal`).
        year: "2007" to "2012".
        image_set: "train", "trainval" or "val"; of 2007 also "test".
        download: fetch and unpack the archive.
        transform: `f(image)`.
        target_transform: `f(target)`.
        transforms: `f(image, target)` that gives both; it excludes the other two.

    Attributes: `images`, `targets`, `masks` (paths).

    Raises:
        RuntimeError: the pictures are not there.
    """

    _SPLITS_DIR, _TARGET_DIR, _TARGET_FILE_EXT = "Segmentation", "SegmentationClass", ".png"

    @property
    def masks(self) -> list[str]:
        return self.targets

    def _target(self, index: int) -> Any:
        return pillow().open(self.masks[index])


class VOCDetection(_VOC):
    """Pictures with a box around each thing. A sample is a PIL image (RGB) and the dict of its XML
    file. Arguments as of `VOCSegmentation`.

    Attributes: `images`, `targets`, `annotations` (paths).
    """

    _SPLITS_DIR, _TARGET_DIR, _TARGET_FILE_EXT = "Main", "Annotations", ".xml"

    @property
    def annotations(self) -> list[str]:
        return self.targets

    def _target(self, index: int) -> Any:
        return self.parse_voc_xml(ElementTree.parse(self.annotations[index]).getroot())

    @staticmethod
    def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
        """The tree as nested dicts; what comes more than once, and objects always, as lists."""
        if not len(node):
            return {node.tag: node.text.strip()} if node.text else {}
        found: dict[str, list[Any]] = defaultdict(list)
        for child in node:
            for tag, value in VOCDetection.parse_voc_xml(child).items():
                found[tag].append(value)
        if node.tag == "annotation":
            found["object"] = [found["object"]]
        return {node.tag: {tag: values[0] if len(values) == 1 else values
                           for tag, values in found.items()}}
