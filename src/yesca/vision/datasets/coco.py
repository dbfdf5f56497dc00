"""MS COCO: everyday pictures with outlines of things, or with sentences about them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .folder import pil_loader
from .vision import VisionDataset

__all__ = ["CocoCaptions", "CocoDetection"]


class CocoDetection(VisionDataset):
    """A sample is a PIL image (RGB) and the list of its annotations, dicts. The package
    `pycocotools` reads these, and is needed.

    Args:
        root: the folder of the pictures.
        annFile: the JSON file of the annotations.
        transform: `f(image)`.
        target_transform: `f(target)`.
        transforms: `f(image, target)` that gives both; it excludes the other two.

    Attributes: `coco` (of that package), `ids` (of the pictures, sorted).

    Raises:
        ImportError: `pycocotools` is not installed.
        ValueError: an index that is no int.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        annFile: str,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        transforms: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        try:
            from pycocotools.coco import COCO
        except ImportError as error:
            raise ImportError("COCO's annotations are read by another package: "
                              "pip install pycocotools") from error
        self.coco = COCO(annFile)
        self.ids = sorted(self.coco.imgs)

    def _load_image(self, id: int) -> Any:
        return pil_loader(os.path.join(self.root, self.coco.loadImgs(id)[0]["file_name"]))

    def _load_target(self, id: int) -> list[Any]:
        return self.coco.loadAnns(self.coco.getAnnIds(id))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not isinstance(index, int):
            raise ValueError(f"Index must be of type integer, got {type(index)} instead.")
        number = self.ids[index]
        image, target = self._load_image(number), self._load_target(number)
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self) -> int:
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """A sample is a PIL image (RGB) and the list of the sentences about it. Arguments as of
    `CocoDetection`."""

    def _load_target(self, id: int) -> list[str]:
        return [annotation["caption"] for annotation in super()._load_target(id)]
