"""MNIST and the sets that share its files: IDX, a header and the numbers behind it."""

from __future__ import annotations

import gzip
import lzma
import math
import os
import shutil
import string
import zlib
from collections.abc import Callable
from typing import Any
from urllib.error import URLError

from ... import functional as ops
from ..._tensor import Tensor
from ...base.frames import warn
from ...core import dtypes
from ..transforms.kernels.pillow import from_array
from ._gathered import at, batch_of
from .utils import (
    NOT_FOUND,
    check_integrity,
    download_and_extract_archive,
    extract_archive,
    verify_str_arg,
)
from .vision import VisionDataset

__all__ = [
    "EMNIST", "KMNIST", "MNIST", "QMNIST", "SN3_PASCALVINCENT_TYPEMAP", "FashionMNIST", "get_int",
    "read_image_file", "read_label_file", "read_sn3_pascalvincent_tensor",
]

_DIGITS = [f"{number} - {word}" for number, word in enumerate(
    "zero one two three four five six seven eight nine".split())]


class MNIST(VisionDataset):
    """Handwritten digits: 60 000 images of 28 x 28 to train on, 10 000 to test.

    A sample is a PIL image (mode "L") and its label, an int, after the transforms.

    Args:
        root: the folder in which `MNIST/raw/train-images-idx3-ubyte` and the other three files
            are, or shall be. They may be compressed (`.gz`).
        train: the images to train on, or those to test.
        transform: `f(image)`.
        target_transform: `f(label)`.
        download: fetch what is missing, from one mirror or the next.

    Attributes:
        data: all images, uint8 (N, 28, 28).
        targets: all labels, int64 (N,).
        classes, class_to_idx: names of the labels.

    Raises:
        RuntimeError: the files are not there, or no mirror gives them.
    """

    mirrors = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    training_file = "training.pt"
    test_file = "test.pt"
    classes = _DIGITS

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
        if self._check_legacy_exist():
            self.data, self.targets = self._load_legacy_data()
            return
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError(NOT_FOUND)
        self.data, self.targets = self._load_data()

    @property
    def train_labels(self) -> Tensor:
        warn("train_labels has been renamed targets")
        return self.targets

    @property
    def test_labels(self) -> Tensor:
        warn("test_labels has been renamed targets")
        return self.targets

    @property
    def train_data(self) -> Tensor:
        warn("train_data has been renamed data")
        return self.data

    @property
    def test_data(self) -> Tensor:
        warn("test_data has been renamed data")
        return self.data

    # Two files that torchvision wrote once; who has them keeps them.

    def _check_legacy_exist(self) -> bool:
        return all(check_integrity(os.path.join(self.processed_folder, name))
                   for name in (self.training_file, self.test_file))

    def _load_legacy_data(self) -> Any:
        from ...serialization import load

        name = self.training_file if self.train else self.test_file
        return load(os.path.join(self.processed_folder, name), weights_only=True)

    def _load_data(self) -> tuple[Tensor, Tensor]:
        prefix = os.path.join(self.raw_folder, "train" if self.train else "t10k")
        images = read_image_file(_present(f"{prefix}-images-idx3-ubyte"))
        labels = read_label_file(_present(f"{prefix}-labels-idx1-ubyte"))
        return images, labels

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = from_array(at(self.data, index), "L")
        return self._transformed(image, int(at(self.targets, index)))

    def __len__(self) -> int:
        return len(self.data)

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, Any]]:
        batch = None
        if type(self).__getitem__ is MNIST.__getitem__ and self.target_transform is None:
            batch = batch_of(self.data, indices, self.transform)
        if batch is None:
            return [self[index] for index in indices]
        labels = self.targets[ops.tensor(indices)].tolist()
        return list(zip(batch.unbind(0), labels))

    @property
    def raw_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def processed_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.classes)}

    def _check_exists(self) -> bool:
        return all(
            check_integrity(_present(os.path.join(self.raw_folder, _raw_name(name))))
            for name, _ in self.resources)

    def download(self) -> None:
        """Fetch what is missing."""
        if self._check_exists():
            return
        os.makedirs(self.raw_folder, exist_ok=True)
        for filename, md5 in self.resources:
            failures = []
            for mirror in self.mirrors:
                try:
                    download_and_extract_archive(
                        mirror + filename, self.raw_folder, filename=filename, md5=md5)
                    break
                except (RuntimeError, URLError) as error:
                    failures.append(f"Tried {mirror}, got:\n{error}\n")
            else:
                raise RuntimeError(f"Error downloading {filename}:\n{''.join(failures)}")

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train is True else 'Test'}"


class FashionMNIST(MNIST):
    """Pieces of clothing in the format of MNIST: arguments and attributes as there, files in
    `FashionMNIST/raw`."""

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
               "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """Japanese characters in the format of MNIST: arguments and attributes as there, files in
    `KMNIST/raw`."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


class EMNIST(MNIST):
    """Letters and digits in the format of MNIST, in six divisions of one set.

    Args:
        root: the folder of `EMNIST/raw/emnist-SPLIT-train-images-idx3-ubyte` and so on.
        split: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".
        kwargs: as of `MNIST`.

    The images lie on their side in the files, and so they do here.
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    # Letters whose small and capital forms look alike count once in two of the divisions.
    _merged_classes = set("cijklmopsuvwxyz")
    _all_classes = set(string.digits + string.ascii_letters)
    classes_split_dict = {
        "byclass": sorted(_all_classes),
        "bymerge": sorted(_all_classes - _merged_classes),
        "balanced": sorted(_all_classes - _merged_classes),
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: str | os.PathLike[str], split: str, **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        self.training_file = self._training_file(split)
        self.test_file = self._test_file(split)
        super().__init__(root, **kwargs)
        self.classes = self.classes_split_dict[self.split]

    @staticmethod
    def _training_file(split: str) -> str:
        return f"training_{split}.pt"

    @staticmethod
    def _test_file(split: str) -> str:
        return f"test_{split}.pt"

    @property
    def _file_prefix(self) -> str:
        return f"emnist-{self.split}-{'train' if self.train else 'test'}"

    @property
    def images_file(self) -> str:
        return os.path.join(self.raw_folder, f"{self._file_prefix}-images-idx3-ubyte")

    @property
    def labels_file(self) -> str:
        return os.path.join(self.raw_folder, f"{self._file_prefix}-labels-idx1-ubyte")

    def _load_data(self) -> tuple[Tensor, Tensor]:
        return (read_image_file(_present(self.images_file)),
                read_label_file(_present(self.labels_file)))

    def _check_exists(self) -> bool:
        return all(check_integrity(_present(name))
                   for name in (self.images_file, self.labels_file))

    def download(self) -> None:
        """Fetch the one archive of all divisions and unpack it, if this one is missing."""
        if self._check_exists():
            return
        os.makedirs(self.raw_folder, exist_ok=True)
        download_and_extract_archive(self.url, download_root=self.raw_folder, md5=self.md5)
        unpacked = os.path.join(self.raw_folder, "gzip")
        for name in os.listdir(unpacked):
            if name.endswith(".gz"):
                extract_archive(os.path.join(unpacked, name), self.raw_folder)
        shutil.rmtree(unpacked)


_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"


class QMNIST(MNIST):
    """The digits of MNIST with all that is known of them, and 50 000 more to test.

    Args:
        root: the folder of `QMNIST/raw`.
        what: "train", "test" (60 000), "test10k" (those of MNIST), "test50k" (the rest) or
            "nist" (all there are).
        compat: a label is an int; else all that is known of the digit, int64 (8,).
        train: "train" or "test" where `what` is not given.
        kwargs: as of `MNIST`.
    """

    subsets = {"train": "train", "test": "test", "test10k": "test", "test50k": "test",
               "nist": "nist"}
    resources: dict[str, list[tuple[str, str]]] = {  # type: ignore[assignment]
        "train": [
            (_QMNIST + "qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            (_QMNIST + "qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            (_QMNIST + "qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            (_QMNIST + "qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            (_QMNIST + "xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            (_QMNIST + "xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }
    classes = _DIGITS

    def __init__(self, root: str | os.PathLike[str], what: str | None = None,
                 compat: bool = True, train: bool = True, **kwargs: Any) -> None:
        if what is None:
            what = "train" if train else "test"
        self.what = verify_str_arg(what, "what", tuple(self.subsets))
        self.compat = compat
        self.data_file = self.training_file = self.test_file = f"{what}.pt"
        super().__init__(root, train, **kwargs)

    def _file(self, number: int) -> str:
        url, _ = self.resources[self.subsets[self.what]][number]
        return os.path.join(self.raw_folder, _raw_name(url))

    @property
    def images_file(self) -> str:
        return self._file(0)

    @property
    def labels_file(self) -> str:
        return self._file(1)

    def _check_exists(self) -> bool:
        return all(check_integrity(_present(name))
                   for name in (self.images_file, self.labels_file))

    def _load_data(self) -> tuple[Tensor, Tensor]:
        data = _of_bytes(read_sn3_pascalvincent_tensor(_present(self.images_file)), "data", 3)
        targets = read_sn3_pascalvincent_tensor(_present(self.labels_file)).long()
        if targets.ndim != 2:
            raise ValueError(f"targets should have 2 dimensions instead of {targets.ndim}")
        if self.what == "test10k":
            return data[:10000].clone(), targets[:10000].clone()
        if self.what == "test50k":
            return data[10000:].clone(), targets[10000:].clone()
        return data, targets

    def download(self) -> None:
        """Fetch what is missing of the part that was asked for."""
        if self._check_exists():
            return
        os.makedirs(self.raw_folder, exist_ok=True)
        for url, md5 in self.resources[self.subsets[self.what]]:
            download_and_extract_archive(url, self.raw_folder, md5=md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = from_array(at(self.data, index), "L")
        target = self.targets[index]
        return self._transformed(image, int(target[0]) if self.compat else target)

    def extra_repr(self) -> str:
        return f"Split: {self.what}"


# --- files ----------------------------------------------------------------------------------------


def _raw_name(url: str) -> str:
    """The name of a file that was fetched, without the suffix of its compression."""
    return os.path.splitext(os.path.basename(url))[0]


def _present(path: str) -> str:
    """The file itself or, where only that is there, the compressed one."""
    if not os.path.isfile(path):
        return next((path + end for end in (".gz", ".xz") if os.path.isfile(path + end)), path)
    return path


def get_int(b: bytes) -> int:
    """A whole number from its bytes, the highest first.

    >>> get_int(bytes([8, 3]))
    2051
    """
    return int.from_bytes(b, "big")


SN3_PASCALVINCENT_TYPEMAP = {
    8: dtypes.uint8, 9: dtypes.int8, 11: dtypes.int16, 12: dtypes.int32,
    13: dtypes.float32, 14: dtypes.float64,
}
_MAGIC = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}


def _read(path: Any) -> bytes:
    """The content of a file, uncompressed."""
    with open(path, "rb") as file:
        start = file.read(2)
        if start not in _MAGIC:
            return start + file.read()
    try:
        with _MAGIC[start](path, "rb") as file:
            return file.read()
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise RuntimeError(f"{os.fspath(path)} cannot be unpacked: {error}; remove it to fetch it "
                           "again") from error


def read_sn3_pascalvincent_tensor(path: str | os.PathLike[str], strict: bool = True) -> Tensor:
    """The tensor that an IDX file holds, of 1 to 3 dimensions; the file may be compressed.

    Args:
        path: the file.
        strict: refuse a file whose length is not the one that its sizes say.

    Raises:
        AssertionError: the header is none of an IDX file, or (with `strict`) the length is wrong.
        RuntimeError: the numbers do not fill the sizes, or the compressed file is damaged.
        ValueError: the file ends within its header.
    """
    content = _read(path)
    rank, kind = content[3:4], get_int(content[:3])
    if not rank or not 1 <= rank[0] <= 3 or kind not in SN3_PASCALVINCENT_TYPEMAP:
        raise AssertionError(f"{os.fspath(path)} is no IDX file: it begins with {content[:4]!r}")
    dtype, begin = SN3_PASCALVINCENT_TYPEMAP[kind], 4 * (rank[0] + 1)
    if len(content) < begin:
        raise ValueError(f"{os.fspath(path)} ends within its header: {len(content)} bytes")
    shape = [get_int(content[at:at + 4]) for at in range(4, begin, 4)]
    size = dtype.itemsize
    if strict and len(content) - begin != math.prod(shape) * size:
        raise AssertionError(f"{os.fspath(path)} holds {len(content) - begin} bytes of numbers "
                             f"where {shape} has {math.prod(shape) * size}")
    whole = (len(content) - begin) // size * size  # what is left of a number is no number
    if whole == 0:
        return ops.empty(0, dtype=dtype).view(*shape)
    if size == 1:
        numbers = ops.frombuffer(bytearray(content), dtype=dtype, offset=begin)
    else:
        import numpy as np

        name = str(dtype).rpartition(".")[2]
        swapped = np.frombuffer(content[begin:begin + whole], np.dtype(name).newbyteorder(">"))
        numbers = ops.from_numpy(swapped.astype(name))
    return numbers.view(*shape)


def _of_bytes(tensor: Tensor, name: str, rank: int) -> Tensor:
    """The tensor. Raises TypeError if it is not of bytes, ValueError for other dimensions."""
    if tensor.dtype is not dtypes.uint8:
        raise TypeError(f"{name} should be of dtype torch.uint8 instead of {tensor.dtype}")
    if tensor.ndim != rank:
        plural = "s" if name == "data" else ""
        raise ValueError(f"{name} should have {rank} dimension{plural} instead of {tensor.ndim}")
    return tensor


def read_label_file(path: str | os.PathLike[str]) -> Tensor:
    """Labels from an IDX file, int64 (N,)."""
    return _of_bytes(read_sn3_pascalvincent_tensor(path, strict=False), "x", 1).long()


def read_image_file(path: str | os.PathLike[str]) -> Tensor:
    """Images from an IDX file, uint8 (N, H, W)."""
    return _of_bytes(read_sn3_pascalvincent_tensor(path, strict=False), "x", 3)
