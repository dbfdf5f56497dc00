"""Dtypes that PyTorch has few kernels for: wide unsigned integers, and floats of 8 bits and less.

They are for data on its way. uint16, uint32 and uint64 are made, copied, compared for equality,
converted, sorted and summed; floats of 8 bits are made, moved, compared for equality, converted,
and multiplied with each other. All else is refused here too, in PyTorch's words, so that programs
meet the same borders: a record's name, and what PyTorch calls the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.dtypes import (
    SCALAR_NAMES, SMALL_FLOATS, DType, float4_e2m1fn_x2, float8_e5m2, float8_e8m0fnu, uint16,
    uint32, uint64,
)
from .record import RECORDS

WIDE = frozenset((uint16, uint32, uint64))
SMALL = frozenset(SMALL_FLOATS)
#: What wide unsigned integers have no kernels of; floats of 8 bits have neither.
KERNELS = {
    "abs": "abs_cpu", "add": "add_stub", "sub": "add_stub", "rsub": "add_stub",
    "addcmul": "addcmul_cpu_out", "amax": "max_values_cpu", "amin": "min_values_cpu",
    "aminmax_over": "aminmax_cpu", "argmax_dim": "argmax_cpu", "argmin_dim": "argmin_cpu",
    "bitwise_not": "bitwise_not_cpu", "bitwise_left_shift": "lshift_cpu",
    "bitwise_right_shift": "rshift_cpu", "clamp": "clamp_scalar_cpu",
    "convolution": "slow_conv2d_cpu", "dot": "dot", "vdot": "dot", "flip": "flip_cpu",
    "mm": "addmm_impl_cpu_", "matmul": "addmm_impl_cpu_",
    "trace": "trace", "addmm": "addmm_impl_cpu_", "bmm": "bmm", "mv": "addmv_impl_cpu",
    "floor_divide": "div_floor_cpu", "fmod": "fmod_cpu", "remainder": "remainder_cpu",
    "gather": "scatter_gather_tensor_cpu", "scatter_fold": "scatter_gather_tensor_cpu",
    "gcd": "gcd_cpu", "lcm": "lcm_cpu", "heaviside": "heaviside_cpu",
    "index_put_at": "index_put", "index_select": "index_select", "take_flat": "take_cpu",
    "kthvalue_order": "kthvalue_cpu", "median_order": "median_cpu", "median_all": "median_cpu",
    "mode_order": "mode_cpu",
    "topk_order": "topk_cpu", "search_sorted": "searchsorted_out_cpu",
    "logical_and": "logical_and_cpu", "logical_or": "logical_or_cpu",
    "logical_xor": "logical_xor_cpu", "logical_not": "logical_not_cpu",
    "lt": "lt_cpu", "le": "le_cpu", "gt": "gt_cpu", "ge": "ge_cpu",
    "max_dim": "max_cpu", "min_dim": "min_cpu", "cummax_order": "cummax_cpu",
    "cummin_order": "cummin_cpu", "max_all": "max_all", "min_all": "min_all",
    "maximum": "maximum_cpu", "minimum": "minimum_cpu", "fill_where": "masked_fill",
    "neg": "neg_cpu", "pow_general": "pow", "square": "pow", "relu": "clamp_min_scalar_cpu",
    "sign": "sign_cpu", "sgn": "sign_cpu", "tril": "tril", "triu": "triu",
    "count_nonzero": "nonzero_count_cpu", "hash_tensor": "xor_sum_cpu",
}


#: More names of kernels, for floats of 8 bits.
_OTHERS = {
    "sum": "sum_cpu", "mean": "sum_cpu", "prod": "prod_out_cpu", "cumsum": "cumsum_out_cpu",
    "nansum_real": "nansum_cpu", "norm2": "norm_cpu", "norm_power": "norm_cpu",
    "cumprod": "cumprod_out_cpu", "softmax": "softmax_kernel_impl", "mse_loss_elements": "mse_cpu",
    "mse_loss_reduced": "mse_cpu", "sort_order": "sorting_kernel_method_name",
    "log_softmax": "log_softmax_lastdim_kernel_impl", "native_layer_norm": "LayerNormKernelImpl",
    "aminmax_over": "aminmax_cpu", "im2col_blocks": "im2col_out_cpu", "isinf": "isinf",
    "isfinite": "isfinite", "nan_to_num": "nan_to_num", "cross_parts": "cross",
    "baddbmm": "baddbmm", "addmv": "addmv_impl_cpu", "frexp_parts": "frexp_cpu",
    "cdist_direct": "cdist", "cdist_product": "cdist", "cummax_order": "cummax_cpu",
    "max_pool": "max_pool2d", "avg_pool": "avg_pool2d", "line": "linspace_cpu",
    "ramp": "arange_cpu", "identity": "eye", "filled": "fill_cpu", "filled_like": "fill_cpu",
    "fill": "fill_cpu", "index_at": "index_cpu", "cat_list": "cat_serial_kernel",
    "close_elements": "mul_cpu_reduced_float", "linear": "addmm_impl_cpu_", "contraction": "bmm",
    "matrix_product": "bmm", "pow_fixed": "pow", "scatter_fold": "scatter_gather_tensor_cpu",
    "mul": "mul_cpu_reduced_float", "addcdiv": "addcdiv_cpu_out",
    "logsumexp_dims": "max_values_cpu",
    **{name: f"{name}_vml_cpu" for name in (
        "acos asin atan ceil cos cosh erf erfc erfinv exp exp2 expm1 floor lgamma log log10 log1p "
        "log2 round sin sinh sqrt tan tanh trunc").split()},
}
#: What only moves bytes: all that packed ones have.
_MOVES = frozenset((
    "_neg_view alias as_strided_view conj_view diagonal expand getitem narrow permute "
    "real_part select slice split_views spread squeeze t transpose unbind unfold unsqueeze "
    "view clone copy_like index_select roll_one stack_list zero flip repeat getitem_backward "
    "narrow_backward select_backward slice_backward underived uninitialised "
    "uninitialised_like copy to_dtype cat_list select_where fill filled filled_like embedding "
    "diag_embed part_scatter diagonal_scatter "
).split())
_EIGHT_BITS = _MOVES | frozenset((
    "as_element as_strided_scatter_add changes constant_pad_nd diagonal_backward "
    "fill_diagonal strided_scatter identity eq ne mul isnan all "
    "any index_at index_at_backward _bag_indices embedding_dense_backward "
).split())
_SIGNED = frozenset(
    "abs index_put_at mm matmul addmm linear matrix_product fold_product".split())
_MORE = {float8_e8m0fnu: {"isfinite"}, float8_e5m2: _SIGNED | {"isinf", "isfinite"}}


def refuse(name: str, dtypes: Iterable[DType]) -> None:
    """Refuse operands that PyTorch's operator has no kernel for."""
    for dtype in dtypes:
        if dtype in WIDE and name in KERNELS or dtype in SMALL and not _knows(name, dtype):
            raise lacking(name, dtype)


def refuse_scalar(name: str, dtype: DType, values: tuple[Any, ...]) -> None:
    """Refuse products of floats of 8 bits with a number or a tensor without dimensions."""
    if name == "mul" and dtype in SMALL and not all(
            getattr(v, "spec", None) is not None and v.spec.ndim for v in values):
        raise lacking(name, dtype)


def lacking(name: str, dtype: DType) -> NotImplementedError:
    """The error for a kernel that is not there."""
    return NotImplementedError(
        f"\"{_kernel(name)}\" not implemented for '{SCALAR_NAMES[dtype]}'")


def _knows(name: str, dtype: DType) -> bool:
    """Whether a record takes floats of 8 bits, as far as its name says."""
    if dtype is float4_e2m1fn_x2:
        return name in _MOVES
    return name in _EIGHT_BITS or name in _MORE.get(dtype, _SIGNED)


def _kernel(name: str) -> str:
    record = RECORDS.get(name)
    return _OTHERS.get(name) or KERNELS.get(name) or (
        record.kernel if record is not None else "") or f"{name.strip('_')}_cpu"


__all__ = ["KERNELS", "SMALL", "WIDE", "refuse", "refuse_scalar"]
