"""The default random number generator of the CPU: seeds and states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .base import absent
from . import _tensor  # noqa: F401 - states are tensors
from .runtime.generator import Generator, default_generator

if TYPE_CHECKING:
    from ._tensor import Tensor

__all__ = [
    "set_rng_state", "get_rng_state", "manual_seed", "seed", "initial_seed", "fork_rng",
]


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state that `get_rng_state` gave: a uint8 tensor."""
    default_generator.set_state(new_state)


def get_rng_state() -> Tensor:
    """The state of the generator as a uint8 tensor."""
    return default_generator.get_state()


def manual_seed(seed: int) -> Generator:
    """Start the generator from `seed`; the same seed gives PyTorch's numbers.

    >>> import yesca as torch
    >>> torch.manual_seed(0).initial_seed()
    0
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the generator from a seed that the system gives, which is returned."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed from which the generator has started."""
    return default_generator.initial_seed()


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Put the generator back to its state once the `with` block ends. Other devices: none."""
    if not enabled:
        yield
        return
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)


__getattr__ = absent.names_of(__name__)
