"""Storages between processes."""

import pickle
from multiprocessing.reduction import ForkingPickler

import pytest

import yesca as torch
import yesca.multiprocessing


def sent(thing):
    data = bytes(ForkingPickler.dumps(thing))
    return len(data), pickle.loads(data)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "numbers"
    torch.from_file(path, shared=True, size=5000)[:] = torch.arange(5000.0)
    return path


def test_a_shared_file_goes_by_name(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    x = torch.from_file("numbers", shared=True, size=5000)
    size, (y, tail) = sent((x.view(50, 100), x[4000:]))
    assert size < 2000 and y.shape == (50, 100) and y.untyped_storage().filename == str(path)
    y[40, 0] = -1
    assert x[4000].item() == -1 and tail[0].item() == -1
    assert tail.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    size, storage = sent(x.untyped_storage())
    assert size < 500 and storage.nbytes() == 20_000 and storage.is_shared()


def test_other_storages_go_as_copies(path):
    for x in (torch.from_file(path, size=5000), torch.arange(5000.0)):
        size, y = sent(x)
        y[0] = -1
        assert size > 20_000 and x[0].item() == 0
    whole = pickle.dumps(torch.from_file(path, shared=True, size=5000))  # an ordinary pickle
    path.unlink()
    assert pickle.loads(whole)[-1].item() == 4999


def test_files_that_have_gone(path):
    data = bytes(ForkingPickler.dumps(torch.from_file(path, shared=True, size=5000)))
    path.write_bytes(b"short")
    with pytest.raises(RuntimeError, match="has 5 bytes where 20000 are needed"):
        pickle.loads(data)
    path.unlink()
    with pytest.raises(RuntimeError, match="has 0 bytes where 20000 are needed"):
        pickle.loads(data)
    assert not path.exists()
