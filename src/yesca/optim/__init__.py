"""Optimizers, learning rate schedulers, averages of weights. Loaded on first use."""

from importlib import import_module
from typing import Any

from ..base import absent

_MODULE_OF = {
    "Adadelta": "adadelta",
    "Adafactor": "adafactor",
    "Adagrad": "adagrad",
    "Adam": "adam",
    "AdamW": "adamw",
    "Adamax": "adamax",
    "ASGD": "asgd",
    "LBFGS": "lbfgs",
    "Muon": "muon",
    "NAdam": "nadam",
    "Optimizer": "optimizer",
    "RAdam": "radam",
    "RMSprop": "rmsprop",
    "Rprop": "rprop",
    "SGD": "sgd",
    "swap_in_optimizer_params_and_state": "stateless",
}
_SUBMODULES = ("lr_scheduler", "swa_utils")

__all__ = [*_MODULE_OF, *_SUBMODULES]
_ALL_SUBMODULES = {*_SUBMODULES, *_MODULE_OF.values()}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    elif name in _ALL_SUBMODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise absent.error(__name__, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ALL_SUBMODULES})
