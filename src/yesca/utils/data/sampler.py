"""Samplers: orders in which a loader asks a dataset for samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ...base.naming import lives_in
from . import _engine

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)
_HOME = "torch.utils.data.sampler"
_DRAWN_AT_ONCE = 32  # with replacement; part of PyTorch's sequence of draws


@lives_in(_HOME)
class Sampler(Generic[T_co]):
    """Base of samplers: `__iter__` gives indices, or lists of them, each epoch anew.

    There is no `__len__` here on purpose: a sampler that has none must not seem to have one.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


@lives_in(_HOME)
class SequentialSampler(Sampler[int]):
    """All indices in order."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


@lives_in(_HOME)
class RandomSampler(Sampler[int]):
    """Indices in random order, or drawn with replacement.

    Args:
        data_source: what is sampled; only its length matters.
        replacement: whether an index may come again before all others have come.
        num_samples: how many indices an epoch has (default: the length of `data_source`).
        generator: source of randomness. None starts a new one each epoch, from a seed that is
            drawn from the default generator.
    """

    data_source: Sized
    replacement: bool

    def __init__(self, data_source: Sized, replacement: bool = False,
                 num_samples: int | None = None, generator: Any = None) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.replacement, bool):
            raise TypeError("replacement should be a boolean value, but got "
                            f"replacement={self.replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError("num_samples should be a positive integer value, but got "
                             f"num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """Indices an epoch; the data source may have grown."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = _engine.seeded_generator(_engine.draw_seed())
        whole, rest = divmod(self.num_samples, _DRAWN_AT_ONCE if self.replacement else n)
        if self.replacement:
            for _ in range(whole):
                yield from _engine.integers(n, _DRAWN_AT_ONCE, generator)
            yield from _engine.integers(n, rest, generator)
        else:
            for _ in range(whole):
                yield from _engine.permutation(n, generator)
            yield from _engine.permutation(n, generator)[:rest]

    def __len__(self) -> int:
        return self.num_samples


@lives_in(_HOME)
class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in _engine.permutation(len(self.indices), self.generator):
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


@lives_in(_HOME)
class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights, which need not sum to 1.

    Args:
        weights: one weight an index, a sequence or a 1-d tensor.
        num_samples: how many indices an epoch has.
        replacement: whether an index may come more than once.
    """

    weights: Any
    num_samples: int
    replacement: bool

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Any = None) -> None:
        _check_positive("num_samples", num_samples)
        _check_bool("replacement", replacement)
        self.weights = _engine.weights_tensor(weights)
        if len(self.weights.shape) != 1:
            raise ValueError("weights should be a 1d sequence but given weights have shape "
                             f"{tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from _engine.multinomial(self.weights, self.num_samples, self.replacement,
                                       self.generator)

    def __len__(self) -> int:
        return self.num_samples


@lives_in(_HOME)
class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter or left out.

    Example::

        >>> from yesca.utils.data import BatchSampler, SequentialSampler
        >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int,
                 drop_last: bool) -> None:
        _check_positive("batch_size", batch_size)
        _check_bool("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _check_positive(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")
