"""Update rules of optimizers, and other operators on many tensors at once: one launch a call.

Arguments are lists with one tensor a parameter; they are written in place.
"""

# Names: _adadelta_step _adagrad_step _adam_step _adamax_step _asgd_step _nadam_step _radam_step
# Names: _rmsprop_step _rprop_step _sgd_step
# Names: _each_add_list _each_add_number _each_div_list _each_div_number
# Names: _each_mul_list _each_mul_number

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..core.dtypes import float64, int64
from ..loops.ir import Expr, cast, const
from ..loops.scalar import fma
from . import update_rules
from .kinds import compute_dtype, rows


def _several(text: str, program: Callable[..., Any], **options: Any) -> Any:
    """A record on lists of tensors that are written in place."""
    return rows(text, program, kind="multi", method=False, **options)


# ---- optimizers ------------------------------------------------------------------------------

@dataclass(frozen=True)
class Rule:
    """What `_{name}_step` does to each parameter of its lists.

    states: lists that are updated; those that a call leaves empty come to `body` as None
    scalars: lists of 0-dim tensors, one value a parameter: `before` updates them ahead of the
        parameters, `after` when these are done
    """

    name: str
    body: Callable[..., Any]
    states: tuple[str, ...]
    numbers: tuple[str, ...]
    flags: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    before: Callable[..., Any] | None = None
    after: Callable[..., Any] | None = None

    def schema(self) -> str:
        """Lists of tensors, numbers, flags."""
        lists = "".join(f", Tensor[] {name}" for name in (
            "grads", "state_steps", *self.states, *self.scalars))
        rest = "".join(f", Scalar {name}" for name in self.numbers)
        rest += "".join(f", bool {name}" for name in (*self.flags, "maximize", "count"))
        return f"_{self.name}_step(Tensor[] self{lists}{rest}) -> Tensor"

    def program(self, p: Any, params: Any, grads: Any, steps: Any, *given: Any) -> None:
        """One launch for all parameters; one more for the steps, if they are to be counted."""
        if not params:
            return
        names = (*self.states, *self.scalars, *self.numbers, *self.flags, "maximize", "count")
        named = dict(zip(names, given, strict=True))
        if named["count"]:  # the steps are one further on before anything reads them
            p.table(lambda step: (step + 1.0,), [steps], (0,))
        wide = compute_dtype(params[0].spec.dtype)
        m = update_rules.Elements(wide)
        states = [named[name] for name in self.states]
        present = [values for values in states if values]
        scalars = [named[name] for name in self.scalars]
        counted = [steps] if steps else []

        def options() -> SimpleNamespace:
            first = 3 + len(self.states) + len(self.scalars)
            return SimpleNamespace(
                **{name: p.argument(first + k, float64) for k, name in enumerate(self.numbers)},
                **{name: named[name] for name in self.flags})

        def first(values: tuple[Expr, ...]) -> tuple[Any, tuple[Expr, ...]]:
            """The step, in float64, and the values behind it."""
            return (cast(values[0], float64), values[1:]) if counted else (None, values)

        def small(rule: Callable[..., Any]) -> None:
            own = update_rules.Elements(scalars[0][0].spec.dtype)

            def body(*values: Expr) -> Any:
                step, values = first(values)
                return rule(own, options(), step, *values)

            p.table(body, [*counted, *scalars],
                    range(len(counted), len(counted) + len(scalars)))

        def body(*values: Expr) -> tuple[Expr, ...]:
            param, grad, *elements = (cast(v, wide) for v in values[:2 + len(present)])
            step, numbers = first(values[2 + len(present):])
            given = [elements.pop(0) if s else None for s in states]
            grad = -grad if named["maximize"] else grad
            made = self.body(m, options(), step, param, grad, *given,
                             *(cast(number, float64) for number in numbers))
            return tuple(value for value in made if value is not None)

        if self.before:
            small(self.before)
        p.table(body, [params, grads, *present, *counted, *scalars],
                (0, *range(2, 2 + len(present))))
        if self.after:
            small(self.after)


_BETAS = ("lr", "beta1", "beta2", "weight_decay", "eps")
_AVERAGES = ("exp_avgs", "exp_avg_sqs")
_DECOUPLED = ("decoupled_weight_decay",)
RULES = {rule.name: rule for rule in (
    Rule("sgd", update_rules.sgd, ("momentum_buffers",),
         ("weight_decay", "momentum", "lr", "dampening"), ("nesterov", "is_first_step")),
    Rule("adam", update_rules.adam, (*_AVERAGES, "max_exp_avg_sqs"), _BETAS, _DECOUPLED),
    Rule("adagrad", update_rules.adagrad, ("state_sums",),
         ("lr", "lr_decay", "weight_decay", "eps")),
    Rule("rmsprop", update_rules.rmsprop, ("square_avgs", "momentum_buffers", "grad_avgs"),
         ("lr", "alpha", "eps", "weight_decay", "momentum")),
    Rule("adadelta", update_rules.adadelta, ("square_avgs", "acc_deltas"),
         ("lr", "rho", "eps", "weight_decay")),
    Rule("adamax", update_rules.adamax, ("exp_avgs", "exp_infs"), _BETAS),
    Rule("nadam", update_rules.nadam, _AVERAGES, (*_BETAS, "momentum_decay"),
         _DECOUPLED, ("mu_products",), before=update_rules.nadam_product),
    Rule("radam", update_rules.radam, _AVERAGES, _BETAS, _DECOUPLED),
    Rule("rprop", update_rules.rprop, ("prevs", "step_sizes"),
         ("etaminus", "etaplus", "step_size_min", "step_size_max")),
    Rule("asgd", update_rules.asgd, ("axs",), ("lr", "lambd", "alpha", "t0", "weight_decay"),
         (), ("etas", "mus"), after=update_rules.asgd_rates),
)}
for _rule in RULES.values():
    _several(_rule.schema(), _rule.program)


# ---- foreach ---------------------------------------------------------------------------------

def _each(body: Callable[[Expr, Expr], Expr]) -> Callable[..., Any]:
    """self[k] = body(self[k], other[k])."""
    def program(p: Any, targets: Any, others: Any, scale: Any) -> None:
        if targets:
            wide = compute_dtype(targets[0].spec.dtype)
            p.table(lambda x, y: (body(cast(x, wide), cast(y, wide) * p.argument(2, wide)),),
                    [targets, others], (0,))
    return program


def _each_number(body: Callable[[Expr, Expr], Expr]) -> Callable[..., Any]:
    """self[k] = body(self[k], number)."""
    def program(p: Any, targets: Any, number: Any) -> None:
        if targets:
            wide = compute_dtype(targets[0].spec.dtype)
            p.table(lambda x: (body(cast(x, wide), p.argument(1, wide)),), [targets], (0,))
    return program


for _name, _body in (("add", lambda x, y: x + y), ("mul", lambda x, y: x * y),
                     ("div", lambda x, y: x / y)):
    _several(f"_each_{_name}_list(Tensor[] self, Tensor[] other, Scalar scale=1) -> Tensor",
             _each(_body))
    _several(f"_each_{_name}_number(Tensor[] self, Scalar number) -> Tensor",
             _each_number(_body))


class NonFinite(ArithmeticError):
    """What `_each_unscale` raises, its work done, where it met an infinity or NaN."""


def _unscale(p: Any, targets: Any, factor: Any) -> None:
    """self[k] *= factor; NonFinite if any element was not finite."""
    def body(x: Expr) -> tuple[Expr, ...]:
        wide = cast(x, compute_dtype(targets[0].spec.dtype))
        p.check((wide - wide).eq(0), const(1, int64), _found_non_finite)
        return (wide * p.argument(1, wide.dtype),)

    if targets:
        p.table(body, [targets], (0,))


def _found_non_finite(_: int) -> None:
    raise NonFinite


_several("_each_unscale(Tensor[] self, Scalar factor) -> Tensor", _unscale,
         kernel="_amp_foreach_non_finite_check_and_unscale_cpu")


def _lerp(p: Any, targets: Any, ends: Any, weight: Any) -> None:
    if targets:
        wide = compute_dtype(targets[0].spec.dtype)
        p.table(lambda x, y: (fma(cast(y, wide) - cast(x, wide), p.argument(2, wide),
                                  cast(x, wide)),), [targets, ends], (0,))


_several("_each_lerp(Tensor[] self, Tensor[] ends, Scalar weight) -> Tensor", _lerp)
