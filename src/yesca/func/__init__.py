"""`torch.func`: functions of functions (derivatives, batches); loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base import absent

_HOMES = {
    "_vmap": "vmap",
    "_derivatives": "grad grad_and_value vjp jvp linearize",
    "_jacobians": "jacrev jacfwd hessian",
    "_modules": "functional_call stack_module_state replace_all_batch_norm_modules_",
    "_functionalize": "functionalize",
    "_batched": "debug_unwrap",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise absent.error(__name__, name)
    made = getattr(import_module(f".{_NAMES[name]}", __package__), name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
