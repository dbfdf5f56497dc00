"""Divergences of distributions of two families.

The divergence is -H(p) - E[log q(x)]. The logarithm of each density q is a sum of few functions of
x, and for each p the means of these are known: so one formula a density, and a few means a
distribution, serve for all pairs. Where p gives values that q never gives, it is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ._kl_registry import register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

#: A mean of a class of distributions: a function of one, and of further arguments.
Means = dict[type, Callable[..., Tensor]]


# ---- means over draws of p --------------------------------------------------------------------

def _over_interval(p: Uniform, antiderivative: Callable[[Tensor], Tensor]) -> Tensor:
    return (antiderivative(p.high) - antiderivative(p.low)) / (p.high - p.low)


def _integral_of_log(x: Tensor) -> Tensor:
    return ops.xlogy(x, x) - x


#: E[log x].
MEAN_LOG: Means = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _over_interval(p, _integral_of_log),
}
#: E[log(1 - x)].
MEAN_LOG_REST: Means = {
    Uniform: lambda p: _over_interval(p, lambda x: -_integral_of_log(1 - x)),
}
#: E[exp(-(x - loc) / scale)].
MEAN_DECAY: Means = {
    Exponential: lambda p, loc, scale:
        (loc / scale).exp() * p.rate * scale / (p.rate * scale + 1),
    Gamma: lambda p, loc, scale:
        (loc / scale).exp() * (1 + (p.rate * scale).reciprocal()).pow(-p.concentration),
    Normal: lambda p, loc, scale: ((loc - p.loc) / scale + 0.5 * (p.scale / scale).pow(2)).exp(),
    Uniform: lambda p, loc, scale: _over_interval(
        p, lambda x: -scale * (-(x - loc) / scale).exp()),
}
#: E[|x - loc|].
MEAN_DISTANCE: Means = {
    Normal: lambda p, loc: (
        math.sqrt(2 / math.pi) * p.scale * (-0.5 * ((p.loc - loc) / p.scale).pow(2)).exp()
        + (p.loc - loc) * ops.erf((p.loc - loc) / p.scale * math.sqrt(0.5))),
}


def _mean(of: Means, p: Any, *arguments: Tensor) -> Tensor:
    kind = next(kind for kind in type(p).__mro__ if kind in of)
    return of[kind](p, *arguments)


def _mean_square(p: Any, loc: Tensor) -> Tensor:
    """E[(x - loc)²]."""
    return p.variance + (p.mean - loc).pow(2)


# ---- densities q ------------------------------------------------------------------------------

def _log_beta_function(q: Beta) -> Tensor:
    return q._log_normalizer(q.concentration1, q.concentration0)


#: E[log q(x)] over draws of p.
MEAN_LOG_DENSITY: dict[type, Callable[[Any, Any], Tensor]] = {
    Beta: lambda p, q: ((q.concentration1 - 1) * _mean(MEAN_LOG, p)
                        + (q.concentration0 - 1) * _mean(MEAN_LOG_REST, p)
                        - _log_beta_function(q)),
    ContinuousBernoulli: lambda p, q: (
        p.mean * q.logits + ops.log1p(-q.probs) + q._cont_bern_log_norm()),
    Exponential: lambda p, q: q.rate.log() - q.rate * p.mean,
    Gamma: lambda p, q: (q.concentration * q.rate.log() - q.concentration.lgamma()
                         + (q.concentration - 1) * _mean(MEAN_LOG, p) - q.rate * p.mean),
    Gumbel: lambda p, q: (-q.scale.log() - (p.mean - q.loc) / q.scale
                          - _mean(MEAN_DECAY, p, q.loc, q.scale)),
    Laplace: lambda p, q: -(2 * q.scale).log() - _mean(MEAN_DISTANCE, p, q.loc) / q.scale,
    Normal: lambda p, q: (-q.scale.log() - 0.5 * math.log(2 * math.pi)
                          - 0.5 * _mean_square(p, q.loc) / q.scale.pow(2)),
    Pareto: lambda p, q: (q.alpha.log() + q.alpha * q.scale.log()
                          - (q.alpha + 1) * _mean(MEAN_LOG, p)),
    Poisson: lambda p, q: p.mean * q.rate.log() - q.rate,  # for 0 and 1, whose factorials are 1
    Uniform: lambda p, q: -(q.high - q.low).log(),
}


# ---- supports ---------------------------------------------------------------------------------

#: The least and the greatest value of a distribution: numbers, or functions of it.
RANGES: dict[type, tuple[Any, Any]] = {
    Bernoulli: (0.0, 1.0),
    Beta: (0.0, 1.0),
    Binomial: (0.0, lambda d: d.total_count),
    ContinuousBernoulli: (0.0, 1.0),
    Exponential: (0.0, math.inf),
    Gamma: (0.0, math.inf),
    Gumbel: (-math.inf, math.inf),
    Laplace: (-math.inf, math.inf),
    Normal: (-math.inf, math.inf),
    Pareto: (lambda d: d.scale, math.inf),
    Poisson: (0.0, math.inf),
    Uniform: (lambda d: d.low, lambda d: d.high),
}


def _range(d: Distribution) -> tuple[Any, Any]:
    low, high = next(RANGES[kind] for kind in type(d).__mro__ if kind in RANGES)
    return low(d) if callable(low) else low, high(d) if callable(high) else high


def _divergence(p: Any, q: Any) -> Tensor:
    (low, high), (least, most) = _range(p), _range(q)
    inside = -p.entropy() - MEAN_LOG_DENSITY[_kind(q)](p, q)
    outside = ops.as_tensor((low < least) | (high > most), device=inside.device)
    return ops.where(outside, math.inf, inside)


def _heavy_tailed(p: Pareto, q: Any) -> Tensor:
    """Infinite where p has not the moments that log q asks for."""
    order = 2 if isinstance(q, Normal) else 1
    has = p.alpha > order
    settled = Pareto(p.scale, ops.where(has, p.alpha, order + 1.0), validate_args=False)
    return ops.where(has, _divergence(settled, q), math.inf)


def _kind(q: Any) -> type:
    return next(kind for kind in type(q).__mro__ if kind in MEAN_LOG_DENSITY)


def _infinite(p: Any, q: Any) -> Tensor:
    """For pairs of which p always gives values that q never gives."""
    return ops.full_like(ops.add(p.mean, q.mean), math.inf)


#: For each class of p, those of q.
PAIRS: dict[type, tuple[type, ...]] = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: _BOUNDED,
    Gamma: _BOUNDED,
    Gumbel: (*_BOUNDED, Exponential, Gamma),
    Laplace: (*_BOUNDED, Exponential, Gamma),
    Normal: (*_BOUNDED, Exponential, Gamma),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
HEAVY_TAILED = {Pareto: (Exponential, Gamma, Normal)}
for _table, _function in (
        (PAIRS, _divergence), (HEAVY_TAILED, _heavy_tailed), (INFINITE, _infinite)):
    for _p, _several in _table.items():
        for _q in _several:
            register_kl(_p, _q)(_function)
