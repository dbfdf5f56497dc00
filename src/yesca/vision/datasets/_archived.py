"""Data sets that come as one archive, its files listed with their MD5 sums."""

from __future__ import annotations

import os

from .utils import all_intact, download_and_extract_archive
from .vision import VisionDataset


class ArchivedDataset(VisionDataset):
    """A subclass says which archive it is, the folder inside, and its (name, MD5) lists."""

    url: str
    filename: str
    tgz_md5: str
    base_folder: str
    train_list: list[list[str]]
    test_list: list[list[str]]

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _check_integrity(self) -> bool:
        return all_intact(self._path(""), self.train_list + self.test_list)

    def download(self) -> None:
        """Fetch and unpack the archive, if something is missing."""
        if not self._check_integrity():
            download_and_extract_archive(
                self.url, self.root, filename=self.filename, md5=self.tgz_md5)
