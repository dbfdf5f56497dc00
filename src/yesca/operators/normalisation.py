"""Normalisation of each sample by its own statistics: layer_norm, rms_norm.

Forward is one stage: the mean, then what the rounding of the mean left over together with the
squares of the differences, then the result. A large mean therefore cancels cleanly.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, bfloat16, float16, float32
from ..core.spec import spec
from ..loops.ir import Expr, cast, const, fold
from ..loops.scalar import sqrt
from .kinds import composite, compute_dtype, rows


def as_shape(name: str, normalized_shape: Any) -> tuple[int, ...]:
    """The argument normalized_shape as a tuple."""
    if isinstance(normalized_shape, int):
        raise TypeError(f"{name}(): argument 'normalized_shape' (position 2) must be tuple of "
                        "ints, not int")
    return tuple(int(n) for n in normalized_shape)


def _check(shape: tuple[int, ...], normalized: tuple[int, ...], weight: Any, bias: Any) -> None:
    if not normalized:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            f"one element, but got normalized_shape = {list(normalized)}")
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.spec.shape) != normalized:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                f"shape {list(given.spec.shape)} and normalized_shape = {list(normalized)}")
    if shape[len(shape) - len(normalized):] != normalized or len(shape) < len(normalized):
        stars = "".join(f", {n}" for n in normalized)
        raise RuntimeError(
            f"Given normalized_shape={list(normalized)}, expected input with shape [*{stars}], "
            f"but got input of size{list(shape)}")


def check_mixed(dtype: Any, *parameters: Any) -> None:
    """Parameters and statistics have the input's dtype, or float32 beside a half one."""
    other = [t.spec.dtype for t in parameters if t is not None and t.spec.dtype is not dtype]
    if any(found is not float32 for found in other):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if other and dtype not in (float16, bfloat16):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def statistics_dtype(dtype: Any, weight: Any) -> Any:
    """PyTorch keeps means in float32 beside float32 parameters, else in the input's dtype."""
    if dtype in (float16, bfloat16) and weight is not None and weight.spec.dtype is float32:
        return float32
    return dtype


def last_joined(p: Any, x: Any, count: int) -> tuple[Any, int]:
    """x with its last `count` dimensions as one; a result is seen, an operand may be copied."""
    return p.joined(x, count)


def _optional(values: list[Any], wide: Any) -> Any:
    """Takes the loads of operands that may be absent, in order."""
    given = iter(values)
    return lambda present: cast(next(given), wide) if present is not None else None


def scaled(x: Expr, weight: Expr | None, bias: Expr | None) -> Expr:
    """x * weight + bias, as far as there are any."""
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def _outputs(p: Any, x: Any, count: int, weight: Any, centred: bool) -> list[Any]:
    """The result and the statistics: (..., 1) per sample."""
    shape = tuple(x.spec.shape)
    outer = shape[:len(shape) - count]
    kept = spec(statistics_dtype(x.spec.dtype, weight), (*outer, *(1,) * count), None, p.device)
    made = [p.result(spec(x.spec.dtype, shape, None, p.device)), p.result(kept)]
    if centred:
        made.append(p.result(kept))
    seen = [last_joined(p, made[0], count)[0]]
    flat = spec(kept.dtype, outer, None, p.device)
    return seen + [m.seen((outer, flat.strides, 0)).as_rows() for m in made[1:]]


def _program(p: Any, x: Any, shape: tuple[int, ...], weight: Any, bias: Any, eps_at: int,
             centred: bool) -> None:
    count = len(shape)
    dtype = x.spec.dtype
    wide = compute_dtype(dtype)
    outs = _outputs(p, x, count, weight, centred)
    seen, size = p.joined(x, count)
    flat = [seen] + [p.joined(t, count)[0] for t in (weight, bias) if t is not None]

    def body(load: Expr, *rest: Expr) -> tuple[Expr, ...]:
        take = _optional(list(rest), wide)
        v = cast(load, wide)
        many = p.fixed(size, wide)
        eps = p.argument(eps_at, wide)
        w, b = take(weight), take(bias)
        if not centred:
            scale = const(1, wide) / sqrt(fold("sum", v * v) / many + eps)
            return scaled(v * scale, w, b), scale
        first = fold("sum", v) / many
        apart = v - first
        left = fold("sum", apart) / many
        spread = fold("sum", apart * apart) / many - left * left
        scale = const(1, wide) / sqrt(spread + eps)
        return scaled((apart - left) * scale, w, b), first + left, scale

    p.rows(body, flat, outs, seen.spec.shape[:-1], size)


def _layer_norm(p: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float
                ) -> None:
    shape = as_shape("layer_norm", normalized_shape)
    _check(tuple(input.spec.shape), shape, weight, bias)
    check_mixed(input.spec.dtype, weight, bias)
    if input.spec.dtype.category != FLOATING:
        raise NotImplementedError('"LayerNormKernelImpl" not implemented for '
                                  f"'{p.scalar_name(input.spec.dtype)}'")
    _program(p, input, shape, weight, bias, 4, centred=True)


def _rms_norm(p: Any, input: Any, normalized_shape: Any, weight: Any, eps: float) -> None:
    shape = as_shape("rms_norm", normalized_shape)
    _check(tuple(input.spec.shape), shape, weight, None)
    if input.spec.dtype.category != FLOATING:
        raise NotImplementedError('"rms_norm" not implemented for '
                                  f"'{p.scalar_name(input.spec.dtype)}'")
    _program(p, input, shape, weight, None, 3, centred=False)


# ---- backward --------------------------------------------------------------------------------

def absent(p: Any, like: Any) -> Any:
    """A result that nobody asked for."""
    return p.result(spec(like.spec.dtype, (0,), None, p.device))


def _backward(p: Any, grad_output: Any, x: Any, shape: tuple[int, ...], mean: Any, rstd: Any,
              weight: Any, bias: Any, mask: tuple[bool, ...]) -> None:
    """Stage one: the input's gradient; stage two: those of weight and bias, sums over samples."""
    wide = compute_dtype(x.spec.dtype)
    count = len(shape)
    outer = tuple(x.spec.shape[:x.spec.ndim - count])
    made = p.result(spec(x.spec.dtype, x.spec.shape, None, p.device)) if mask[0] else absent(p, x)
    tops = [p.result(spec(t.spec.dtype, shape, None, p.device)) if wanted else absent(p, x)
            for t, wanted in ((weight, mask[1]), (bias, mask[2]))]
    g, size = p.joined(grad_output, count)
    v, _ = p.joined(x, count)
    each = [t.seen((outer, t.spec.strides[:len(outer)], 0)) for t in (mean, rstd) if t is not None]
    if mask[0]:
        p.rows(lambda *loads: _input_gradient(p, loads, mean, weight, size, wide),
               [g, v, *(t.as_rows() for t in each),
                *([p.joined(weight, count)[0]] if weight is not None else [])],
               [p.joined(made, count)[0]], outer, size)
    wanted = [top for top, asked in zip(tops, mask[1:], strict=True) if asked]
    if wanted:
        dims = range(len(outer))
        columns = [t.seen(((*outer, 1), (*t.spec.strides, 0), 0)) for t in each]
        flat = [p.joined(t, count)[0] for t in wanted]
        p.reduce(("sum",) * len(wanted),
                 lambda *loads: _parameter_gradients(loads, mean, mask, wide),
                 lambda *sums: sums, [g, v, *columns], dims, flat)


def _input_gradient(p: Any, loads: tuple[Expr, ...], mean: Any, weight: Any, size: int,
                    wide: Any) -> Expr:
    g, v, *rest = (cast(e, wide) for e in loads)
    middle = rest.pop(0) if mean is not None else None
    scale = rest.pop(0)
    g = g * rest.pop(0) if weight is not None else g
    many = p.fixed(size, wide)
    unit = (v if middle is None else v - middle) * scale
    along = fold("sum", g * unit) / many
    if middle is None:
        return (g - unit * along) * scale
    return (g - fold("sum", g) / many - unit * along) * scale


def _parameter_gradients(loads: tuple[Expr, ...], mean: Any, mask: tuple[bool, ...], wide: Any
                         ) -> tuple[Expr, ...]:
    g, v, *rest = (cast(e, wide) for e in loads)
    unit = (v if mean is None else v - rest[0]) * rest[-1]
    return tuple(e for e, asked in ((g * unit, mask[1]), (g, mask[2])) if asked)


def _layer_norm_backward(p: Any, grad_output: Any, input: Any, normalized_shape: Any, mean: Any,
                         rstd: Any, weight: Any, bias: Any, output_mask: Any, eps: float) -> None:
    _backward(p, grad_output, input, tuple(normalized_shape), mean, rstd, weight, bias,
              tuple(output_mask))


def second_order(ops: Any, grads: tuple[Any, ...], grad_output: Any, x: Any, weight: Any,
                 dims: tuple[int, ...], parameter_dims: tuple[int, ...], eps: float,
                 centred: bool = True) -> tuple[Any, Any, Any]:
    """Gradients of grad_output, x and weight, from those of a normalisation's three gradients.

    The normalisation is over `dims`; the parameters, which broadcast to x, have gradients summed
    over `parameter_dims`. With P the projection onto what can change the result, the input's
    gradient is rstd P(weight grad_output); P is symmetric.
    """
    many = math.prod(x.shape[d] for d in dims)

    def total(t: Any) -> Any:
        return ops.sum(t, dims, True)

    def middle(t: Any) -> Any:
        return ops.div(total(t), many)

    apart = ops.sub(x, middle(x)) if centred else x
    scale = ops.rsqrt(ops.add(middle(ops.mul(apart, apart)), eps))
    unit = ops.mul(apart, scale)

    def project(t: Any) -> Any:
        made = ops.sub(t, ops.mul(unit, middle(ops.mul(t, unit))))
        return ops.sub(made, middle(t)) if centred else made

    of_input, of_weight, of_bias = grads
    to_grad = to_input = to_weight = None

    def plus(a: Any, b: Any) -> Any:
        return b if a is None else ops.add(a, b)

    if of_input is not None:
        inner = grad_output if weight is None else ops.mul(grad_output, weight)
        turned = ops.mul(scale, project(of_input))
        to_grad = turned if weight is None else ops.mul(turned, weight)
        if weight is not None:
            to_weight = ops.sum(ops.mul(grad_output, turned), parameter_dims, True)
        rate = ops.div(ops.mul(scale, scale), -many)
        first, other = total(ops.mul(of_input, unit)), total(ops.mul(inner, unit))
        to_input = ops.mul(rate, ops.add(ops.mul(project(of_input), other),
                                         ops.mul(project(inner), first)))
        # the projection's value, through the change of rstd
        whole = total(ops.mul(project(of_input), inner))
        to_input = ops.add(to_input, ops.mul(ops.mul(rate, whole), unit))
    if of_weight is not None:
        to_grad = plus(to_grad, ops.mul(unit, of_weight))
        to_input = plus(to_input, ops.mul(scale, project(ops.mul(grad_output, of_weight))))
    if of_bias is not None:
        to_grad = plus(to_grad, ops.expand(of_bias, tuple(x.shape)))
    return to_grad, to_input, to_weight


def _layer_norm_second(ops: Any, grads: Any, grad_output: Any, input: Any, normalized_shape: Any,
                       weight: Any, eps: float) -> tuple[Any, Any, Any]:
    dims = tuple(range(input.dim() - len(normalized_shape), input.dim()))
    made = second_order(ops, grads, grad_output, input, weight, dims,
                        tuple(range(dims[0])), eps)
    return made[0], made[1], _shaped(ops, made[2], normalized_shape)


def _shaped(ops: Any, value: Any, shape: Any) -> Any:
    return value if value is None else ops.reshape(value, tuple(shape))


rows("layer_norm_backward(Tensor grad_output, Tensor input, any normalized_shape, Tensor mean, "
     "Tensor rstd, Tensor? weight, Tensor? bias, any output_mask, float eps) -> "
     "(Tensor, Tensor, Tensor)", _layer_norm_backward, method=False,
     node_name="NativeLayerNormBackwardBackward0",
     backward={("grad_output", "input", "weight"): _layer_norm_second})


def _layer_norm_back(ops: Any, grads: Any, input: Any, normalized_shape: Any, result1: Any,
                     result2: Any, weight: Any, bias: Any, eps: float, needs: Any,
                     weight_spec: Any, bias_spec: Any) -> tuple[Any, ...]:
    mask = asked(needs, (True, weight_spec, bias_spec))
    return ops.layer_norm_backward(grads[0], input, as_shape("layer_norm", normalized_shape),
                                   result1, result2, weight, bias, mask, eps)


def asked(needs: tuple[bool, ...], given: tuple[Any, ...]) -> tuple[bool, ...]:
    """Which of (input, weight, bias) want a gradient; absent ones have no place in `needs`."""
    wants = iter(needs)
    return tuple(bool(next(wants)) if g is not None else False for g in given)


rows("native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, "
     "float eps) -> (Tensor, Tensor, Tensor)", _layer_norm, method=False, carriers=1,
     counts_absent=True, backward={("input", "weight", "bias"): _layer_norm_back},
     doc="layer_norm, and the mean and 1 / standard deviation of each sample.")
composite("layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, "
          "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
          lambda ops, input, normalized_shape, weight, bias, eps, cudnn_enable:
          ops.native_layer_norm(input, normalized_shape, weight, bias, eps)[0], method=False,
          doc="Each sample less its mean, over its standard deviation, scaled and shifted.")


# ---- root mean square ------------------------------------------------------------------------

def _rms_backward(p: Any, grad_output: Any, input: Any, normalized_shape: Any, rstd: Any,
                  weight: Any, output_mask: Any, eps: float) -> None:
    _backward(p, grad_output, input, tuple(normalized_shape), None, rstd, weight, None,
              (*output_mask, False))


def _rms_second(ops: Any, grads: Any, grad_output: Any, input: Any, normalized_shape: Any,
                weight: Any, eps: float) -> tuple[Any, Any, Any]:
    dims = tuple(range(input.dim() - len(normalized_shape), input.dim()))
    made = second_order(ops, (*grads[:2], None), grad_output, input, weight, dims,
                        tuple(range(dims[0])), eps, centred=False)
    return made[0], made[1], _shaped(ops, made[2], normalized_shape)


rows("rms_norm_backward(Tensor grad_output, Tensor input, any normalized_shape, Tensor rstd, "
     "Tensor? weight, any output_mask, float eps) -> (Tensor, Tensor, Tensor)", _rms_backward,
     method=False, backward={("grad_output", "input", "weight"): _rms_second})


def _rms_back(ops: Any, grads: Any, input: Any, normalized_shape: Any, result1: Any, weight: Any,
              eps: float, needs: Any, weight_spec: Any) -> Any:
    mask = asked(needs, (True, weight_spec))
    return ops.rms_norm_backward(grads[0], input, as_shape("rms_norm", normalized_shape), result1,
                                 weight, mask, eps)[:2]


rows("fused_rms_norm(Tensor input, any normalized_shape, Tensor? weight, float eps) -> "
     "(Tensor, Tensor)", _rms_norm, method=False, carriers=1, node_name="MulBackward0",
     backward={("input", "weight"): _rms_back})


def _rms_public(ops: Any, input: Any, normalized_shape: Any, weight: Any, eps: float | None
                ) -> Any:
    shape = as_shape("rms_norm", normalized_shape)
    count = len(shape)
    if input.dim() < count and (weight is None or tuple(weight.shape) == shape):
        raise ValueError(f"Input tensor must have at least {count} dimensions, but got "
                         f"{input.dim()}")
    if eps is None:
        eps = 2.0 ** -52 if input.dtype.itemsize == 8 else 2.0 ** -23
    if input.dtype.is_complex:  # PyTorch's parts: the square, not that of the absolute value
        dims = tuple(range(-count, 0))
        square = ops.mean(ops.mul(input, input), dims, True)
        made = ops.mul(input, ops.rsqrt(ops.add(square, eps)))
        return made if weight is None else ops.mul(made, weight)
    return ops.fused_rms_norm(input, normalized_shape, weight, eps)[0]


composite("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
          "Tensor", _rms_public, method=False,
          doc="Each sample over its root mean square, scaled.")
