"""The sampler of distributed training: each process takes its share of one common order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...base.naming import lives_in
from . import _engine
from .sampler import Sampler

__all__ = ["DistributedSampler"]


@lives_in("torch.utils.data.distributed")
class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on, of an order that all processes share.

    Args:
        dataset: what is sampled.
        num_replicas: number of processes (default: that of the process group).
        rank: number of this process (default: that in the process group).
        shuffle: whether the order is random; `set_epoch` makes each epoch's different.
        seed: of the order; the same in all processes.
        drop_last: leave out what does not divide evenly, rather than repeat some samples.
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None,
                 shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:
            size, own = _process_group()
            num_replicas = size if num_replicas is None else num_replicas
            rank = own if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval "
                             f"[0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        if drop_last and count % num_replicas != 0:
            self.num_samples = math.ceil((count - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = _engine.seeded_generator(self.seed + self.epoch)
            indices = _engine.permutation(count, generator)
        else:
            indices = list(range(count))
        missing = self.total_size - len(indices)
        if self.drop_last:
            indices = indices[: self.total_size]
        elif missing > 0:
            indices += (indices * math.ceil(missing / len(indices)))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch; call it before making the epoch's iterator."""
        self.epoch = epoch


def _process_group() -> tuple[int, int]:
    from ... import distributed

    if not distributed.is_available():
        raise RuntimeError("Requires distributed package to be available; pass num_replicas and "
                           "rank")
    return distributed.get_world_size(), distributed.get_rank()
