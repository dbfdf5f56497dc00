"""Distributions, transforms and constraints to compare with PyTorch's.

A case is a text over T (`torch.distributions`), C (constraints) and t, which makes a float64
parameter whose gradients are recorded (`distribution_facts.py`).
"""

import math

CASES = """
T.Bernoulli(probs=t([0.2, 0.5, 1.0]))
T.Bernoulli(logits=t([[-1.0, 2.0]]))
T.Beta(t([0.4, 2.0, 3.0]), t([0.7, 2.0, 1.0]))
T.Binomial(7, probs=t([0.1, 0.5, 0.9]))
T.Binomial(torch.tensor([30.0, 4.0]), logits=t([0.5, -1.0]))
T.Categorical(probs=t([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]))
T.Categorical(logits=t([0.5, -1.0, 2.0, 0.0]))
T.Cauchy(t([0.0, 1.0]), t([1.0, 2.5]))
T.Chi2(t([1.0, 4.0]))
T.ContinuousBernoulli(probs=t([0.1, 0.4999, 0.5, 0.9]))
T.ContinuousBernoulli(logits=t([-2.0, 0.0, 3.0]))
T.Dirichlet(t([[0.5, 1.0, 2.0], [3.0, 4.0, 0.2]]))
T.Dirichlet(t([0.5, 0.7]))
T.Exponential(t([0.5, 3.0]))
T.FisherSnedecor(t([3.0, 1.0]), t([5.0, 2.0]))
T.Gamma(t([0.3, 1.0, 5.0]), t([1.0, 2.0, 0.5]))
T.GeneralizedPareto(t([0.0, 1.0, 0.5]), t([1.0, 2.0, 0.5]), t([0.2, 0.0, -0.3]))
T.Geometric(probs=t([0.2, 0.7, 1.0]))
T.Geometric(logits=t([-1.0, 0.5]))
T.Gumbel(t([0.0, 1.0]), t([1.0, 0.3]))
T.HalfCauchy(t([1.0, 2.0]))
T.HalfNormal(t([1.0, 2.0]))
T.Independent(T.Normal(t([[0.0, 1.0], [2.0, 3.0]]), t([1.0, 2.0])), 1)
T.Independent(T.Bernoulli(t([[0.2, 0.3], [0.4, 0.5]])), 2)
T.InverseGamma(t([0.8, 3.0]), t([1.0, 2.0]))
T.Kumaraswamy(t([0.5, 2.0]), t([1.5, 3.0]))
T.Laplace(t([0.0, 1.0]), t([1.0, 0.3]))
T.LKJCholesky(3, t([0.5, 2.0]))
T.LKJCholesky(2, t(1.0))
T.LogisticNormal(t([0.0, 0.5]), t([1.0, 0.3]))
T.LogNormal(t([0.0, 1.0]), t([1.0, 0.3]))
T.LowRankMultivariateNormal(t([0.0, 1.0, 2.0]), t([[0.5], [1.0], [-0.3]]), t([1.0, 0.2, 0.7]))
T.LowRankMultivariateNormal(t([[0.0, 1.0], [2.0, 3.0]]), t([[0.5], [1.0]]), t([1.0, 0.2]))
T.MixtureSameFamily(T.Categorical(t([0.3, 0.7])), T.Normal(t([-1.0, 1.0]), t([0.5, 1.0])))
T.MixtureSameFamily(T.Categorical(t([[0.3, 0.7], [0.5, 0.5]])), \
T.Independent(T.Normal(t([[[0.0, 1.0], [2.0, 3.0]], [[1.0, 1.0], [0.0, 0.0]]]), 1.0), 1))
T.Multinomial(5, probs=t([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]))
T.Multinomial(3, logits=t([0.5, -1.0]))
T.MultivariateNormal(t([0.0, 1.0]), covariance_matrix=t([[2.0, 0.5], [0.5, 1.0]]))
T.MultivariateNormal(t([[0.0, 1.0], [2.0, 3.0]]), precision_matrix=t([[2.0, 0.5], [0.5, 1.0]]))
T.MultivariateNormal(t([0.0, 1.0]), scale_tril=t([[[1.0, 0.0], [0.5, 2.0]], [[2.0, 0.0], [0.0, \
1.0]]]))
T.NegativeBinomial(t([3.0, 0.5]), probs=t([0.3, 0.8]))
T.NegativeBinomial(4, logits=t([-1.0, 0.5]))
T.Normal(t([0.0, 1.0]), t([1.0, 0.3]))
T.Normal(t([[0.0], [1.0]]), 2.0)
T.OneHotCategorical(probs=t([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]))
T.OneHotCategoricalStraightThrough(logits=t([0.5, -1.0, 2.0]))
T.Pareto(t([1.0, 2.0]), t([0.8, 3.0]))
T.Poisson(t([0.5, 3.0, 40.0]))
T.RelaxedBernoulli(t(0.7), probs=t([0.2, 0.5]))
T.RelaxedBernoulli(t(2.0), logits=t([-1.0, 0.5]))
T.RelaxedOneHotCategorical(t(0.7), probs=t([0.2, 0.3, 0.5]))
T.relaxed_bernoulli.LogitRelaxedBernoulli(t(0.7), logits=t([-1.0, 0.5]))
T.relaxed_categorical.ExpRelaxedCategorical(t(0.7), logits=t([-1.0, 0.5]))
T.StudentT(t([0.8, 1.5, 5.0]), t([0.0, 1.0, 2.0]), t([1.0, 2.0, 0.5]))
T.TransformedDistribution(T.Normal(t([0.0, 1.0]), t([1.0, 0.3])), [T.AffineTransform(1.0, \
-2.0), T.ExpTransform()])
T.TransformedDistribution(T.Uniform(t([0.1, 0.2]), t([0.8, 0.9])), [T.SigmoidTransform().inv, \
T.AffineTransform(t([[0.5], [1.0]]), t([2.0, 1.0]))])
T.Uniform(t([0.0, 1.0]), t([1.0, 4.0]))
T.VonMises(t([0.0, 1.0]), t([0.5, 4.0]))
T.Weibull(t([1.0, 2.0]), t([0.8, 3.0]))
T.Wishart(t([3.0, 5.0]), covariance_matrix=t([[2.0, 0.5], [0.5, 1.0]]))
T.Wishart(4, precision_matrix=t([[2.0, 0.5], [0.5, 1.0]]))
T.Wishart(t(3.5), scale_tril=t([[1.0, 0.0], [0.5, 2.0]]))
""".strip().splitlines()

#: Pairs of distributions whose divergence is recorded, by the classes of both.
ONES = {
    "Bernoulli": "T.Bernoulli(t([0.2, 0.0, 1.0]))",
    "Beta": "T.Beta(t([0.4, 2.0, 3.0]), t([0.7, 2.0, 1.0]))",
    "Binomial": "T.Binomial(torch.tensor([5.0, 7.0, 9.0]), t([0.2, 0.5, 0.7]))",
    "Categorical": "T.Categorical(t([[0.2, 0.8, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]))",
    "Cauchy": "T.Cauchy(t([0.0, 1.0, 2.0]), t([1.0, 2.5, 0.5]))",
    "ContinuousBernoulli": "T.ContinuousBernoulli(t([0.1, 0.5, 0.9]))",
    "Dirichlet": "T.Dirichlet(t([[0.5, 1.0, 2.0], [3.0, 4.0, 0.2], [1.0, 1.0, 1.0]]))",
    "Exponential": "T.Exponential(t([0.5, 3.0, 1.0]))",
    "Gamma": "T.Gamma(t([0.3, 1.0, 5.0]), t([1.0, 2.0, 0.5]))",
    "Geometric": "T.Geometric(t([0.2, 0.7, 0.5]))",
    "Gumbel": "T.Gumbel(t([0.0, 1.0, -1.0]), t([1.0, 0.3, 2.0]))",
    "HalfNormal": "T.HalfNormal(t([1.0, 2.0, 0.5]))",
    "Independent": "T.Independent(T.Normal(t([[0.0, 1.0], [2.0, 3.0]]), t([1.0, 2.0])), 1)",
    "Laplace": "T.Laplace(t([0.0, 1.0, -1.0]), t([1.0, 0.3, 2.0]))",
    "LowRankMultivariateNormal":
        "T.LowRankMultivariateNormal(t([[0.0, 1.0], [2.0, 3.0]]), t([[0.5], [1.0]]), "
        "t([1.0, 0.2]))",
    "MultivariateNormal":
        "T.MultivariateNormal(t([0.0, 1.0]), scale_tril=t([[[1.0, 0.0], [0.5, 2.0]], "
        "[[2.0, 0.0], [0.0, 1.0]]]))",
    "Normal": "T.Normal(t([0.5, 1.0, 2.0]), t([1.0, 0.3, 2.0]))",
    "OneHotCategorical": "T.OneHotCategorical(t([[0.2, 0.8], [0.5, 0.5], [0.7, 0.3]]))",
    "Pareto": "T.Pareto(t([1.0, 2.0, 0.5]), t([0.8, 1.5, 3.0]))",
    "Poisson": "T.Poisson(t([0.5, 3.0, 40.0]))",
    "TransformedDistribution":
        "T.LogNormal(t([0.0, 1.0, -1.0]), t([1.0, 0.3, 2.0]))",
    "Uniform": "T.Uniform(t([0.25, 1.0, -0.5]), t([0.75, 3.0, 0.5]))",
    "ExponentialFamily": "T.Wishart(t(5.0), t([[2.0, 0.5], [0.5, 1.0]]))",
}
OTHERS = {
    "Bernoulli": "T.Bernoulli(t([0.3, 0.4, 0.0]))",
    "Beta": "T.Beta(t([1.4, 0.5, 2.0]), t([0.3, 1.0, 5.0]))",
    "Binomial": "T.Binomial(torch.tensor([5.0, 7.0, 8.0]), t([0.3, 0.1, 0.7]))",
    "Categorical": "T.Categorical(t([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.1, 0.2, 0.7]]))",
    "Cauchy": "T.Cauchy(t([1.0, 1.0, 0.0]), t([2.0, 0.5, 3.0]))",
    "ContinuousBernoulli": "T.ContinuousBernoulli(t([0.3, 0.8, 0.5]))",
    "Dirichlet": "T.Dirichlet(t([[1.5, 0.3, 1.0], [1.0, 2.0, 3.0], [0.2, 5.0, 1.0]]))",
    "Exponential": "T.Exponential(t([1.5, 0.2, 1.0]))",
    "Gamma": "T.Gamma(t([1.3, 0.5, 2.0]), t([0.7, 1.0, 3.0]))",
    "Geometric": "T.Geometric(t([0.3, 0.1, 0.9]))",
    "Gumbel": "T.Gumbel(t([0.5, -1.0, 1.0]), t([0.6, 1.3, 1.0]))",
    "HalfNormal": "T.HalfNormal(t([2.0, 0.3, 0.5]))",
    "Independent": "T.Independent(T.Normal(t([[1.0, 1.0], [0.0, 5.0]]), t([3.0, 1.0])), 1)",
    "Laplace": "T.Laplace(t([1.0, -1.0, 0.0]), t([0.5, 1.3, 1.0]))",
    "LowRankMultivariateNormal":
        "T.LowRankMultivariateNormal(t([1.0, -1.0]), t([[[0.3, 1.0], [-1.0, 0.5]], "
        "[[0.7, 0.0], [0.1, 0.2]]]), t([0.5, 1.2]))",
    "MultivariateNormal":
        "T.MultivariateNormal(t([[0.5, 1.0], [-1.0, 2.0]]), "
        "covariance_matrix=t([[2.0, 0.5], [0.5, 1.0]]))",
    "Normal": "T.Normal(t([0.0, -1.0, 1.0]), t([1.5, 1.3, 0.4]))",
    "OneHotCategorical": "T.OneHotCategorical(t([[0.5, 0.5], [0.1, 0.9], [0.0, 1.0]]))",
    "Pareto": "T.Pareto(t([0.5, 2.5, 0.2]), t([1.8, 0.5, 1.0]))",
    "Poisson": "T.Poisson(t([1.5, 0.3, 35.0]))",
    "TransformedDistribution":
        "T.LogNormal(t([0.5, 0.0, 1.0]), t([0.7, 1.3, 1.0]))",
    "Uniform": "T.Uniform(t([-0.1, 1.2, -2.0]), t([1.75, 4.0, 0.7]))",
    "ExponentialFamily": "T.Wishart(t(3.0), t([[1.0, 0.2], [0.2, 1.5]]))",
}

#: Transforms, and what they are given.
TRANSFORMS = {
    "T.AbsTransform()": [-1.5, 0.25, 2.0],
    "T.AffineTransform(t(1.0), t([0.5, -2.0, 3.0]))": [-1.5, 0.25, 2.0],
    "T.AffineTransform(1.0, -2.0, event_dim=1)": [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.CatTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)], dim=-1, lengths=[1, 2])":
        [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.CatTransform([T.IndependentTransform(T.ExpTransform(), 1), T.TanhTransform()], dim=0)":
        [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.ComposeTransform([T.ExpTransform(), T.PowerTransform(t(2.0)), "
    "T.AffineTransform(0, t(3.0))])":
        [-1.5, 0.25, 2.0],
    "T.ComposeTransform([T.AffineTransform(0.0, 2.0), T.StickBreakingTransform()])":
        [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.transforms.identity_transform": [-1.5, 0.25, 2.0],
    "T.CorrCholeskyTransform()": [[-1.5, 0.25, 2.0], [0.1, -0.2, 0.3]],
    "T.CumulativeDistributionTransform(T.Normal(t(0.5), t(2.0)))": [-1.5, 0.25, 2.0],
    "T.ExpTransform()": [-1.5, 0.25, 2.0],
    "T.ExpTransform().inv": [0.5, 0.25, 2.0],
    "T.IndependentTransform(T.ExpTransform(), 1)": [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.LowerCholeskyTransform()": [[-1.5, 0.25], [2.0, 0.5]],
    "T.PositiveDefiniteTransform()": [[-1.5, 0.25], [2.0, 0.5]],
    "T.PowerTransform(t([-1.0, 0.5, 2.0]))": [1.5, 0.25, 2.0],
    "T.ReshapeTransform((3,), (3, 1))": [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.SigmoidTransform()": [-1.5, 0.25, 2.0, 60.0],
    "T.SigmoidTransform().inv": [0.1, 0.25, 0.9],
    "T.SoftplusTransform()": [-1.5, 0.25, 2.0],
    "T.TanhTransform()": [-1.5, 0.25, 2.0],
    "T.SoftmaxTransform()": [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.StackTransform([T.ExpTransform(), T.TanhTransform()], dim=0)":
        [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
    "T.StickBreakingTransform()": [[-1.5, 0.25, 2.0], [1.0, 2.0, 3.0]],
}

#: Constraints, and values to check.
CONSTRAINTS = {
    "C.boolean": [0.0, 1.0, 0.5],
    "C.cat([C.positive, C.unit_interval], 0, [1, 2])": [0.5, 1.5, 0.5],
    "C.corr_cholesky":
        [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.7]], [[1.0, 0.1], [0.6, 0.8]]],
    "C.greater_than(2.0)": [1.0, 2.0, 3.0],
    "C.greater_than_eq(2.0)": [1.0, 2.0, 3.0],
    "C.half_open_interval(-1.0, 2.0)": [-1.0, 0.0, 2.0],
    "C.independent(C.positive, 1)": [[1.0, 2.0], [1.0, 0.0]],
    "C.integer_interval(-1, 2)": [-1.0, 0.5, 2.0, 3.0],
    "C._IntegerLessThan(2)": [-1.0, 0.5, 2.0, 3.0],
    "C.interval(-1.0, 2.0)": [-1.0, 0.0, 2.0, 2.5],
    "C.less_than(2.0)": [1.0, 2.0, 3.0],
    "C.lower_cholesky":
        [[[1.0, 0.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 3.0]], [[0.0, 0.0], [2.0, 3.0]]],
    "C.lower_triangular": [[[1.0, 0.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 3.0]]],
    "C.MixtureSameFamilyConstraint(C.interval(torch.tensor([0.0, 1.0]), 2.0))": [0.5, 1.5, 2.5],
    "C.multinomial(3)": [[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]],
    "C.nonnegative": [-1.0, 0.0, 1.0],
    "C.nonnegative_integer": [-1.0, 0.0, 1.0, 1.5],
    "C.one_hot": [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]],
    "C.positive": [-1.0, 0.0, 1.0],
    "C.positive_definite":
        [[[2.0, 0.5], [0.5, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]],
    "C.positive_integer": [-1.0, 0.0, 1.0, 1.5],
    "C.positive_semidefinite": [[[2.0, 0.5], [0.5, 1.0]], [[4.0, 0.0], [0.0, 0.0]]],
    "C.real": [1.0, math.inf, math.nan],
    "C.real_vector": [[1.0, 2.0], [math.nan, 1.0]],
    "C.simplex": [[0.2, 0.8], [0.5, 0.6], [-0.5, 1.5]],
    "C.square": [[1.0, 2.0], [3.0, 4.0]],
    "C.stack([C.positive, C.unit_interval], 0)": [[0.5, 1.5], [1.5, 0.5]],
    "C.symmetric": [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [3.0, 1.0]]],
    "C.unit_interval": [-1.0, 0.0, 1.0, 1.5],
}

#: What is refused.
ERRORS = """
T.Bernoulli(0.5, logits=0.0)
T.Bernoulli()
T.Bernoulli(t([0.5, 1.5]))
T.Bernoulli(0.5).log_prob(t(0.5))
T.Bernoulli(0.5).rsample()
T.Beta(-1.0, 1.0)
T.Binomial(1.5, 0.5)
T.Binomial(torch.tensor([1.0, 2.0]), 0.5).entropy()
T.Binomial(torch.tensor([1.0, 2.0]), 0.5).enumerate_support()
T.Categorical(t(0.5))
T.Categorical(logits=t(0.5))
T.Categorical(t([0.5, -0.5, 1.0]))
T.Categorical(t([0.5, 0.5])).log_prob(t(2.0))
T.Categorical(t([0.5, 0.5])).rsample()
T.Cauchy(0.0, 0.0)
T.ContinuousBernoulli(1.5, validate_args=True)
T.Dirichlet(t(1.0))
T.Dirichlet(t([1.0, 0.0]))
T.Dirichlet(t([1.0, 1.0])).log_prob(t([0.5, 0.6]))
T.Distribution().mean
T.Distribution(validate_args=False).mean
T.Distribution(validate_args=False).mode
T.Distribution(validate_args=False).expand((2,))
T.Distribution.set_default_validate_args(2)
T.Exponential(-1.0)
T.FisherSnedecor(-1.0, 1.0)
T.Gamma(1.0, 1.0).log_prob(t(-1.0))
T.Gamma(1.0, 1.0).icdf(t(0.5))
T.Gamma('a', 1.0)
T.GeneralizedPareto(0.0, -1.0, 0.1)
T.Geometric(0.0)
T.Geometric(0.5).log_prob(t(0.5))
T.Independent(T.Normal(0.0, 1.0), 1)
T.Independent(T.Bernoulli(t([0.5])), 1).enumerate_support()
T.LKJCholesky(1)
T.LKJCholesky(2).rsample()
T.LowRankMultivariateNormal(t(0.0), t([[1.0]]), t([1.0]))
T.LowRankMultivariateNormal(t([0.0]), t([1.0]), t([1.0]))
T.LowRankMultivariateNormal(t([0.0]), t([[1.0], [1.0]]), t([1.0]))
T.LowRankMultivariateNormal(t([0.0]), t([[1.0]]), t([1.0, 1.0]))
T.MixtureSameFamily(T.Normal(0.0, 1.0), T.Normal(t([0.0]), 1.0))
T.MixtureSameFamily(T.Categorical(t([1.0])), 3)
T.MixtureSameFamily(T.Categorical(t([1.0, 1.0])), T.Normal(t([0.0]), 1.0))
T.MixtureSameFamily(T.Categorical(t([[1.0], [1.0], [1.0]])), T.Normal(t([[0.0], [1.0]]), 1.0))
T.Multinomial(t(1.0), t([0.5, 0.5]))
T.Multinomial(2, t([0.5, 0.5])).log_prob(t([2.0, 1.0]))
T.MultivariateNormal(t(0.0), t([[1.0]]))
T.MultivariateNormal(t([0.0]))
T.MultivariateNormal(t([0.0]), t([[1.0]]), t([[1.0]]))
T.MultivariateNormal(t([0.0]), t([1.0]))
T.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 2.0], [2.0, 1.0]]))
T.MultivariateNormal(t([0.0, 0.0]), scale_tril=t([[1.0, 2.0], [2.0, 1.0]]))
T.NegativeBinomial(-1.0, 0.5)
T.NegativeBinomial(1.0, 1.0)
T.Normal(0.0, -1.0)
T.Normal(t([0.0, 1.0]), t([1.0, -1.0]))
T.Normal(math.nan, 1.0)
T.Normal(0.0, 1.0).log_prob(1.0)
T.Normal(0.0, 1.0).log_prob(t(math.nan))
T.Normal(t([0.0, 0.0]), 1.0).log_prob(t([1.0, 2.0, 3.0]))
T.Normal(0.0, 1.0).enumerate_support()
T.OneHotCategorical(t([0.5, 0.5])).log_prob(t([1.0, 1.0]))
T.OneHotCategorical(t([0.5, 0.5])).log_prob(t([1.0, 0.0, 0.0]))
T.Pareto(1.0, 2.0).log_prob(t(0.5))
T.Poisson(-1.0)
T.Poisson(1.0).entropy()
T.StudentT(-1.0)
T.TransformedDistribution(T.Normal(0.0, 1.0), 3)
T.TransformedDistribution(T.Normal(0.0, 1.0), [3])
T.TransformedDistribution(T.Normal(0.0, 1.0), T.StickBreakingTransform())
T.Uniform(1.0, 1.0)
T.Uniform(0.0, 1.0).log_prob(t(2.0))
T.VonMises(0.0, 1.0).entropy()
T.Weibull(-1.0, 1.0)
T.Wishart(1.0, t([[1.0, 0.0], [0.0, 1.0]]))
T.Wishart(3.0)
T.Wishart(3.0, t([1.0]))
T.kl_divergence(T.Normal(0.0, 1.0), T.VonMises(0.0, 1.0))
T.kl_divergence(T.Normal(0.0, 1.0), T.Poisson(1.0))
T.kl_divergence(T.Binomial(1, 0.5), T.Binomial(2, 0.5))
T.kl_divergence(T.LogNormal(0.0, 1.0), T.InverseGamma(1.0, 1.0))
T.AffineTransform(0.0, 1.0, cache_size=2)
T.ReshapeTransform((2,), (3,))
T.ReshapeTransform((2,), (1, 2)).forward_shape((3,))
T.StickBreakingTransform().forward_shape(())
T.CorrCholeskyTransform().forward_shape((2,))
T.CorrCholeskyTransform().inverse_shape((2, 3))
T.SoftmaxTransform().log_abs_det_jacobian(t([0.0]), t([1.0]))
T.SoftmaxTransform().sign
T.StickBreakingTransform().sign
T.CatTransform([T.ExpTransform()], lengths=[1, 2])
T.CatTransform([3])
T.CatTransform([T.ExpTransform()])(t([1.0, 2.0]))
T.StackTransform([T.ExpTransform()])(t([[1.0], [2.0]]))
T.IndependentTransform(T.ExpTransform(), 1)(t(1.0))
T.CorrCholeskyTransform().event_dim
C.dependent.check(t(1.0))
C.dependent.event_dim
C.dependent.is_discrete
C.independent(C.real, 1).check(t(1.0))
C.independent(3, 1)
C.independent(C.real, -1)
C.cat([3])
C.Constraint().check(t(1.0))
T.biject_to(C.lower_cholesky)
T.transform_to(C.integer_interval(0, 2))
T.transform_to(C.dependent)
T.utils.broadcast_all('a')
T.utils.tril_matrix_to_vec(t([[1.0]]), 1)
T.utils.vec_to_tril_matrix(t([1.0, 2.0]))
""".strip().splitlines()

#: What is shown of things.
SHOWN = """
T.Normal(0.0, 1.0)
T.Normal(torch.zeros(2, 3), 1.0)
T.Beta(1.0, 2.0)
T.Binomial(3, 0.5)
T.Categorical(torch.ones(3))
T.Chi2(3.0)
T.HalfNormal(1.0)
T.Independent(T.Normal(torch.zeros(3), 1.0), 1)
T.LogNormal(0.0, 1.0)
T.MixtureSameFamily(T.Categorical(torch.ones(2)), T.Normal(torch.zeros(2), 1.0))
T.MultivariateNormal(torch.zeros(2), torch.eye(2))
T.LKJCholesky(3, 0.5)
T.Pareto(1.0, 2.0)
T.RelaxedBernoulli(torch.tensor(1.0), 0.5)
T.TransformedDistribution(T.Normal(0.0, 1.0), [T.ExpTransform()])
T.Uniform(0.0, 1.0)
T.Wishart(torch.tensor(3.0), torch.eye(2))
T.Uniform(0.0, 1.0).support
T.Categorical(torch.ones(3)).support
T.Multinomial(3, torch.ones(3)).support
T.Independent(T.Normal(torch.zeros(3), 1.0), 1).support
T.MixtureSameFamily(T.Categorical(torch.ones(2)), T.Normal(torch.zeros(2), 1.0)).support
T.Independent(T.Poisson(torch.ones(3)), 1).support
T.LogNormal(0.0, 1.0).arg_constraints
T.ComposeTransform([T.ExpTransform(), T.AffineTransform(0.0, 1.0).inv])
T.IndependentTransform(T.ExpTransform(), 1)
T.ComposeTransform([T.ExpTransform(), T.StickBreakingTransform()]).domain
T.ComposeTransform([T.StickBreakingTransform(), T.ExpTransform()]).codomain
T.ExpTransform() == T.ExpTransform()
T.ExpTransform().inv == T.ExpTransform().inv
T.ExpTransform() == T.TanhTransform()
T.AffineTransform(0.0, 1.0) == T.AffineTransform(0, torch.tensor(1.0))
T.AffineTransform(0.0, 1.0) == T.AffineTransform(0.0, 2.0)
T.PowerTransform(2.0) != T.PowerTransform(3.0)
T.CorrCholeskyTransform() == T.CorrCholeskyTransform()
T.biject_to(C.positive)
T.biject_to(C.nonnegative)
T.biject_to(C.real)
T.biject_to(C.real_vector)
T.biject_to(C.simplex)
T.transform_to(C.simplex)
T.transform_to(C.greater_than(1.0))
T.transform_to(C.less_than(1.0))
T.transform_to(C.interval(0.0, 2.0))
T.transform_to(C.unit_interval)
T.transform_to(C.lower_cholesky)
T.transform_to(C.positive_definite)
T.transform_to(C.corr_cholesky)
T.transform_to(C.cat([C.positive, C.real]))
T.biject_to(C.stack([C.positive, C.real]))
T.Normal.support, T.Uniform.support
T.Binomial.support.event_dim, T.Binomial.support.is_discrete
T.AffineTransform(1.0, -2.0).sign, T.ExpTransform().inv.sign
T.ComposeTransform([T.ExpTransform(), T.AffineTransform(0.0, -1.0)]).sign
T.StickBreakingTransform().inv.forward_shape(torch.Size([3, 4]))
T.AffineTransform(torch.zeros(2, 1), 1.0).forward_shape(torch.Size([3]))
T.ReshapeTransform((2, 3), (6,)).inverse_shape(torch.Size([4, 6]))
T.CorrCholeskyTransform().forward_shape(torch.Size([2, 3]))
T.ExpTransform().with_cache()._cache_size
""".strip().splitlines()
