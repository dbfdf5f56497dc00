"""Kernels of PyTorch's operators that are no function of yesca's under the same name.

Name, or name.overload -> function of the operator's arguments. What PyTorch computes from results
that only its own kernels keep is computed from the operands once more, by yesca's own tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import float32
from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from .vjp import pulled_back

KERNELS: dict[str, Callable[..., Any]] = {}
REDUCTIONS = ("none", "mean", "sum")  # by PyTorch's number
_FLASH = "_scaled_dot_product_flash_attention_for_cpu"


def kernel(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function under an operator's name."""
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        KERNELS[name] = function
        return function

    return enter


def _nn() -> Any:
    from ..nn import functional

    return functional


# ---- views and copies --------------------------------------------------------------------------

@kernel("slice.Tensor")
def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return self[(slice(None),) * (dim % max(self.dim(), 1)) + (slice(start, end, step),)]


@kernel("index.Tensor")
def _index(self: Any, indices: Any) -> Any:
    return self[tuple(slice(None) if i is None else i for i in indices)]


@kernel("_to_copy")
def _to_copy(self: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    return self.to(device=device or self.device, dtype=dtype or self.dtype, copy=True,
                   memory_format=memory_format or OPERATORS.preserve_format)


KERNELS["_unsafe_view"] = lambda self, size: self.view(size)
KERNELS["lift_fresh"] = lambda self: self
KERNELS["_local_scalar_dense"] = lambda self: self.item()
KERNELS["where.self"] = lambda condition, self, other: OPERATORS.where(condition, self, other)
KERNELS["split.Tensor"] = lambda self, split_size, dim=0: list(self.split(split_size, dim))
KERNELS["unbind.int"] = lambda self, dim=0: list(self.unbind(dim))
KERNELS["sum.dim_IntList"] = lambda self, dim=None, keepdim=False, dtype=None: OPERATORS.sum(
    self, dim, keepdim, dtype=dtype)


def _factory_of(name: str) -> None:
    """A factory whose function knows no pinned memory."""
    def make(*args: Any, pin_memory: Any = None, layout: Any = None, **kwargs: Any) -> Any:
        return getattr(OPERATORS, name)(*args, **kwargs)

    KERNELS[name] = make


for _name in ("linspace", "logspace"):
    _factory_of(_name)


# ---- activations -------------------------------------------------------------------------------

def _backward_of(name: str) -> None:
    """`name_backward(grad, self, ...)`, where yesca has `name` in `nn.functional`."""
    def backward(grad: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        return pulled_back(getattr(_nn(), name), (self, *args), kwargs, [grad])[0]

    KERNELS[f"{name}_backward"] = backward


for _name in ("gelu", "silu", "mish", "hardswish", "hardsigmoid", "softplus"):
    _backward_of(_name)

KERNELS["elu"] = lambda self, alpha=1, scale=1, input_scale=1: _elu(self, alpha, scale, input_scale)
KERNELS["tanh_backward"] = lambda grad, output: grad * (1 - output * output)
KERNELS["sigmoid_backward"] = lambda grad, output: grad * (output * (1 - output))
KERNELS["threshold_backward"] = lambda grad, self, threshold: OPERATORS.where(
    self <= threshold, 0.0, grad)
KERNELS["hardtanh_backward"] = lambda grad, self, low, high: OPERATORS.where(
    (self <= low) | (self >= high), 0.0, grad)
KERNELS["leaky_relu_backward"] = lambda grad, self, slope, is_result: OPERATORS.where(
    self > 0, grad, grad * slope)


def _elu(self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    negative = (OPERATORS.expm1(self * input_scale) * alpha) if input_scale != 1 else \
        OPERATORS.expm1(self) * alpha
    made = OPERATORS.where(self > 0, self, negative)
    return made if scale == 1 else made * scale


@kernel("elu_backward")
def _elu_backward(grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
                  given: Any) -> Any:
    slope = (given + alpha * scale if is_result
             else OPERATORS.exp(given * input_scale) * (alpha * scale)) * input_scale
    return OPERATORS.where(given <= 0, grad * slope, grad * scale)


@kernel("log_sigmoid_forward")
def _log_sigmoid(self: Any) -> tuple[Any, Any]:
    return _nn().logsigmoid(self), OPERATORS.exp(-OPERATORS.abs(self))


KERNELS["log_sigmoid_backward"] = lambda grad, self, buffer: pulled_back(
    _nn().logsigmoid, (self,), {}, [grad])[0]


# ---- softmax and losses --------------------------------------------------------------------------

KERNELS["_softmax"] = lambda self, dim, half_to_float: OPERATORS.softmax(self, dim)
KERNELS["_log_softmax"] = lambda self, dim, half_to_float: OPERATORS.log_softmax(self, dim)
KERNELS["_softmax_backward_data"] = lambda grad, output, dim, dtype: \
    OPERATORS.softmax_backward_data(grad, output, dim, dtype)
KERNELS["_log_softmax_backward_data"] = lambda grad, output, dim, dtype: \
    OPERATORS.log_softmax_backward_data(grad, output, dim, dtype)


def _nll_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
                 ) -> tuple[Any, Any]:
    made = OPERATORS.nll_loss_forward(self, target, weight, ignore_index, REDUCTIONS[reduction])
    return made[0], made[2]


def _nll_backward(grad: Any, self: Any, target: Any, weight: Any, reduction: int,
                  ignore_index: int, total_weight: Any) -> Any:
    return pulled_back(lambda x: OPERATORS.nll_loss_forward(
        x, target, weight, ignore_index, REDUCTIONS[reduction])[0], (self,), {}, [grad])[0]


for _name in ("nll_loss", "nll_loss2d"):
    KERNELS[f"{_name}_forward"], KERNELS[f"{_name}_backward"] = _nll_forward, _nll_backward


def _loss(name: str) -> None:
    """A loss of (self, target) whose reduction is a number, and its backward."""
    def forward(self: Any, target: Any, reduction: int = 1, *args: Any, **kwargs: Any) -> Any:
        return getattr(_nn(), name)(self, target, *args, **kwargs,
                                    reduction=REDUCTIONS[reduction])

    def backward(grad: Any, self: Any, target: Any, reduction: int, *args: Any) -> Any:
        return pulled_back(lambda x: forward(x, target.detach(), reduction, *args), (self,), {},
                           [grad])[0]

    KERNELS[name], KERNELS[f"{name}_backward"] = forward, backward


for _name in ("mse_loss", "soft_margin_loss"):
    _loss(_name)


@kernel("binary_cross_entropy_with_logits")
def _bce_logits(self: Any, target: Any, weight: Any = None, pos_weight: Any = None,
                reduction: int = 1) -> Any:
    return _nn().binary_cross_entropy_with_logits(
        self, target, weight, reduction=REDUCTIONS[reduction], pos_weight=pos_weight)


# ---- normalisation ---------------------------------------------------------------------------

def _kept_shape(input: Any, normalized_shape: Any) -> list[int]:
    own = input.dim() - len(normalized_shape)
    return [*input.shape[:own], *[1] * len(normalized_shape)]


@kernel("native_layer_norm")
def _layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    made, mean, rstd = OPERATORS.native_layer_norm(input, tuple(normalized_shape), weight, bias,
                                                   eps)
    shape = _kept_shape(input, normalized_shape)
    return made, mean.detach().reshape(shape), rstd.detach().reshape(shape)


def _masked(grads: Any, mask: Any) -> tuple[Any, ...]:
    return tuple(g if wanted else None for g, wanted in zip(grads, mask, strict=True))


def _again(function: Callable[..., Any], tensors: Any, grad: Any, mask: Any) -> tuple[Any, ...]:
    """Gradients of (input, weight, bias) by the function itself; absent ones are None."""
    given = [t for t in tensors if t is not None]
    found = iter(pulled_back(lambda *some: function(*_refilled(tensors, some)), given, {}, [grad]))
    return _masked([None if t is None else next(found) for t in tensors], mask)


def _refilled(tensors: Any, some: Any) -> list[Any]:
    rest = iter(some)
    return [None if t is None else next(rest) for t in tensors]


@kernel("native_layer_norm_backward")
def _layer_norm_backward(grad: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any,
                         weight: Any, bias: Any, output_mask: Any) -> Any:
    asked = tuple(m and t is not None for m, t in zip(
        output_mask, (input, weight, bias), strict=True))
    made = OPERATORS.layer_norm_backward(
        grad, input, tuple(normalized_shape), mean, rstd, weight, bias, asked, 1e-5)
    return _masked(made, asked)


@kernel("native_batch_norm")
def _batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
                training: bool, momentum: float, eps: float) -> Any:
    made = OPERATORS.native_batch_norm(input, weight, bias, running_mean, running_var, training,
                                       momentum, eps)
    if training:
        return made
    none = OPERATORS.empty(0, dtype=made[1].dtype)
    return made[0], none, OPERATORS.empty_like(none)


@kernel("native_batch_norm_backward")
def _batch_norm_backward(grad: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
                         save_mean: Any, save_invstd: Any, train: bool, eps: float,
                         output_mask: Any) -> Any:
    if not train:
        save_mean, save_invstd = running_mean, OPERATORS.rsqrt(running_var + eps)
    made = OPERATORS.batch_norm_backward(grad, input, weight, save_mean, save_invstd, train,
                                         tuple(output_mask), eps)
    return _masked(made, output_mask)


@kernel("native_group_norm")
def _group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
                eps: float) -> Any:
    parts = input.detach().reshape(N, group, -1)
    rstd = OPERATORS.rsqrt(parts.var(2, correction=0) + eps)
    return _nn().group_norm(input, group, weight, bias, eps), parts.mean(2), rstd


@kernel("native_group_norm_backward")
def _group_norm_backward(grad: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int,
                         HxW: int, group: int, output_mask: Any) -> Any:
    def normalised(x: Any, scale: Any, shift: Any) -> Any:
        parts = x.reshape(N, group, -1)
        centred = parts - parts.mean(2, keepdim=True)
        variance = (centred * centred).mean(2, keepdim=True)
        eps = (rstd * rstd).reciprocal().unsqueeze(2) - variance.detach()
        made = (centred * OPERATORS.rsqrt(variance + eps)).reshape(x.shape)
        shape = (1, C, *[1] * (x.dim() - 2))
        made = made if scale is None else made * scale.reshape(shape)
        return made + shift.reshape(shape)

    shift = OPERATORS.zeros((C,), dtype=input.dtype)
    return _again(normalised, (input, weight, shift), grad, output_mask)


# ---- convolution, pooling, attention ---------------------------------------------------------

def _numbers(*values: Any) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, (list, tuple)) else v for v in values)


@kernel("convolution")
def _convolution(input: Any, weight: Any, bias: Any, *numbers: Any) -> Any:
    return OPERATORS.convolution(input, weight, bias, *_numbers(*numbers))


@kernel("convolution_backward")
def _convolution_backward(grad: Any, input: Any, weight: Any, bias_sizes: Any, *rest: Any) -> Any:
    *numbers, mask = _numbers(*rest)
    made = OPERATORS.convolution_derivatives(grad, input, weight,
                                             grad.dtype if mask[2] else None, *numbers, mask)
    return _masked(made, mask)


def _pooled(name: str, indices: bool = False) -> Callable[..., Any]:
    def forward(self: Any, kernel_size: Any, stride: Any = (), *rest: Any, **kwargs: Any) -> Any:
        kwargs = {**kwargs, "return_indices": True} if indices else kwargs
        return getattr(_nn(), name)(self, kernel_size, stride or None, *rest, **kwargs)

    return forward


for _rank in ("1", "2", "3"):
    KERNELS[f"max_pool{_rank}d_with_indices"] = _pooled(f"max_pool{_rank}d", True)
    KERNELS[f"avg_pool{_rank}d"] = _pooled(f"avg_pool{_rank}d")


@kernel("max_pool2d_with_indices_backward")
def _max_pool_backward(grad: Any, self: Any, kernel_size: Any, stride: Any, padding: Any,
                       dilation: Any, ceil_mode: bool, indices: Any) -> Any:
    return pulled_back(_pooled("max_pool2d"), (self, kernel_size, stride, padding, dilation,
                                               ceil_mode), {}, [grad])[0]


@kernel("avg_pool2d_backward")
def _avg_pool_backward(grad: Any, self: Any, *rest: Any) -> Any:
    return pulled_back(_pooled("avg_pool2d"), (self, *rest), {}, [grad])[0]


KERNELS["_adaptive_avg_pool2d"] = lambda self, size: _nn().adaptive_avg_pool2d(self, size)
KERNELS["_adaptive_avg_pool2d_backward"] = lambda grad, self: pulled_back(
    _nn().adaptive_avg_pool2d, (self, tuple(grad.shape[-2:])), {}, [grad])[0]




@kernel(_FLASH)
def _attention(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False,
               *, attn_mask: Any = None, scale: float | None = None) -> Any:
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    made = OPERATORS.attention(query, key, value, attn_mask, is_causal, float(scale))
    return made[0], made[1].detach().to(float32).reshape(query.shape[:-1])


@kernel(f"{_FLASH}_backward")
def _attention_backward(grad: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any,
                        dropout_p: float, is_causal: bool, *, attn_mask: Any = None,
                        scale: float | None = None) -> Any:
    mask = attn_mask.detach() if isinstance(attn_mask, TensorBase) else None
    made = pulled_back(
        lambda q, k, v: _attention(q, k, v, dropout_p, is_causal, attn_mask=mask, scale=scale)[0],
        (query, key, value), {}, [grad])
    # They lie as (B, T, H, D), which is what comes before heads are split off.
    return tuple(g.transpose(1, 2).contiguous().transpose(1, 2) for g in made)
