"""What operators are called in a profile: PyTorch's names, `aten::add`.

A record that PyTorch does not have under its own name has a row in `COUNTERPARTS`: what PyTorch
runs in its place. One that has no counterpart at all is shown as the engine's own, `yesca::line`.
"""

from __future__ import annotations

from ..operators.record import Record

PREFIX, OWN = "aten::", "yesca::"

#: PyTorch's name -> the records that do its work.
COUNTERPARTS: dict[str, str] = {
    "_fused_adam_": "_adam_step",
    "_fused_sgd_": "_sgd_step",
    "_foreach_add": "_each_add_list _each_add_number",
    "_foreach_div": "_each_div_list _each_div_number",
    "_foreach_mul": "_each_mul_list _each_mul_number",
    "_foreach_lerp": "_each_lerp",
    "_amp_foreach_non_finite_check_and_unscale_": "_each_unscale",
    "adaptive_avg_pool2d": "adaptive_avg_pool",
    "adaptive_avg_pool2d_backward": "adaptive_avg_pool_backward",
    "adaptive_max_pool2d": "adaptive_max_pool",
    "affine_grid_generator": "affine_grid",
    "argmax": "argmax_dim",
    "argmin": "argmin_dim",
    "as_strided": "as_strided_view",
    "as_strided_scatter": "as_strided_scatter_add strided_scatter",
    "avg_pool2d": "avg_pool",
    "avg_pool2d_backward": "avg_pool_backward",
    "aminmax": "aminmax_over",
    "binary_cross_entropy": "binary_cross_entropy_elements binary_cross_entropy_reduced",
    "binary_cross_entropy_with_logits": (
        "binary_cross_entropy_with_logits_elements binary_cross_entropy_with_logits_reduced"),
    "block_diag": "block_diag_list",
    "cat": "cat_list",
    "_cdist_forward": "cdist_direct cdist_product",
    "_cdist_backward": "cdist_slopes",
    "celu": "_celu",
    "celu_": "_celu_",
    "cholesky_solve": "cholesky_solve_parts",
    "clone": "copy_like",
    "col2im": "col2im_blocks",
    "_conj": "conj_view",
    "convolution_backward": "convolution_derivatives",
    "cross_entropy_loss": (
        "cross_entropy cross_entropy_labels cross_entropy_probabilities"),
    "nll_loss_backward": "cross_entropy_backward",
    "cross": "cross_parts",
    "cummax": "cummax_order",
    "cummin": "cummin_order",
    "elu": "_elu _elu_scaled _celu_scaled",
    "elu_": "_elu_",
    "_fft_c2c": "fft_c2c",
    "_fft_c2r": "fft_c2r",
    "_fft_r2c": "fft_r2c",
    "fractional_max_pool2d": "fractional_max_pool",
    "fill_diagonal_": "fill_diagonal",
    "masked_fill": "fill_where",
    "empty": "uninitialised",
    "empty_like": "uninitialised_like",
    "eye": "identity",
    "full": "filled",
    "full_like": "filled_like",
    "_fused_rms_norm": "fused_rms_norm",
    "_fused_rms_norm_backward": "rms_norm_backward",
    "geqrf": "geqrf_parts",
    "index": "index_at",
    "_index_put_impl_": "getitem_backward index_at_backward index_put_at",
    "grid_sampler": "grid_sample",
    "native_group_norm": "group_norm_forward",
    "native_group_norm_backward": "group_norm_backward",
    "hardsigmoid": "_hardsigmoid",
    "hardswish": "_hardswish",
    "hardtanh": "_hardtanh",
    "huber_loss": "huber_loss_elements huber_loss_reduced",
    "igamma": "igamma_parts",
    "igammac": "igammac_parts",
    "im2col": "im2col_blocks",
    "imag": "imag_part",
    "isclose": "close_elements",
    "kl_div": "kl_div_elements kl_div_reduced",
    "kthvalue": "kthvalue_order",
    "leaky_relu": "_leaky_relu",
    "ldexp": "ldexp_whole",
    "linalg_cholesky_ex": "linalg_cholesky_parts",
    "linalg_eig": "linalg_eig_parts",
    "_linalg_eigh": "linalg_eigh_parts linalg_eigh_values",
    "linalg_inv_ex": "linalg_inv_parts",
    "linalg_lstsq": "linalg_lstsq_parts",
    "linalg_lu_factor_ex": "linalg_lu_packed lu_parts",
    "linalg_pinv": "linalg_pinv_parts",
    "linalg_qr": "linalg_qr_parts",
    "_linalg_slogdet": "linalg_slogdet_parts",
    "_linalg_solve_ex": "linalg_solve_parts",
    "_linalg_svd": "linalg_svd_parts linalg_svd_values",
    "linalg_matrix_exp": "matrix_exp_parts",
    "_log_softmax_backward_data": "log_softmax_backward_data",
    "log_sigmoid": "logsigmoid",
    "logsumexp": "logsumexp_dims",
    "max": "max_all max_dim",
    "max_pool2d_with_indices": "max_pool",
    "max_pool2d_with_indices_backward": "max_pool_backward",
    "median": "median_all median_order",
    "min": "min_all min_dim",
    "mish": "_mish",
    "mm": "fold_product matrix_product",
    "mode": "mode_order",
    "mse_loss": "mse_loss_elements mse_loss_reduced",
    "nanmedian": "nanmedian_all nanmedian_order",
    "nansum": "nansum_real",
    "native_layer_norm_backward": "layer_norm_backward",
    "nextafter": "next_bits",
    "nonzero_numpy": "nonzero_tuple",
    "linalg_vector_norm": "norm2 norm_power",
    "poisson_nll_loss": "poisson_nll_loss_elements poisson_nll_loss_reduced",
    "pow": "pow_fixed pow_general",
    "_prelu_kernel": "prelu_kernel",
    "gru": "gru_walk",
    "lstm": "lstm_walk",
    "mkldnn_rnn_layer_backward": "lstm_slopes",
    "real": "real_part",
    "rnn_relu": "rnn_relu_walk",
    "rnn_tanh": "rnn_tanh_walk",
    "roll": "roll_one",
    "_scaled_dot_product_flash_attention_for_cpu": "attention",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "attention_slopes",
    "scatter": "scatter_fold",
    "scatter_reduce": "scatter_reduce_fold",
    "searchsorted": "search_sorted",
    "selu": "_selu",
    "selu_": "_selu_",
    "silu": "_silu",
    "smooth_l1_loss": "smooth_l1_loss_elements smooth_l1_loss_reduced",
    "soft_margin_loss": "soft_margin_loss_elements soft_margin_loss_reduced",
    "_softmax_backward_data": "softmax_backward_data",
    "sort": "sort_order",
    "split": "split_pieces split_views",
    "stack": "stack_list",
    "std": "std_moments",
    "take": "take_flat",
    "threshold": "_threshold",
    "_to_copy": "to_dtype as_element",
    "softshrink": "_softshrink",
    "topk": "topk_order",
    "upsample": "resample",
    "upsample_backward": "resample_backward",
    "_upsample_bilinear2d_aa": "resample_smooth",
    "_upsample_bilinear2d_aa_backward": "resample_smooth_backward",
    "var": "var_moments",
    "where": "select_where",
    "_unique2": "unique",
    "_weight_norm_interface": "weight_of_length",
}
#: Records of the engine alone: steps of an operator, sequences of numbers, parts of a derivative.
ENGINE_OWN = frozenset(
    "changes contraction cross_entropy_probabilities_backward getitem "
    "histogram_fixed line linalg_cofactors lu lu_permutation narrow_backward "
    "part_scatter positions ramp softsign special_trigamma spread stepped tanhshrink "
    "triangular_parts unravel_index".split())
#: Derivatives that PyTorch has as operators; the derived records of all others are the engine's.
BACKWARD = frozenset(
    "binary_cross_entropy_backward elu_backward gelu_backward hardshrink_backward "
    "hardsigmoid_backward hardswish_backward hardtanh_backward huber_loss_backward "
    "leaky_relu_backward log_sigmoid_backward logit_backward mish_backward mse_loss_backward "
    "_prelu_kernel_backward sigmoid_backward silu_backward smooth_l1_loss_backward "
    "soft_margin_loss_backward softplus_backward softshrink_backward tanh_backward "
    "threshold_backward".split())

_SHOWN = {own: PREFIX + name for name, owners in COUNTERPARTS.items() for own in owners.split()}
_SHOWN.update({own: OWN + own for own in ENGINE_OWN})
_plain: dict[Record, str] = {}
_inplace: dict[Record, str] = {}


def of(record: Record, inplace: bool) -> str:
    """What a call of a record is shown as."""
    kept = _inplace if inplace else _plain
    found = kept.get(record)
    if found is None:
        found = kept[record] = _name(record, inplace)
    return found


def _name(record: Record, inplace: bool) -> str:
    if record.derived_from is not None:
        base = _name(record.derived_from, False).partition("::")[2]
        name = ("threshold" if base == "relu" else base) + "_backward"
        name = (PREFIX if name in BACKWARD else OWN) + name
    else:
        name = _SHOWN.get(record.name, PREFIX + record.name)
    return name + "_" if inplace and not name.endswith("_") else name
