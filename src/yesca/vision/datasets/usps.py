"""USPS: digits from envelopes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..transforms.kernels.pillow import from_array
from .utils import download_url
from .vision import VisionDataset

__all__ = ["USPS"]

_SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"


class USPS(VisionDataset):
    """Digits of 16 x 16: 7 291 to train on, 2 007 to test.

    Each line of the files is a label from 1 to 10 and 256 values between -1 and 1; here they are
    labels from 0 to 9 and bytes.

    Args:
        root: the folder of `usps.bz2` and `usps.t.bz2`.
        train: the images to train on, or those to test.
        transform: `f(image)`, of a PIL image (mode "L").
        target_transform: `f(label)`.
        download: fetch the file, if it is missing.

    Attributes:
        data: all images, a uint8 array (N, 16, 16).
        targets: all labels, a list of int.

    Raises:
        FileNotFoundError: the file is not there.
        ValueError: it is no such file.
    """

    split_list = {
        "train": [_SITE + "usps.bz2", "usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197"],
        "test": [_SITE + "usps.t.bz2", "usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118"],
    }

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        url, filename, md5 = self.split_list["train" if train else "test"]
        path = os.path.join(self.root, filename)
        if download and not os.path.exists(path):
            download_url(url, self.root, filename, md5=md5)
        import bz2

        import numpy as np

        with bz2.open(path) as file:
            rows = [line.split() for line in file]
        values = [[pair.rpartition(b":")[2] for pair in row[1:]] for row in rows]
        scaled = np.asarray(values, np.float32).reshape(-1, 16, 16)
        self.data = ((scaled + 1) / 2 * 255).astype(np.uint8)
        self.targets = [int(row[0]) - 1 for row in rows]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(from_array(self.data[index], "L"), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)
