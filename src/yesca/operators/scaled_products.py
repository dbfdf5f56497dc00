"""Products of matrices of 8-bit floats whose scales are kept beside them."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import (
    NARROW_FLOATS, SCALAR_NAMES, SMALL_FLOATS, float4_e2m1fn_x2, float32,
)
from .kinds import composite


def _scaled_mm(ops: Any, self: Any, mat2: Any, scale_a: Any, scale_b: Any, bias: Any,
               scale_result: Any, out_dtype: Any, use_fast_accum: bool) -> Any:
    """Computed in float32 and rounded once, whatever `use_fast_accum` says."""
    for matrix, name in ((self, "mat1"), (mat2, "mat2")):
        if matrix.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, got {matrix.dim()}-D tensor")
    (rows, inner), (depth, columns) = self.shape, mat2.shape
    if inner != depth:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied "
                           f"({rows}x{inner} and {depth}x{columns})")
    scales = []
    for matrix, scale, name, long in ((self, scale_a, "mat1", (rows, 1)),
                                      (mat2, scale_b, "mat2", (1, columns))):
        if matrix.dtype is float4_e2m1fn_x2:
            raise RuntimeError(f"Expected {name} to be Float8 matrix got "
                               f"{SCALAR_NAMES[matrix.dtype]}")
        if matrix.dtype not in SMALL_FLOATS or scale.numel() != 1 and tuple(scale.shape) != long:
            raise ValueError(
                f"Invalid scaling configuration. {name} of shape {tuple(matrix.shape)} and "
                f"{matrix.dtype} has a scale of shape {tuple(scale.shape)}; a matrix of 8-bit "
                f"floats takes one number or {long}")
        plain = ops.reshape(scale, ()) if scale.numel() == 1 else scale
        scales.append(ops.to_dtype(plain, float32))
    wanted = self.dtype if out_dtype is None else out_dtype
    if wanted is not float32 and wanted not in NARROW_FLOATS:
        raise RuntimeError("itensor_view_from_dense expects float/bfloat16/half/int8/fp8 tensor "
                           f"input, but out_dtype is {wanted}")
    made = ops.mm(ops.to_dtype(self, float32), ops.to_dtype(mat2, float32))
    made = ops.mul(ops.mul(made, scales[0]), scales[1])
    if bias is not None:
        made = ops.add(made, ops.to_dtype(bias, float32))
    return made if wanted is float32 else ops.to_dtype(made, wanted)


composite("_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, "
          "Tensor? bias=None, Tensor? scale_result=None, dtype? out_dtype=None, "
          "bool use_fast_accum=False) -> Tensor", _scaled_mm, method=False,
          doc="self * scale_a @ mat2 * scale_b + bias for 8-bit floats; a scale is one number, or "
              "one a row of self (m, 1), a column of mat2 (1, n). The result has out_dtype (that "
              "of self), is summed in float32 and rounded once. scale_result is not used, as on "
              "PyTorch's CPU.")
