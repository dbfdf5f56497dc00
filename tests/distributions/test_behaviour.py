"""What distributions do beyond values: expansion, checks, draws of any shape, pickles, classes of
a user's own."""

import copy
import math
import pickle
import re

import distribution_cases as cases
import distribution_facts as facts
import pytest

import yesca as torch

T = torch.distributions
C = T.constraints


def made(text):
    return facts.Case(torch, text).made


def constant(text):
    """A case whose parameters are float32 constants."""
    return re.sub(r"\bt\(", "torch.tensor(", text)


def has_moments(d):
    """Those of a von Mises distribution are directions."""
    moments = facts.tried(lambda: (d.mean, d.variance))
    return isinstance(moments, tuple) and not isinstance(d, T.VonMises) \
        and all(m.isfinite().any() for m in moments)


def chances(d):
    values = torch.tensor([0.1, 0.5, 0.75], dtype=torch.float64)
    return values.reshape(-1, *[1] * len(d.batch_shape)).expand(-1, *d.batch_shape)


def back(d):
    return d.cdf(d.icdf(chances(d)))


# ---- draws ------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", cases.CASES)
def test_shapes_of_draws(text):
    d = made(text)
    own = tuple(d.batch_shape + d.event_shape)
    several = [] if "ategorical" in text or "Multinomial" in text else [(0,)]
    for shape in ((), (2, 1), *several):  # PyTorch draws no categories for a shape without one
        drawn = d.sample(shape)
        assert tuple(drawn.shape) == shape + own and not drawn.requires_grad
        assert tuple(d.log_prob(drawn).shape) == shape + tuple(d.batch_shape)
        if d.has_rsample:
            assert tuple(d.rsample(torch.Size(shape)).shape) == shape + own
    with pytest.warns(FutureWarning, match=r"Use `sample\(\(n,\)\)` instead"):
        assert tuple(d.sample_n(2).shape) == (2, *own)


@pytest.mark.parametrize("text", [t for t in cases.CASES if has_moments(made(t))])
def test_draws_have_the_moments(text):
    torch.manual_seed(1)
    d, count = made(text), 20_000
    mean, variance = d.mean.detach(), d.variance.detach()
    drawn = d.sample((count,)).double()
    slack = 6 * (variance / count).sqrt() + 1e-6
    finite = mean.isfinite() & variance.isfinite()
    assert ((drawn.mean(0) - mean).abs() <= slack)[finite].all()
    assert torch.allclose(drawn.var(0)[finite], variance.expand(mean.shape)[finite], rtol=0.4,
                          atol=1e-3)


#: Of numbers; a bounded base of a transformed distribution refuses what lies outside.
DENSITIES = [t for t in cases.CASES if "(T.Uniform" not in t and not made(t).event_shape
             and not made(t).support.is_discrete]


@pytest.mark.parametrize("text", DENSITIES)
def test_densities_integrate_to_one(text):
    d = made(text)
    low, high = -400.0, 400.0
    if isinstance(d, T.VonMises):
        low, high = -math.pi, math.pi
    # x = sinh(s) has many points near 0 and reaches far
    edges = torch.linspace(math.asinh(low), math.asinh(high), 200_001, dtype=torch.float64)
    s = (edges[1:] + edges[:-1]) / 2
    x = s.sinh().reshape(-1, *[1] * len(d.batch_shape)).expand(-1, *d.batch_shape)
    inside = d.support.check(x)
    safe = torch.where(inside, x, d.sample())
    density = torch.where(inside, d.log_prob(safe).exp(), 0.0)
    weights = s.cosh().reshape(-1, *[1] * len(d.batch_shape)) * (edges[1] - edges[0])
    total = (density * weights).sum(0)
    assert (total <= 1 + 0.02).all() and (total >= 0.9).all()


@pytest.mark.parametrize("text", [
    t for t in cases.CASES if not isinstance(facts.tried(made(t).enumerate_support), str)])
def test_chances_of_discrete_values_add_up_to_one(text):
    d = made(text)
    values = d.enumerate_support()
    assert torch.allclose(d.log_prob(values).exp().sum(0), torch.ones(d.batch_shape).double())


@pytest.mark.parametrize("text", [
    t for t in cases.CASES
    if not made(t).event_shape and not isinstance(facts.tried(lambda t=t: back(made(t))), str)])
def test_quantiles_are_the_inverse_of_the_distribution_function(text):
    d = made(text)
    assert torch.allclose(back(d), chances(d), atol=1e-9)


def test_gradients_of_draws_estimate_those_of_means():
    for text in ("T.Gamma(t([0.6, 4.0]), t([1.0, 2.0]))", "T.Beta(t([0.7, 2.0]), t([1.5, 3.0]))",
                 "T.StudentT(t([6.0, 9.0]), t([0.0, 1.0]), t([1.0, 2.0]))"):
        torch.manual_seed(3)
        case = facts.Case(torch, text)
        exact = torch.autograd.grad(case.made.mean.sum(), case.leaves, allow_unused=True)
        drawn = torch.autograd.grad(case.made.rsample((20_000,)).mean(0).sum(), case.leaves)
        for mine, other in zip(drawn, exact):
            other = torch.zeros_like(mine) if other is None else other
            assert torch.allclose(mine, other, atol=0.04), text


def test_single_precision():
    for text in cases.CASES:
        d = made(constant(text))
        drawn = d.sample((2,))
        assert drawn.dtype in (torch.float32, torch.int64)
        assert d.log_prob(drawn).dtype == torch.float32


# ---- expansion --------------------------------------------------------------------------------

@pytest.mark.parametrize("text", cases.CASES)
def test_expansion(text):
    d = made(text)
    wide = d.expand((4, 2, *d.batch_shape))
    assert type(wide) is type(d) and wide.batch_shape == (4, 2, *d.batch_shape)
    assert wide.expand(wide.batch_shape).batch_shape == wide.batch_shape
    for name in d._parameters:
        if name in vars(d):
            assert vars(wide)[name].data_ptr() == vars(d)[name].data_ptr()
    for name in ("mean", "variance", "mode", "entropy"):
        one = facts.tried(lambda name=name: getattr(d, name))
        one = facts.tried(one) if callable(one) else one
        if not isinstance(one, str):
            many = getattr(wide, name)
            many = many() if callable(many) else many
            assert torch.equal(many.nan_to_num(7), one.expand(many.shape).nan_to_num(7)), name


def test_classes_of_a_users_own():
    class Shifted(T.Normal):
        def __init__(self, loc):
            super().__init__(loc + 1, 2.0)

    class Named(T.Normal):
        arg_constraints = {}

    with pytest.raises(NotImplementedError, match="Subclass Shifted of Normal that defines"):
        Shifted(torch.zeros(2)).expand((3, 2))
    assert type(Named(0.0, 1.0).expand((2,))) is Named

    class Bare(T.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.raises(NotImplementedError):
        bare.expand((2,))
    with pytest.warns(UserWarning, match="does not define `support`"):
        bare._validate_sample(torch.zeros(()))


@pytest.mark.parametrize("text", cases.CASES)
def test_the_constructor_after_a_public_one_is_that_of_its_base(text):
    """Programs that derive from a class call it: `super(Normal, new).__init__(batch_shape)`."""
    kind = type(made(text))
    after = next(c for c in kind.__mro__[1:] if "__init__" in vars(c))
    assert after.__name__ in T.__all__


def test_an_instance_to_fill_in():
    class Own(T.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)
            self.note = "kept"

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Own, _instance)
            new.note = self.note
            return super().expand(batch_shape, _instance=new)

    wide = Own(torch.zeros(2)).expand((3, 2))
    assert wide.note == "kept" and wide.loc.shape == (3, 2)


# ---- checks -----------------------------------------------------------------------------------

def test_checks_can_be_off():
    T.Normal(0.0, -1.0, validate_args=False)
    d = T.Uniform(0.0, 1.0, validate_args=False)
    assert d.log_prob(torch.tensor(3.0)) == -math.inf
    assert d.expand((2,))._validate_args is False
    T.Distribution.set_default_validate_args(False)
    try:
        T.Normal(0.0, -1.0)
    finally:
        T.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        T.Normal(0.0, -1.0)


def test_parameters_are_those_that_were_given():
    loc, scale = torch.zeros(3, requires_grad=True), torch.ones(3)
    d = T.Normal(loc, scale)
    assert d.loc is loc and d.scale is scale
    assert T.Normal(0, 1).loc.dtype == torch.float32
    assert T.Normal(torch.zeros(2).double(), 1).scale.dtype == torch.float64


def test_logits_and_probs_follow_from_each_other():
    for d in (T.Bernoulli(probs=torch.tensor(0.25)), T.Geometric(probs=torch.tensor(0.25))):
        assert "logits" not in vars(d)
        assert torch.allclose(d.logits, torch.tensor(-math.log(3)))
        assert "logits" in vars(d)
    with torch.no_grad():
        d = T.Bernoulli(probs=torch.tensor(0.25, requires_grad=True))
        assert d.logits.requires_grad


def test_lazy_properties_are_no_attributes_of_classes():
    assert isinstance(T.Bernoulli.logits, T.utils.lazy_property)
    assert T.Bernoulli.logits.__doc__ == "The logits of the chances."


@pytest.mark.parametrize("text", cases.CASES)
def test_copies_and_pickles(text):
    with torch.no_grad():
        d = made(constant(text))
    for again in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        torch.manual_seed(0)
        drawn = d.sample()
        torch.manual_seed(0)
        assert torch.equal(again.sample(), drawn) and repr(again) == repr(d)


def test_values_that_are_no_trouble():
    certain = T.Categorical(logits=torch.tensor([0.0, -math.inf]))
    assert certain.entropy() == 0
    never = T.Multinomial(2, logits=torch.tensor([0.0, -math.inf]))
    assert never.log_prob(torch.tensor([2.0, 0.0])) == 0
    assert T.Dirichlet(torch.tensor([1.0, 1.0])).log_prob(torch.tensor([1.0, 0.0])) == 0
    assert T.Poisson(0.0).log_prob(torch.tensor(0.0)) == 0
    assert T.NegativeBinomial(0.0, torch.tensor(0.5)).log_prob(torch.tensor(0.0)) == 0
    assert T.Multinomial(5, torch.ones(2)).expand((3,)).entropy().shape == (3,)
    assert T.Beta(1.0, 1.0).log_prob(torch.tensor([0.0, 1.0])).tolist() == [0, 0]
    far = T.VonMises(0.0, 1e4).log_prob(torch.tensor(0.0))
    assert far == pytest.approx(0.5 * math.log(1e4 / (2 * math.pi)), abs=1e-3)


def test_wishart_warns_of_few_degrees_of_freedom():
    with pytest.warns(UserWarning, match="Low df values detected"):
        d = T.Wishart(torch.tensor(1.5), torch.eye(2))
    assert d.sample((50,)).isfinite().all()


# ---- mixtures, transforms, independence -------------------------------------------------------

def test_mixtures():
    few = T.MixtureSameFamily(T.Categorical(torch.tensor([0.0, 1.0])),
                              T.Normal(torch.tensor([[-9.0, 9.0], [-5.0, 5.0]]), 0.1))
    assert (few.sample((20,)) > 0).all() and few.batch_shape == (2,)
    assert few.mean.tolist() == [9, 5]
    far = T.MixtureSameFamily(T.Categorical(torch.ones(2)), T.Poisson(torch.tensor([1.0, 50.0])))
    assert far.support.is_discrete and far.mean == 25.5


def test_base_distributions_grow_with_transforms():
    d = T.TransformedDistribution(T.Normal(0.0, 1.0), T.AffineTransform(torch.zeros(3), 1.0))
    assert d.batch_shape == (3,) and d.base_dist.batch_shape == (3,)
    d = T.TransformedDistribution(T.Normal(torch.zeros(4), 1.0), T.StickBreakingTransform())
    assert d.event_shape == (5,) and isinstance(d.base_dist, T.Independent)
    assert T.TransformedDistribution(T.Normal(0.0, 1.0), []).support is C.real
    d = T.TransformedDistribution(T.Normal(torch.zeros(2, 3), 1.0),
                                  [T.ReshapeTransform((2, 3), (6,))])
    assert d.event_shape == (6,) and d.log_prob(torch.zeros(6)).shape == ()
    cumulated = T.TransformedDistribution(T.Normal(0.0, 1.0), T.AffineTransform(0.0, -1.0))
    assert cumulated.cdf(torch.tensor(1.0)) == pytest.approx(0.8413447, abs=1e-6)


def test_independent_takes_parameters_of_types():
    assert T.Independent[T.Normal] is not None


# ---- divergences ------------------------------------------------------------------------------

def test_divergences_of_derived_classes():
    class Mine(T.Normal):
        pass

    p, q = Mine(0.0, 1.0), T.Normal(1.0, 1.0)
    assert T.kl_divergence(p, q) == 0.5

    @T.register_kl(Mine, T.Normal)
    def of_mine(p, q):
        return torch.tensor(7.0)

    try:
        assert T.kl_divergence(p, q) == 7 and T.kl_divergence(q, p) == 0.5

        @T.register_kl(T.Normal, Mine)
        def to_mine(p, q):
            return torch.tensor(8.0)

        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Mine\). Please "
                          r"register_kl\(Mine, Mine\)"):
            assert T.kl_divergence(p, p) == 7
    finally:
        for pair in ((Mine, T.Normal), (T.Normal, Mine)):
            T.kl._KL_REGISTRY.pop(pair, None)
        T.kl._KL_MEMOIZE.clear()


def test_the_same_range_is_no_narrower_one():
    """PyTorch takes the ends of the range to be outside, and says infinity."""
    whole, p = T.Uniform(0.0, 1.0), T.ContinuousBernoulli(torch.tensor([0.3, 0.5]))
    assert torch.allclose(T.kl_divergence(p, whole), -p.entropy(), atol=1e-6)
    assert T.kl_divergence(whole, p)[1] == pytest.approx(0, abs=1e-6)
    assert T.kl_divergence(p, T.Uniform(0.0, 0.9)).tolist() == [math.inf, math.inf]


def test_divergences_have_the_shape_of_both_batches():
    for one, other in ((T.Beta(1.0, 2.0), T.Pareto(torch.ones(2), 1.0)),
                       (T.Beta(1.0, 2.0), T.Uniform(torch.zeros(2), 1.0)),
                       (T.Poisson(1.0), T.Bernoulli(torch.ones(2) / 2))):
        assert T.kl_divergence(one, other).shape == (2,)


def test_modules_can_be_transforms():
    class Scaled(T.Transform, torch.nn.Module):
        domain = codomain = C.real
        bijective = True

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(2.0))

        __hash__ = torch.nn.Module.__hash__

        def _call(self, x):
            return x * self.weight

        def _inverse(self, y):
            return y / self.weight

        def log_abs_det_jacobian(self, x, y):
            return self.weight.abs().log().expand(x.shape)

    f = Scaled()
    T.TransformedDistribution(T.Normal(0.0, 1.0), f).log_prob(torch.tensor(2.0)).backward()
    assert f.weight.grad == 0 and len(list(f.parameters())) == 1


def test_only_distributions_have_divergences():
    for pair in ((int, T.Normal), (T.Normal, 3)):
        with pytest.raises(TypeError, match="to be a Distribution subclass"):
            T.register_kl(*pair)


def test_families_of_exponential_form():
    class Mine(T.Normal):
        entropy = T.ExponentialFamily.entropy

    d = Mine(torch.tensor([0.5, 1.0]), torch.tensor([2.0, 0.3], requires_grad=True))
    assert torch.allclose(d.entropy(), T.Normal(d.loc, d.scale).entropy(), atol=1e-6)
    (slope,) = torch.autograd.grad(d.entropy().sum(), d.scale)
    assert torch.allclose(slope, 1 / d.scale)
    generic = T.kl._KL_REGISTRY[T.ExponentialFamily, T.ExponentialFamily]
    p, q = (T.Gamma(torch.tensor(a), torch.tensor(b)) for a, b in ((2.0, 1.0), (3.0, 0.5)))
    assert torch.allclose(generic(p, q), T.kl_divergence(p, q), atol=1e-6)


BETWEEN_FAMILIES = [
    (p.__name__, q.__name__)
    for table in (T.kl._kl_pairs.PAIRS, T.kl._kl_pairs.HEAVY_TAILED)
    for p, several in table.items() for q in several]


@pytest.mark.parametrize(("p", "q"), BETWEEN_FAMILIES)
def test_divergences_are_means_of_log_ratios(p, q):
    torch.manual_seed(2)
    p, q = made(cases.ONES[p]), made(cases.OTHERS[q])
    expected = T.kl_divergence(p, q).detach()
    x = p.sample((40_000,))
    inside = q.support.check(x)
    ratios = p.log_prob(x) - q.log_prob(torch.where(inside, x, q.sample()))
    found = torch.where(inside.all(0), ratios.mean(0), math.inf).detach()
    slack = 6 * ratios.std(0) / 200 + 1e-6
    finite = expected.isfinite()
    assert finite.any() or not inside.all()
    assert ((found - expected).abs() <= slack)[finite].all()


def test_a_whole_program_has_no_checks_in_it():
    """PyTorch does not check where it compiles; here that is so where a break would be refused."""
    def run(mean):
        normal = T.Normal(mean, 1.0)
        return normal.rsample().sum() + normal.log_prob(mean).sum()

    whole, mean = torch.compile(run, fullgraph=True), torch.ones(3)
    found = []
    for function in (run, whole):
        torch.manual_seed(0)
        found.append([function(mean).item() for _ in range(4)])
    assert found[0] == found[1]
    wrong = torch.compile(lambda scale: T.Normal(0.0, scale).mean)
    for _ in range(3):
        with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
            wrong(torch.tensor(-1.0))
