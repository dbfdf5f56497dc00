"""Caltech 101 and 256: pictures of things, many kinds and few of each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

from ..transforms.kernels.pillow import pillow
from .utils import (
    CORRUPTED,
    download_and_extract_archive,
    extract_archive,
    need_scipy,
    verify_str_arg,
)
from .vision import VisionDataset

__all__ = ["Caltech101", "Caltech256"]

_SITE = "https://data.caltech.edu/records/"


class _Caltech(VisionDataset):
    """Numbered pictures in folders, one for each kind of thing."""

    _folder: str
    _pictures: str

    def __init__(self, root: Any, transform: Any, target_transform: Any, download: bool) -> None:
        super().__init__(os.path.join(root, self._folder), transform=transform,
                         target_transform=target_transform)
        os.makedirs(self.root, exist_ok=True)
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(CORRUPTED)
        self.categories = sorted(os.listdir(os.path.join(self.root, self._pictures)))

    def _count(self, counts: Callable[[str], bool]) -> None:
        """Number the pictures of each kind from 1."""
        self.index: list[int] = []
        self.y: list[int] = []
        for kind, name in enumerate(self.categories):
            files = os.listdir(os.path.join(self.root, self._pictures, name))
            count = sum(map(counts, files))
            self.index += range(1, count + 1)
            self.y += [kind] * count

    def _picture(self, index: int, name: str) -> Any:
        kind = self.categories[self.y[index]]
        return pillow().open(os.path.join(self.root, self._pictures, kind, name))

    def _check_integrity(self) -> bool:
        return os.path.exists(os.path.join(self.root, self._pictures))

    def __len__(self) -> int:
        return len(self.index)

    def download(self) -> None:
        """Fetch and unpack the archive, if the pictures are missing."""
        raise NotImplementedError


class Caltech101(_Caltech):
    """9 000 pictures of 101 kinds of things, with their outlines.

    Args:
        root: the folder of `caltech101`.
        target_type: "category" (an int), "annotation" (the points of the outline, an array, which
            SciPy reads), or a list of them for a tuple.
        transform: `f(image)`, of a PIL image.
        target_transform: `f(target)`.
        download: fetch and unpack the archive, if the pictures are missing.

    Attributes: `categories`, `annotation_categories`, `y` (the kind of each), `index` (its number).

    Raises:
        RuntimeError: the pictures are not there.
    """

    _folder, _pictures = "caltech101", "101_ObjectCategories"

    def __init__(
        self,
        root: str | os.PathLike[str],
        target_type: list[str] | str = "category",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        wanted = [target_type] if isinstance(target_type, str) else target_type
        self.target_type = [
            verify_str_arg(kind, "target_type", ("category", "annotation")) for kind in wanted]
        super().__init__(root, transform, target_transform, download)
        self.categories.remove("BACKGROUND_Google")  # no kind of thing
        renamed = {"Faces": "Faces_2", "Faces_easy": "Faces_3", "Motorbikes": "Motorbikes_16",
                   "airplanes": "Airplanes_Side_2"}  # the folders of outlines differ in these
        self.annotation_categories = [renamed.get(name, name) for name in self.categories]
        self._count(bool)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = self._picture(index, f"image_{self.index[index]:04d}.jpg")
        found = [self.y[index] if kind == "category" else self._outline(index)
                 for kind in self.target_type]
        return self._transformed(image, tuple(found) if len(found) > 1 else found[0])

    def _outline(self, index: int) -> Any:
        folder = self.annotation_categories[self.y[index]]
        path = os.path.join(self.root, "Annotations", folder,
                            f"annotation_{self.index[index]:04d}.mat")
        return need_scipy("an outline of Caltech101").loadmat(path)["obj_contour"]

    def download(self) -> None:
        """Fetch and unpack the archive, if the pictures are missing."""
        if self._check_integrity():
            return
        download_and_extract_archive(
            f"{_SITE}mzrjq-6wc02/files/caltech-101.zip", download_root=self.root,
            filename="caltech-101.zip", md5="3138e1922a9193bfa496528edbbc45d0")
        inner = os.path.join(self.root, "caltech-101")
        for name in os.listdir(inner):
            if name.endswith(".gz"):
                extract_archive(os.path.join(inner, name), self.root)
        shutil.rmtree(inner)
        os.remove(os.path.join(self.root, "caltech-101.zip"))

    def extra_repr(self) -> str:
        return f"Target type: {self.target_type}"


class Caltech256(_Caltech):
    """30 000 pictures of 256 kinds of things and one of what is none of them.

    Args:
        root: the folder of `caltech256`.
        transform: `f(image)`, of a PIL image.
        target_transform: `f(label)`.
        download: fetch and unpack the archive, if the pictures are missing.

    Attributes: `categories`, `y` (the kind of each), `index` (its number).

    Raises:
        RuntimeError: the pictures are not there.
    """

    _folder, _pictures = "caltech256", "256_ObjectCategories"

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform, download)
        self._count(lambda name: name.endswith(".jpg"))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        kind = self.y[index]
        image = self._picture(index, f"{kind + 1:03d}_{self.index[index]:04d}.jpg")
        return self._transformed(image, kind)

    def download(self) -> None:
        """Fetch and unpack the archive, if the pictures are missing."""
        if not self._check_integrity():
            download_and_extract_archive(
                f"{_SITE}nyy15-4j048/files/256_ObjectCategories.tar", self.root,
                filename="256_ObjectCategories.tar", md5="67b4f42ca05d46448c6bb8ecd2220f6d")
