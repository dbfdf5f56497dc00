"""What `importlib.metadata` says about `torch` while yesca answers for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from ..version import __version__

#: The libraries that have to be there for this `torch`: yesca's own, not PyTorch's.
_REQUIRES = ("numpy", "llvmlite")


class TorchDistribution(Distribution):
    """The metadata of a PyTorch whose version is the one that yesca reproduces."""

    def read_text(self, filename: str) -> str | None:
        if filename in ("METADATA", "PKG-INFO"):
            lines = ["Metadata-Version: 2.1", "Name: torch", f"Version: {__version__}"]
            lines += ["Summary: PyTorch's public API, answered by yesca"]
            lines += [f"Requires-Dist: {name}" for name in _REQUIRES]
            return "\n".join(lines) + "\n\n"
        return {"top_level.txt": "torch\n", "INSTALLER": "yesca\n"}.get(filename)

    def locate_file(self, path: Any) -> Path:
        """A path beside the package, as for an installed distribution."""
        return Path(__file__).parents[2] / path


def distributions(context: Any) -> Iterable[Distribution]:
    """The distribution where the question is about `torch`, or about all there are."""
    wanted = None if context is None else context.name
    if wanted is None or re.sub(r"[-_.]+", "-", wanted).lower() == "torch":
        yield TorchDistribution()
