"""cross_entropy and nll_loss.

Forward: a stage over the targets (their weight, whether they are in range), one over the rows of
classes, one that folds the losses; one launch. The logarithm of the softmax is kept for backward,
as in PyTorch, so that logits may be overwritten. Logits of half precision whose loss is float32,
as under autocast, are kept as they are, with one float32 number a row that makes them logarithms.
"""

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, bfloat16, float16, int64, uint8
from ..core.spec import spec
from ..core.views import movedim
from ..loops import ir
from ..loops.ir import Expr, cast, const, coord, fold
from ..loops.scalar import exp, log, where
from .kinds import composite, compute_dtype, refuse_gradient, rows
from .losses import reduction_name


def _raise_range(value: int) -> None:
    raise IndexError(f"Target {value} is out of bounds.")


# ---- checks ----------------------------------------------------------------------------------

def class_dim(ndim: int) -> int:
    """Where the classes are: (C) or (N, C, ...)."""
    return 0 if ndim == 1 else 1


def check_target(name: str, dtype: Any, shape: tuple[int, ...], target: Any, weight: Any) -> None:
    """Refuse targets and weights that do not fit the input's shape."""
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    at = class_dim(len(shape))
    wanted = shape[:at] + shape[at + 1:]
    given = tuple(target.spec.shape)
    if given != wanted:
        raise _target_size(shape, given, wanted)
    if target.spec.dtype not in (int64, uint8):
        shown = SCALAR_NAMES[target.spec.dtype]
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {shown} "
            f"(expected scalar type Long but found {shown}; convert it with .long())")
    if weight is not None:
        check_weight(weight, shape[at], dtype)


def _target_size(shape: tuple[int, ...], given: tuple[int, ...], wanted: tuple[int, ...]
                 ) -> Exception:
    if len(shape) <= 2 and len(given) > 1:
        return RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not given or not wanted or given[0] != wanted[0]:
        return ValueError(f"Expected input batch_size ({wanted[0] if wanted else 1}) to match "
                          f"target batch_size ({given[0] if given else 1}).")
    if len(shape) == 4 and len(given) == 3:
        return RuntimeError(f"size mismatch (got input: {list(shape)} , target: {list(given)}")
    if len(shape) == 4:
        return RuntimeError("only batches of spatial targets supported (3D tensors) but got "
                            f"targets of dimension: {len(given)}")
    return RuntimeError(f"Expected target size {list(wanted)}, got {list(given)}")


def check_weight(weight: Any, classes: int, dtype: Any) -> None:
    """Refuse a class weight of another size or dtype."""
    if tuple(weight.spec.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.spec.shape)}")
    if weight.spec.dtype is not dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[dtype]} but found "
                           f"{SCALAR_NAMES[weight.spec.dtype]}")


def classes_last(x: Any) -> Any:
    """x with its classes as the inner axis."""
    return x.seen(movedim(x.spec, (class_dim(x.spec.ndim),), (-1,)))


# ---- class indices ---------------------------------------------------------------------------

def _row_weights(p: Any, target: Any, weight: Any, classes: int, ignore_index: int, made: Any
                 ) -> None:
    """The weight of each target: 0 where ignored. Targets out of range fail the call."""
    wide = made.spec.dtype
    shape = tuple(target.spec.shape)

    def body(t: Expr, *rest: Expr) -> Expr:
        t = cast(t, int64)
        kept = t.ne(p.fixed(ignore_index, int64))
        inside = (t >= 0) & (t < p.fixed(classes, int64))
        p.check(inside | ~kept, t, _raise_range)
        value = const(1, wide)
        if weight is not None and classes:
            step = p.fixed(weight.spec.strides[0], int64)
            value = cast(ir.load(1, weight.spec.dtype, where(inside, t, 0) * step), wide)
        return where(kept, value, const(0, wide))

    read = weight is not None and classes
    operands = [target] + ([weight.seen((shape, (0,) * len(shape), 0))] if read else [])
    p.flat(body, operands, [made])


def _rows_of(x: Any) -> Any:
    """x without its class dimension, one place per row."""
    at = class_dim(x.spec.ndim)
    shape, strides = tuple(x.spec.shape), tuple(x.spec.strides)
    return x.seen((shape[:at] + shape[at + 1:], strides[:at] + strides[at + 1:], 0))


def _picked(p: Any, load: Expr, t: Expr, place: int, x: Any, classes: int) -> Expr:
    """The row's element at its target: read where classes lie side by side, else compared.

    Rows that lie side by side are done as vectors, which cannot each read a place of their own.
    """
    if not classes:
        return const(0, load.dtype)
    if x.spec.strides[-1] != 1:
        return fold("sum", where(coord("inner").eq(t), load, const(0, load.dtype)))
    inside = (t >= 0) & (t < p.fixed(classes, int64))
    return cast(ir.load(place, x.spec.dtype, where(inside, t, 0)), load.dtype)


def _fold_losses(p: Any, losses: Any, weights: Any, reduction: str, loss: Any, total: Any) -> None:
    """The sum or the weighted mean of the losses, and the sum of the weights."""
    wide = weights.spec.dtype
    dims = range(losses.spec.ndim)

    def final(value: Expr, weight: Expr) -> tuple[Expr, Expr]:
        return (value / weight if reduction == "mean" else value), weight

    p.reduce(("sum", "sum"), lambda v, w: (cast(v, wide), w), final, (losses, weights), dims,
             (loss, total))


def _cross_entropy(p: Any, input: Any, target: Any, weight: Any, ignore_index: int,
                   reduction: str, smoothing: float, keep: bool, dtype: Any) -> None:
    given = input.spec.dtype
    dtype = given if dtype is None else dtype
    shape = tuple(input.spec.shape)
    check_target("cross_entropy", dtype, shape, target, weight)
    if dtype.category < FLOATING:
        raise NotImplementedError('"log_softmax_lastdim_kernel_impl" not implemented for '
                                  f"'{p.scalar_name(dtype)}'")
    wide, outer = compute_dtype(dtype), tuple(target.spec.shape)
    none = reduction == "none"
    loss = p.result(spec(dtype, outer if none else (), None, p.device))
    kept = p.result(spec(given, shape if keep else (0,), None, p.device))
    weights = p.result(spec(wide, outer, None, p.device))
    total = p.result(spec(wide, () if not none else (0,), None, p.device))
    raw = dtype is not given
    norm = p.result(spec(wide, outer if keep and raw else (0,), None, p.device))
    x = classes_last(input)
    classes = x.spec.shape[-1]
    _row_weights(p, target, weight, classes, ignore_index, weights)
    losses = loss if none else p.temporary(outer, wide)
    outputs = [losses.as_rows()] + ([classes_last(kept)] if keep else [])
    outputs += [norm.as_rows()] if keep and raw else []

    def body(load: Expr, t: Expr, own: Expr, _: Expr, *rest: Expr) -> tuple[Expr, ...]:
        v, own, t = cast(load, wide), cast(own, wide), cast(t, int64)
        top = fold("max", v)
        below = v - top
        spread = log(fold("sum", exp(below)))
        found = cast(_picked(p, v, t, 3, x, classes) - top - spread, dtype)
        loss = where(own.ne(0), -own * cast(found, wide), const(0, wide))
        value = cast(below - spread, dtype)
        if smoothing:
            loss = loss * (1.0 - smoothing) + _smooth(
                p, t, cast(value, wide), rest, ignore_index, classes, smoothing)
        return (loss, load if raw else value, top + spread)[:len(outputs)]

    each = [weight.seen(((classes,), weight.spec.strides, 0))] if weight and smoothing else []
    p.rows(body, [x, target.as_rows(), weights.as_rows(), _rows_of(input).as_rows(),
               *each], outputs,
           outer, classes)
    if not none:
        _fold_losses(p, losses, weights, reduction, loss, total)


def _smooth(p: Any, t: Expr, value: Expr, rest: tuple[Expr, ...], ignore_index: int,
            classes: int, smoothing: float) -> Expr:
    """The part of the loss that is spread over all classes."""
    wide = value.dtype
    each = value * cast(rest[0], wide) if rest else value
    spread = -fold("sum", each) * p.fixed(smoothing / max(classes, 1), wide)
    return where(cast(t, int64).ne(p.fixed(ignore_index, int64)), spread, const(0, wide))


def _cross_entropy_backward(p: Any, grad_output: Any, kept: Any, norm: Any, target: Any,
                            weight: Any, weights: Any, total: Any, ignore_index: int,
                            reduction: str, smoothing: float, input_dtype: Any) -> None:
    """(softmax - one-hot) of each row, times its weight and the loss's gradient.

    The logarithms of the probabilities are `kept`, or `kept - norm` where there is a norm.
    """
    made = p.result(spec(input_dtype, kept.spec.shape, None, p.device))
    wide, outer = weights.spec.dtype, tuple(target.spec.shape)
    y = classes_last(kept)
    classes = y.spec.shape[-1]
    operands = [y, target.as_rows(), weights.as_rows(), grad_output.as_rows()]
    operands += [norm.as_rows()] if norm else []
    operands += [total.as_rows()] if reduction == "mean" else []
    operands += [weight] if weight and smoothing else []

    def body(load: Expr, t: Expr, own: Expr, g: Expr, *rest: Expr) -> Expr:
        value, g, t = cast(load, wide), cast(g, wide), cast(t, int64)
        left = list(rest)
        value = value - left.pop(0) if norm else value
        g = g / left.pop(0) if reduction == "mean" else g
        kept = t.ne(p.fixed(ignore_index, int64))
        g = where(kept, g, const(0, wide))
        hit = where(coord("inner").eq(t), own, const(0, wide))
        if not smoothing:
            return (exp(value) * own - hit) * g
        each = cast(left[0], wide) if left else const(1, wide)
        share = p.fixed(smoothing / max(classes, 1), wide)
        whole = fold("sum", each) if left else p.fixed(classes, wide)
        rate = own * (1.0 - smoothing) + share * whole
        return (exp(value) * rate - hit * (1.0 - smoothing) - each * share) * g

    p.rows(body, operands, [classes_last(made)], outer, classes)


def _class_shape(ops: Any, value: Any, ndim: int) -> Any:
    """A value per row, so that it broadcasts over the classes."""
    return ops.unsqueeze(value, class_dim(ndim)) if value.dim() == ndim - 1 else value


def _rate(ops: Any, target: Any, weight: Any, weights: Any, ignore_index: int, smoothing: float,
          ndim: int, classes: int) -> Any:
    """What the softmax of a row is multiplied by in the gradient."""
    rate = ops.mul(weights, 1.0 - smoothing)
    if smoothing:
        kept = ops.to_dtype(ops.ne(target, ignore_index), weights.dtype)
        whole = ops.mul(kept, smoothing) if weight is None else ops.mul(
            kept, ops.mul(ops.sum(weight), smoothing / max(classes, 1)))
        rate = ops.add(rate, whole)
    return _class_shape(ops, rate, ndim)


def _logarithms(ops: Any, kept: Any, norm: Any) -> Any:
    """The logarithms of the probabilities, of what forward kept."""
    if norm is None:
        return kept
    return ops.sub(ops.to_dtype(kept, norm.dtype), _class_shape(ops, norm, kept.dim()))


def _cross_entropy_second(ops: Any, grad: Any, grad_output: Any, kept: Any, norm: Any,
                          target: Any, weight: Any, weights: Any, total: Any, ignore_index: int,
                          reduction: str, smoothing: float, input_dtype: Any
                          ) -> tuple[Any, Any]:
    """Gradients of grad_output and of the logarithms of the probabilities."""
    ndim = kept.dim()
    classes = kept.shape[class_dim(ndim)]
    unit = ops.cross_entropy_backward(
        ops.ones_like(grad_output), kept, norm, target, weight, weights, total,
        ignore_index, reduction, smoothing, input_dtype)
    log_probabilities = _logarithms(ops, kept, norm)
    along = ops.mul(grad, unit)
    to_output = ops.sum(along, (class_dim(ndim),)) if reduction == "none" else ops.sum(along)
    rate = _rate(ops, target, weight, weights, ignore_index, smoothing, ndim, classes)
    if reduction == "mean":
        rate = ops.div(rate, total)
    outer = _class_shape(ops, grad_output, ndim) if reduction == "none" else grad_output
    scale = ops.mul(ops.mul(rate, ops.exp(log_probabilities)), outer)
    to_kept = ops.mul(grad, scale)
    return to_output, to_kept if norm is None else ops.to_dtype(to_kept, kept.dtype)


rows("cross_entropy_backward(Tensor grad_output, Tensor kept, Tensor? norm, Tensor target, "
     "Tensor? weight, Tensor weights, Tensor? total, int ignore_index, str reduction, "
     "any smoothing, dtype input_dtype) -> Tensor", _cross_entropy_backward, method=False,
     node_name="NllLossBackwardBackward0",
     backward={("grad_output", "kept"): _cross_entropy_second})


def _cross_entropy_back(ops: Any, grads: Any, input_spec: Any, target: Any, weight: Any,
                        ignore_index: int, reduction: str, smoothing: float, result1: Any,
                        result2: Any, result3: Any, result4: Any, dtype: Any) -> Any:
    made = None
    norm = None if dtype in (None, input_spec.dtype) else result4
    if grads[0] is not None:
        made = ops.cross_entropy_backward(
            grads[0], result1, norm, target, weight, result2, result3, ignore_index, reduction,
            smoothing, input_spec.dtype)
    if grads[1] is not None:  # what a second derivative reads of the probabilities
        along = grads[1] if norm is None else ops.to_dtype(grads[1], norm.dtype)
        other = ops.log_softmax_backward_data(
            along, _logarithms(ops, result1, norm), class_dim(input_spec.ndim), input_spec.dtype)
        made = other if made is None else ops.add(made, other)
    return made


def _node_name(plan: Any) -> str:
    by_label = plan.values[plan.record.schema.index("input")].spec.ndim > 2
    return "NllLoss2DBackward0" if by_label else "NllLossBackward0"


rows("cross_entropy_labels(Tensor input, Tensor target, Tensor? weight, int ignore_index, "
     "str reduction, any smoothing, bool keep, dtype? dtype) "
     "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
     _cross_entropy, method=False, node_name=_node_name, carriers=2,
     backward={"input": _cross_entropy_back})


# ---- negative log-likelihood -----------------------------------------------------------------

def _nll(p: Any, input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> None:
    dtype = input.spec.dtype
    check_target("nll_loss", dtype, tuple(input.spec.shape), target, weight)
    if dtype.category < FLOATING:
        raise NotImplementedError('"nll_loss_out_frame" not implemented for '
                                  f"'{p.scalar_name(dtype)}'")
    outer, wide = tuple(target.spec.shape), compute_dtype(dtype)
    none = reduction == "none"
    loss = p.result(spec(dtype, outer if none else (), None, p.device))
    weights = p.result(spec(wide, outer, None, p.device))
    total = p.result(spec(wide, (0,) if none else (), None, p.device))
    x = classes_last(input)
    classes = x.spec.shape[-1]
    _row_weights(p, target, weight, classes, ignore_index, weights)
    losses = loss if none else p.temporary(outer, wide)

    def body(t: Expr, own: Expr, *_: Expr) -> Expr:
        if not classes:
            return const(0, wide)
        t = cast(t, int64)
        inside = (t >= 0) & (t < p.fixed(classes, int64))
        place = where(inside, t, 0) * p.fixed(x.spec.strides[-1], int64)
        return where(own.ne(0), -own * cast(ir.load(2, dtype, place), wide), const(0, wide))

    p.flat(body, [target, weights, *([_rows_of(input)] if classes else [])], [losses])
    if not none:
        _fold_losses(p, losses, weights, reduction, loss, total)


def _nll_backward(p: Any, grad_output: Any, target: Any, weights: Any, total: Any,
                  reduction: str, shape: tuple[int, ...], dtype: Any) -> None:
    made = p.result(spec(dtype, shape, None, p.device))
    seen, wide = classes_last(made), weights.spec.dtype

    def body(t: Expr, own: Expr, g: Expr, *rest: Expr) -> Expr:
        g = cast(g, wide)
        g = where(own.ne(0), -own * (g / rest[0] if rest else g), const(0, wide))
        return where(coord("inner").eq(cast(t, int64)), g, const(0, wide))

    mean = [total.as_rows()] if reduction == "mean" else []
    p.rows(body, [target.as_rows(), weights.as_rows(), grad_output.as_rows(), *mean], [seen],
           seen.spec.shape[:-1], seen.spec.shape[-1])


rows("nll_loss_backward(Tensor grad_output, Tensor target, Tensor? weight, Tensor weights, "
     "Tensor total, int ignore_index, str reduction, any shape, dtype dtype) -> Tensor",
     lambda p, grad_output, target, weight, weights, total, ignore_index, reduction, shape, dtype:
     _nll_backward(p, grad_output, target, weights, total, reduction, shape, dtype), method=False,
     node_name="NllLossBackwardBackward0",
     backward={"grad_output": lambda ops, grad, target, weight, ignore_index, reduction:
               ops.nll_loss_forward(grad, target, weight, ignore_index, reduction)[0]})
rows("nll_loss_forward(Tensor input, Tensor target, Tensor? weight, int ignore_index, "
     "str reduction) -> (Tensor, Tensor, Tensor)", _nll, method=False, node_name=_node_name,
     carriers=1,
     backward={"input": lambda ops, grad, input_spec, target, weight, result1, result2,
               ignore_index, reduction: ops.nll_loss_backward(
                   grad, target, weight, result1, result2, ignore_index, reduction,
                   tuple(input_spec.shape), input_spec.dtype)})


def _nll_public(ops: Any, input: Any, target: Any, weight: Any, ignore_index: int,
                reduction: Any) -> Any:
    refuse_gradient(weight, "nll_loss_forward", "weight")
    return ops.nll_loss_forward(input, target, weight, ignore_index, reduction_name(reduction))[0]


composite("nll_loss(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, "
          "any reduction='mean') -> Tensor", _nll_public, method=False, autocast="float32",
          doc="Minus the input at the target's class, times the class's weight.")


# ---- the public functions --------------------------------------------------------------------

def _public(ops: Any, input: Any, target: Any, weight: Any, ignore_index: int, reduction: Any,
            label_smoothing: float, dtype: Any) -> Any:
    reduction = reduction_name(reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if dtype is not None and (target.shape == input.shape
                              or input.dtype not in (float16, bfloat16)):
        if input.dtype.is_floating_point and input.dtype.itemsize < dtype.itemsize:
            input = ops.to_dtype(input, dtype)
        dtype = None
    if target.shape == input.shape:
        return _with_probabilities(ops, input, target, weight, ignore_index, reduction,
                                   label_smoothing)
    refuse_gradient(weight, "nll_loss_forward", "weight")
    keep = ops.has_derivative(input)
    return ops.cross_entropy_labels(input, target, weight, ignore_index, reduction,
                                    label_smoothing, keep, dtype)[0]


def _with_probabilities(ops: Any, input: Any, target: Any, weight: Any, ignore_index: int,
                        reduction: str, label_smoothing: float) -> Any:
    if not target.dtype.is_floating_point:
        raise RuntimeError("Expected floating point type for target with class probabilities, "
                           f"got {SCALAR_NAMES[target.dtype]}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input.shape[class_dim(input.dim())]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}")
    keep = ops.has_derivative(input, target)
    return ops.cross_entropy_probabilities(input, target, weight, reduction, label_smoothing,
                                           keep)[0]


composite("cross_entropy(Tensor input, Tensor target, Tensor? weight=None, "
          "int ignore_index=-100, any reduction='mean', float label_smoothing=0.0, "
          "dtype? dtype=None) -> Tensor", _public, method=False, autocast="told",
          doc="The negative log-likelihood of target under softmax(input).")
