"""Food-101: what people eat, photographed by them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import NOT_FOUND, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["Food101"]


class Food101(VisionDataset):
    """101 dishes, 750 pictures of each to train on (some with wrong labels) and 250 to test.

    Args:
        root: the folder of `food-101`.
        split: "train" or "test".
        transform: `f(image)`, of what `loader` gives.
        target_transform: `f(label)`.
        download: fetch and unpack the archive, if the pictures are missing.
        loader: `f(path)`; by default a PIL image in RGB.

    Attributes: `classes`, `class_to_idx`.

    Raises:
        RuntimeError: the pictures are not there.
    """

    _URL = "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz"
    _MD5 = "85eeb15f3717b99a5da872d97d918f87"

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self._base_folder = Path(self.root) / "food-101"
        self._meta_folder = self._base_folder / "meta"
        self._images_folder = self._base_folder / "images"
        if download:
            self._download()
        if not self._check_exists():
            raise RuntimeError(NOT_FOUND)
        listed = json.loads((self._meta_folder / f"{split}.json").read_text())
        self.classes = sorted(listed)
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self._labels = [self.class_to_idx[name] for name, files in listed.items() for _ in files]
        self._image_files = [self._images_folder / f"{file}.jpg"
                             for files in listed.values() for file in files]
        self.loader = loader

    def __len__(self) -> int:
        return len(self._image_files)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        return self._transformed(self.loader(self._image_files[idx]), self._labels[idx])

    def extra_repr(self) -> str:
        return f"split={self._split}"

    def _check_exists(self) -> bool:
        return self._meta_folder.is_dir() and self._images_folder.is_dir()

    def _download(self) -> None:
        if not self._check_exists():
            download_and_extract_archive(self._URL, download_root=self.root, md5=self._MD5)
