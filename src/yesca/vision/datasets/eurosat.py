"""EuroSAT: the ground as a satellite sees it, by what it is used for."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .folder import ImageFolder, default_loader
from .utils import NOT_FOUND, download_and_extract_archive

__all__ = ["EuroSAT"]


class EuroSAT(ImageFolder):
    """27 000 pictures of 64 x 64 in 10 classes.

    Args:
        root: the folder of `eurosat/2750`.
        transform: `f(image)`, of what `loader` gives.
        target_transform: `f(class)`.
        download: fetch and unpack the archive, if the pictures are missing.
        loader: `f(path)`; by default a PIL image in RGB.

    Attributes: those of `ImageFolder`.

    Raises:
        RuntimeError: the pictures are not there.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        self.root = os.path.expanduser(root)
        self._base_folder = os.path.join(self.root, "eurosat")
        self._data_folder = os.path.join(self._base_folder, "2750")
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError(NOT_FOUND)
        super().__init__(self._data_folder, transform, target_transform, loader)
        self.root = os.path.expanduser(root)

    def _check_exists(self) -> bool:
        return os.path.exists(self._data_folder)

    def download(self) -> None:
        """Fetch and unpack the archive, if the pictures are missing."""
        if not self._check_exists():
            download_and_extract_archive(
                "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
                "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
                download_root=self._base_folder, md5="c8fa014336c82ac7804f0398fcb19387")
