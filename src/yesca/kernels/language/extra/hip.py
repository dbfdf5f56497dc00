"""`tl.extra.hip.libdevice`."""

from . import libdevice as libdevice
