"""CUDA graphs, without CUDA."""

from __future__ import annotations

from ..base import absent
from ..base.naming import lives_in


@lives_in("torch.cuda.graphs")
class CUDAGraph:
    """A captured graph of CUDA kernels; making one raises RuntimeError."""

    def __init__(self, keep_graph: bool = False) -> None:
        raise RuntimeError("Tried to instantiate dummy base class _CUDAGraph")


def is_current_stream_capturing() -> bool:
    """False: nothing is captured."""
    return False


__getattr__ = absent.names_of(__name__)
