"""`torch.autograd`: the tape, derivatives, functions of one's own; loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base import absent

_HOMES = {
    "calls": "backward",
    "grads": "grad",
    "function": "Function",
    "handle": "SavedTensor",
    "gradcheck": "gradcheck gradgradcheck",
    "modes": "no_grad enable_grad set_grad_enabled inference_mode set_multithreading_enabled",
    "anomaly_mode": "detect_anomaly set_detect_anomaly",
    "variable": "Variable",
}
_MODULES = ("anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph",
            "profiler", "profiler_util", "variable")
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_NAMES, "forward_ad", "functional", "graph", "grad_mode", "function"])


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        made = getattr(import_module(f".{_NAMES[name]}", __package__), name)
    elif name in _MODULES:
        return import_module(f".{name}", __package__)
    else:
        raise absent.error(__name__, name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})
