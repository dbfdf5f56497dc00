"""Settings of PyTorch's compiler backend: kept, and without effect here."""

from __future__ import annotations

from ..graph.options import DEFAULTS
from ..utils._config_module import install_config_module

install_config_module(__name__, DEFAULTS)
