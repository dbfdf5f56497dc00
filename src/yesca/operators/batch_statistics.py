"""Normalisation of channels or groups of channels: batch_norm, group_norm, instance_norm.

Forward in one launch: the statistics (and the update of the running ones), then the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.dtypes import FLOATING
from ..core.memory_formats import following, is_in, strides_in
from ..core.spec import spec
from ..core.views import has_dim, wrap_dim
from ..loops.ir import Expr, cast, const
from ..loops.scalar import sqrt
from .kinds import composite, compute_dtype, rows
from .normalisation import absent, asked, check_mixed, scaled, second_order


def _along(value: Any, ndim: int, dim: int = 1) -> Any:
    """A vector seen so that it broadcasts along one dimension of a tensor."""
    shape, strides = [1] * ndim, [0] * ndim
    shape[dim], strides[dim] = value.spec.shape[0], value.spec.strides[0]
    return value.seen((tuple(shape), tuple(strides), 0))


def _given(*values: Any) -> list[Any]:
    return [v for v in values if v is not None]


# ---- batch_norm ------------------------------------------------------------------------------

def _check_channels(input: Any, **vectors: Any) -> int:
    shape = tuple(input.spec.shape)
    channels = shape[1] if len(shape) > 1 else 0
    if not input.spec.numel:
        for value in (vectors["weight"], vectors["bias"]):
            if value is not None and not value.spec.numel:
                raise IndexError("select(): index 0 out of range for tensor of size [0] at "
                                 "dimension 0")
        return channels
    for name, value in vectors.items():
        if value is not None and value.spec.numel != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not "
                               f"{value.spec.numel}")
    if len(shape) < 2 and input.spec.numel:
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got input of shape "
                           f"{list(shape)}; expected (N, C) or (N, C, ...)")
    return channels


def _strides(base: Any) -> tuple[int, ...]:
    """Those of the format that the input has, else of the one that its strides suggest."""
    named = {4: "channels_last", 5: "channels_last_3d"}.get(base.ndim, "")
    if not base.contiguous and named and is_in(base, named):
        return strides_in(tuple(base.shape), named)
    return following(base)


def _batch_norm(p: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
                training: bool, momentum: float, eps: float) -> None:
    channels = _check_channels(input, running_mean=running_mean, running_var=running_var,
                               weight=weight, bias=bias)
    dtype, ndim = input.spec.dtype, input.spec.ndim
    if dtype.category != FLOATING:
        raise NotImplementedError(f'"batch_norm" not implemented for \'{p.scalar_name(dtype)}\'')
    check_mixed(dtype, weight, bias, running_mean, running_var)
    if not training and (running_mean is None or running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    wide = compute_dtype(dtype)
    made = p.result(spec(dtype, input.spec.shape, _strides(input.spec), p.device))
    kept = [p.result(spec(wide, (channels,), None, p.device)) for _ in range(2)]
    if ndim < 2 or not input.spec.numel:  # the running statistics stay as they are
        return
    if training:
        _batch_statistics(p, input, running_mean, running_var, kept, wide)
    else:
        p.flat(lambda m, v: (cast(m, wide), _inverse(cast(v, wide), p.argument(7, wide))),
               [running_mean, running_var], kept)
    _apply(p, input, made, [_along(k, ndim) for k in kept],
           weight and _along(weight, ndim), bias and _along(bias, ndim), wide)


def _inverse(variance: Expr, eps: Expr) -> Expr:
    return const(1, variance.dtype) / sqrt(variance + eps)


def _batch_statistics(p: Any, input: Any, running_mean: Any, running_var: Any, kept: list[Any],
                      wide: Any) -> None:
    """Mean and 1 / deviation of each channel; the running statistics move towards the batch's."""
    ndim = input.spec.ndim
    dims = [0, *range(2, ndim)]
    count = math.prod(input.spec.shape[d] for d in dims)
    moving = _given(running_mean, running_var)

    def final(middle: Expr, squares: Expr, *old: Expr) -> tuple[Expr, ...]:
        eps = p.argument(7, wide)
        variance = squares / p.fixed(count, wide)
        made = [middle, _inverse(variance, eps)]
        news = [middle] if running_mean is not None else []
        news += [squares / p.fixed(count - 1, wide)] if running_var is not None else []
        for new, before in zip(news, old, strict=True):
            share = p.argument(6, wide)
            made.append(new * share + cast(before, wide) * (const(1, wide) - share))
        return tuple(made)

    p.moments(input, dims, wide, final, moving, [*kept, *(p.writes(m) for m in moving)])


def _apply(p: Any, x: Any, made: Any, statistics: Sequence[Any], weight: Any, bias: Any,
           wide: Any) -> None:
    """made = (x - mean) * rstd * weight + bias."""
    def body(load: Expr, middle: Expr, scale: Expr, *rest: Expr) -> Expr:
        more = [cast(e, wide) for e in rest]
        w = more.pop(0) if weight is not None else None
        b = more.pop(0) if bias is not None else None
        return scaled((cast(load, wide) - cast(middle, wide)) * cast(scale, wide), w, b)

    p.flat(body, [x, *statistics, *_given(weight, bias)], [made])


def _batch_norm_backward(p: Any, grad_output: Any, input: Any, weight: Any, mean: Any, rstd: Any,
                         training: bool, output_mask: Any, eps: float) -> None:
    dtype, ndim = input.spec.dtype, input.spec.ndim
    wide, channels = compute_dtype(dtype), input.spec.shape[1] if ndim > 1 else 0
    made = p.result(spec(dtype, input.spec.shape, _strides(input.spec), p.device)) \
        if output_mask[0] else absent(p, input)
    kind = weight.spec.dtype if weight is not None else dtype
    tops = [p.result(spec(kind, (channels,), None, p.device)) if wanted else absent(p, input)
            for wanted in output_mask[1:]]
    if ndim < 2:
        return
    dims = [0, *range(2, ndim)]
    many = math.prod(input.spec.shape[d] for d in dims)
    each = [_along(t, ndim) for t in (mean, rstd)]
    sums = [p.temporary((channels,), wide) for _ in range(2)] if training else []
    wanted = [t for t, asked_for in zip(tops, output_mask[1:], strict=True) if asked_for]
    if training or wanted:
        def final(along: Expr, plain: Expr) -> tuple[Expr, ...]:
            chosen = [v for v, a in zip((along, plain), output_mask[1:], strict=True) if a]
            count = p.fixed(many, wide)
            return (*((along / count, plain / count) if training else ()), *chosen)

        p.reduce(("sum", "sum"), lambda g, v, m, r: _weighted_sums(g, v, m, r, wide), final,
                 [grad_output, input, *each], dims, [*sums, *wanted])
    if not output_mask[0]:
        return

    def body(load: Expr, v: Expr, m: Expr, r: Expr, *rest: Expr) -> Expr:
        g, r = cast(load, wide), cast(r, wide)
        left = [cast(e, wide) for e in rest]
        if training:
            unit = (cast(v, wide) - cast(m, wide)) * r
            g = g - left.pop(0) * unit - left.pop(0)
        g = g * r
        return g * left[0] if left else g

    p.flat(body, [grad_output, input, *each, *(_along(s, ndim) for s in sums),
                  *([_along(weight, ndim)] if weight is not None else [])], [made])


def _weighted_sums(g: Expr, v: Expr, m: Expr, r: Expr, wide: Any) -> tuple[Expr, Expr]:
    g = cast(g, wide)
    return g * ((cast(v, wide) - cast(m, wide)) * cast(r, wide)), g


def _channel_view(ops: Any, value: Any, ndim: int) -> Any:
    return None if value is None else ops.reshape(value, (1, -1) + (1,) * (ndim - 2))


def _vector(ops: Any, value: Any) -> Any:
    return None if value is None else ops.reshape(value, (-1,))


def _batch_norm_second(ops: Any, grads: Any, grad_output: Any, input: Any, weight: Any,
                       mean: Any, rstd: Any, training: bool, eps: float) -> tuple[Any, Any, Any]:
    ndim = input.dim()
    dims = (0, *range(2, ndim))
    views = [_channel_view(ops, g, ndim) if k else g for k, g in enumerate(grads)]
    w = _channel_view(ops, weight, ndim)
    if training:
        made = second_order(ops, tuple(views), grad_output, input, w, dims, dims, eps)
    else:
        made = _fixed_second(ops, views, grad_output, input, w, _channel_view(ops, mean, ndim),
                             _channel_view(ops, rstd, ndim), dims)
    return made[0], made[1], _vector(ops, made[2])


def _fixed_second(ops: Any, grads: list[Any], grad_output: Any, x: Any, weight: Any, mean: Any,
                  rstd: Any, dims: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """As `second_order`, where the statistics are constants."""
    of_input, of_weight, of_bias = grads
    to_grad = to_input = to_weight = None
    if of_input is not None:
        turned = ops.mul(of_input, rstd)
        to_grad = turned if weight is None else ops.mul(turned, weight)
        to_weight = None if weight is None else ops.sum(ops.mul(turned, grad_output), dims, True)
    if of_weight is not None:
        along = ops.mul(ops.mul(ops.sub(x, mean), rstd), of_weight)
        to_grad = along if to_grad is None else ops.add(to_grad, along)
        to_input = ops.mul(ops.mul(grad_output, of_weight), rstd)
    if of_bias is not None:
        spread = ops.expand(of_bias, tuple(x.shape))
        to_grad = spread if to_grad is None else ops.add(to_grad, spread)
    return to_grad, to_input, to_weight


rows("batch_norm_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, "
     "Tensor rstd, bool training, any output_mask, float eps) -> (Tensor, Tensor, Tensor)",
     _batch_norm_backward, method=False, node_name="NativeBatchNormBackwardBackward0",
     backward={("grad_output", "input", "weight"): _batch_norm_second})


def _batch_norm_back(ops: Any, grads: Any, input: Any, weight: Any, result1: Any, result2: Any,
                     training: bool, eps: float, needs: Any, weight_spec: Any, bias_spec: Any
                     ) -> Any:
    mask = asked(needs, (True, weight_spec, bias_spec))
    return ops.batch_norm_backward(grads[0], input, weight, result1, result2, training, mask, eps)


rows("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     _batch_norm, method=False, carriers=1, counts_absent=True,
     backward={("input", "weight", "bias"): _batch_norm_back},
     doc="batch_norm, and the mean and 1 / standard deviation of each channel.")
composite("batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
          "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> "
          "Tensor",
          lambda ops, input, weight, bias, mean, var, training, momentum, eps, _:
          ops.native_batch_norm(input, weight, bias, mean, var, bool(training), momentum, eps)[0],
          method=False, doc="Each channel less its mean, over its deviation, scaled and shifted.")


# ---- instance_norm ---------------------------------------------------------------------------

def _instance_norm(ops: Any, input: Any, weight: Any, bias: Any, running_mean: Any,
                   running_var: Any, use_input_stats: bool, momentum: float, eps: float,
                   cudnn_enabled: bool) -> Any:
    """batch_norm of (1, N * C, ...): each sample's channels have statistics of their own."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when "
                           "use_input_stats is false")
    shape = tuple(input.shape)
    samples, channels = shape[:2]

    def repeated(value: Any) -> Any:
        return None if value is None else ops.reshape(
            ops.expand(value, (samples, channels)), (-1,))

    mean, var = repeated(running_mean), repeated(running_var)
    made = ops.native_batch_norm(
        ops.reshape(ops.contiguous(input), (1, samples * channels, *shape[2:])), repeated(weight),
        repeated(bias), mean, var, bool(use_input_stats), momentum, eps)[0]
    if use_input_stats:
        for running, parts in ((running_mean, mean), (running_var, var)):
            if running is not None:
                average = ops.mean(ops.reshape(parts.detach(), (samples, channels)), (0,))
                ops.copy_(running.detach(), average)
    return ops.reshape(made, shape)


composite("instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
          "Tensor? running_var, bool use_input_stats, float momentum, float eps, "
          "bool cudnn_enabled) -> Tensor", _instance_norm, method=False,
          doc="batch_norm of each sample by itself.")


# ---- group_norm ------------------------------------------------------------------------------

def _grouped(p: Any, x: Any, groups: int) -> Any:
    """(N, C, ...) as (N, G, C / G, S)."""
    shape = tuple(x.spec.shape)
    space = math.prod(shape[2:])
    seen, _ = p.joined(x, len(shape) - 2) if len(shape) > 2 else \
        (x.seen(((*shape, 1), (*x.spec.strides, 0), 0)), 1)
    n, c, s = seen.spec.strides
    per = shape[1] // groups
    return seen.seen(((shape[0], groups, per, space), (n, c * per, c, s), 0))


def _by_group(value: Any, groups: int) -> Any:
    per, step = value.spec.shape[0] // groups, value.spec.strides[0]
    return value.seen(((1, groups, per, 1), (0, per * step, step, 0), 0))


def _per_group(value: Any) -> Any:
    shape, steps = tuple(value.spec.shape), tuple(value.spec.strides)
    return value.seen(((*shape, 1, 1), (*steps, 0, 0), 0))


def _check_groups(input: Any, groups: int, weight: Any, bias: Any) -> None:
    shape = tuple(input.spec.shape)
    has_dim(0, len(shape))
    wrap_dim(1, len(shape))
    if len(shape) < 2 and input.spec.numel:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received "
                           f"{len(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if shape[1] % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={groups}")
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.spec.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in "
                f"input, but got {name} of shape {list(value.spec.shape)} and input of shape "
                f"{list(shape)}")


def _group_norm(p: Any, input: Any, groups: int, weight: Any, bias: Any, eps: float) -> None:
    _check_groups(input, groups, weight, bias)
    dtype, shape = input.spec.dtype, tuple(input.spec.shape)
    check_mixed(dtype, weight, bias)
    if dtype.category != FLOATING:
        raise NotImplementedError('"GroupNormKernelImpl" not implemented for '
                                  f"'{p.scalar_name(dtype)}'")
    wide = compute_dtype(dtype)
    made = p.result(spec(dtype, shape, following(input.spec), p.device))
    kept = [p.result(spec(wide, (shape[0], groups), None, p.device))
            for _ in range(2)]
    x = _grouped(p, input, groups)
    count = math.prod(x.spec.shape[2:])

    def final(middle: Expr, squares: Expr) -> tuple[Expr, Expr]:
        return middle, _inverse(squares / p.fixed(count, wide), p.argument(4, wide))

    p.moments(x, (2, 3), wide, final, [], kept)
    _apply(p, x, _grouped(p, made, groups), [_per_group(k) for k in kept],
           weight and _by_group(weight, groups), bias and _by_group(bias, groups), wide)


def _group_norm_backward(p: Any, grad_output: Any, input: Any, groups: int, weight: Any,
                         mean: Any, rstd: Any, output_mask: Any, eps: float) -> None:
    dtype, shape = input.spec.dtype, tuple(input.spec.shape)
    wide = compute_dtype(dtype)
    made = p.result(spec(dtype, shape, following(input.spec), p.device)) if output_mask[0] \
        else absent(p, input)
    kind = weight.spec.dtype if weight is not None else dtype
    tops = [p.result(spec(kind, (shape[1],), None, p.device)) if wanted else absent(p, input)
            for wanted in output_mask[1:]]
    g, x = _grouped(p, grad_output, groups), _grouped(p, input, groups)
    each = [_per_group(mean), _per_group(rstd)]
    w = [_by_group(weight, groups)] if weight is not None else []
    if output_mask[0]:
        _group_input(p, g, x, each, w, _grouped(p, made, groups), wide)
    wanted = [t for t, asked_for in zip(tops, output_mask[1:], strict=True) if asked_for]
    if wanted:
        per = shape[1] // groups

        def before(*loads: Expr) -> tuple[Expr, ...]:
            both = _weighted_sums(*loads, wide)
            return tuple(v for v, a in zip(both, output_mask[1:], strict=True) if a)

        p.reduce(("sum",) * len(wanted), before, lambda *sums: sums, [g, x, *each], (0, 3),
                 [t.seen(((groups, per), (per, 1), 0)) for t in wanted])


def _group_input(p: Any, g: Any, x: Any, each: list[Any], w: list[Any], made: Any, wide: Any
                 ) -> None:
    """The input's gradient: two sums per group, then every element."""
    sums = [p.temporary(x.spec.shape[:2], wide) for _ in range(2)]
    many = math.prod(x.spec.shape[2:])

    def before(load: Expr, v: Expr, m: Expr, r: Expr, *rest: Expr) -> tuple[Expr, Expr]:
        own = cast(load, wide) * cast(rest[0], wide) if rest else load
        return _weighted_sums(own, v, m, r, wide)

    p.reduce(("sum", "sum"), before, lambda *s: tuple(v / p.fixed(many, wide) for v in s),
             [g, x, *each, *w], (2, 3), sums)

    def body(load: Expr, v: Expr, m: Expr, r: Expr, along: Expr, plain: Expr, *rest: Expr) -> Expr:
        own, r = cast(load, wide), cast(r, wide)
        own = own * cast(rest[0], wide) if rest else own
        unit = (cast(v, wide) - cast(m, wide)) * r
        return (own - along * unit - plain) * r

    p.flat(body, [g, x, *each, *(_per_group(s) for s in sums), *w], [made])


def _group_norm_second(ops: Any, grads: Any, grad_output: Any, input: Any, groups: int,
                       weight: Any, eps: float) -> tuple[Any, Any, Any]:
    shape = tuple(input.shape)
    wide = (shape[0], groups, shape[1] // groups, math.prod(shape[2:]))

    def split(value: Any) -> Any:
        return None if value is None else ops.reshape(value, (1, groups, wide[2], 1))

    of_input = None if grads[0] is None else ops.reshape(grads[0], wide)
    made = second_order(ops, (of_input, split(grads[1]), split(grads[2])),
                        ops.reshape(grad_output, wide), ops.reshape(input, wide), split(weight),
                        (2, 3), (0, 3), eps)
    return (None if made[0] is None else ops.reshape(made[0], shape),
            None if made[1] is None else ops.reshape(made[1], shape), _vector(ops, made[2]))


rows("group_norm_backward(Tensor grad_output, Tensor input, int groups, Tensor? weight, "
     "Tensor mean, Tensor rstd, any output_mask, float eps) -> (Tensor, Tensor, Tensor)",
     _group_norm_backward, method=False, node_name="NativeGroupNormBackwardBackward0",
     backward={("grad_output", "input", "weight"): _group_norm_second})


def _group_norm_back(ops: Any, grads: Any, input: Any, groups: int, weight: Any, result1: Any,
                     result2: Any, eps: float, needs: Any, weight_spec: Any, bias_spec: Any
                     ) -> Any:
    mask = asked(needs, (True, weight_spec, bias_spec))
    return ops.group_norm_backward(grads[0], input, groups, weight, result1, result2, mask, eps)


rows("group_norm_forward(Tensor input, int groups, Tensor? weight, Tensor? bias, float eps) -> "
     "(Tensor, Tensor, Tensor)", _group_norm, method=False, carriers=1,
     counts_absent=True,
     node_name="NativeGroupNormBackward0",
     backward={("input", "weight", "bias"): _group_norm_back})
composite("group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
          "float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
          lambda ops, input, num_groups, weight, bias, eps, cudnn_enabled:
          ops.group_norm_forward(input, num_groups, weight, bias, eps)[0], method=False,
          doc="Groups of channels of each sample less their mean, over their deviation.")
