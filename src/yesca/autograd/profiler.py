"""`torch.autograd.profiler`: profiles without a schedule, and marks for tools of other devices."""

from __future__ import annotations

from typing import Any

from ..base import absent
from ..base.errors import raise_no_cuda
from ..profiler import kineto_available as kineto_available
from ..profiler.event_list import EventList
from ..profiler.events import DeviceType, FunctionEvent, FunctionEventAvg
from ..profiler.ranges import record_function
from ..profiler.session import profile


class emit_itt:  # noqa: N801 - PyTorch's name
    """Would mark operators for Intel's VTune; without that tool it changes nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self.entered = False

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{type(self).__name__.partition('_')[2].upper()} annotation "
                               "context manager is not reentrant")
        self._begin()
        self.entered = True
        return self

    def _begin(self) -> None:
        """What the tool needs first."""

    def __exit__(self, *exc: object) -> None:
        self.entered = False


class emit_nvtx(emit_itt):  # noqa: N801
    """Would mark operators for NVIDIA's tools; there is no CUDA here, and it says so."""

    def _begin(self) -> None:
        raise_no_cuda()


__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt",
           "emit_nvtx", "kineto_available", "profile", "record_function"]


__getattr__ = absent.names_of(__name__)
