"""torch.special: values against closed forms and tabulated numbers, gradients, domains."""

import math

import numpy as np
import pytest
from finite_differences import array, check_gradients

import yesca as torch
from yesca import special

INF, NAN = math.inf, math.nan

#: (function, argument, value), computed with 40 digits
KNOWN = [
    ("bessel_j0", 1.0, 0.7651976865579666), ("bessel_j0", 20.0, 0.1670246643405832),
    ("bessel_j1", -3.0, -0.3390589585259365), ("bessel_j1", 50.0, -0.09751182812517514),
    ("bessel_y0", 0.5, -0.4445187335067066), ("bessel_y0", 10.0, 0.05567116728359939),
    ("bessel_y1", 2.0, -0.1070324315409375), ("bessel_y1", 30.0, 0.08442557066174723),
    ("i0", 2.0, 2.279585302336067), ("i1", -2.0, -1.590636854637329),
    ("i0e", 100.0, 0.03994437929909668), ("i1e", 9.0, 0.1272249839358912),
    ("modified_bessel_k0", 1.0, 0.4210244382407083),
    ("modified_bessel_k1", 3.0, 0.04015643112819418),
    ("airy_ai", 0.0, 0.3550280538878172), ("airy_ai", 5.0, 0.0001083444281360744),
    ("airy_ai", -8.0, -0.0527050503563862),
    ("erfcx", 10.0, 0.05614099274382259), ("ndtr", -1.0, 0.1586552539314571),
    ("log_ndtr", -30.0, -454.3212439563432), ("ndtri", 0.975, 1.959963984540054),
    ("ndtri", 1e-20, -9.262340089798408), ("entr", 0.5, 0.3465735902799727),
]  # fmt: skip


@pytest.mark.parametrize("name, x, expected", KNOWN)
def test_known_values(name, x, expected):
    made = getattr(special, name)(torch.tensor(x, dtype=torch.float64)).item()
    assert made == pytest.approx(expected, rel=5e-14)
    single = getattr(special, name)(torch.tensor(x)).item()
    assert single == pytest.approx(expected, rel=1e-5)


def test_ends_of_the_domains():
    def at(name, *values):
        return getattr(special, name)(torch.tensor(values)).tolist()

    assert at("bessel_y0", 0.0) == [-INF] and math.isnan(at("bessel_y0", -1.0)[0])
    assert at("modified_bessel_k0", 0.0) == [INF]
    assert at("ndtri", 0.0, 0.5, 1.0) == [-INF, 0.0, INF]
    assert at("entr", 0.0, -1.0) == [0.0, -INF]
    assert at("bessel_j0", INF, 0.0) == [0.0, 1.0]
    for name in ("bessel_j1", "i0", "erfcx", "log_ndtr", "airy_ai", "entr"):
        assert math.isnan(at(name, NAN)[0])


def test_wronskians():
    x = torch.linspace(0.1, 40, 200, dtype=torch.float64)
    j = special.bessel_j1(x) * special.bessel_y0(x) - special.bessel_j0(x) * special.bessel_y1(x)
    assert np.allclose(array(j * x), 2 / math.pi, rtol=1e-12)
    k = (special.i0e(x) * special.scaled_modified_bessel_k1(x)
         + special.i1e(x) * special.scaled_modified_bessel_k0(x))
    assert np.allclose(array(k * x), 1, rtol=1e-13)


def test_zeta_and_polygamma():
    two = torch.tensor(2.0, dtype=torch.float64)
    assert special.zeta(two, 1.0).item() == pytest.approx(math.pi**2 / 6, rel=1e-14)
    assert special.zeta(4.0, two / 2).item() == pytest.approx(math.pi**4 / 90, rel=1e-14)
    assert special.zeta(torch.tensor([1.0, 2.0]), torch.tensor([3.0, -2.0])).tolist() == [INF, INF]
    one = two / 2
    assert torch.polygamma(0, one).item() == pytest.approx(-0.577215664901533, rel=1e-14)
    assert one.polygamma(1).item() == pytest.approx(math.pi**2 / 6, rel=1e-14)
    assert torch.polygamma(2, one).item() == pytest.approx(-2.40411380631919, rel=1e-14)
    with pytest.raises(RuntimeError, match="does not support negative n"):
        torch.polygamma(-1, one)


def test_polynomials_by_degree():
    x = torch.tensor([-0.5, 0.25, 2.0], dtype=torch.float64)
    n = torch.tensor([3, 2, 4])
    made = special.chebyshev_polynomial_t(x, n)
    assert made.tolist() == pytest.approx([1.0, -0.875, 97.0])
    assert special.chebyshev_polynomial_u(x, 2).tolist() == pytest.approx([0.0, -0.75, 15.0])
    assert special.shifted_chebyshev_polynomial_t(x, 1).tolist() == [-2.0, -0.5, 3.0]
    assert special.hermite_polynomial_h(2.0, n).tolist() == [40.0, 14.0, 76.0]
    assert special.hermite_polynomial_he(x, 2).tolist() == [-0.75, -0.9375, 3.0]
    assert special.laguerre_polynomial_l(x, 1).tolist() == [1.5, 0.75, -1.0]
    assert special.legendre_polynomial_p(x, 2).tolist() == [-0.125, -0.40625, 5.5]
    assert special.legendre_polynomial_p(x, -1).tolist() == [0.0, 0.0, 0.0]


def test_incomplete_gamma():
    a = torch.tensor([0.5, 1.0, 2.0, 30.0], dtype=torch.float64)
    x = torch.tensor([1.0, 2.0, 0.5, 40.0], dtype=torch.float64)
    low, high = special.gammainc(a, x), special.gammaincc(a, x)
    assert low.tolist() == pytest.approx(
        [math.erf(1.0), 1 - math.exp(-2), 1 - 1.5 * math.exp(-0.5), 0.9567713178482644], rel=1e-12)
    assert np.allclose(array(low + high), 1)
    assert torch.igamma(a, x * 0).tolist() == [0.0] * 4
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.igamma(a, 2)


def test_aliases():
    x = torch.tensor([0.3, 0.6])
    assert special.expit(x).tolist() == torch.sigmoid(x).tolist()
    assert special.gammaln is torch.lgamma and special.psi is torch.digamma
    expected = [math.lgamma(v) + math.lgamma(v - 0.5) + math.log(math.pi) / 2 for v in (2.0, 3.5)]
    made = special.multigammaln(torch.tensor([2.0, 3.5], dtype=torch.float64), 2)
    assert made.tolist() == pytest.approx(expected)
    assert special.xlog1py(torch.tensor([0.0, 2.0]), -1.0).tolist() == [0.0, -INF]
    assert {"airy_ai", "zeta"} <= set(dir(special))


@pytest.mark.parametrize("function", [
    torch.digamma, torch.i0, special.i0e, special.i1, special.i1e, special.erfcx, special.ndtr,
    special.log_ndtr, lambda x: special.entr(x * x + 0.1), lambda x: special.ndtri(x * x * 0.5),
    lambda x: special.xlog1py(x, x * x),
    lambda x: torch.polygamma(2, x + 2), lambda x: torch.polygamma(1, x + 2),
    lambda x: special.gammainc(torch.full_like(x, 2.5).detach(), x * x + 0.5),
])  # fmt: skip
def test_gradients(function):
    check_gradients(function, [(4,)])
