"""`torch.distributions`: probability distributions, their transforms and divergences.

>>> import yesca as torch
>>> loc = torch.tensor(0.0, requires_grad=True)
>>> prior = torch.distributions.Normal(0.0, 1.0)
>>> posterior = torch.distributions.Normal(loc, 0.5)
>>> torch.distributions.kl_divergence(posterior, prior)
tensor(0.3181, grad_fn=<MulBackward0>)
"""

from __future__ import annotations

from .._lazy import lazily

#: Module -> the public names it provides; loaded on first use.
_HOMES = {
    "bernoulli": "Bernoulli", "beta": "Beta", "binomial": "Binomial", "categorical": "Categorical",
    "cauchy": "Cauchy", "chi2": "Chi2", "constraint_registry": "biject_to transform_to",
    "continuous_bernoulli": "ContinuousBernoulli", "dirichlet": "Dirichlet",
    "distribution": "Distribution", "exp_family": "ExponentialFamily",
    "exponential": "Exponential", "fishersnedecor": "FisherSnedecor", "gamma": "Gamma",
    "generalized_pareto": "GeneralizedPareto", "geometric": "Geometric", "gumbel": "Gumbel",
    "half_cauchy": "HalfCauchy", "half_normal": "HalfNormal", "independent": "Independent",
    "inverse_gamma": "InverseGamma", "kl": "kl_divergence register_kl",
    "kumaraswamy": "Kumaraswamy", "laplace": "Laplace", "lkj_cholesky": "LKJCholesky",
    "log_normal": "LogNormal", "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "mixture_same_family": "MixtureSameFamily", "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal", "negative_binomial": "NegativeBinomial",
    "normal": "Normal", "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto", "poisson": "Poisson", "relaxed_bernoulli": "RelaxedBernoulli",
    "relaxed_categorical": "RelaxedOneHotCategorical", "studentT": "StudentT",
    "transformed_distribution": "TransformedDistribution",
    "transforms": (
        "AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform "
        "CumulativeDistributionTransform ExpTransform IndependentTransform LowerCholeskyTransform "
        "PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform "
        "SoftplusTransform TanhTransform SoftmaxTransform StackTransform StickBreakingTransform "
        "Transform identity_transform"
    ),
    "uniform": "Uniform", "von_mises": "VonMises", "weibull": "Weibull", "wishart": "Wishart",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, ("constraints", "utils"))
