"""Losses of an input against a target of its shape: elementwise, then reduced, in one launch.

`loss(...)` declares a family: the elementwise operator (reduction "none", and the source of the
derived backward kernel, scaled by what the reduction divides by) and the reduced one.
"""

# Names: binary_cross_entropy binary_cross_entropy_elements binary_cross_entropy_reduced
# Names: binary_cross_entropy_with_logits binary_cross_entropy_with_logits_elements
# Names: binary_cross_entropy_with_logits_reduced huber_loss huber_loss_elements huber_loss_reduced
# Names: kl_div kl_div_elements kl_div_reduced mse_loss mse_loss_elements mse_loss_reduced
# Names: poisson_nll_loss poisson_nll_loss_elements poisson_nll_loss_reduced smooth_l1_loss
# Names: smooth_l1_loss_elements smooth_l1_loss_reduced soft_margin_loss soft_margin_loss_elements
# Names: soft_margin_loss_reduced

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, combine, default_for
from ..core.spec import spec
from ..core.views import broadcast_shapes
from ..loops.ir import Expr, cast, const
from ..loops.scalar import absolute, exp, log, log1p, maximum, where
from .derivatives import backward_record
from .kinds import composite, compute_dtype, elementwise, elementwise_program, rows
from .record import Record, reads, register

REDUCTIONS = ("none", "mean", "sum")


def reduction_name(reduction: Any) -> str:
    """The reduction by name; PyTorch's numbers 0, 1, 2 mean none, mean, sum."""
    if isinstance(reduction, int) and not isinstance(reduction, bool) and 0 <= reduction <= 2:
        return REDUCTIONS[reduction]
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return str(reduction)


def loss(name: str, parameters: str, body: Callable[..., Expr], backward: Any = "derive", *,
         kernel: str = "", node_name: Any = "", check: Any = None, integers: bool = False,
         doc: str = "") -> None:
    """Declare `name(input, target, ..., reduction="mean")`.

    parameters: what follows input and target, in a schema's notation; tensors first. `body` and
    the formulas take input, target, then these; a formula names what it reads, `grad` included.
    `check(p, input, target)` may refuse values; `integers` count as floats. node_name:
    a name, or a function of the reduction.
    """
    extra = f", {parameters}" if parameters else ""
    parts = [q for q in parameters.split(", ") if q]
    tensors = ["input", "target", *(q.split()[1].partition("=")[0] for q in parts
                                    if q.startswith("Tensor"))]
    named = node_name or "".join(w.capitalize() for w in name.split("_")) + "Backward0"
    label = named if callable(named) else lambda reduction: named

    def dtype(_: Any, values: Any) -> tuple[Any, Any]:
        promoted = _of_pair(*values[:2])
        if promoted.category < FLOATING and integers:
            promoted = default_for(FLOATING)
        if promoted.category < FLOATING:
            raise NotImplementedError(f'"{kernel or name}" not implemented for '
                                      f"'{SCALAR_NAMES[promoted]}'")
        return promoted, promoted

    element = elementwise(
        f"{name}_elements(Tensor input, Tensor target{extra}, Scalar scale=1) -> Tensor",
        lambda *args: body(*args[:-1]) * args[-1], dtype=dtype, method=False, inplace=False,
        out=False, node_name=label("none"), backward=backward if backward == "derive" else
        {key: _scaled(formula) for key, formula in backward.items()},
        twice="MulBackward0" if callable(named) else
        named.replace("Backward0", "BackwardBackward0"))
    if check is not None:
        element.program = _checked(check)
    register(backward_record(element))  # type: ignore[arg-type]
    rows(f"{name}_reduced(Tensor input, Tensor target{extra}, str reduction='mean') -> Tensor",
         _reduced(body, dtype, check), method=False,
         node_name=lambda plan: label(plan.values[-1]),
         backward={tuple(tensors): _reduced_back(element, tensors, parts)})
    composite(f"{name}(Tensor input, Tensor target{extra}, any reduction='mean') -> Tensor",
              _public(name), method=False,
              autocast="float32", doc=doc)


def _of_pair(input: Any, target: Any) -> Any:
    """The result's dtype: that of input and target, whatever weights stand beside them."""
    specs = (input.spec, target.spec)
    return combine([s.dtype for s in specs if s.ndim], [s.dtype for s in specs if not s.ndim], [])


def _scaled(formula: Callable[..., Any]) -> Callable[..., Any]:
    """The formula times the argument `scale`."""
    def made(*args: Any) -> Any:
        return formula(*args[:-1]) * args[-1]

    own = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
           for n in (*reads(formula), "scale")]
    made.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return made


def _checked(check: Callable[..., None]) -> Callable[..., None]:
    """The elementwise program with a check of the values."""
    def program(record: Record, p: Any, values: tuple[Any, ...]) -> None:
        def body(*args: Any) -> Any:
            check(p, *args[:2])
            return record.body(*args)  # type: ignore[misc]

        twin = copy.copy(record)
        twin.body = body
        elementwise_program(twin, p, values)
    return program


def _reduced(body: Callable[..., Expr], dtype: Any, check: Any) -> Callable[..., None]:
    def program(p: Any, *values: Any) -> None:
        refs = [v for v in values if p.is_ref(v)]
        _, result = dtype(None, values)
        wide = compute_dtype(result)
        shape = broadcast_shapes(*(r.spec.shape for r in refs))
        out = p.result(spec(result, (), None, p.device))

        def before(*loads: Expr) -> Expr:
            given = iter(loads)
            args = [cast(next(given), wide) if p.is_ref(v) else
                    p.argument(k, wide) if p.record.modes[k] == "S" else v
                    for k, v in enumerate(values[:-1])]
            if check is not None:
                check(p, *args[:2])
            return body(*args)

        def final(total: Expr) -> Expr:
            many = p.fixed(math.prod(shape), wide)
            return total / many if values[-1] == "mean" else total

        p.reduce("sum", before, final, refs, range(len(shape)), out)
    return program


def _reduced_back(element: Record, tensors: list[str], parts: list[str]) -> Callable[..., Any]:
    """The derived kernel of the elements, the loss's gradient scaled by 1 / count for a mean."""
    others = [q.split()[1].partition("=")[0] for q in parts]
    name = f"{element.name}_backward"
    order = [q.name for q in backward_record(element).schema.parameters]  # type: ignore[union-attr]

    def back(ops: Any, grad: Any, needs: Any, reduction: str, *rest: Any) -> tuple[Any, ...]:
        values = dict(zip(named, rest, strict=True))
        specs = {n: values[f"{n}_spec"] for n in tensors}
        wants = iter(needs)
        given = [n for n in tensors if specs[n] is not None]
        asked = [n for n in given if next(wants)]
        shape = broadcast_shapes(*(specs[n].shape for n in given))
        count = math.prod(shape) if reduction == "mean" else 1
        values.update(grad=grad, scale=1.0 / count if count else math.nan,
                      wanted=tuple((n, specs[n].dtype) for n in asked))
        made = getattr(ops, name)(*(values[n] for n in order))
        found = dict(zip(asked, made if isinstance(made, tuple) else (made,), strict=True))
        return tuple(ops.sum_to_size(found[n], tuple(specs[n].shape)) if n in found else None
                     for n in tensors)

    named = ["input", "target", *others, *(f"{n}_spec" for n in tensors)]
    own = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
           for n in ("ops", "grad", "needs", "reduction", *named)]
    back.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return back


def _public(name: str) -> Callable[..., Any]:
    def body(ops: Any, *args: Any) -> Any:
        reduction = reduction_name(args[-1])
        if reduction == "none":
            return getattr(ops, f"{name}_elements")(*args[:-1], 1)
        return getattr(ops, f"{name}_reduced")(*args[:-1], reduction)
    return body


# ---- regression ------------------------------------------------------------------------------

def sign_of(x: Expr) -> Expr:
    """-1, 0 or 1."""
    zero = const(0, x.dtype)
    return where(x > 0, const(1, x.dtype), where(x < 0, const(-1, x.dtype), zero))


def _composed(single: str) -> Callable[[str], str]:
    """Names of losses that PyTorch composes: the node is that of the last step."""
    return lambda reduction: {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(reduction, single)


loss("mse_loss", "", lambda x, y: (x - y) * (x - y), {
    "input": lambda grad, input, target: grad * ((input - target) * 2.0),
    "target": lambda grad, input, target: grad * ((target - input) * 2.0),
}, kernel="mse_cpu", doc="(input - target) squared.")


def _l1(ops: Any, input: Any, target: Any, reduction: Any) -> Any:
    """In parts: the tape keeps the differences instead of both operands."""
    apart = ops.abs(ops.sub(input, target))
    chosen = reduction_name(reduction)
    return apart if chosen == "none" else getattr(ops, chosen)(apart)


composite("l1_loss(Tensor input, Tensor target, any reduction='mean') -> Tensor", _l1,
          method=False, autocast="float32", doc="|input - target|.")


def _smooth(x: Expr, y: Expr, beta: Expr) -> Expr:
    apart = absolute(x - y)
    return where(apart < beta, apart * apart * 0.5 / beta, apart - beta * 0.5)


def _smooth_slope(grad: Expr, apart: Expr, beta: Expr) -> Expr:
    return where(absolute(apart) >= beta, grad * sign_of(apart), grad * apart / beta)


loss("smooth_l1_loss", "Scalar beta=1.0", _smooth, {
    "input": lambda grad, input, target, beta: _smooth_slope(grad, input - target, beta),
    "target": lambda grad, input, target, beta: _smooth_slope(grad, target - input, beta),
}, kernel="smooth_l1_cpu", node_name="SmoothL1LossBackward0",
     doc="Squared below beta (over 2 beta), from there linear.")


def _huber_slope(grad: Expr, apart: Expr, delta: Expr) -> Expr:
    return where(absolute(apart) >= delta, grad * sign_of(apart) * delta, grad * apart)


loss("huber_loss", "Scalar delta=1.0", lambda x, y, delta: where(
    absolute(x - y) <= delta, (x - y) * (x - y) * 0.5,
    (absolute(x - y) - delta * 0.5) * delta), {
    "input": lambda grad, input, target, delta: _huber_slope(grad, input - target, delta),
    "target": lambda grad, input, target, delta: _huber_slope(grad, target - input, delta),
}, kernel="huber_cpu", doc="Squared up to delta (over 2), from there linear.")
loss("soft_margin_loss", "", lambda x, y: log_one_plus(-(x * y)), {
    "input": lambda grad, input, target: -grad * target * logistic(-(input * target)),
    "target": lambda grad, input, target: -grad * input * logistic(-(input * target)),
}, doc="log(1 + exp(-target * input)).")


# ---- probabilities ---------------------------------------------------------------------------

def log_one_plus(x: Expr) -> Expr:
    """log(1 + e ** x) without overflow."""
    return maximum(x, 0.0) + log1p(exp(-absolute(x)))


def logistic(x: Expr) -> Expr:
    """1 / (1 + e ** -x)."""
    return const(1, x.dtype) / (exp(-x) + 1.0)


def _weighted(value: Expr, weight: Expr | None) -> Expr:
    return value if weight is None else value * weight


def _unit_range(p: Any, input: Expr, target: Expr) -> None:
    for name, value in (("input", input), ("target", target)):
        p.check((value >= 0.0) & (value <= 1.0), const(0, value.dtype), _OUTSIDE[name])


def _outside(name: str) -> Callable[[int], None]:
    def fail(value: int) -> None:
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")

    return fail


_OUTSIDE = {name: _outside(name) for name in ("input", "target")}


def _logs(x: Expr) -> tuple[Expr, Expr]:
    """log x and log(1 - x), at least -100."""
    return maximum(log(x), -100.0), maximum(log1p(-x), -100.0)


def _entropy(x: Expr, t: Expr, weight: Expr | None) -> Expr:
    yes, no = _logs(x)
    return _weighted((t - 1.0) * no - t * yes, weight)


def _entropy_to_target(grad: Expr, input: Expr, weight: Expr | None) -> Expr:
    return _weighted(grad * (log1p(-input) - log(input)), weight)


loss("binary_cross_entropy", "Tensor? weight=None", _entropy, {
    "input": lambda grad, input, target, weight: _weighted(
        grad * (input - target) / maximum((1.0 - input) * input, 1e-12), weight),
    "target": _entropy_to_target,
    "weight": lambda grad, input, target: grad * _entropy(input, target, None),
}, check=_unit_range, doc="-(t log x + (1 - t) log(1 - x)); logarithms count as -100 at least.")


def _logits(x: Expr, t: Expr, weight: Expr | None, positive: Expr | None) -> Expr:
    soft = log_one_plus(-x)
    soft = soft if positive is None else soft * ((positive - 1.0) * t + 1.0)
    return _weighted((1.0 - t) * x + soft, weight)


def _logits_slope(grad: Expr, input: Expr, target: Expr, weight: Expr | None,
                  pos_weight: Expr | None) -> Expr:
    likely = logistic(input)
    if pos_weight is None:
        return _weighted(grad * (likely - target), weight)
    scaled = pos_weight * target
    return _weighted(grad * ((scaled + 1.0 - target) * likely - scaled), weight)


def _logits_to_target(grad: Expr, input: Expr, weight: Expr | None, pos_weight: Expr | None
                      ) -> Expr:
    if pos_weight is None:
        return _weighted(-grad * input, weight)
    return _weighted(grad * ((pos_weight - 1.0) * log_one_plus(-input) - input), weight)


loss("binary_cross_entropy_with_logits", "Tensor? weight=None, Tensor? pos_weight=None", _logits, {
    "input": _logits_slope, "target": _logits_to_target,
    "weight": lambda grad, input, target, pos_weight: grad * _logits(
        input, target, None, pos_weight),
    "pos_weight": lambda grad, input, target, weight: _weighted(
        grad * target * log_one_plus(-input), weight),
}, doc="binary_cross_entropy of sigmoid(input), without its overflow.")


def _divergence(x: Expr, t: Expr, log_target: bool) -> Expr:
    if log_target:
        return exp(t) * (t - x)
    return where(t.eq(0), const(0, t.dtype), t * log(t)) - t * x


def _divergence_to_target(grad: Expr, input: Expr, target: Expr, log_target: bool) -> Expr:
    if log_target:
        return grad * exp(target) * (target - input + 1.0)
    inner = where(target.eq(0), const(0, target.dtype), log(target)) + 1.0
    return grad * (inner - input)


loss("kl_div", "bool log_target=False", _divergence, {
    "input": lambda grad, target, log_target: -grad * (exp(target) if log_target else target),
    "target": _divergence_to_target,
}, node_name=_composed("SubBackward0"), doc="target * (log target - input).")
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _poisson(x: Expr, t: Expr, log_input: bool, full: bool, eps: Expr) -> Expr:
    made = exp(x) - t * x if log_input else x - t * log(x + eps)
    if not full:
        return made
    stirling = t * log(t) - t + log(t) * 0.5 + _HALF_LOG_TWO_PI
    return made + where(t <= 1.0, const(0, t.dtype), stirling)


loss("poisson_nll_loss", "bool log_input=True, bool full=False, Scalar eps=1e-8", _poisson,
     node_name=_composed("SubBackward0"), integers=True,
     doc="The negative log-likelihood of counts; input is the (log of the) rate.")
