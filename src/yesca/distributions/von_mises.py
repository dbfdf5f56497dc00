"""Von Mises distributions: normal distributions on the circle."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functional as ops
from .. import special
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.dtypes import bool_, float64
from ..core.spec import Size
from ..types import Number
from . import constraints
from .distribution import Distribution
from .utils import _uniform, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles with densities in proportion to exp(concentration * cos(x - loc)), drawn from
    [-pi, pi).

    >>> torch.distributions.VonMises(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints = {
        "loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "concentration")

    def __init__(self, loc: Tensor | Number, concentration: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    mean = property(lambda self: self.loc, doc="The mean direction.")
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance: 1 minus the length of the mean of the points on the circle."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        away = ops.cos(self._checked(value) - self.loc) - 1  # i0e has a factor exp(-concentration)
        scale = special.i0e(self.concentration).log() + math.log(2 * math.pi)
        return self.concentration * away - scale

    @lazy_property
    def _proposal(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that proposes angles."""
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # For small concentrations the difference loses its digits; the series does not.
        return ops.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Angles by rejection (Best and Fisher 1979), computed in float64."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            kappa, r = self.concentration.to(float64), self._proposal
            angle = ops.zeros(shape, dtype=float64, device=kappa.device)
            done = ops.zeros(shape, dtype=bool_, device=kappa.device)
            while not done.all():
                turn, accepting, side = _uniform((3, *shape), kappa).unbind()
                z = ops.cos(math.pi * turn)
                cosine = (1 + r * z) / (r + z)
                c = kappa * (r - cosine)
                accept = (c * (2 - c) > accepting) | ((c / accepting).log() + 1 - c >= 0)
                angle = ops.where(accept, (side - 0.5).sign() * cosine.acos(), angle)
                done = done | accept
            turned = angle + math.pi + self.loc.to(float64)
            return (turned % (2 * math.pi) - math.pi).to(self.loc.dtype)


__getattr__ = absent.names_of(__name__)
