"""Tensors over files and storages."""

import numpy as np
import pytest

import yesca as torch


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "numbers"
    file.write_bytes(bytes(range(16)))
    return file


def test_private_files(path):
    x = torch.from_file(str(path), size=4, dtype=torch.int32)
    assert x.tolist() == np.arange(16, dtype=np.uint8).view(np.int32).tolist()
    x.zero_()
    assert path.read_bytes() == bytes(range(16)) and x.sum().item() == 0
    assert torch.from_file(path, size=2, requires_grad=True).requires_grad
    assert not x.untyped_storage().resizable() and x.untyped_storage().filename is None
    with pytest.raises(RuntimeError, match="size <16> is smaller than the required mapping size"):
        torch.from_file(path, size=5)
    with pytest.raises(RuntimeError, match="unable to open file <.*gone> in read-only mode: No su"):
        torch.from_file(path.with_name("gone"), size=5)


def test_shared_files(path):
    x = torch.from_file(path, True, 5, dtype=torch.float32)
    x.fill_(1)
    assert np.frombuffer(path.read_bytes(), np.float32).tolist() == [1.0] * 5
    assert x.is_shared() and x.untyped_storage().filename == str(path)
    other = path.with_name("new")
    assert torch.from_file(other, shared=True, size=3).tolist() == [0.0, 0.0, 0.0]
    assert other.stat().st_size == 12


def test_storages_of_files(path):
    storage = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=16)
    assert len(storage) == 16 and storage[3] == 3
    part = torch.asarray(storage[8:16], dtype=torch.uint8)
    part[0] = 77
    assert storage[8] == 77 and part.view(torch.int32).shape == (2,)
    assert torch.ByteStorage.from_file(path, False, 4).tolist() == [0, 1, 2, 3]
    assert torch.UntypedStorage.from_file(path).nbytes() == 0


def test_tensors_stay_on_the_tape():
    x = torch.ones(2, requires_grad=True)
    assert torch.as_tensor(x, dtype=torch.float64).requires_grad


def test_a_storage_is_the_first_thing_that_is_made(run_python):
    done = run_python("-c", "import yesca; print(yesca.UntypedStorage([1, 2]).tolist())")
    assert done.stdout == "[1, 2]\n"
