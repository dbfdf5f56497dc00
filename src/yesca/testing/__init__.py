"""`torch.testing`: comparing results, and tensors to try functions on."""

from ..base import absent
from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

__getattr__ = absent.names_of(__name__)
