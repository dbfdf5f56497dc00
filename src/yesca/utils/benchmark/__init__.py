"""`torch.utils.benchmark`: how long a piece of code takes, and tables of several of them."""

from ...base import absent
from .compare import Colorize, Compare
from .measurement import (
    Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig,
    unit_to_english,
)
from .timer import Timer, timer

__all__ = ["Colorize", "Compare", "Measurement", "TaskSpec", "Timer", "ordered_unique",
           "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english"]


__getattr__ = absent.names_of(__name__)
