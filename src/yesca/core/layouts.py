"""`layout`, `memory_format`, `qscheme`: fixed sets of named objects, compared by identity."""

from __future__ import annotations

from ..base.naming import public_module


class _Named:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickled by name, so that it stays one object

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class Layout(_Named):
    """How a tensor's elements are stored, as `torch.layout`: `strided`, or a sparse form."""

    __slots__ = ()


class MemoryFormat(_Named):
    """The order of a tensor's dimensions in memory, as `torch.memory_format`."""

    __slots__ = ()


class QScheme(_Named):
    """How a quantized tensor's integers stand for numbers, as `torch.qscheme`."""

    __slots__ = ()


for _public, _cls in (("layout", Layout), ("memory_format", MemoryFormat), ("qscheme", QScheme)):
    _cls.__name__ = _cls.__qualname__ = _public
    _cls.__module__ = public_module("torch")

strided = Layout("strided")
sparse_coo = Layout("sparse_coo")
sparse_csr = Layout("sparse_csr")
sparse_csc = Layout("sparse_csc")
sparse_bsr = Layout("sparse_bsr")
sparse_bsc = Layout("sparse_bsc")
jagged = Layout("jagged")

contiguous_format = MemoryFormat("contiguous_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
preserve_format = MemoryFormat("preserve_format")

per_tensor_affine = QScheme("per_tensor_affine")
per_channel_affine = QScheme("per_channel_affine")
per_tensor_symmetric = QScheme("per_tensor_symmetric")
per_channel_symmetric = QScheme("per_channel_symmetric")
per_channel_affine_float_qparams = QScheme("per_channel_affine_float_qparams")
