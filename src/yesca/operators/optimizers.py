"""Update rules of optimizers, and other operators on many tensors at once: one launch a call.

The rules are those of the papers that PyTorch's optimizers name: SGD with momentum (Sutskever et
al. 2013), Adam (Kingma and Ba 2014), AMSGrad (Reddi et al. 2018), AdamW (Loshchilov and Hutter
2019). Arguments are lists with one tensor a parameter; they are written in place.
"""

# Names: _adam_step _adamw_step _each_add_list _each_add_number _each_div_list _each_div_number
# Names: _each_mul_list _each_mul_number

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtypes import float64, int64
from ..loops.ir import Expr, cast, const
from ..loops.scalar import fma, maximum, power, sqrt, where
from .kinds import compute_dtype, rows


def _several(text: str, program: Callable[..., Any], **options: Any) -> Any:
    """A record on lists of tensors that are written in place."""
    return rows(text, program, kind="multi", method=False, **options)


def _widened(lists: list[Any], body: Callable[..., Any], written: tuple[int, ...]
             ) -> Callable[..., Any]:
    """`body` in the compute dtype of the first list; results rounded once."""
    wide = compute_dtype(lists[written[0]][0].spec.dtype)

    def run(*values: Expr) -> tuple[Expr, ...]:
        return body(*(cast(v, wide) for v in values))

    return run


# ---- SGD -------------------------------------------------------------------------------------

def _sgd(p: Any, params: Any, grads: Any, buffers: Any, weight_decay: Any, momentum: Any, lr: Any,
         dampening: Any, nesterov: bool, maximize: bool, is_first_step: bool,
         use_momentum: bool) -> None:
    if not params:
        return
    lists = [params, grads, *([buffers] if use_momentum else [])]
    wide = compute_dtype(params[0].spec.dtype)

    def body(param: Expr, grad: Expr, *rest: Expr) -> tuple[Expr, ...]:
        decay, rate = p.argument(3, wide), p.argument(5, wide)
        grad = -grad if maximize else grad
        grad = where(decay.ne(0), fma(param, decay, grad), grad)
        if not use_momentum:
            return (fma(grad, -rate, param),)
        mu, kept = p.argument(4, wide), cast(1.0 - p.argument(6, float64), wide)
        buffer = grad if is_first_step else fma(rest[0], mu, grad * kept)
        step = fma(buffer, mu, grad) if nesterov else buffer
        return fma(step, -rate, param), buffer

    written = (0, 2) if use_momentum else (0,)
    p.table(_widened(lists, body, written), lists, written)


_several(
    "_sgd_step(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffers, Scalar weight_decay, "
    "Scalar momentum, Scalar lr, Scalar dampening, bool nesterov, bool maximize, "
    "bool is_first_step, bool use_momentum) -> Tensor", _sgd)


# ---- Adam ------------------------------------------------------------------------------------

def _adam(decoupled: bool) -> Callable[..., Any]:
    def program(p: Any, params: Any, grads: Any, averages: Any, squares: Any, largest: Any,
                steps: Any, lr: Any, beta1: Any, beta2: Any, weight_decay: Any, eps: Any,
                amsgrad: bool, maximize: bool, count: bool) -> None:
        if not params:
            return
        if count:  # the steps are one further on before anything reads them
            p.table(lambda step: (step + 1.0,), [steps], (0,))
        lists = [params, grads, averages, squares, steps, *([largest] if amsgrad else [])]
        wide = compute_dtype(params[0].spec.dtype)

        def correction(step: Expr, position: int) -> Expr:
            beta = p.argument(position, float64)
            return 1.0 - power(beta, cast(step, float64))

        def body(param: Expr, grad: Expr, average: Expr, square: Expr, step: Expr,
                 *rest: Expr) -> tuple[Expr, ...]:
            step = cast(step, float64)
            rate, decay = p.argument(6, float64), p.argument(9, float64)
            # 1 - beta is taken in float64: in float32 1 - 0.999 is off by 5e-5
            new, fresh = (cast(1.0 - p.argument(k, float64), wide) for k in (7, 8))
            second = p.argument(8, wide)
            param, grad, average, square = (cast(v, wide) for v in (param, grad, average, square))
            grad = -grad if maximize else grad
            if decoupled:
                param = param * cast(1.0 - rate * decay, wide)
            else:
                plain = cast(decay, wide)
                grad = where(plain.ne(0), fma(param, plain, grad), grad)
            average = fma(grad - average, new, average)
            square = fma(square, second, grad * grad * fresh)
            peak = maximum(cast(rest[0], wide), square) if amsgrad else square
            root = cast(sqrt(correction(step, 8)), wide)
            length = cast(rate / correction(step, 7), wide)
            down = sqrt(peak) / root + p.argument(10, wide)
            made = (param + average * -length / down, average, square)  # PyTorch's order
            return (*made, peak) if amsgrad else made

        p.table(body, lists, (0, 2, 3, 5) if amsgrad else (0, 2, 3))
    return program


for _name, _decoupled in (("_adam_step", False), ("_adamw_step", True)):
    _several(
        f"{_name}(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, "
        "Tensor[] max_exp_avg_sqs, Tensor[] state_steps, Scalar lr, Scalar beta1, Scalar beta2, "
        "Scalar weight_decay, Scalar eps, bool amsgrad, bool maximize, bool count=False) -> Tensor",
        _adam(_decoupled))


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


_several("_each_unscale(Tensor[] self, Scalar factor) -> Tensor", _unscale)


def _lerp(p: Any, targets: Any, ends: Any, weight: Any) -> None:
    if targets:
        wide = compute_dtype(targets[0].spec.dtype)
        p.table(lambda x, y: (fma(cast(y, wide) - cast(x, wide), p.argument(2, wide),
                                  cast(x, wide)),), [targets, ends], (0,))


_several("_each_lerp(Tensor[] self, Tensor[] ends, Scalar weight) -> Tensor", _lerp)
