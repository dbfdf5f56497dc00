"""`torch.utils.serialization`: `config.save` and `config.load`, the settings of checkpoints."""

from . import config

__all__ = ["config"]
