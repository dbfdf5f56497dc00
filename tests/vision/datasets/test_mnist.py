"""MNIST and its relatives: IDX files, hostile ones too, downloads, and batches for a loader."""

import gzip
import lzma
import shutil
import struct
import warnings

import numpy as np
import pytest
from dataset_files import md5, mnist, pixels, write_idx, zip_of

import yesca as torch
from yesca.utils.data import DataLoader, Subset
from yesca.vision import datasets, transforms
from yesca.vision.datasets.mnist import (
    get_int,
    read_image_file,
    read_label_file,
    read_sn3_pascalvincent_tensor,
)

# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("compress", [None, gzip.compress, lzma.compress])
@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "float32", "float64"])
def test_idx_files_of_all_kinds(tmp_path, kind, compress):
    array = (np.arange(24) * 5 - 40).astype(kind).reshape(2, 3, 4)
    write_idx(tmp_path / "a", array)
    if compress:
        (tmp_path / "a").write_bytes(compress((tmp_path / "a").read_bytes()))
    read = read_sn3_pascalvincent_tensor(tmp_path / "a")
    assert read.dtype is getattr(torch, kind) and read.is_contiguous()
    assert (read.numpy() == array).all()
    read[0, 0, 0] = 1  # memory of its own


def test_images_and_labels(tmp_path):
    write_idx(tmp_path / "images", pixels(2, 3, 4))
    write_idx(tmp_path / "labels", pixels(5))
    write_idx(tmp_path / "wide", pixels(5).astype(np.int32))
    assert read_image_file(str(tmp_path / "images")).shape == (2, 3, 4)
    labels = read_label_file(tmp_path / "labels")
    assert labels.dtype is torch.int64 and labels.tolist() == pixels(5).tolist()
    with pytest.raises(ValueError, match="x should have 1 dimension instead of 3"):
        read_label_file(tmp_path / "images")
    with pytest.raises(ValueError, match="x should have 3 dimension instead of 1"):
        read_image_file(tmp_path / "labels")
    with pytest.raises(TypeError, match="x should be of dtype torch.uint8 instead of torch.int32"):
        read_label_file(tmp_path / "wide")
    assert get_int(b"\x00\x00\x08\x03") == 2051


HEAD = struct.pack(">II", 2049, 4)  # four labels


@pytest.mark.parametrize("content, error, text", [
    (b"", AssertionError, "no IDX file"),
    (b"\x00\x00\x08", AssertionError, "no IDX file"),
    (b"\x89PNG\r\n\x1a\n", AssertionError, "no IDX file: it begins with b'.x89PNG'"),
    (b"\x00\x00\x0a\x01", AssertionError, "no IDX file"),
    (b"\x00\x00\x08\x04" + bytes(16), AssertionError, "no IDX file"),
    (b"\x00\x00\x08\x00" + bytes(16), AssertionError, "no IDX file"),
    (b"\x00\x00\x08\x01\x00\x00", ValueError, "ends within its header"),
    (HEAD + b"123", RuntimeError, "invalid for input of size 3"),
    (HEAD, RuntimeError, "invalid for input of size 0"),
    (HEAD + b"12345", RuntimeError, "invalid for input of size 5"),
    (struct.pack(">IIII", 2051, 2**32 - 1, 2**32 - 1, 2**32 - 1) + b"1", (RuntimeError, ValueError),
     "invalid|overflow|large"),
    (gzip.compress(HEAD + b"1234", mtime=0)[:-9], RuntimeError, "cannot be unpacked"),
    (gzip.compress(HEAD + b"1234", mtime=0)[:4] + b"rubbish", RuntimeError, "cannot be unpacked"),
    (gzip.compress(HEAD + b"1234", mtime=0)[:10] + b"\xff" * 20, RuntimeError,
     "cannot be unpacked"),
    (lzma.compress(HEAD + b"1234")[:-9], RuntimeError, "cannot be unpacked"),
])
def test_hostile_files_are_refused(tmp_path, content, error, text):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(error, match=text):
        read_label_file(tmp_path / "a")


def test_strictness(tmp_path):
    (tmp_path / "a").write_bytes(HEAD + b"12345")
    with pytest.raises(AssertionError, match=r"holds 5 bytes of numbers where \[4\] has 4"):
        read_sn3_pascalvincent_tensor(tmp_path / "a")
    (tmp_path / "b").write_bytes(struct.pack(">III", 2050, 0, 7))
    assert read_sn3_pascalvincent_tensor(tmp_path / "b").shape == (0, 7)


# --- the dataset ----------------------------------------------------------------------------------


def test_compressed_files_will_do(tmp_path):
    mnist(tmp_path, compress=True)
    data = datasets.MNIST(tmp_path)
    assert data.data.shape == (5, 6, 4) and data.targets.tolist() == [4, 3, 2, 1, 0]


def test_old_names_warn(tmp_path):
    mnist(tmp_path)
    data = datasets.MNIST(tmp_path)
    for old, new in (("train_data", "data"), ("test_data", "data"), ("train_labels", "targets"),
                     ("test_labels", "targets")):
        with pytest.warns(UserWarning, match=f"{old} has been renamed {new}"):
            assert getattr(data, old) is getattr(data, new)


def test_files_of_old_versions_are_read(tmp_path):
    folder = tmp_path / "MNIST" / "processed"
    folder.mkdir(parents=True)
    for name, count in (("training.pt", 3), ("test.pt", 2)):
        torch.save((torch.zeros(count, 4, 4, dtype=torch.uint8), torch.arange(count)),
                   folder / name)
    assert len(datasets.MNIST(tmp_path)) == 3
    assert datasets.MNIST(tmp_path, train=False).targets.tolist() == [0, 1]


def test_what_a_program_puts_in_the_place_of_data(tmp_path):
    pytest.importorskip("PIL", reason="images need Pillow")
    mnist(tmp_path)
    data = datasets.MNIST(tmp_path, target_transform=lambda label: label * 10)
    data.targets = [7, 8, 9, 5, 6]
    assert data[1][1] == 80 and data[-1][1] == 60
    data.data = data.data[:2]
    assert len(data) == 2
    with pytest.raises(IndexError, match="index 2 is out of bounds for dimension 0 with size 2"):
        data[2]
    assert [label for _, label in data] == [70, 80]  # iteration ends where the images do


# --- downloads ------------------------------------------------------------------------------------


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A class whose mirrors are one that is gone and one that has the files."""
    mnist(tmp_path / "source", compress=True)
    folder = tmp_path / "source" / "MNIST" / "raw"
    cls = type("MNIST", (datasets.MNIST,), {
        "mirrors": [(tmp_path / "gone").as_uri() + "/", folder.as_uri() + "/"],
        "resources": [(name, md5(folder / name)) for name, _ in datasets.MNIST.resources]})
    return cls, folder, tmp_path / "root"


def test_mirrors_are_tried_in_turn(mirror, capsys):
    cls, folder, root = mirror
    data = cls(root, download=True)
    assert data.targets.tolist() == [4, 3, 2, 1, 0]
    assert sorted(path.name for path in (root / "MNIST" / "raw").iterdir()) == sorted(
        name for full, _ in cls.resources for name in (full, full[:-3]))
    assert capsys.readouterr().err.count("\n") == 4
    shutil.rmtree(folder)
    assert len(cls(root, train=False, download=True)) == 3  # nothing is fetched again


def test_no_mirror_has_it(mirror):
    cls, folder, root = mirror
    shutil.rmtree(folder)
    with pytest.raises(RuntimeError) as raised:
        cls(root, download=True)
    lines = str(raised.value).splitlines()
    assert lines[0] == "Error downloading train-images-idx3-ubyte.gz:"
    assert lines[1] == f"Tried {cls.mirrors[0]}, got:" and lines[3] == (
        f"Tried {cls.mirrors[1]}, got:")
    assert "No such file" in lines[2]


def test_a_wrong_file_is_never_taken_for_the_right_one(mirror):
    cls, folder, root = mirror
    name = cls.resources[1][0]
    (folder / name).write_bytes(gzip.compress(b"something else", mtime=0))
    with pytest.raises(RuntimeError, match="File not found or corrupted"):
        cls(root, download=True)
    assert not (root / "MNIST" / "raw" / name).exists()
    with pytest.raises(RuntimeError, match="Dataset not found. You can use download=True"):
        cls(root)


def test_emnist_unpacks_its_archive(tmp_path, monkeypatch):
    for part in ("train", "test"):
        at = tmp_path / "made"
        write_idx(at / f"emnist-mnist-{part}-images-idx3-ubyte.gz", pixels(2, 3, 3), True)
        write_idx(at / f"emnist-mnist-{part}-labels-idx1-ubyte.gz", pixels(2), True)
    members = [(f"gzip/{path.name}", path.read_bytes()) for path in at.iterdir()]
    archive = zip_of(tmp_path / "gzip.zip", members)
    monkeypatch.setattr(datasets.EMNIST, "url", archive.as_uri())
    monkeypatch.setattr(datasets.EMNIST, "md5", md5(archive))
    data = datasets.EMNIST(tmp_path / "root", "mnist", download=True)
    assert len(data) == 2 and data.classes == list("0123456789")
    assert not (tmp_path / "root" / "EMNIST" / "raw" / "gzip").exists()


# --- batches --------------------------------------------------------------------------------------


PLAIN = {
    "ToTensor": lambda: transforms.ToTensor(),
    "Compose": lambda: transforms.Compose([transforms.ToTensor()]),
    "Normalize": lambda: transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]),
}
OTHER = {
    "Lambda": lambda: transforms.Lambda(lambda image: torch.tensor(image.size)),
    "flipped": lambda: transforms.Compose(
        [transforms.RandomHorizontalFlip(1.0), transforms.ToTensor()]),
    "bytes": lambda: transforms.PILToTensor(),
}


@pytest.mark.parametrize("name", [*PLAIN, *OTHER])
@pytest.mark.parametrize("make", [
    lambda root, transform: datasets.MNIST(root, transform=transform),
    lambda root, transform: Subset(datasets.MNIST(root, transform=transform), [4, 0, 2, 1]),
])
def test_a_loader_gets_what_single_samples_give(tmp_path, name, make):
    pytest.importorskip("PIL", reason="images need Pillow")
    mnist(tmp_path)
    data = make(tmp_path, {**PLAIN, **OTHER}[name]())
    expected = [data[index] for index in range(len(data))]
    images, labels = next(iter(DataLoader(data, batch_size=len(data))))
    assert images.is_contiguous() and images.dtype is expected[0][0].dtype
    assert torch.equal(images, torch.stack([image for image, _ in expected]))
    assert labels.tolist() == [label for _, label in expected]


def test_plain_batches_make_no_pictures(tmp_path, monkeypatch):
    mnist(tmp_path)
    data = datasets.MNIST(tmp_path, transform=PLAIN["Normalize"]())
    monkeypatch.setattr(datasets.MNIST.__getitem__.__globals__["from_array"], "__code__",
                        (lambda array, mode: 1 / 0).__code__)
    assert [label for _, label in data.__getitems__([3, 0])] == [1, 4]
    data.target_transform = str  # what a program changes is seen
    with pytest.raises(ZeroDivisionError):
        data.__getitems__([3, 0])


def test_what_a_subclass_replaces_counts(tmp_path):
    class Own(datasets.MNIST):
        def __getitem__(self, index):
            return torch.tensor(index), self.targets[index] + 100

        raw_folder = property(lambda self: str(tmp_path / "MNIST" / "raw"))

    mnist(tmp_path)
    images, labels = next(iter(DataLoader(Own(tmp_path, transform=transforms.ToTensor()), 3)))
    assert images.tolist() == [0, 1, 2] and labels.tolist() == [104, 103, 102]


def test_batches_of_cifar(tmp_path, monkeypatch):
    pytest.importorskip("PIL", reason="images need Pillow")
    from dataset_files import accept, cifar

    cifar(tmp_path)
    accept(datasets.CIFAR10, tmp_path, monkeypatch.setattr)
    steps = [transforms.ToTensor(), transforms.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))]
    data = datasets.CIFAR10(tmp_path, transform=transforms.Compose(steps))
    images, labels = next(iter(DataLoader(data, batch_size=7)))
    assert torch.equal(images, torch.stack([data[index][0] for index in range(7)]))
    assert images.is_contiguous() and labels.tolist() == data.targets[:7]


def test_workers_read_it(tmp_path):
    pytest.importorskip("PIL", reason="images need Pillow")
    mnist(tmp_path)
    data = datasets.MNIST(tmp_path, transform=transforms.ToTensor())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        labels = [batch[1].tolist() for batch in DataLoader(data, 2, num_workers=2)]
    assert labels == [[4, 3], [2, 1], [0]]
