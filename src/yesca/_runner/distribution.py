"""What `importlib.metadata` says about the packages that yesca answers for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from ..kernels.version import __version__ as kernels_version
from ..version import __version__
from ..vision.version import __version__ as vision_version

#: The libraries that have to be there for this `torch`: yesca's own, not PyTorch's.
_REQUIRES = {"torch": ("numpy", "llvmlite"), "torchvision": ("numpy", "torch", "pillow"),
             "triton": ()}
_VERSIONS = {"torch": __version__, "torchvision": vision_version, "triton": kernels_version}
_SUMMARIES = {
    "torch": "PyTorch's public API, answered by yesca",
    "torchvision": "datasets, transforms and models of images, answered by yesca.vision",
    "triton": "the language of kernels, answered by yesca.kernels for the CPU",
}


class AnsweredDistribution(Distribution):
    """The metadata of a package that yesca reproduces, with the version that it reproduces."""

    def __init__(self, package: str) -> None:
        self._package = package

    def read_text(self, filename: str) -> str | None:
        if filename in ("METADATA", "PKG-INFO"):
            lines = ["Metadata-Version: 2.1", f"Name: {self._package}"]
            lines += [f"Version: {_VERSIONS[self._package]}"]
            lines += [f"Summary: {_SUMMARIES[self._package]}"]
            lines += [f"Requires-Dist: {name}" for name in _REQUIRES[self._package]]
            return "\n".join(lines) + "\n\n"
        files = {"top_level.txt": f"{self._package}\n", "INSTALLER": "yesca\n"}
        return files.get(filename)

    def locate_file(self, path: Any) -> Path:
        """A path beside the package, as for an installed distribution."""
        return Path(__file__).parents[2] / path


def distributions(context: Any) -> Iterable[Distribution]:
    """The distributions that a question is about, or all there are."""
    wanted = None if context is None else context.name
    for package in _VERSIONS:
        if wanted is None or re.sub(r"[-_.]+", "-", wanted).lower() == package:
            yield AnsweredDistribution(package)
