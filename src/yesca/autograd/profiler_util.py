"""`torch.autograd.profiler_util`: the events of profiles under the names programs import."""

from ..base import absent
from ..profiler.event_list import EventList
from ..profiler.events import (
    MEMORY_EVENT_NAME, DeviceType, FunctionEvent, FunctionEventAvg, Interval,
)

__all__ = ["MEMORY_EVENT_NAME", "DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg",
           "Interval"]


__getattr__ = absent.names_of(__name__)
