"""Learning rate schedulers: call `scheduler.step()` after `optimizer.step()`."""

from .schedulers.base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from .schedulers.base import LRScheduler, _LRScheduler  # noqa: F401 - the old name
from .schedulers.combined import ChainedScheduler, SequentialLR
from .schedulers.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .schedulers.cyclic import CyclicLR, OneCycleLR
from .schedulers.plateau import ReduceLROnPlateau
from .schedulers.simple import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "LambdaLR",
    "MultiplicativeLR",
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "SequentialLR",
    "CosineAnnealingLR",
    "ChainedScheduler",
    "ReduceLROnPlateau",
    "CyclicLR",
    "CosineAnnealingWarmRestarts",
    "OneCycleLR",
    "PolynomialLR",
    "LRScheduler",
]

# Printed and pickled by the name users know; the files behind it are free to change.
for _name in (*__all__, "_LRScheduler"):
    globals()[_name].__module__ = __name__
