"""CIFAR-10 and CIFAR-100: small colour pictures of 10 or 100 kinds of things."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..transforms.kernels.pillow import from_array
from ._archived import ArchivedDataset
from ._batches import load_batch
from ._gathered import batch_of
from .utils import CORRUPTED, check_integrity

__all__ = ["CIFAR10", "CIFAR100"]


class CIFAR10(ArchivedDataset):
    """Pictures of 32 x 32: 50 000 to train on, 10 000 to test. A sample is a PIL image (RGB) and
    its label, an int, after the transforms.

    Args:
        root: the folder of `cifar-10-batches-py`.
        train: the images to train on, or those to test.
        transform: `f(image)`.
        target_transform: `f(label)`.
        download: fetch and unpack them, if they are missing.

    Attributes:
        data: all images, a uint8 array (N, 32, 32, 3).
        targets: all labels, a list of int.
        classes, class_to_idx: names of the labels.

    Raises:
        RuntimeError: the files are not there as they should be.
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {"filename": "batches.meta", "key": "label_names",
            "md5": "5ff9c542aee3614f3951f8cda6e48888"}

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(CORRUPTED)
        import numpy as np

        batches = [load_batch(self._path(name))
                   for name, _ in (self.train_list if train else self.test_list)]
        rows = np.vstack([batch["data"] for batch in batches])
        # Colour by colour in the file; images have the colours of a point side by side.
        self.data: Any = rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = [label for batch in batches
                        for label in batch.get("labels", batch.get("fine_labels"))]
        self._load_meta()

    def _load_meta(self) -> None:
        path = self._path(self.meta["filename"])
        if not check_integrity(path, self.meta["md5"]):
            raise RuntimeError("Dataset metadata file not found or corrupted. "
                               "You can use download=True to download it")
        self.classes = load_batch(path)[self.meta["key"]]
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(from_array(self.data[index], "RGB"), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, Any]]:
        batch = None
        if type(self).__getitem__ is CIFAR10.__getitem__ and self.target_transform is None:
            batch = batch_of(self.data, indices, self.transform)
        if batch is None:
            return [self[index] for index in indices]
        return list(zip(batch.unbind(0), [self.targets[index] for index in indices]))

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train is True else 'Test'}"


class CIFAR100(CIFAR10):
    """A hundred kinds of things: arguments and attributes as of `CIFAR10`, files in
    `cifar-100-python`."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {"filename": "meta", "key": "fine_label_names",
            "md5": "7973b15100ade9c7d40fb424638fde48"}
