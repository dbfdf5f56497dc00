"""Storages without data."""

import io

import pytest

import yesca as torch


@pytest.fixture
def storage():
    return torch.ones(2, device="meta").untyped_storage()


def test_a_storage_without_data_takes_everything(storage):
    storage.fill_(1)
    storage[0] = 5
    storage.copy_(torch.ones(2).untyped_storage())
    assert storage.clone().nbytes() == 8 and storage.resize_(20).nbytes() == 20
    assert repr(storage) == " ...\n[torch.storage.UntypedStorage(device=meta) of size 20]"


@pytest.mark.parametrize("use", [
    lambda storage: storage.tolist(),
    lambda storage: storage[0],
    lambda storage: storage[:2],
    lambda storage: storage.cpu(),
    lambda storage: torch.ones(2).untyped_storage().copy_(storage),
    lambda storage: torch.save(storage, io.BytesIO()),
])
def test_a_storage_without_data_gives_none(storage, use):
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        use(storage)
