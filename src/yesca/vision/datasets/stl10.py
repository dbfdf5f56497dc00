"""STL-10: few pictures with labels, many without."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..transforms.kernels.pillow import from_array
from ._archived import ArchivedDataset
from .utils import CORRUPTED, verify_str_arg

__all__ = ["STL10"]


class STL10(ArchivedDataset):
    """Pictures of 96 x 96: 5 000 to train on, 8 000 to test, 100 000 without a label (-1).

    Args:
        root: the folder of `stl10_binary`.
        split: "train", "test", "unlabeled" or "train+unlabeled".
        folds: 0 to 9: one of ten parts of 1 000 images to train on; by default all.
        transform: `f(image)`, of a PIL image.
        target_transform: `f(label)`.
        download: fetch and unpack the archive, if something is missing.

    Attributes:
        data: all images, a uint8 array (N, 3, 96, 96).
        labels: all labels, an array (N,).
        classes: names of the labels.

    Raises:
        RuntimeError: the files are not there as they should be.
        ValueError: an unknown split or part.
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    class_names_file = "class_names.txt"
    folds_list_file = "fold_indices.txt"
    train_list = [
        ["train_X.bin", "918c2871b30a85fa023e0c44e0bee87f"],
        ["train_y.bin", "5a34089d4802c674881badbb80307741"],
        ["unlabeled_X.bin", "5242ba1fed5e4be9e1e742405eb56ca4"],
    ]
    test_list = [
        ["test_X.bin", "7f263ba9f9e0b06b93213547f721ac82"],
        ["test_y.bin", "36f9794fa4beb8a2c72628de14fa638e"],
    ]
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str = "train",
        folds: int | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        self.folds = self._verify_folds(folds)
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(CORRUPTED)
        self.data, self.labels = self._load()
        names = self._path(self.class_names_file)
        if os.path.isfile(names):
            with open(names) as file:
                self.classes = file.read().splitlines()

    def _load(self) -> tuple[Any, Any]:
        import numpy as np

        if self.split == "test":
            return self._images("test_X.bin"), self._labels("test_y.bin")
        parts = []
        if self.split != "unlabeled":
            images, labels = self._images("train_X.bin"), self._labels("train_y.bin")
            if self.folds is not None:
                with open(self._path(self.folds_list_file)) as file:
                    chosen = np.array(file.read().splitlines()[self.folds].split(), np.int64)
                images, labels = images[chosen], labels[chosen]
            parts.append((images, labels))
        if self.split != "train":
            images = self._images("unlabeled_X.bin")
            parts.append((images, np.full(len(images), -1)))
        if len(parts) == 1:
            return parts[0]
        return tuple(np.concatenate(both) for both in zip(*parts))  # type: ignore[return-value]

    def _verify_folds(self, folds: int | None) -> int | None:
        if folds is None:
            return None
        if not isinstance(folds, int):
            raise ValueError("Expected type None or int for argument folds, but got type "
                             f"{type(folds)}.")
        if folds not in range(10):
            raise ValueError("Value for argument folds should be in the range [0, 10), but got "
                             f"{folds}.")
        return folds

    def _labels(self, name: str) -> Any:
        import numpy as np

        return np.fromfile(self._path(name), np.uint8) - 1  # they begin with 1 in the file

    def _images(self, name: str) -> Any:
        import numpy as np

        columns = np.fromfile(self._path(name), np.uint8).reshape(-1, 3, 96, 96)
        return columns.transpose(0, 1, 3, 2)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = from_array(self.data[index].transpose(1, 2, 0), "RGB")
        return self._transformed(image, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
