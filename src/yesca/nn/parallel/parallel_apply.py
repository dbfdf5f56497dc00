"""Running modules side by side, each on its device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ... import accelerator
from ..._tensor import Tensor
from ...base import absent
from ..modules.module import Module

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Tensor | None:
    """The first tensor in nested lists, tuples and dictionaries, or None."""
    if isinstance(obj, Tensor):
        return obj
    parts = obj.items() if isinstance(obj, dict) else obj
    if isinstance(obj, (list, tuple, dict)):
        return next((found for found in map(get_a_var, parts) if found is not None), None)
    return None


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> NoReturn:
    """Run each module on its inputs, on its accelerator.

    Raises RuntimeError, as there is no accelerator, and AssertionError where the lists differ in
    length or are empty.
    """
    others = {"inputs": inputs, "kwargs_tup": kwargs_tup, "devices": devices}
    for name, values in others.items():
        assert values is None or len(values) == len(modules), (
            f"The number of modules {len(modules)} is not equal to the number of {name} "
            f"{len(values)}"
        )
    for device in [None] * len(modules) if devices is None else devices:
        accelerator.current_stream(device)
    raise AssertionError("No available accelerator found.")


__getattr__ = absent.names_of(__name__)
