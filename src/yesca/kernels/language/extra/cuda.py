"""`tl.extra.cuda.libdevice`."""

from . import libdevice as libdevice
