"""Operators that PyTorch has no kernels of for uint16, uint32 and uint64.

These dtypes are for data on its way: they are made, copied, compared for equality, converted,
sorted and summed; most arithmetic is refused. It is here too, in PyTorch's words, so that programs
meet the same borders: a record's name, and what PyTorch calls the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.dtypes import SCALAR_NAMES, DType, uint16, uint32, uint64

WIDE = frozenset((uint16, uint32, uint64))
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


def refuse(name: str, dtypes: Iterable[DType]) -> None:
    """Refuse operands that PyTorch's operator has no kernel for."""
    for dtype in dtypes:
        if dtype in WIDE and name in KERNELS:
            raise NotImplementedError(
                f"\"{KERNELS[name]}\" not implemented for '{SCALAR_NAMES[dtype]}'")


__all__ = ["KERNELS", "WIDE", "refuse"]
