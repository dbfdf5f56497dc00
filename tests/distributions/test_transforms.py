"""Transforms: caches, inverses, changes of volume; constraints and the transforms to them."""

import copy
import math
import pickle

import distribution_cases as cases
import distribution_facts as facts
import pytest

import yesca as torch

T = torch.distributions
C = T.constraints


def made(text):
    return facts.Case(torch, text).made


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


# ---- transforms -------------------------------------------------------------------------------

BIJECTIVE = [t for t in cases.TRANSFORMS if made(t).bijective]


@pytest.mark.parametrize("text", BIJECTIVE)
def test_inverses(text):
    f, x = made(text), doubles(cases.TRANSFORMS[text])
    y = f(x)
    known = x < 50  # the logistic function rounds to 1 beyond
    assert torch.allclose(f.inv(y)[known], x[known], atol=1e-6)
    assert torch.allclose(f(f.inv(y)), y) and f.inv.inv is f
    assert torch.allclose(f.inv.log_abs_det_jacobian(y, x), -f.log_abs_det_jacobian(x, y))


def volume_change(f, x):
    """log |det dy/dx| of one block, by the tape; rows that depend on others are left out."""
    columns = torch.func.jacrev(lambda x: f(x).flatten())(x).reshape(-1, x.numel())
    if columns.shape[0] != x.numel():  # a simplex, or a triangle: as many numbers are free
        free = f(x).flatten()
        y = f(x)
        keep = torch.ones_like(y).tril(-1).bool() if y.dim() > 1 else \
            torch.arange(y.numel()) < y.numel() - 1
        columns = columns[keep.reshape(free.shape)]
    return torch.linalg.slogdet(columns).logabsdet


@pytest.mark.parametrize("text", [t for t in BIJECTIVE if "Cumulative" not in t and "60" not in
                                  str(cases.TRANSFORMS[t])])
def test_changes_of_volume(text):
    f, x = made(text), doubles(cases.TRANSFORMS[text])
    found = f.log_abs_det_jacobian(x, f(x))
    if f.domain.event_dim and x.dim() > f.domain.event_dim and "dim=0" not in text:
        for block, change in zip(x, found):
            assert torch.allclose(change, volume_change(f, block))
    else:
        assert torch.allclose(found.sum(), volume_change(f, x))


@pytest.mark.parametrize("text", cases.TRANSFORMS)
def test_caches(text):
    x = doubles(cases.TRANSFORMS[text])
    f = made(text).with_cache()
    y = f(x)
    assert f.inv(y) is x or isinstance(f, T.ComposeTransform)  # which has its parts cached
    assert torch.equal(y, made(text)(x)) and f.with_cache() is f
    plain = f.with_cache(0)
    assert plain._cache_size == 0 and torch.equal(plain(x), y)
    assert type(f) is type(made(text))


def test_caches_hold_one_pair():
    f = T.ExpTransform(cache_size=1)
    x, other = torch.zeros(2), torch.ones(2)
    y = f(x)
    assert f(x) is y and f.inv(y) is x and f.inv.inv is f
    f(other)
    assert f(x) is not y and torch.equal(f.inv(y), x)
    z = torch.tensor([2.0])
    assert f(f.inv(z)) is z
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        T.ExpTransform(cache_size=2)


def test_a_cache_saves_what_rounding_destroys():
    far = torch.tensor([20.0], requires_grad=True)
    d = T.TransformedDistribution(T.Normal(0.0, 20.0), T.TanhTransform(cache_size=1))
    y = d.transforms[0](far)
    assert y == 1 and torch.isfinite(d.log_prob(y)).all()


def test_transforms_of_a_users_own():
    class Cubed(T.Transform):
        domain = codomain = C.real
        bijective = True

        def __init__(self, power=3, cache_size=0):
            super().__init__(cache_size)

        def _call(self, x):
            return x**3

    with pytest.raises(NotImplementedError, match="with_cache is not implemented"):
        Cubed().with_cache()
    assert Cubed()(torch.tensor(2.0)) == 8 and Cubed() != Cubed()
    for asked in (lambda f: f.inv(torch.tensor(8.0)), lambda f: f.sign,
                  lambda f: f.log_abs_det_jacobian(torch.tensor(2.0), torch.tensor(8.0))):
        with pytest.raises(NotImplementedError):
            asked(Cubed())


@pytest.mark.parametrize("text", [t for t in cases.TRANSFORMS if "Cumulative" not in t])
def test_copies_and_pickles(text):
    x = doubles(cases.TRANSFORMS[text])
    with torch.no_grad():
        f = made(text.replace("(t(", "(torch.tensor(").replace(" t(", " torch.tensor("))
    y = f(x)
    f.inv(y)
    for again in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert torch.equal(again(x), y) and torch.equal(again.inv(y), f.inv(y))


def test_base_shapes_follow_backwards():
    f = T.ComposeTransform([T.StickBreakingTransform(), T.AffineTransform(torch.zeros(2, 1), 1.0)])
    assert f.forward_shape(torch.Size([3])) == (2, 4)
    assert f.inverse_shape(torch.Size([2, 4])) == (2, 3)
    assert f.inv.forward_shape(torch.Size([2, 4])) == (2, 3)


# ---- constraints ------------------------------------------------------------------------------

REACHED = """
C.real C.positive C.nonnegative C.greater_than(-2.0) C.greater_than_eq(1.0) C.less_than(3.0)
C.unit_interval C.interval(-1.0,3.0) C.half_open_interval(0.0,2.0) C.simplex C.real_vector
C.independent(C.positive,1) C.cat([C.positive,C.unit_interval],-1,[2,1])
C.stack([C.positive,C.real,C.less_than(0.0)],1)
""".split()


@pytest.mark.parametrize("text", [*REACHED, "C.corr_cholesky"])
def test_bijections_to_constraints(text):
    torch.manual_seed(0)
    constraint = made(text)
    f = T.biject_to(constraint)
    assert f.bijective
    x = torch.randn(5, 3, dtype=torch.float64)
    y = f(x)
    assert constraint.check(y).all()
    assert torch.allclose(f.inv(y), x)
    change = f.log_abs_det_jacobian(x, y)
    assert change.shape == x.shape[:x.dim() - f.domain.event_dim]


@pytest.mark.parametrize("text", [*REACHED, "C.lower_cholesky", "C.positive_definite",
                                  "C.positive_semidefinite", "C.corr_cholesky"])
def test_transforms_to_constraints(text):
    torch.manual_seed(0)
    constraint = made(text)
    x = torch.randn(5, 3, 3, dtype=torch.float64)
    y = T.transform_to(constraint)(x)
    assert constraint.check(y).all()


def test_a_registry_of_a_users_own():
    class Even(C.Constraint):
        pass

    registry = T.constraint_registry.ConstraintRegistry()

    @registry.register(Even)
    def to_even(constraint):
        return T.AffineTransform(0.0, 2.0)

    assert registry(Even())(torch.tensor(3.0)) == 6
    assert registry.register(C.real, lambda c: T.ExpTransform()) and registry(C.real)
    with pytest.raises(TypeError, match="to be either a Constraint subclass or instance, but got"):
        registry.register(int, to_even)
    with pytest.raises(NotImplementedError, match="Cannot transform _Simplex constraints"):
        registry(C.simplex)


def test_dependent_constraints():
    class Wide(T.Distribution):
        arg_constraints = {"width": C.dependent}
        width = torch.tensor(-1.0)

        @C.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return C.interval(-self.width, self.width)

    assert C.is_dependent(Wide.support) and Wide.support.event_dim == 0
    assert not Wide.support.is_discrete
    assert isinstance(Wide().support, C.interval)  # a dependent parameter is not checked
    assert C.dependent(event_dim=1)(is_discrete=True).event_dim == 1


# ---- helpers ----------------------------------------------------------------------------------

@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1])
def test_triangles(diagonal):
    matrix = torch.arange(2.0 * 9).reshape(2, 3, 3)
    vector = T.utils.tril_matrix_to_vec(matrix, diagonal)
    assert torch.equal(vector[0], matrix[0][torch.ones(3, 3).tril(diagonal).bool()])
    assert torch.equal(T.utils.vec_to_tril_matrix(vector, diagonal), matrix.tril(diagonal))


def test_chances():
    probs = torch.tensor([0.0, 0.25, 1.0])
    logits = T.utils.probs_to_logits(probs, is_binary=True)
    assert logits.isfinite().all() and logits[1] == pytest.approx(-math.log(3))
    assert torch.allclose(T.utils.logits_to_probs(logits, is_binary=True), probs, atol=1e-6)
