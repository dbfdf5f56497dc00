"""Normal distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..base import absent
from ..core.spec import Size
from ..types import Number
from ._families import LocationScale
from .exp_family import ExponentialFamily
from .utils import _standard_normal

__all__ = ["Normal"]

_HALF_LOG_TURN = 0.5 * math.log(2 * math.pi)


class Normal(LocationScale, ExponentialFamily):
    """Normal distributions of mean `loc` and standard deviation `scale`.

    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.9189, -1.4189])
    """

    _mean_carrier_measure = 0
    _standard_entropy = 0.5 + _HALF_LOG_TURN
    _parameters = ("loc", "scale")

    def __init__(self, loc: Tensor | Number, scale: Tensor | Number,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.pow(2))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.normal(self.loc.expand(shape), self.scale.expand(shape))

    def _noise(self, shape: Size) -> Tensor:
        return _standard_normal(shape, self.loc.dtype, self.loc.device)

    def _log_density(self, z: Tensor) -> Tensor:
        return -0.5 * z**2 - _HALF_LOG_TURN

    def _distribution_function(self, z: Tensor) -> Tensor:
        return 0.5 * (1 + ops.erf(z / math.sqrt(2)))

    def _quantile(self, chance: Tensor) -> Tensor:
        return ops.erfinv(2 * chance - 1) * math.sqrt(2)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        precision = self.scale.pow(-2)
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * ops.log(-math.pi / y)


__getattr__ = absent.names_of(__name__)
