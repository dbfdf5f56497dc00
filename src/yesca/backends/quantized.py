"""`torch.backends.quantized`: there are no quantized kernels yet."""

from __future__ import annotations

engine = "none"
supported_engines = ["none"]
