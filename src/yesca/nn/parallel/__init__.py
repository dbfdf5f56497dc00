"""Modules that run on several devices at once; here there is one, and they run as they are."""

from __future__ import annotations

from ...base import absent
from . import comm as comm
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]

__getattr__ = absent.names_of(__name__)
