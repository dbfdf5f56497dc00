"""Datasets and their combinations; expected splits are PyTorch 2.13's."""

import pytest

import yesca as torch
from yesca.utils.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Count(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_tensor_dataset():
    data = TensorDataset(torch.arange(4), torch.arange(8).reshape(4, 2))
    assert len(data) == 4 and [part.tolist() for part in data[1]] == [1, [2, 3]]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(torch.arange(4), torch.arange(3))


def test_dataset_needs_getitem():
    with pytest.raises(NotImplementedError):
        Dataset()[0]


def test_concat():
    data = TensorDataset(torch.arange(3)) + TensorDataset(torch.arange(10, 12))
    assert isinstance(data, ConcatDataset) and data.cumulative_sizes == [3, 5]
    assert [int(data[i][0]) for i in (0, 2, 3, 4, -1, -5)] == [0, 2, 10, 11, 11, 0]
    with pytest.raises(ValueError, match="should not exceed dataset length"):
        data[-6]
    with pytest.raises(AssertionError):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="IterableDataset"):
        ConcatDataset([Count(1)])


def test_chain():
    data = Count(2) + Count(3)
    assert isinstance(data, ChainDataset) and list(data) == [0, 1, 0, 1, 2] and len(data) == 5
    with pytest.raises(AssertionError, match="ChainDataset only supports"):
        list(ChainDataset([[1]]))


def test_stack():
    data = StackDataset(a=TensorDataset(torch.arange(3)), b=[5, 6, 7])
    assert data[1]["b"] == 6
    assert [sample["b"] for sample in data.__getitems__([2, 0])] == [7, 5]
    assert StackDataset([1, 2], "ab").__getitems__([1, 0]) == [(2, "b"), (1, "a")]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset([1], [1, 2])
    with pytest.raises(ValueError, match="both types are given"):
        StackDataset([1], b=[1])
    with pytest.raises(ValueError, match="At least one dataset"):
        StackDataset()


def test_subset():
    subset = Subset(range(10, 20), [3, 1])
    assert [subset[0], subset[1], len(subset)] == [13, 11, 2]
    assert subset.__getitems__([1, 0]) == [11, 13]

    class Half(Subset):
        def __getitem__(self, index):
            return 0

    with pytest.raises(NotImplementedError, match="must also override __getitems__"):
        Half(range(3), [0])


def test_random_split_is_pytorchs():
    parts = random_split(range(10), [0.35, 0.35, 0.3], generator=torch.Generator().manual_seed(42))
    assert [list(part) for part in parts] == [[2, 6, 1, 8], [4, 5, 0], [9, 3, 7]]
    torch.manual_seed(0)
    assert [list(part) for part in random_split(range(7), [3, 4])] == [[4, 0, 5], [3, 2, 6, 1]]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        random_split(range(7), [3, 3])
    with pytest.raises(ValueError, match="not between 0 and 1"):
        random_split(range(7), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(1), [0.5, 0.5])


def batches(data, **options):
    return [[part.tolist() for part in batch] for batch in DataLoader(data, **options)]


def test_rows_at_once_give_the_same_batches():
    tensors = (torch.arange(20.0).reshape(10, 2), torch.arange(10))
    plain = TensorDataset(*tensors)
    single = [plain[i] for i in range(10)]
    assert batches(plain, batch_size=3) == batches(single, batch_size=3)
    order = [7, 0, -1, 7]
    assert batches(Subset(plain, order), batch_size=2) == batches([plain[i] for i in order],
                                                                  batch_size=2)
    with pytest.raises(IndexError):
        batches(Subset(plain, [10]))


def test_overridden_getitem_is_used():
    class Negated(TensorDataset):
        def __getitem__(self, index):
            return -super().__getitem__(index)[0]

    data = Negated(torch.arange(3))
    assert [batch.tolist() for batch in DataLoader(data, batch_size=2)] == [[0, -1], [-2]]

    class Whole(TensorDataset):
        def __getitems__(self, indices):
            return [len(indices)] * len(indices)

    assert [b.tolist() for b in DataLoader(Whole(torch.arange(3)), batch_size=3)] == [[3, 3, 3]]
    collated = list(DataLoader(TensorDataset(torch.arange(3)), batch_size=2, collate_fn=list))
    assert [[int(x) for (x,) in batch] for batch in collated] == [[0, 1], [2]]
