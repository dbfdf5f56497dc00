"""The functions of the engine that datasets, samplers and workers need."""

from __future__ import annotations

from typing import Any

from ... import functional as ops
from ..._tensor import Tensor as Tensor
from ...core.dtypes import float64, int64
from ...dispatch import observing as observing
from ...dispatch import samples
from ...runtime.generator import Generator as Generator
from ...runtime.generator import default_generator as default_generator


def draw_seed(generator: Any = None) -> int:
    """A whole number from all of int64's range, one draw from `generator` (None: the default)."""
    return int(ops.empty((), dtype=int64).random_(generator=generator).item())


def permutation(n: int, generator: Any) -> list[int]:
    """The numbers below `n` in random order."""
    return ops.randperm(n, generator=generator).tolist()


def integers(high: int, count: int, generator: Any) -> list[int]:
    """`count` random numbers below `high`."""
    drawn = ops.randint(high=high, size=(count,), dtype=int64, generator=generator)
    return drawn.tolist()


def seeded_generator(seed: int) -> Any:
    """A generator of its own, started from `seed`."""
    generator = Generator()
    generator.manual_seed(seed)
    return generator


def rows(tensor: Any, indices: list[int]) -> Any:
    """The rows of a tensor at some indices."""
    found = samples.rows(tensor, indices)
    return tensor[ops.tensor(indices, dtype=int64)] if found is None else found


def stacked(tensors: Any) -> Any:
    """Tensors of one shape along a new first dimension."""
    found = samples.stacked(tensors)
    return ops.stack(list(tensors), 0) if found is None else found


def weights_tensor(weights: Any) -> Any:
    """The weights as float64."""
    return ops.as_tensor(weights, dtype=float64)


def multinomial(weights: Any, count: int, replacement: bool, generator: Any) -> list[int]:
    """`count` indices drawn with probabilities proportional to `weights`."""
    drawn = ops.multinomial(weights, count, replacement, generator=generator)
    return drawn.tolist()


def start_worker(seed: int) -> None:
    """Seed the default generator of a worker process, and let it compute with one thread."""
    from ...runtime.threads import set_num_threads

    set_num_threads(1)
    default_generator.manual_seed(seed)
