"""Divergences of two distributions of one family, and of composed ones part by part."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..nn.functional import softplus
from ._gaussian import half_log_det, solve, squared_distance, squared_norm
from ._kl_registry import kl_divergence, register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant


def _surprise(chance: Tensor, other: Tensor, log_ratio: Tensor) -> Tensor:
    """chance * log_ratio, the ratio that of two chances of one event: 0 for an event that does not
    happen, else infinite for one that was thought impossible."""
    return (chance * log_ratio).masked_fill(other == 0, math.inf).masked_fill(chance == 0, 0)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    success = softplus(-q.logits) - softplus(-p.logits)
    failure = softplus(q.logits) - softplus(p.logits)
    return (_surprise(p.probs, q.probs, success)
            + _surprise(1 - p.probs, 1 - q.probs, failure))


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    return _surprise(p.probs, q.probs, p.logits - q.logits).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not "
                                  "implemented")
    odds = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * odds).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - ops.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, total = p.concentration, p.concentration.sum(-1, keepdim=True)
    means = (a - q.concentration) * (a.digamma() - total.digamma())
    return (q._log_normalizer(q.concentration) - p._log_normalizer(a)) + means.sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    normalizers = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    failures = ops.log1p(-p.probs) - ops.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + normalizers + failures


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + ops.lgamma(b) - ops.lgamma(a)
            + (a - b) * ops.digamma(a) + (q.rate - p.rate) * (a / p.rate))


def _excess(ratio: Tensor) -> Tensor:
    """ratio - 1 - log(ratio): 0 at 1, else positive."""
    return ratio - 1 - ratio.log()


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    return _excess(q.rate / p.rate)


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    apart = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (_excess((p.scale / q.scale).pow(2)) + apart)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-apart / p.scale).exp() + apart / q.scale - 1 - ratio.log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (apart - ratio.log() + euler_constant * (ratio - 1) - 1
            + (ops.lgamma(1 + ratio) - apart).exp())


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    apart = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return apart.log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    inside = q.alpha * (p.scale / q.scale).log() + _excess(q.alpha / p.alpha)
    return inside.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    outside = (q.low > p.low) | (q.high < p.high)
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill(outside, math.inf)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Bregman's divergence of the logarithm of the normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families "
                                  "cannot be computed using Bregman divergences")
    natural, normalizer, means = p._statistics()
    theirs = q._natural_params
    divergence = q._log_normalizer(*theirs) - normalizer
    for mine, other, mean in zip(natural, theirs, means):
        own = mine.dim() - len(p.batch_shape)
        divergence = divergence - _sum_rightmost((other - mine) * mean, own)
    return divergence


# ---- normal vectors ---------------------------------------------------------------------------

class _Covariance:
    """What the divergence asks of either form of a covariance."""

    def __init__(self, of: MultivariateNormal | LowRankMultivariateNormal) -> None:
        if isinstance(of, MultivariateNormal):
            tril = of._unbroadcasted_scale_tril
            self.roots = [tril]  # matrices whose products with their transposes add up to it
            self.log_det = 2 * half_log_det(tril)
            self.squared_distance = lambda away: squared_distance(tril, away)
            self.squared_norm = lambda matrix: squared_norm(solve(tril, matrix))
        else:
            made = of._covariance
            self.roots = [made.factor, ops.diag_embed(made.diagonal.sqrt())]
            self.log_det = made.log_det()
            self.squared_distance, self.squared_norm = made.squared_distance, made.squared_norm


def _normal_vectors(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two (Low Rank) Multivariate Normals with different "
                         "event shapes cannot be computed")
    mine, theirs = _Covariance(p), _Covariance(q)
    trace = sum(theirs.squared_norm(root) for root in mine.roots)
    distance = theirs.squared_distance(q.loc - p.loc)
    return 0.5 * (theirs.log_det - mine.log_det + trace + distance - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_normal_vectors)


# ---- composed distributions -------------------------------------------------------------------

@register_kl(Independent, Independent)
def _independent(p: Independent[Any], q: Independent[Any]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(f"{p.reinterpreted_batch_ndims} and "
                                  f"{q.reinterpreted_batch_ndims} dimensions of the events")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("transformed distributions with different transforms")
    return kl_divergence(p.base_dist, q.base_dist)
