"""Chi-squared distributions."""

from __future__ import annotations

from .._tensor import Tensor
from ..base import absent
from ..types import Number
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Sums of `df` squares of standard normal numbers.

    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}
    _parameters = Gamma._parameters

    def __init__(self, df: Tensor | Number, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2, doc="The number of degrees of freedom.")


__getattr__ = absent.names_of(__name__)
