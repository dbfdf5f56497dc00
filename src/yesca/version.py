"""Versions: the one of PyTorch whose behaviour is reproduced, and yesca's own.

The answer to `torch.__version__` and `importlib.metadata.version("torch")` is "2.13.0", without
the "+cpu" that PyTorch's Linux wheels add: PyTorch for macOS says just "2.13.0" as well, and a
local part makes `Version("2.13.0+cpu") <= Version("2.13.0")` false, which upper bounds such as
`torch<=2.13.0` trip over.
"""

from __future__ import annotations

__all__ = ["__version__", "debug", "cuda", "git_version", "hip", "rocm", "xpu", "yesca"]

__version__ = "2.13.0"
debug = False
cuda: str | None = None
git_version: str = "Unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None

#: The version of this package (the build reads it here).
yesca = "0.1.0"
