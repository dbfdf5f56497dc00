"""Oxford-IIIT Pet: cats and dogs by breed, each with its outline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..transforms.kernels.pillow import pillow
from .utils import NOT_FOUND, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["OxfordIIITPet"]

_SITE = "https://www.robots.ox.ac.uk/~vgg/data/pets/data/"


class OxfordIIITPet(VisionDataset):
    """7 000 pictures of cats and dogs of 37 breeds. A sample is a PIL image (RGB) and its target.

    Args:
        root: the folder of `oxford-iiit-pet`.
        split: "trainval" or "test".
        target_types: "category" (the breed), "binary-category" (0 for a cat, 1 for a dog),
            "segmentation" (a PIL image: 1 is the animal, 2 is not, 3 is between), or a list of
            them for a tuple; of an empty list the target is None.
        transforms: `f(image, target)` that gives both; it excludes the other two.
        transform: `f(image)`.
        target_transform: `f(target)`.
        download: fetch and unpack the archives, if the pictures are missing.

    Attributes: `classes`, `class_to_idx`, `bin_classes`, `bin_class_to_idx`.

    Raises:
        RuntimeError: the pictures are not there.
    """

    _RESOURCES = (
        (_SITE + "images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
        (_SITE + "annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
    )
    _VALID_TARGET_TYPES = ("category", "binary-category", "segmentation")

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "trainval",
        target_types: Sequence[str] | str = "category",
        transforms: Callable[..., Any] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        wanted = [target_types] if isinstance(target_types, str) else target_types
        self._target_types = [
            verify_str_arg(kind, "target_types", self._VALID_TARGET_TYPES) for kind in wanted]
        super().__init__(root, transforms, transform, target_transform)
        self._base_folder = Path(self.root) / "oxford-iiit-pet"
        self._images_folder = self._base_folder / "images"
        self._anns_folder = self._base_folder / "annotations"
        self._segs_folder = self._anns_folder / "trimaps"
        if download:
            self._download()
        if not self._check_exists():
            raise RuntimeError(NOT_FOUND)
        self._list()

    def _list(self) -> None:
        """Read which pictures there are: name, breed and animal, both from 1, and a fourth."""
        lines = (self._anns_folder / f"{self._split}.txt").read_text().splitlines()
        rows = [line.split() for line in lines]
        self._labels = [int(breed) - 1 for _, breed, _, _ in rows]
        self._bin_labels = [int(animal) - 1 for _, _, animal, _ in rows]
        breeds = {(label, row[0].rpartition("_")[0]) for label, row in zip(self._labels, rows)}
        self.bin_classes = ["Cat", "Dog"]
        self.classes = [" ".join(part.title() for part in name.split("_"))
                        for _, name in sorted(breeds)]
        self.bin_class_to_idx = {name: number for number, name in enumerate(self.bin_classes)}
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self._images = [self._images_folder / f"{row[0]}.jpg" for row in rows]
        self._segs = [self._segs_folder / f"{row[0]}.png" for row in rows]

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        image = pillow().open(self._images[idx]).convert("RGB")
        found: list[Any] = [
            self._labels[idx] if kind == "category"
            else self._bin_labels[idx] if kind == "binary-category"
            else pillow().open(self._segs[idx]) for kind in self._target_types]
        target = (None if not found else found[0] if len(found) == 1 else tuple(found))
        return self.transforms(image, target) if self.transforms else (image, target)

    def _check_exists(self) -> bool:
        return self._images_folder.is_dir() and self._anns_folder.is_dir()

    def _download(self) -> None:
        if not self._check_exists():
            for url, md5 in self._RESOURCES:
                download_and_extract_archive(url, download_root=str(self._base_folder), md5=md5)
