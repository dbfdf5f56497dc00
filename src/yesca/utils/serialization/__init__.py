"""`torch.utils.serialization`: `config.save` and `config.load`, the settings of checkpoints."""

from ..._checkpoint.options import config

__all__ = ["config"]
