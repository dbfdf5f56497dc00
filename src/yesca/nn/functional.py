"""Functions of neural networks, by PyTorch's names.

A name is looked up once, on first use: what is an operator comes from `yesca.functional` as it
is, what adds checks, defaults or compositions comes from `nn/_functional/`.
"""

from __future__ import annotations

from importlib import import_module

from ..base import absent

# family: names it offers
_PARTS = {
    "activations": (
        "relu relu6 leaky_relu elu selu celu silu mish hardtanh hardsigmoid hardswish threshold "
        "rrelu glu tanh sigmoid tanhshrink softsign softmax softmin log_softmax gumbel_softmax "
        "_get_softmax_dim"
    ),
    "dropout": "dropout alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d",
    "normalization": (
        "batch_norm instance_norm layer_norm rms_norm group_norm local_response_norm normalize"
    ),
    "sparse": "embedding embedding_bag one_hot",
    "losses": (
        "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy "
        "binary_cross_entropy_with_logits kl_div poisson_nll_loss gaussian_nll_loss ctc_loss"
    ),
    "grouped": "grouped_mm",
    "linear_cross_entropy": "linear_cross_entropy",
    "margins": (
        "cosine_similarity pairwise_distance margin_ranking_loss hinge_embedding_loss "
        "soft_margin_loss multilabel_soft_margin_loss multilabel_margin_loss multi_margin_loss "
        "cosine_embedding_loss triplet_margin_loss triplet_margin_with_distance_loss"
    ),
    "attention": (
        "multi_head_attention_forward _canonical_mask _none_or_dtype _mha_shape_check "
        "_in_projection _in_projection_packed"
    ),
    "shapes": "pad unfold fold",
    "pooling": (
        "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices "
        "max_pool3d_with_indices adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d "
        "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices "
        "adaptive_max_pool3d_with_indices adaptive_avg_pool1d adaptive_avg_pool2d "
        "adaptive_avg_pool3d fractional_max_pool2d fractional_max_pool2d_with_indices "
        "fractional_max_pool3d fractional_max_pool3d_with_indices lp_pool1d lp_pool2d "
        "lp_pool3d max_unpool1d max_unpool2d max_unpool3d"
    ),
    "resampling": "interpolate upsample upsample_nearest upsample_bilinear",
}
_FAMILY_OF = {name: family for family, names in _PARTS.items() for name in names.split()}

_OPERATORS = frozenset(
    "linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "conv_tbc avg_pool1d avg_pool2d avg_pool3d gelu logsigmoid hardshrink softshrink softplus "
    "prelu relu_ elu_ selu_ celu_ leaky_relu_ hardtanh_ threshold_ rrelu_ pixel_shuffle "
    "pixel_unshuffle channel_shuffle native_channel_shuffle pdist scaled_dot_product_attention "
    "grid_sample affine_grid".split()
)

#: What functions of one's own ask, as those here do.
_PROTOCOL = frozenset("has_torch_function has_torch_function_unary has_torch_function_variadic "
                      "handle_torch_function".split())

__all__ = sorted(name for name in (*_FAMILY_OF, *_OPERATORS) if not name.startswith("_"))


def __getattr__(name: str):
    family = _FAMILY_OF.get(name)
    if family is not None:
        from ..dispatch.protocol import overridable

        value = getattr(import_module(f"._functional.{family}", __package__), name)
        value = value if name.startswith("_") else overridable(value)
    elif name in _OPERATORS:
        from .. import functional as ops

        value = getattr(ops, name)
    elif name in _PROTOCOL:
        value = getattr(import_module("..overrides", __package__), name)
    else:
        raise absent.error(__name__, name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
