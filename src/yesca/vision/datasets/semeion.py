"""SEMEION: digits in black and white."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..transforms.kernels.pillow import from_array
from .utils import CORRUPTED, check_integrity, download_url
from .vision import VisionDataset

__all__ = ["SEMEION"]


class SEMEION(VisionDataset):
    """1 593 digits of 16 x 16 that eighty people wrote.

    Args:
        root: the folder of `semeion.data`.
        transform: `f(image)`, of a PIL image (mode "L").
        target_transform: `f(label)`.
        download: fetch the file, if it is missing; unlike elsewhere this is so by default.

    Attributes:
        data: all images, a uint8 array (N, 16, 16).
        labels: all labels, an array (N,).

    Raises:
        RuntimeError: the file is not there as it should be.
    """

    url = "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data"
    filename = "semeion.data"
    md5_checksum = "cb545d371d2ce14ec121470795a77432"

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(CORRUPTED)
        import numpy as np

        rows = np.loadtxt(os.path.join(self.root, self.filename))
        self.data = (rows[:, :256] * 255).astype("uint8").reshape(-1, 16, 16)
        self.labels = np.nonzero(rows[:, 256:])[1]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(from_array(self.data[index], "L"), int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def _check_integrity(self) -> bool:
        return check_integrity(os.path.join(self.root, self.filename), self.md5_checksum)

    def download(self) -> None:
        """Fetch the file, if it is missing."""
        if not self._check_integrity():
            download_url(self.url, self.root, self.filename, self.md5_checksum)
