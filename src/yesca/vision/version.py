"""The version of torchvision whose behaviour is reproduced: the one that goes with PyTorch's."""

from __future__ import annotations

from ..version import cuda as cuda
from ..version import git_version as git_version

__all__ = ["__version__", "git_version"]

__version__ = "0.28.0"
