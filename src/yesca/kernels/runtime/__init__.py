"""`triton.runtime`: the driver that programs ask for their device, and the classes of kernels."""

from ..._lazy import lazily

_HOMES = {
    ".launching": "JITFunction",
    ".tuning": "Autotuner Config Heuristics",
    "drivers": "driver",
}

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
