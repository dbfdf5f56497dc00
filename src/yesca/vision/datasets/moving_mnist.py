"""Moving MNIST: two digits that bounce in a square."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ... import functional as ops
from .utils import NOT_FOUND, download_url, verify_str_arg
from .vision import VisionDataset

__all__ = ["MovingMNIST"]


class MovingMNIST(VisionDataset):
    """10 000 films of twenty pictures, uint8 (20, 1, 64, 64).

    Args:
        root: the folder of `MovingMNIST/mnist_test_seq.npy`.
        split: "train" gives the first `split_ratio` pictures of each film, "test" the others;
            by default all.
        split_ratio: 1 to 19.
        download: fetch the file, if it is missing.
        transform: `f(film)`, of a tensor.

    Attributes: `data`, all films.

    Raises:
        RuntimeError: the file is not there.
        TypeError, ValueError: another `split_ratio`.
    """

    _URL = "http://www.cs.toronto.edu/~nitish/unsupervised_video/mnist_test_seq.npy"

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str | None = None,
        split_ratio: int = 10,
        download: bool = False,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transform=transform)
        self._base_folder = os.path.join(self.root, type(self).__name__)
        self._filename = self._URL.rpartition("/")[2]
        self.split = split and verify_str_arg(split, "split", ("train", "test"))
        if not isinstance(split_ratio, int):
            raise TypeError(f"`split_ratio` should be an integer, but got {type(split_ratio)}")
        if not 1 <= split_ratio <= 19:
            raise ValueError("`split_ratio` should be `1 <= split_ratio <= 19`, but got "
                             f"{split_ratio} instead.")
        self.split_ratio = split_ratio
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError(NOT_FOUND + ".")
        import numpy as np

        films = ops.from_numpy(np.load(self._path()))  # (picture, film, height, width)
        if self.split is not None:
            train = self.split == "train"
            films = films[:split_ratio] if train else films[split_ratio:]
        self.data = films.transpose(0, 1).unsqueeze(2).contiguous()

    def _path(self) -> str:
        return os.path.join(self._base_folder, self._filename)

    def __getitem__(self, idx: int) -> Any:
        film = self.data[idx]
        return film if self.transform is None else self.transform(film)

    def __len__(self) -> int:
        return len(self.data)

    def _check_exists(self) -> bool:
        return os.path.exists(self._path())

    def download(self) -> None:
        """Fetch the file, if it is missing."""
        if not self._check_exists():
            download_url(self._URL, self._base_folder, self._filename,
                         "be083ec986bfe91a449d63653c411eb2")
