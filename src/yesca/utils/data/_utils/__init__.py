"""Parts of the data loader; `README.md` one folder up gives the reading order."""

from __future__ import annotations

from . import collate as collate
from . import fetch as fetch
from . import pin_memory as pin_memory
from . import worker as worker
from .errors import ExceptionWrapper as ExceptionWrapper
from .worker import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
