"""Datasets: where samples come from, and ways to combine and split them."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ...base.frames import warn
from ...base.naming import lives_in
from . import _engine

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
_HOME = "torch.utils.data.dataset"


@lives_in(_HOME)
class Dataset(Generic[T_co]):
    """A map from keys to samples.

    Subclasses define `__getitem__(key)`, and `__len__()` for samplers that need it. A method
    `__getitems__(keys) -> list of samples`, where there is one, is used for whole batches.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


@lives_in(_HOME)
class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples: subclasses define `__iter__`.

    Every worker of a loader iterates over a copy; `get_worker_info()` tells it which part to
    give, or else each sample comes once a worker.
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


@lives_in(_HOME)
class TensorDataset(Dataset[tuple[Any, ...]]):
    """Samples are the rows of tensors of equal first size, as a tuple.

    Example::

        >>> import yesca as torch
        >>> from yesca.utils.data import TensorDataset
        >>> data = TensorDataset(torch.arange(4), torch.arange(4) * 10)
        >>> data[2]
        (tensor(2), tensor(20))
    """

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            sizes = [tensor.size(0) for tensor in tensors]
            raise AssertionError(f"Size mismatch between tensors: first sizes are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


@lives_in(_HOME)
class StackDataset(Dataset[Any]):
    """Several datasets of one length side by side: samples are tuples, or dicts for keywords."""

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in (args or kwargs.values())]
        if any(length != lengths[0] for length in lengths):
            raise ValueError(f"Size mismatch between datasets: lengths are {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples of several indices, with one call for each dataset that has such a method."""
        if isinstance(self.datasets, dict):
            columns = [_samples(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns)]
        return list(zip(*(_samples(dataset, indices) for dataset in self.datasets)))

    def __len__(self) -> int:
        return self._length


def _samples(dataset: Any, indices: list[int]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items: list[Any] = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError("Nested dataset's output size mismatch. Expected "
                         f"{len(indices)}, got {len(items)}")
    return items


@lives_in(_HOME)
class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other, as `a + b` makes it."""

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each part ends."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][idx - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`."""
        warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`",
             FutureWarning)
        return self.cumulative_sizes


@lives_in(_HOME)
class ChainDataset(IterableDataset[Any]):
    """Streams one after the other, as `a + b` makes it."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


@lives_in(_HOME)
class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices."""

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. When subclassing "
                "Subset and overriding __getitem__, you must also override __getitems__, which "
                "the DataLoader calls for whole batches:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples of several indices."""
        chosen = [self.indices[index] for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float],
                 generator: Any = _engine.default_generator) -> list[Subset[Any]]:
    """Split a dataset at random into parts of given lengths, or of given fractions.

    Fractions that sum to 1 give lengths rounded down; what is left goes to the parts in turn,
    one sample each. Raises ValueError if the lengths do not sum to the dataset's.

    Example::

        >>> import yesca as torch
        >>> from yesca.utils.data import random_split
        >>> seed = torch.Generator().manual_seed(42)
        >>> [len(part) for part in random_split(range(10), [0.7, 0.3], generator=seed)]
        [7, 3]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(len(dataset), lengths)
    total = sum(lengths)
    if total != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset! "
                         f"{list(lengths)} sum to {total}, the dataset has {len(dataset)}")
    indices = _engine.permutation(total, generator)  # type: ignore[arg-type]
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, indices[end - length : end])  # type: ignore[misc]
            for end, length in zip(ends, lengths, strict=True)]


def _lengths_of_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    for place, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1: {fraction}")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for place in range(total - sum(lengths)):
        lengths[place % len(lengths)] += 1
    for place, length in enumerate(lengths):
        if length == 0:
            warn(f"Length of split at index {place} is 0. This might result in an empty "
                 "dataset.")
    return lengths
