"""`torch.backends.miopen`: MIOpen is not used."""

from __future__ import annotations

immediate = False
