"""`torch.special`: functions of mathematics, under the names that SciPy gave them.

>>> import yesca as torch
>>> torch.special.expit(torch.tensor([0.0, 2.0]))
tensor([0.5000, 0.8808])
"""

from __future__ import annotations

from typing import Any

from ..base import absent

#: Names of functions that the package has under another name, or under the same one.
_ALIASES = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac",
    "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "log_softmax": "log_softmax",
    "logit": "logit", "logsumexp": "logsumexp", "multigammaln": "mvlgamma",
    "polygamma": "polygamma", "psi": "digamma", "round": "round", "sinc": "sinc",
    "softmax": "softmax", "xlogy": "xlogy",
}
_OWN = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "entr", "erfcx",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0e", "i1", "i1e", "laguerre_polynomial_l",
    "legendre_polynomial_p", "log_ndtr", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "ndtr", "ndtri", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "spherical_bessel_j0", "xlog1py", "zeta",
)
__all__ = sorted((*_ALIASES, *_OWN))
_NAMES = {**_ALIASES, **{name: f"special_{name}" for name in _OWN}}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise absent.error(__name__, name)
    from .. import functional

    made = globals()[name] = getattr(functional, _NAMES[name])
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
