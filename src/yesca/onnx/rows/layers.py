"""Layers: products, convolutions, pooling, normalisation, attention, resampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dtypes import bool_
from ...core.numeric_limits import finfo
from .._building import Graph
from .._sizes import Size
from .._tracing import Step, Value
from . import row


# ---- products --------------------------------------------------------------------------------

@row("linear")
def _linear(g: Graph, s: Step, x: Value, weight: Value, bias: Value | None = None) -> str:
    if x.rank == 2 and weight.rank == 2 and bias is not None:
        return g.op("Gemm", g.operand(x), g.operand(weight), g.operand(bias), transB=1)
    across = g.op("Transpose", g.operand(weight), perm=[1, 0]) if weight.rank == 2 \
        else g.operand(weight)
    made = g.op("MatMul", g.operand(x), across)
    return made if bias is None else g.op("Add", made, g.operand(bias))


@row("matmul", "mm", "bmm", "mv", "dot")
def _matmul(g: Graph, s: Step, x: Value, y: Value) -> str:
    return g.op("MatMul", g.operand(x), g.operand(y))


@row("addmm", "baddbmm")
def _addmm(g: Graph, s: Step, x: Value, a: Value, b: Value, beta: Any = 1, alpha: Any = 1) -> str:
    if s.name == "addmm":
        return g.op("Gemm", g.operand(a), g.operand(b), g.operand(x), beta=float(beta),
                    alpha=float(alpha))
    made = g.op("MatMul", g.operand(a), g.operand(b))
    if alpha != 1:
        made = g.op("Mul", made, g.operand(alpha, s.dtype))
    rest = g.operand(x) if beta == 1 else g.op("Mul", g.operand(x), g.operand(beta, s.dtype))
    return g.op("Add", made, rest)


@row("contraction")
def _contraction(g: Graph, s: Step, x: Value, y: Value, left: Any, right: Any, out: Any) -> str:
    letters = {label: chr(ord("a") + k) for k, label in enumerate(dict.fromkeys((*left, *right)))}
    words = ["".join(letters[label] for label in labels) for labels in (left, right, out)]
    return g.op("Einsum", g.operand(x), g.operand(y),
                equation=f"{words[0]},{words[1]}->{words[2]}")


# ---- convolutions and pooling ----------------------------------------------------------------

def many(value: Any, count: int) -> list[int]:
    """One number for each dimension."""
    if isinstance(value, (tuple, list)):
        return list(value) * (count if len(value) == 1 else 1)
    return [value] * count


def _pads(padding: Any, kernel: list[int], dilation: list[int]) -> list[int]:
    """ONNX's padding: all begins, then all ends."""
    n = len(kernel)
    if padding == "same":
        whole = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return [w // 2 for w in whole] + [w - w // 2 for w in whole]
    return [0] * 2 * n if padding == "valid" else many(padding, n) * 2


def _batched(g: Graph, x: Value, rank: int) -> tuple[str, Any]:
    """A name with a dimension of examples, and what takes it away again."""
    if x.rank == rank:
        return g.operand(x), lambda name: name
    front = g.ints([0])
    return g.op("Unsqueeze", g.operand(x), front), lambda name: g.op("Squeeze", name, front)


@row("conv1d", "conv2d", "conv3d")
def _conv(g: Graph, s: Step, x: Value, weight: Value, bias: Value | None = None, stride: Any = 1,
          padding: Any = 0, dilation: Any = 1, groups: int = 1) -> str:
    kernel = list(weight.shape[2:])
    n = len(kernel)
    apart = many(dilation, n)
    name, back = _batched(g, x, n + 2)
    given = [name, g.operand(weight)] + ([] if bias is None else [g.operand(bias)])
    return back(g.op("Conv", *given, kernel_shape=kernel, strides=many(stride, n),
                     pads=_pads(padding, kernel, apart), dilations=apart, group=groups))


@row("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(g: Graph, s: Step, x: Value, weight: Value, bias: Value | None = None,
                    stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
                    dilation: Any = 1) -> str:
    kernel = list(weight.shape[2:])
    n = len(kernel)
    name, back = _batched(g, x, n + 2)
    given = [name, g.operand(weight)] + ([] if bias is None else [g.operand(bias)])
    return back(g.op("ConvTranspose", *given, kernel_shape=kernel, strides=many(stride, n),
                     pads=_pads(padding, kernel, [1] * n), dilations=many(dilation, n),
                     output_padding=many(output_padding, n), group=groups))


@row("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(g: Graph, s: Step, x: Value, kernel: Any, stride: Any = None, padding: Any = 0,
              dilation: Any = 1, ceil_mode: bool = False) -> str:
    n = int(s.name[-2])
    size = many(kernel, n)
    name, back = _batched(g, x, n + 2)
    return back(g.op("MaxPool", name, kernel_shape=size, pads=many(padding, n) * 2,
                     strides=many(stride, n) if stride else size, dilations=many(dilation, n),
                     ceil_mode=int(ceil_mode)))


@row("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(g: Graph, s: Step, x: Value, kernel: Any, stride: Any = None, padding: Any = 0,
              ceil_mode: bool = False, count_include_pad: bool = True, divisor: Any = None) -> str:
    if divisor is not None:
        raise g.unable("divisor_override")
    n = int(s.name[-2])
    size = many(kernel, n)
    name, back = _batched(g, x, n + 2)
    return back(g.op("AveragePool", name, kernel_shape=size, pads=many(padding, n) * 2,
                     strides=many(stride, n) if stride else size, ceil_mode=int(ceil_mode),
                     count_include_pad=int(count_include_pad)))


@row("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_avg_pool(g: Graph, s: Step, x: Value, output_size: Any) -> str:
    n = int(s.name[-2])
    name, back = _batched(g, x, n + 2)
    sizes = list(s.shape[-n:])
    if all(size == 1 for size in sizes):
        return back(g.op("GlobalAveragePool", name))
    given = list(x.shape[-n:])
    if any(isinstance(v, Size) for v in (*given, *sizes)) or any(
            a % b for a, b in zip(given, sizes, strict=True)):
        raise g.unable(f"windows of several sizes ({given} to {sizes})")
    kernel = [a // b for a, b in zip(given, sizes, strict=True)]
    return back(g.op("AveragePool", name, kernel_shape=kernel, strides=kernel))


@row("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max_pool(g: Graph, s: Step, x: Value, output_size: Any) -> Any:
    n = int(s.name[-2])
    if any(size != 1 for size in s.shape[-n:]):
        raise g.unable("windows of several sizes")
    name, back = _batched(g, x, n + 2)
    flat = g.op("Reshape", g.operand(x), g.ints([0] * (x.rank - n) + [-1]))
    places = g.op("ArgMax", flat, axis=-1, keepdims=0)
    return back(g.op("GlobalMaxPool", name)), g.reshape(places, s.shape)


# ---- normalisation ---------------------------------------------------------------------------

def _vector(g: Graph, value: Value | None, count: int, number: float, dtype: Any) -> str:
    """Weights, or what stands for none."""
    return g.operand(value, dtype) if value is not None else \
        g.constant(np.full(count, number, dtype.name))


@row("batch_norm")
def _batch_norm(g: Graph, s: Step, x: Value, weight: Any, bias: Any, mean: Any, var: Any,
                training: bool, momentum: float, eps: float, *rest: Any) -> str:
    if training or mean is None:
        raise g.unable("statistics of the batch: call model.eval() before the export, it")
    count = g.fixed(x.shape[1])
    return g.op("BatchNormalization", g.operand(x), _vector(g, weight, count, 1, s.dtype),
                _vector(g, bias, count, 0, s.dtype), g.operand(mean), g.operand(var),
                epsilon=float(eps))


@row("instance_norm")
def _instance_norm(g: Graph, s: Step, x: Value, weight: Any, bias: Any, mean: Any, var: Any,
                   of_input: bool, momentum: float, eps: float, *rest: Any) -> str:
    count = g.fixed(x.shape[1])
    scale, shift = _vector(g, weight, count, 1, s.dtype), _vector(g, bias, count, 0, s.dtype)
    if not of_input:
        return g.op("BatchNormalization", g.operand(x), scale, shift, g.operand(mean),
                    g.operand(var), epsilon=float(eps))
    return g.op("InstanceNormalization", g.operand(x), scale, shift, epsilon=float(eps))


@row("group_norm")
def _group_norm(g: Graph, s: Step, x: Value, groups: int, weight: Any = None, bias: Any = None,
                eps: float = 1e-5, *rest: Any) -> str:
    channels = g.fixed(x.shape[1])
    apart = g.op("Reshape", g.operand(x), g.ints([0, groups, -1]))
    ones = g.constant(np.ones(groups, s.dtype.name))
    made = g.op("InstanceNormalization", apart, ones, g.constant(np.zeros(groups, s.dtype.name)),
                epsilon=float(eps))
    made = g.reshape(made, s.shape)
    across = g.ints([channels] + [1] * (x.rank - 2))
    for kind, value in (("Mul", weight), ("Add", bias)):
        if value is not None:
            made = g.op(kind, made, g.op("Reshape", g.operand(value), across))
    return made


@row("layer_norm")
def _layer_norm(g: Graph, s: Step, x: Value, shape: Any, weight: Any = None, bias: Any = None,
                eps: float = 1e-5, *rest: Any) -> str:
    scale = g.operand(weight) if weight is not None else \
        g.constant(np.ones(g.fixed(*shape, 1)[:-1], s.dtype.name))
    given = [g.operand(x), scale] + ([] if bias is None else [g.operand(bias)])
    if g.opset >= 17:
        return g.op("LayerNormalization", *given, axis=-len(shape), epsilon=float(eps))
    axes = list(range(x.rank - len(shape), x.rank))
    away = g.op("Sub", given[0], g.reduce("ReduceMean", given[0], axes))
    spread = g.reduce("ReduceMean", g.op("Mul", away, away), axes)
    made = g.op("Div", away, g.op("Sqrt", g.op("Add", spread, g.operand(eps, s.dtype))))
    made = g.op("Mul", made, scale)
    return made if bias is None else g.op("Add", made, given[2])


@row("fused_rms_norm")
def _rms_norm(g: Graph, s: Step, x: Value, shape: Any, weight: Any = None, eps: Any = None,
              *rest: Any) -> Any:
    name = g.operand(x)
    eps = finfo(x.dtype).eps if eps is None else eps
    mean = g.reduce("ReduceMean", g.op("Mul", name, name),
                    list(range(x.rank - len(shape), x.rank)))
    factor = g.op("Reciprocal", g.op("Sqrt", g.op("Add", mean, g.operand(eps, s.dtype))))
    made = g.op("Mul", name, factor)
    made = made if weight is None else g.op("Mul", made, g.operand(weight))
    return made if len(s.results) == 1 else (made, factor)


# ---- attention -------------------------------------------------------------------------------

@row("scaled_dot_product_attention")
def _attention(g: Graph, s: Step, q: Value, k: Value, v: Value, mask: Value | None = None,
               dropout: float = 0.0, causal: bool = False, scale: Any = None,
               enable_gqa: bool = False) -> str:
    if dropout or enable_gqa:
        raise g.unable("dropout: call model.eval() before the export, it" if dropout
                       else "enable_gqa")
    factor = 1 / math.sqrt(g.fixed(q.shape[-1])) if scale is None else scale
    order = [*range(k.rank - 2), k.rank - 1, k.rank - 2]
    scores = g.op("MatMul", g.op("Mul", g.operand(q), g.operand(factor, s.dtype)),
                  g.op("Transpose", g.operand(k), perm=order))
    never = g.operand(-math.inf, s.dtype)
    if causal:
        scores = g.op("Where", g.below(q.shape[-2], k.shape[-2]), scores, never)
    if mask is not None and mask.dtype is bool_:
        scores = g.op("Where", g.operand(mask), scores, never)
    elif mask is not None:
        scores = g.op("Add", scores, g.operand(mask, s.dtype))
    weights = g.op("Softmax", scores, axis=-1)
    if mask is not None:  # who may look at nothing gets nothing
        weights = g.op("Where", g.op("IsNaN", weights), g.operand(0.0, s.dtype), weights)
    return g.op("MatMul", weights, g.operand(v))


# ---- resampling ------------------------------------------------------------------------------

@row("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d",
     "upsample_bilinear2d", "upsample_trilinear3d")
def _upsample(g: Graph, s: Step, x: Value, output_size: Any, *rest: Any) -> str:
    nearest = "nearest" in s.name
    factors = rest[-1]
    way = "asymmetric" if nearest else "align_corners" if rest[0] else "pytorch_half_pixel"
    named: dict[str, Any] = {"mode": "nearest" if nearest else "linear",
                             "coordinate_transformation_mode": way,
                             "nearest_mode": "floor" if nearest else None}
    n = x.rank - 2
    none = g.constant(np.zeros(0, np.float32)) if g.opset < 13 else ""
    if factors:
        scales = g.constant(np.array([1, 1, *many(factors, n)], np.float32))
        return g.op("Resize", g.operand(x), none, scales, **named)
    return g.op("Resize", g.operand(x), none, none, g.ints(s.shape), **named)


@row("pixel_shuffle")
def _pixel_shuffle(g: Graph, s: Step, x: Value, factor: int) -> str:
    name, back = _batched(g, x, 4)
    return back(g.op("DepthToSpace", name, blocksize=factor, mode="CRD"))
