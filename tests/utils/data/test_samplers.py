"""Samplers; the expected orders are PyTorch 2.13's for the same seeds."""

import pytest

import yesca as torch
from yesca.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def seeded(sampler):
    torch.manual_seed(0)
    return list(sampler)


def test_same_seed_same_order():
    repeated = RandomSampler(range(5), replacement=True, num_samples=40)
    assert seeded(repeated) == [
        1, 0, 4, 3, 4, 0, 2, 3, 4, 1, 3, 0, 1, 4, 0, 0, 3, 3, 0, 0,
        1, 4, 0, 2, 3, 3, 4, 2, 2, 2, 2, 4, 4, 1, 3, 3, 3, 2, 3, 4,
    ]
    assert seeded(RandomSampler(range(5), num_samples=12)) == [1, 3, 4, 2, 0, 4, 0, 2, 3, 1, 4, 0]
    assert seeded(SubsetRandomSampler([5, 6, 7, 8])) == [5, 6, 8, 7]
    assert list(WeightedRandomSampler([0.1, 0.5, 0.4], 10)) == [0, 0, 1, 0, 1, 1, 1, 1, 1, 1]
    assert list(WeightedRandomSampler([0.1, 0.5, 0.4], 3, replacement=False)) == [2, 1, 0]


def test_loader_leaves_the_generator_where_pytorch_does():
    torch.manual_seed(0)
    loader = DataLoader(range(10), batch_size=4, shuffle=True)
    assert [b.tolist() for b in loader] == [[6, 7, 1, 4], [2, 0, 9, 8], [3, 5]]
    assert [b.tolist() for b in loader] == [[2, 4, 7, 0], [8, 9, 5, 3], [6, 1]]
    assert torch.rand(2).tolist() == [0.455627977848053, 0.6323062777519226]


def test_distributed():
    parts = [DistributedSampler(range(7), 3, rank, seed=4) for rank in range(3)]
    assert [list(part) for part in parts] == [[3, 4, 6], [1, 2, 3], [0, 5, 1]]
    assert [len(part) for part in parts] == [3, 3, 3]
    even = [DistributedSampler(range(7), 3, rank, seed=4, drop_last=True) for rank in range(3)]
    assert [list(part) for part in even] == [[3, 4], [1, 2], [0, 5]]
    before = list(parts[0])
    parts[0].set_epoch(1)
    assert list(parts[0]) != before
    few = [DistributedSampler(range(2), 5, rank, shuffle=False) for rank in range(5)]
    assert [list(part) for part in few] == [[0], [1], [0], [1], [0]]
    with pytest.raises(ValueError, match=r"Invalid rank 3, rank should be in the interval \[0, 2"):
        DistributedSampler(range(7), 3, 3)


def test_batches():
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    source = SequentialSampler(range(5))
    assert [len(BatchSampler(source, 2, last)) for last in (False, True)] == [3, 2]


def test_arguments():
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        RandomSampler([])
    with pytest.raises(TypeError, match="replacement should be a boolean"):
        RandomSampler([1], replacement=1)
    for bad in (0, True, 1.5):
        with pytest.raises(ValueError, match="batch_size should be a positive integer"):
            BatchSampler(range(3), bad, False)
        with pytest.raises(ValueError, match="num_samples should be a positive integer"):
            WeightedRandomSampler([1.0], bad)
    with pytest.raises(ValueError, match="weights should be a 1d sequence"):
        WeightedRandomSampler([[1.0]], 1)
    with pytest.raises(TypeError):
        len(Sampler())
