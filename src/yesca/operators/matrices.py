"""What the records of linear algebra share: checks of their operands, transposed views."""

from __future__ import annotations

from typing import Any

from ..base.errors import LinAlgError
from ..core.dtypes import FLOATING, SCALAR_NAMES, DType, bfloat16, float16


def t(ops: Any, x: Any) -> Any:
    """The transposes of a batch of matrices."""
    return ops.transpose(x, -2, -1)


def h(ops: Any, x: Any) -> Any:
    """The conjugate transposes of a batch of matrices."""
    made = ops.transpose(x, -2, -1)
    return ops.conj(made) if x.dtype.is_complex else made


def by_columns(ops: Any, x: Any) -> Any:
    """A copy whose columns are contiguous, as LAPACK leaves a matrix that it works on."""
    return t(ops, ops.clone(t(ops, x), memory_format=ops.contiguous_format))


def real_part(ops: Any, x: Any) -> Any:
    """The real part; a real tensor itself."""
    return ops.real(x) if x.dtype.is_complex else x


def mirrored(ops: Any, x: Any) -> Any:
    """The hermitian matrix with the lower triangle of x (and the real part of its diagonal)."""
    below = ops.tril(x, -1)
    if not x.dtype.is_complex:
        return ops.add(ops.tril(x), t(ops, below))
    diagonal = ops.diag_embed(ops.real(ops.diagonal(x, 0, -2, -1)))
    return ops.add(ops.add(below, h(ops, below)), diagonal)


def check_matrix(name: str, x: Any, argument: str = "A") -> None:
    """Refuse what is no matrix; x is a tensor or a reference."""
    if x.spec.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name: str, x: Any, argument: str = "A") -> None:
    """Refuse what is no square matrix."""
    check_matrix(name, x, argument)
    rows, columns = x.spec.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: {argument} must be batches of square matrices, but they are "
                           f"{rows} by {columns} matrices")


def check_floating(name: str, dtype: DType) -> None:
    """Refuse integers."""
    if dtype.category < FLOATING:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got "
                           f"{SCALAR_NAMES[dtype]}")


def check_precision(name: str, dtype: DType) -> None:
    """Refuse integers and halves."""
    check_floating(name, dtype)
    if dtype in (float16, bfloat16):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got "
                           f"{SCALAR_NAMES[dtype]}")


def check_kernel(kernel: str, dtype: DType) -> None:
    """Refuse dtypes that LAPACK has no routines for."""
    if dtype.category < FLOATING or dtype in (float16, bfloat16):
        raise NotImplementedError(f'"{kernel}" not implemented for \'{SCALAR_NAMES[dtype]}\'')


class Seen:
    """A tensor as the checks see one: by its spec."""

    __slots__ = ("spec",)

    def __init__(self, tensor: Any) -> None:
        self.spec = tensor._spec


def raise_where(info: Any, message: Any) -> None:
    """LinAlgError for the first matrix whose info is not 0: `message(number)` says why."""
    info = info._all_examples()
    if not info.numel() or info.device.type == "meta":
        return
    flat = info.reshape(-1).tolist()
    for k, number in enumerate(flat):
        if number:
            raise LinAlgError(message(f"(Batch element {k}): " if info.dim() else "", number))


__all__ = ["Seen", "check_floating", "check_kernel", "check_matrix", "check_precision",
           "check_square", "h", "mirrored", "raise_where", "real_part", "t"]
