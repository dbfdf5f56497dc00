"""Settings of checkpoints: `config.save.compute_crc32 = False`, `config.patch("load.mmap", True)`.

`save` and `load` read them at every call.
"""

from __future__ import annotations

import sys

from ..._checkpoint.options import VALUES
from .._config_module import install_config_module

install_config_module(__name__, VALUES)
vars(sys.modules[__name__])["_values"] = VALUES  # the very table that saving and loading read
