"""CIFAR: its batches are pickles, and a pickle may ask for anything."""

import os
import pickle

import numpy as np
import pytest
from dataset_files import accept, cifar, md5, tar_of

from yesca.vision import datasets
from yesca.vision.datasets._batches import load_batch


def test_damage_is_noticed(tmp_path, monkeypatch):
    cifar(tmp_path)
    accept(datasets.CIFAR10, tmp_path, monkeypatch.setattr)
    meta = tmp_path / "cifar-10-batches-py" / "batches.meta"
    content = meta.read_bytes()
    meta.write_bytes(b"")
    with pytest.raises(RuntimeError, match="Dataset metadata file not found or corrupted"):
        datasets.CIFAR10(tmp_path)
    meta.write_bytes(content)
    (tmp_path / "cifar-10-batches-py" / "test_batch").write_bytes(b"")
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted. You can use"):
        datasets.CIFAR10(tmp_path)


def test_it_is_fetched_and_unpacked_once(tmp_path, monkeypatch):
    cifar(tmp_path)
    accept(datasets.CIFAR10, tmp_path, monkeypatch.setattr)
    folder = tmp_path / "cifar-10-batches-py"
    archive = tar_of(tmp_path / "cifar-10-python.tar.gz", [
        (f"{folder.name}/{path.name}", path.read_bytes()) for path in folder.iterdir()])
    monkeypatch.setattr(datasets.CIFAR10, "url", archive.as_uri())
    monkeypatch.setattr(datasets.CIFAR10, "tgz_md5", md5(archive))
    assert len(datasets.CIFAR10(tmp_path / "root", download=True)) == 10
    archive.unlink()
    (tmp_path / "root" / archive.name).unlink()
    assert len(datasets.CIFAR10(tmp_path / "root", train=False, download=True)) == 2


def dumped(value, protocol=2):
    return pickle.dumps(value, protocol)


#: As Python 2 wrote it: arrays and texts of bytes.
OF_PYTHON_2 = (
    b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray"
    b"\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85"
    b"U\x01b\x87Rq\x05(K\x01K\x01K\x03\x86cnumpy\ndtype\nq\x06U\x02u1K\x00"
    b"K\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x03\x00\x7f\xfft"
    b"bU\x06labelsq\x08]q\tK\x06au."
)


def test_batches_of_both_pythons(tmp_path):
    (tmp_path / "a").write_bytes(OF_PYTHON_2)
    read = load_batch(tmp_path / "a")
    assert read["labels"] == [6] and read["data"].tolist() == [[0, 127, 255]]
    value = {"data": np.arange(6, dtype=">i4").reshape(2, 3), "n": (1, 2.5, None, True, b"x"),
             "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3))}
    for protocol in range(2, 5):
        (tmp_path / "a").write_bytes(dumped(value, protocol))
        read = load_batch(tmp_path / "a")
        assert (read["data"] == value["data"]).all() and read["n"] == value["n"]
        assert (read["columns"] == value["columns"]).all()
        read["data"][0, 0] = 1  # memory of its own


class Runs:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value, value]
    return value


def looped():
    value = {}
    value["self"] = value
    return value


@pytest.mark.parametrize("content, text", [
    (dumped(Runs(os.system, "touch ran")), "asks for posix.system"),
    (dumped({"data": Runs(eval, "1/0")}), "asks for (builtins|__builtin__).eval"),
    (dumped(Runs(np.load, "x")), "asks for numpy"),
    (dumped({"data": np.array([Runs(os.getcwd)], object)}), "asks for|not described"),
    (dumped({"data": np.array(["text"])}), "no numbers"),
    (dumped({"data": np.array([{}], object)}), "not described as arrays are"),
    (dumped({"data": {1, 2}}), "asks for"),
    (dumped([1, 2]), "a list where a dict should be"),
    (dumped(looped()), "holds itself"),
    (OF_PYTHON_2.replace(b"K\x03\x86", b"K\x04\x86"), r"an array of \(1, 4\) with 3 bytes"),
    (OF_PYTHON_2.replace(b"U\x02u1", b"U\x02O8"), "no numbers"),
    (OF_PYTHON_2.replace(b"K\x01K\x03\x86", b"K\x01U\x01x\x86"), "not described as arrays are"),
    (OF_PYTHON_2[:60], "is no batch of images"),
    (b"", "is no batch of images"),
    (b"rubbish", "is no batch of images"),
    (b"\x80\x02cnumpy\nndarray\n)R.", "an array where|without numbers|where a dict"),
])
def test_hostile_batches_are_refused(tmp_path, monkeypatch, content, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(RuntimeError, match=text):
        load_batch(tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]


def test_a_small_file_does_not_become_a_large_one(tmp_path):
    (tmp_path / "a").write_bytes(dumped({"data": nested(60)}))
    assert load_batch(tmp_path / "a")["data"][0][1][0]
