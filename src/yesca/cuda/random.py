"""Generators of CUDA devices that are not there: seeding does nothing, as in PyTorch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.errors import raise_no_cuda


def manual_seed(seed: int) -> None:
    """Seed the current device's generator: there is none."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices: there are none."""
    int(seed)


def seed() -> None:
    """Seed the current device's generator from the system: there is none."""


def seed_all() -> None:
    """Seed all generators from the system: there are none."""


def get_rng_state_all() -> list[Any]:
    """The states of all generators: an empty list."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the states of all generators; AssertionError if there is one to restore."""
    for _ in new_states:
        raise_no_cuda()


def get_rng_state(device: Any = "cuda") -> Any:
    """Raises AssertionError, as all functions below do."""
    raise_no_cuda()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    raise_no_cuda()


def initial_seed() -> int:
    raise_no_cuda()
