"""Derivatives of layers and losses: see `formulas.py`."""

from __future__ import annotations

from typing import Any

from .._ops import ops

a = ops.aten
_FLASH = "_scaled_dot_product_flash_attention_for_cpu"


def _mask(needs: set[str], *names: str) -> list[bool]:
    return [name in needs for name in names]


def _convolution(grad: Any, input: Any, weight: Any, bias_spec: Any, stride: Any, padding: Any,
                 dilation: Any, transposed: Any, output_padding: Any, groups: Any, needs: Any
                 ) -> Any:
    sizes = [0] if bias_spec is None else list(bias_spec.shape)
    return a.convolution_backward.default(
        grad, input, weight, sizes, stride, padding, dilation, transposed, output_padding, groups,
        _mask(needs, "input", "weight", "bias"))


def _layer_norm(grad: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any,
                result1: Any, result2: Any, needs: Any) -> Any:
    return a.native_layer_norm_backward.default(
        grad, input, normalized_shape, result1, result2, weight, bias,
        _mask(needs, "input", "weight", "bias"))


def _batch_norm(grad: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
                result1: Any, result2: Any, training: bool, eps: float, needs: Any) -> Any:
    return a.native_batch_norm_backward.default(
        grad, input, weight, running_mean, running_var, result1, result2, training, eps,
        _mask(needs, "input", "weight", "bias"))


def _group_norm(grad: Any, input: Any, weight: Any, N: int, C: int, HxW: int, group: int,
                result1: Any, result2: Any, needs: Any) -> Any:
    return a.native_group_norm_backward.default(
        grad, input, result1, result2, weight, N, C, HxW, group,
        _mask(needs, "input", "weight", "bias"))


def _attention(grad: Any, query: Any, key: Any, value: Any, dropout_p: float, is_causal: bool,
               attn_mask: Any, scale: Any, result0: Any, result1: Any) -> Any:
    backward = getattr(a, f"{_FLASH}_backward").default
    return backward(grad, query, key, value, result0, result1, dropout_p, is_causal,
                    attn_mask=attn_mask, scale=scale)


def _bce_logits(grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
                ) -> Any:
    probabilities = a.sigmoid.default(self)
    if pos_weight is None:
        made = a.sub.Tensor(probabilities, target)
    else:
        t = a.mul.Tensor(pos_weight, target)
        made = a.sub.Tensor(a.mul.Tensor(a.sub.Tensor(a.add.Scalar(t, 1), target), probabilities),
                            t)
    made = a.mul.Tensor(made, grad)
    if weight is not None:
        made = a.mul_.Tensor(made, weight)
    return a.div_.Scalar(made, self.numel()) if reduction == 1 else made


LAYERS: dict[str, Any] = {
    "convolution.default": {("input", "weight", "bias"): _convolution},
    "native_layer_norm.default": {("input", "weight", "bias"): _layer_norm},
    "native_batch_norm.default": {("input", "weight", "bias"): _batch_norm},
    "native_group_norm.default": {("input", "weight", "bias"): _group_norm},
    f"{_FLASH}.default": {("query", "key", "value"): _attention},
    "embedding.default": {"weight": lambda grad, indices, weight_spec, padding_idx,
                          scale_grad_by_freq: a.embedding_dense_backward.default(
                              grad, indices, weight_spec.shape[0], padding_idx,
                              scale_grad_by_freq)},
    "_softmax.default": {"self": lambda grad, result, dim, self_spec:
                         a._softmax_backward_data.default(grad, result, dim, self_spec.dtype)},
    "_log_softmax.default": {
        "self": lambda grad, result, dim, self_spec:
        a._log_softmax_backward_data.default(grad, result, dim, self_spec.dtype)},
    "nll_loss_forward.default": {
        "self": lambda grad, self, target, weight, reduction, ignore_index, result1:
        a.nll_loss_backward.default(grad, self, target, weight, reduction, ignore_index, result1)},
    "nll_loss2d_forward.default": {
        "self": lambda grad, self, target, weight, reduction, ignore_index, result1:
        a.nll_loss2d_backward.default(grad, self, target, weight, reduction, ignore_index,
                                      result1)},
    "mse_loss.default": {
        "self": lambda grad, self, target, reduction: a.mse_loss_backward.default(
            grad, self, target, reduction),
        "target": lambda grad, self, target, reduction: a.mse_loss_backward.default(
            grad, target, self, reduction)},
    "binary_cross_entropy_with_logits.default": {"self": _bce_logits},
    "max_pool2d_with_indices.default": {
        "self": lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1:
        a.max_pool2d_with_indices_backward.default(
            grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1)},
    "avg_pool2d.default": {
        "self": lambda grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override: a.avg_pool2d_backward.default(
            grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
            divisor_override)},
    "_adaptive_avg_pool2d.default": {
        "self": lambda grad, self: a._adaptive_avg_pool2d_backward.default(grad, self)},
}
