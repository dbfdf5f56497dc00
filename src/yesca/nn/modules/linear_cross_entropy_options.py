"""How `nn.functional.linear_cross_entropy` works in chunks."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...core.dtypes import DType, bfloat16, float16, float32, float64

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Chunks of `nn.functional.linear_cross_entropy`: how many rows each has, and what is kept.

    Args:
        allow_retain_graph: whether backward may run twice; costs memory of the gradients' size.
        batch_chunk_size: the rows of a chunk; by default `chunking_method` tells.
        chunking_method: `"aspect_ratio"` gives a chunk's logits the size of the whole input,
            `"aspect_ratio:N"` an N-th of it; `"auto"` is one of the two, by dtype.
        acc_policy: `"accurate"`, `"balanced"`, `"compact"` or `"auto"`; sums of gradients are kept
            in `acc_dtype` under each of them.
        acc_dtype: the dtype of the sums: by default float32 for half types, else the input's.

    Raises ValueError for values that are none of these.

    >>> LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = self.chunking_method.partition(":")
            if name != "aspect_ratio" or colon and not (factor.isdigit() and int(factor)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically.")

    def _adjust(self, num_batches: int, in_features: int, num_classes: int, dtype: DType,
                device: Any = None) -> LinearCrossEntropyOptions:
        """The same with everything that is left open decided."""
        half = dtype in (float16, bfloat16) and device is not None
        policy, method = self.acc_policy, self.chunking_method
        if policy == "auto":
            policy = "accurate" if half else "compact"
        if method == "auto":
            method = "aspect_ratio" if half else "aspect_ratio:2"
            method = None if self.batch_chunk_size is not None else method
        size = min(self.batch_chunk_size or num_batches, num_batches)
        if method is not None:
            size = _by_aspect_ratio(method, num_batches, in_features, num_classes)
            if self.batch_chunk_size not in (None, size):
                raise ValueError(
                    f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') "
                    f"give different chunk sizes ({self.batch_chunk_size} vs {size}); pass only "
                    "one.")
        wide = float32 if half and self.acc_policy == "auto" else dtype
        return dataclasses.replace(
            self, acc_policy=policy, chunking_method=method, batch_chunk_size=max(1, size),
            acc_dtype=self.acc_dtype or wide)


def _by_aspect_ratio(method: str, rows: int, features: int, classes: int) -> int:
    """The least power of 2 of rows whose logits take no less than the whole input, or a part."""
    factor = int(method.partition(":")[2] or 1)
    wanted = -(-rows // -(-classes // features))
    return min((1 << (wanted - 1).bit_length()) // factor, rows)
