"""Optimizers, learning rate schedulers, averages of weights. Loaded on first use."""

from .._lazy import lazily

_HOMES = {
    "adadelta": "Adadelta", "_adafactor": "Adafactor", "adagrad": "Adagrad", "adam": "Adam",
    "adamw": "AdamW", "adamax": "Adamax", "asgd": "ASGD", "lbfgs": "LBFGS", "_muon": "Muon",
    "nadam": "NAdam", "optimizer": "Optimizer", "radam": "RAdam", "rmsprop": "RMSprop",
    "rprop": "Rprop", "sgd": "SGD", "sparse_adam": "SparseAdam",
    "stateless": "swap_in_optimizer_params_and_state",
}
_SUBMODULES = ("lr_scheduler", "swa_utils")

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, _SUBMODULES)
__all__ += _SUBMODULES
