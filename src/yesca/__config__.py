"""How the package is built: what `torch.__config__.show()` and `parallel_info()` print."""

from __future__ import annotations

import os
import sys

__all__ = ["show", "parallel_info"]


def show() -> str:
    """Versions of yesca and of what it stands on, one a line."""
    from importlib.metadata import version as installed

    from . import backends
    from .version import __version__, yesca

    lines = [
        f"yesca {yesca} (API of PyTorch {__version__}) running with:",
        f"  - Python {sys.version.split()[0]} on {sys.platform}",
        f"  - NumPy {installed('numpy')} (LAPACK is enabled)",
        f"  - llvmlite {installed('llvmlite')}",
        f"  - CPU capability usage: {backends.cpu.get_cpu_capability()}",
        f"  - Build settings: TORCH_VERSION={__version__}, USE_CUDA=0, USE_MKL=OFF, USE_OPENMP=OFF",
    ]
    return "\n".join(lines) + "\n"


def parallel_info() -> str:
    """The threads that operators use."""
    from .runtime.threads import get_num_threads

    return (
        f"yesca thread pool:\n\tget_num_threads() : {get_num_threads()}\n"
        f"\tcores : {os.cpu_count()}\n"
    )
