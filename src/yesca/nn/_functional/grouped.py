"""Products of groups of rows or columns, each with a matrix of its own."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import SCALAR_NAMES, DType, bfloat16, float16, float32, int32
from ...operators.filling import c_name


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """One product for each group; `offs` says where the groups of a 2-D operand end.

    Args:
        mat_a, mat_b: (M, K) and (G, K, N): each group of rows has a matrix, (M, N).
            (G, M, K) and (K, N): each matrix has a group of columns, (M, N).
            (M, K) and (K, N): each group of columns and rows has a product, (G, M, N).
            (G, M, K) and (G, K, N): a batch of products, without `offs`.
        offs: (G), int32, ascending; what is beyond the last one is 0 in the result.
        bias: must be None.
        out_dtype: must be the operands' dtype: float32, bfloat16 or float16.

    Raises RuntimeError for other dtypes, sizes that do not fit, and rows that do not begin at
    multiples of 16 bytes.

    >>> import yesca as torch
    >>> x, w = torch.ones(8, 4), torch.arange(2.0)[:, None, None].expand(2, 4, 4).contiguous()
    >>> torch.nn.functional.grouped_mm(x, w, offs=torch.tensor([5, 8], dtype=torch.int32))[:, 0]
    tensor([0., 0., 0., 0., 0., 4., 4., 4.])
    """
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return ops.bmm(mat_a, mat_b)
    ends = offs.tolist()
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    if mat_a.dim() == mat_b.dim():
        return ops.stack([mat_a[:, start:end] @ mat_b[start:end] for start, end in spans])
    if mat_a.dim() == 2:
        made = [mat_a[start:end] @ mat_b[k] for k, (start, end) in enumerate(spans)]
        return _filled(made, 0, (mat_a.size(0), mat_b.size(2)))
    made = [mat_a[k] @ mat_b[:, start:end] for k, (start, end) in enumerate(spans)]
    return _filled(made, 1, (mat_a.size(1), mat_b.size(1)))


def _filled(parts: list[Tensor], dim: int, shape: tuple[int, int]) -> Tensor:
    """The parts one after the other, and zeros up to the size that is wanted."""
    left = shape[dim] - sum(part.size(dim) for part in parts)
    if left > 0:
        size = [left, left]
        size[1 - dim] = shape[1 - dim]
        parts.append(parts[0].new_zeros(size))
    return ops.cat(parts, dim)


def _check(a: Tensor, b: Tensor, offs: Tensor | None, bias: Tensor | None,
           out_dtype: DType | None) -> None:
    if a.dtype not in (float32, bfloat16, float16):
        raise RuntimeError("Expected mat_a to be Float32, BFloat16 or Float16 matrix, got "
                           f"{SCALAR_NAMES[a.dtype]}")
    if a.dtype is not b.dtype:
        raise RuntimeError("expected m1 and m2 to have the same dtype, but got: "
                           f"{c_name(a.dtype)} != {c_name(b.dtype)}")
    for name, matrix in (("mat_a", a), ("mat_b", b)):
        if matrix.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    flat = a.dim() == 2 or b.dim() == 2
    if (a.dim() == 3 or b.dim() == 3) and a.size(-1) != b.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    _check_strides(a)
    _check_strides(b)
    if flat != (offs is not None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both "
                           "matrices are 3d")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        if a.size(0) != b.size(0):
            raise RuntimeError("batched dimension has to match")
        return
    if offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if offs.dtype is not int32:
        raise RuntimeError("Offsets have to be int32")
    if any(m.dim() == 3 and m.size(0) != offs.size(0) for m in (a, b)):
        raise RuntimeError("matrix batch sizes have to match")


def _check_strides(matrix: Tensor) -> None:
    """Rows or columns must lie side by side, and begin at multiples of 16 bytes."""
    (rows, columns), (down, right) = matrix.shape[-2:], matrix.stride()[-2:]
    if down == 1 and right >= max(1, rows):
        step = right
    elif right == 1 and down >= max(1, columns):
        step = down
    else:
        raise RuntimeError(f"Invalid strides/sizes, got {list(matrix.stride())} for strides and "
                           f"{list(matrix.shape)} for sizes")
    if step * matrix.element_size() % 16:
        raise RuntimeError("strides should be multiple of 16 bytes")
