"""Update rules of optimizers, each written once: for machine code and for the tape.

A rule gets the arithmetic `m` (`Elements` here, for expressions of the loop language; `Tensors` in
`optim.composed`, for what backward is to pass through), the numbers and flags `o` of the group,
the number of the step, a parameter, its gradient and its state; it returns the parameter and the
state anew. Numbers come in float64 and are narrowed where they meet elements: in float32
1 - 0.999 is off by 5e-5.

Sources: SGD with momentum, Sutskever et al. 2013; Adam, Adamax, Kingma and Ba 2014; AMSGrad, Reddi
et al. 2018; AdamW, Loshchilov and Hutter 2019; Adagrad, Duchi et al. 2011; RMSprop, Hinton's
lectures 2012, centered by Graves 2013; Adadelta, Zeiler 2012; NAdam, Dozat 2016; RAdam, Liu et al.
2019; Rprop, Riedmiller and Braun 1993; ASGD, Polyak and Juditsky 1992.
"""

from __future__ import annotations

from typing import Any

from ..core.dtypes import DType, float32, float64
from ..loops import scalar
from ..loops.ir import Expr, cast, const


class Elements:
    """The arithmetic of rules on one element of each tensor."""

    sqrt, absolute, power, maximum, minimum, fma, where = map(staticmethod, (
        scalar.sqrt, scalar.absolute, scalar.power, scalar.maximum, scalar.minimum, scalar.fma,
        scalar.where))

    def __init__(self, wide: DType) -> None:
        self.wide = wide

    def narrow(self, number: Any) -> Expr:
        """A number as one of the elements."""
        return cast(number, self.wide) if isinstance(number, Expr) else const(number, self.wide)

    def rounded(self, number: Any) -> Expr:
        """A float64 number with the digits of a float32."""
        return cast(cast(number, float32), float64)

    def sign(self, x: Expr) -> Expr:
        """-1, 0 or 1; 0 of NaN."""
        one = const(1, self.wide)
        return scalar.where(x > 0.0, one, scalar.where(x < 0.0, -one, const(0, self.wide)))

    def scaled(self, grad: Expr, factor: Any, param: Expr) -> Expr:
        """grad + factor * param; the gradient itself where the factor is 0."""
        factor = self.narrow(factor)
        return scalar.where(factor.ne(0), scalar.fma(param, factor, grad), grad)

    def detached(self, x: Expr) -> Expr:
        """Without its history: elements have none."""
        return x


def _decayed(m: Any, o: Any, param: Any, grad: Any) -> tuple[Any, Any]:
    """Parameter and gradient after weight decay, of the kind that is asked for."""
    if o.decoupled_weight_decay:
        return param * m.narrow(1.0 - o.lr * o.weight_decay), grad
    return param, m.scaled(grad, o.weight_decay, param)


def sgd(m: Any, o: Any, step: Any, param: Any, grad: Any, buffer: Any) -> Any:
    """Gradient descent; `buffer` is None without momentum."""
    grad = m.scaled(grad, o.weight_decay, param)
    if buffer is None:
        return m.fma(grad, m.narrow(-o.lr), param), None
    mu = m.narrow(o.momentum)
    if o.is_first_step:
        buffer = m.detached(grad)
    else:
        buffer = m.fma(buffer, mu, grad * m.narrow(1.0 - o.dampening))
    ahead = m.fma(buffer, mu, grad) if o.nesterov else buffer
    return m.fma(ahead, m.narrow(-o.lr), param), buffer


def adam(m: Any, o: Any, step: Any, param: Any, grad: Any, average: Any, square: Any,
         largest: Any) -> Any:
    """Adam, or AdamW where weight decay is decoupled; `largest` is None without AMSGrad."""
    param, grad = _decayed(m, o, param, grad)
    average = m.fma(grad - average, m.narrow(1.0 - o.beta1), average)
    square = m.fma(square, m.narrow(o.beta2), grad * grad * m.narrow(1.0 - o.beta2))
    if largest is not None:
        largest = m.maximum(largest, square)
    root = m.narrow(m.sqrt(1.0 - m.power(o.beta2, step)))
    length = m.narrow(o.lr / (1.0 - m.power(o.beta1, step)))
    down = m.sqrt(square if largest is None else largest) / root + m.narrow(o.eps)
    return param + average * -length / down, average, square, largest  # PyTorch's order


def adagrad(m: Any, o: Any, step: Any, param: Any, grad: Any, total: Any) -> Any:
    """Steps divided by the root of the sum of all squared gradients."""
    rate = m.narrow(-o.lr / (1.0 + (step - 1.0) * o.lr_decay))
    grad = m.scaled(grad, o.weight_decay, param)
    total = m.fma(grad, grad, total)
    return param + rate * (grad / (m.sqrt(total) + m.narrow(o.eps))), total


def rmsprop(m: Any, o: Any, step: Any, param: Any, grad: Any, square: Any, buffer: Any,
            average: Any) -> Any:
    """Steps divided by the root of a running mean; `buffer` is None without momentum, `average`
    where the variance is not centred."""
    grad = m.scaled(grad, o.weight_decay, param)
    fresh = m.narrow(1.0 - o.alpha)
    square = m.fma(square, m.narrow(o.alpha), grad * grad * fresh)
    variance = square
    if average is not None:
        average = m.fma(grad - average, fresh, average)
        variance = m.fma(-average, average, square)
    change = grad / (m.sqrt(variance) + m.narrow(o.eps))
    if buffer is not None:
        change = buffer = m.fma(buffer, m.narrow(o.momentum), change)
    return m.fma(change, m.narrow(-o.lr), param), square, buffer, average


def adadelta(m: Any, o: Any, step: Any, param: Any, grad: Any, square: Any, changes: Any) -> Any:
    """Steps in the ratio of the root means of past steps and gradients."""
    grad = m.scaled(grad, o.weight_decay, param)
    rho, fresh, eps = m.narrow(o.rho), m.narrow(1.0 - o.rho), m.narrow(o.eps)
    square = m.fma(square, rho, grad * grad * fresh)
    change = m.sqrt(changes + eps) / m.sqrt(square + eps) * grad
    changes = m.fma(changes, rho, change * change * fresh)
    return m.fma(change, m.narrow(-o.lr), param), square, changes


def adamax(m: Any, o: Any, step: Any, param: Any, grad: Any, average: Any, largest: Any) -> Any:
    """Adam by the infinity norm."""
    grad = m.scaled(grad, o.weight_decay, param)
    average = m.fma(grad - average, m.narrow(1.0 - o.beta1), average)
    largest = m.maximum(largest * m.narrow(o.beta2), m.absolute(grad) + m.narrow(o.eps))
    rate = m.narrow(-o.lr / (1.0 - m.power(o.beta1, step)))
    return param + rate * (average / largest), average, largest


def _momenta(m: Any, o: Any, step: Any) -> tuple[Any, Any]:
    """NAdam's momentum at this step and at the next."""
    now, then = (o.beta1 * (1.0 - 0.5 * m.power(0.96, (step + k) * o.momentum_decay))
                 for k in (0.0, 1.0))
    return now, then


def nadam_product(m: Any, o: Any, step: Any, product: Any) -> Any:
    """The product of all momenta, before the step."""
    return (product * m.narrow(_momenta(m, o, step)[0]),)


def nadam(m: Any, o: Any, step: Any, param: Any, grad: Any, average: Any, square: Any,
          product: Any) -> Any:
    """Adam with Nesterov's momentum."""
    param, grad = _decayed(m, o, param, grad)
    average = m.fma(grad - average, m.narrow(1.0 - o.beta1), average)
    square = m.fma(square, m.narrow(o.beta2), grad * grad * m.narrow(1.0 - o.beta2))
    down = m.sqrt(square / m.narrow(1.0 - m.power(o.beta2, step))) + m.narrow(o.eps)
    now, then = _momenta(m, o, step)
    param = param + m.narrow(-o.lr * (1.0 - now) / (1.0 - product)) * (grad / down)
    param = param + m.narrow(-o.lr * then / (1.0 - product * then)) * (average / down)
    return param, average, square


def radam(m: Any, o: Any, step: Any, param: Any, grad: Any, average: Any, square: Any) -> Any:
    """Adam whose adaptive part waits until its variance is bounded."""
    param, grad = _decayed(m, o, param, grad)
    average = m.fma(grad - average, m.narrow(1.0 - o.beta1), average)
    square = m.fma(square, m.narrow(o.beta2), grad * grad * m.narrow(1.0 - o.beta2))
    power = m.power(o.beta2, step)
    plain = average * m.narrow(o.lr / (1.0 - m.power(o.beta1, step)))
    # The length of the moving average, at the limit and now: up to 5 its variance is unbounded.
    limit = 2.0 / (1.0 - o.beta2) - 1.0
    length = limit - 2.0 * step * power / (1.0 - power)
    variance = (length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length)
    factor = m.sqrt(m.maximum(variance * (1.0 - power), 0.0))
    adaptive = plain * (m.narrow(factor) / (m.sqrt(square) + m.narrow(o.eps)))
    return param - m.where(length > 5.0, adaptive, plain), average, square


def rprop(m: Any, o: Any, step: Any, param: Any, grad: Any, previous: Any, size: Any) -> Any:
    """Steps by signs alone, longer while the sign stays and shorter when it turns."""
    agreement = grad * previous
    turned = agreement < 0.0
    size = m.where(turned, size * m.narrow(o.etaminus),
                   m.where(agreement > 0.0, size * m.narrow(o.etaplus), size))
    size = m.minimum(m.maximum(size, m.narrow(o.step_size_min)), m.narrow(o.step_size_max))
    grad = m.where(turned, 0.0, grad)
    return param - m.sign(grad) * size, grad, size


def asgd(m: Any, o: Any, step: Any, param: Any, grad: Any, mean: Any, eta: Any, mu: Any) -> Any:
    """Descent with a falling rate, and the mean of the iterates."""
    grad = m.scaled(grad, o.weight_decay, param)
    param = m.fma(grad, m.narrow(-eta), param * m.narrow(1.0 - o.lambd * eta))
    return param, m.where(mu < 1.0, m.fma(param - mean, m.narrow(mu), mean), param)


def asgd_rates(m: Any, o: Any, step: Any, eta: Any, mu: Any) -> Any:
    """The rate, and the weight in the mean, of the next step; PyTorch keeps them in float32."""
    later = m.maximum(1.0, step - o.t0)
    return (m.rounded(o.lr / m.power(1.0 + o.lambd * o.lr * step, o.alpha)),
            m.rounded(1.0 / later))
