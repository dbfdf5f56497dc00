"""Functions of devices, under the names by which programs know them."""

from ...._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, {}, ("libdevice", "cuda", "hip"))
