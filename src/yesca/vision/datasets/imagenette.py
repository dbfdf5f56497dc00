"""Imagenette: ten classes of ImageNet that are easily told apart."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader, find_classes, make_dataset
from .utils import NOT_FOUND, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["Imagenette"]

_SITE = "https://s3.amazonaws.com/fast-ai-imageclas/"


class Imagenette(VisionDataset):
    """13 000 pictures of ten kinds of things, in three sizes.

    Args:
        root: the folder of `imagenette2`, `imagenette2-320` or `imagenette2-160`.
        split: "train" or "val".
        size: "full", or "320px" or "160px" for the shorter side.
        download: fetch and unpack the archive, if the pictures are missing.
        transform: `f(image)`, of what `loader` gives.
        target_transform: `f(label)`.
        loader: `f(path)`; by default a PIL image in RGB.

    Attributes: `classes` (tuples of names), `class_to_idx`, `wnids`, `wnid_to_idx` (WordNet's).

    Raises:
        RuntimeError: the pictures are not there.
    """

    _ARCHIVES = {
        "full": (_SITE + "imagenette2.tgz", "fe2fc210e6bb7c5664d602c3cd71e612"),
        "320px": (_SITE + "imagenette2-320.tgz", "3df6f0d01a2c9592104656642f5e78a3"),
        "160px": (_SITE + "imagenette2-160.tgz", "e793b78cc4c9e9a4ccc0c1155377a412"),
    }
    _WNID_TO_CLASS = {
        "n01440764": ("tench", "Tinca tinca"),
        "n02102040": ("English springer", "English springer spaniel"),
        "n02979186": ("cassette player",),
        "n03000684": ("chain saw", "chainsaw"),
        "n03028079": ("church", "church building"),
        "n03394916": ("French horn", "horn"),
        "n03417042": ("garbage truck", "dustcart"),
        "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"),
        "n03445777": ("golf ball",),
        "n03888257": ("parachute", "chute"),
    }

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        size: str = "full",
        download: bool = False,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ["train", "val"])
        self._size = verify_str_arg(size, "size", ["full", "320px", "160px"])
        self._url, self._md5 = self._ARCHIVES[self._size]
        self._size_root = Path(self.root) / Path(self._url).stem
        self._image_root = str(self._size_root / self._split)
        if download:
            self._download()
        elif not self._check_exists():
            raise RuntimeError(NOT_FOUND + ".")
        self.wnids, self.wnid_to_idx = find_classes(self._image_root)
        self.classes = [self._WNID_TO_CLASS[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: number for wnid, number in self.wnid_to_idx.items()
                             for name in self._WNID_TO_CLASS[wnid]}
        self._samples = make_dataset(self._image_root, self.wnid_to_idx, extensions=".jpeg")
        self.loader = loader

    def _check_exists(self) -> bool:
        return self._size_root.exists()

    def _download(self) -> None:
        if not self._check_exists():
            download_and_extract_archive(self._url, self.root, md5=self._md5)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        path, label = self._samples[idx]
        return self._transformed(self.loader(path), label)

    def __len__(self) -> int:
        return len(self._samples)
