"""GTSRB: German traffic signs."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import make_dataset, pil_loader
from .utils import NOT_FOUND, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["GTSRB"]

_SITE = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
_ARCHIVES = {
    "train": [("GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478")],
    "test": [("GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
             ("GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5")],
}


class GTSRB(VisionDataset):
    """Traffic signs of 43 kinds: 26 640 pictures to train on, 12 630 to test.

    Args:
        root: the folder of `gtsrb`.
        split: "train" or "test".
        transform: `f(image)`, of a PIL image (RGB).
        target_transform: `f(label)`.
        download: fetch and unpack the archives, if the pictures are missing.

    Raises:
        RuntimeError: the pictures are not there.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self._base_folder = Path(self.root) / "gtsrb"
        part = "Training" if self._split == "train" else "Final_Test/Images"
        self._target_folder = self._base_folder / "GTSRB" / part
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError(NOT_FOUND)
        if self._split == "train":
            self._samples = make_dataset(str(self._target_folder), extensions=(".ppm",))
        else:
            with open(self._base_folder / "GT-final_test.csv", newline="") as file:
                rows = csv.DictReader(file, delimiter=";", skipinitialspace=True)
                self._samples = [(str(self._target_folder / row["Filename"]), int(row["ClassId"]))
                                 for row in rows]

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._transformed(pil_loader(path), target)

    def _check_exists(self) -> bool:
        return self._target_folder.is_dir()

    def download(self) -> None:
        """Fetch and unpack the archives, if the pictures are missing."""
        if not self._check_exists():
            for name, md5 in _ARCHIVES[self._split]:
                download_and_extract_archive(
                    _SITE + name, download_root=str(self._base_folder), md5=md5)
