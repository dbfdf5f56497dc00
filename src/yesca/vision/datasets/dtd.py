"""DTD: textures, by the word that describes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import NOT_FOUND, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["DTD"]


class DTD(VisionDataset):
    """5 640 pictures of 47 kinds of textures, divided into three parts in ten ways.

    Args:
        root: the folder of `dtd/dtd`.
        split: "train", "val" or "test".
        partition: 1 to 10: which of the ten ways.
        transform: `f(image)`, of what `loader` gives.
        target_transform: `f(label)`.
        download: fetch and unpack the archive, if the pictures are missing.
        loader: `f(path)`; by default a PIL image in RGB.

    Attributes: `classes`, `class_to_idx`.

    Raises:
        RuntimeError: the pictures are not there.
        ValueError: an unknown split or partition.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz"
    _MD5 = "fff73e5086ae6bdbea199a49dfb8a4c1"

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        partition: int = 1,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        if not isinstance(partition, int) or not 1 <= partition <= 10:
            raise ValueError("Parameter 'partition' should be an integer with "
                             f"`1 <= partition <= 10`, but got {partition} instead")
        self._partition = partition
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._base_folder = Path(self.root) / type(self).__name__.lower()
        self._data_folder = self._base_folder / "dtd"
        if download:
            self._download()
        if not self._check_exists():
            raise RuntimeError(NOT_FOUND)
        listed = self._data_folder / "labels" / f"{self._split}{self._partition}.txt"
        pairs = [line.strip().split("/") for line in listed.read_text().splitlines()]
        self._image_files = [self._data_folder / "images" / kind / name for kind, name in pairs]
        self.classes = sorted({kind for kind, _ in pairs})
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self._labels = [self.class_to_idx[kind] for kind, _ in pairs]
        self.loader = loader

    def __len__(self) -> int:
        return len(self._image_files)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        return self._transformed(self.loader(self._image_files[idx]), self._labels[idx])

    def extra_repr(self) -> str:
        return f"split={self._split}, partition={self._partition}"

    def _check_exists(self) -> bool:
        return self._data_folder.is_dir()

    def _download(self) -> None:
        if not self._check_exists():
            download_and_extract_archive(
                self._URL, download_root=str(self._base_folder), md5=self._MD5)
