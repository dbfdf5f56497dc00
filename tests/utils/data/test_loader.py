"""`DataLoader` in one process: arguments, samplers, streams."""

import pytest

import yesca as torch
from yesca.utils.data import DataLoader, IterableDataset, RandomSampler, TensorDataset


class Stream(IterableDataset):
    def __init__(self, n, claimed=None):
        self.n, self.claimed = n, claimed

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        if self.claimed is None:
            raise TypeError("no length")
        return self.claimed


@pytest.mark.parametrize(("options", "message"), [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be specified"),
    ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
    ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
    ({"multiprocessing_context": "fork"}, "multiprocessing_context can only be used"),
])
def test_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader([1, 2], **options)


@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]},
])
def test_stream_arguments(options):
    with pytest.raises(ValueError, match="expected unspecified"):
        DataLoader(Stream(3), **options)


def test_attributes_are_fixed():
    loader = DataLoader([1, 2])
    with pytest.raises(ValueError, match="batch_size attribute should not be set after"):
        loader.batch_size = 5
    loader.collate_fn = list
    assert list(loader) == [[1], [2]]


def values(loader):
    return [batch.tolist() for batch in loader]


def test_batches():
    assert values(DataLoader(range(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert values(DataLoader(range(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert values(DataLoader(range(5), sampler=[3, 1], batch_size=2)) == [[3, 1]]
    assert values(DataLoader(range(5), batch_sampler=[[4], [0, 2]])) == [[4], [0, 2]]
    assert list(DataLoader(range(3), batch_size=None)) == [0, 1, 2]
    assert [len(DataLoader(range(5), batch_size=2, drop_last=d)) for d in (False, True)] == [3, 2]


def test_streams():
    assert values(DataLoader(Stream(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert values(DataLoader(Stream(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert len(DataLoader(Stream(5, claimed=5), batch_size=2)) == 3
    with pytest.raises(TypeError):
        len(DataLoader(Stream(5)))
    loader = DataLoader(Stream(3, claimed=2))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2"):
        assert len(list(loader)) == 3


def test_generator():
    data = TensorDataset(torch.arange(10))
    orders = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(7)
        loader = DataLoader(data, shuffle=True, generator=generator)
        assert isinstance(loader.sampler, RandomSampler)
        orders.append([int(x) for (x,) in loader])
    assert orders[0] == orders[1] and sorted(orders[0]) == list(range(10))


def test_pin_memory_without_accelerator():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert values(DataLoader([1], pin_memory=True)) == [[1]]


def test_getitems_is_preferred():
    class Data:
        def __len__(self):
            return 3

        def __getitems__(self, indices):
            return [i * 10 for i in indices]

    assert values(DataLoader(Data(), batch_size=2)) == [[0, 10], [20]]
