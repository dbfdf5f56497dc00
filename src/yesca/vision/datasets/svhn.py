"""SVHN: house numbers from the street, digit by digit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..transforms.kernels.pillow import from_array
from .utils import CORRUPTED, check_integrity, download_url, need_scipy, verify_str_arg
from .vision import VisionDataset

__all__ = ["SVHN"]

_SITE = "http://ufldl.stanford.edu/housenumbers/"


class SVHN(VisionDataset):
    """Digits of 32 x 32 in colour. The files call the digit 0 "10"; here its label is 0.

    The files are MATLAB's: SciPy reads them, and is needed.

    Args:
        root: the folder of `train_32x32.mat` and the others.
        split: "train", "test" or "extra" (more to train on).
        transform: `f(image)`, of a PIL image.
        target_transform: `f(label)`.
        download: fetch the file, if it is missing.

    Attributes:
        data: all images, a uint8 array (N, 3, 32, 32).
        labels: all labels, an int64 array (N,).

    Raises:
        RuntimeError: the file is not there as it should be.
        ImportError: SciPy is not installed.
    """

    split_list = {
        "train": [_SITE + "train_32x32.mat", "train_32x32.mat",
                  "e26dedcc434d2e4c54c9b2d4a06d8373"],
        "test": [_SITE + "test_32x32.mat", "test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"],
        "extra": [_SITE + "extra_32x32.mat", "extra_32x32.mat",
                  "a93ce644f1a588dc4d68dda5feec44a7"],
    }

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", tuple(self.split_list))
        self.url, self.filename, self.file_md5 = self.split_list[split]
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(CORRUPTED)
        import numpy as np

        content = need_scipy("SVHN").loadmat(os.path.join(self.root, self.filename))
        self.labels = content["y"].astype(np.int64).squeeze()
        np.place(self.labels, self.labels == 10, 0)
        self.data = np.transpose(content["X"], (3, 2, 0, 1))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = from_array(self.data[index].transpose(1, 2, 0), "RGB")
        return self._transformed(image, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def _check_integrity(self) -> bool:
        return check_integrity(os.path.join(self.root, self.filename), self.file_md5)

    def download(self) -> None:
        """Fetch the file, if it is missing."""
        download_url(self.url, self.root, self.filename, self.file_md5)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
