"""Splitting arguments over devices, and joining results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ...base import absent

__all__ = ["scatter", "scatter_kwargs", "gather"]


def _is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """What each device gets: the same of everything but tensors, containers made anew.

    Raises AssertionError for tensors: they are split over accelerators, of which there are none.
    """
    assert not isinstance(inputs, Tensor), "Scatter function not implemented for CPU tensors"
    if _is_namedtuple(inputs):
        return [type(inputs)(*parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, tuple) and inputs:
        return _each(inputs, target_gpus, dim)
    if isinstance(inputs, list) and inputs:
        return [list(parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(parts) for parts in _each(inputs.items(), target_gpus, dim)]
    return [inputs for _ in target_gpus]


def _each(parts: Any, target_gpus: Sequence[Any], dim: int) -> list[tuple]:
    return list(zip(*(scatter(part, target_gpus, dim) for part in parts)))


def scatter_kwargs(
    inputs: tuple, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple, tuple]:
    """The arguments of a call, positional and by name, for each device; as many of both."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(named))
    positional += [()] * (count - len(positional))
    named += [{} for _ in range(count - len(named))]
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of all devices as one: tensors joined, containers made anew.

    Raises AssertionError for tensors, which are on no accelerator, and ValueError where
    dictionaries have not the same number of keys.
    """
    first = outputs[0]
    assert not isinstance(first, Tensor), "Gather function not implemented for CPU tensors"
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(each) != len(first) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)(
            (key, gather([each[key] for each in outputs], target_device, dim)) for key in first
        )
    parts = (gather(each, target_device, dim) for each in zip(*outputs, strict=True))
    return type(first)._make(parts) if _is_namedtuple(first) else type(first)(parts)


__getattr__ = absent.names_of(__name__)
