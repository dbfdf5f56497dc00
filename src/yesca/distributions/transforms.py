"""Transforms: invertible functions with the change of volume that densities need.

`_transform.py` has what all share, `_elementwise.py` and `_blocks.py` the functions.
"""

from __future__ import annotations

from ..base import absent
from ._blocks import (
    CatTransform, CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform,
    ReshapeTransform, SoftmaxTransform, StackTransform, StickBreakingTransform,
)  # fmt: skip
from ._elementwise import (
    AbsTransform, AffineTransform, CumulativeDistributionTransform, ExpTransform, PowerTransform,
    SigmoidTransform, SoftplusTransform, TanhTransform,
)  # fmt: skip
from ._transform import ComposeTransform, IndependentTransform, Transform, identity_transform
from ._transform import _InverseTransform as _InverseTransform

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftplusTransform", "TanhTransform", "SoftmaxTransform", "StackTransform",
    "StickBreakingTransform", "Transform", "identity_transform",
]

__getattr__ = absent.names_of(__name__)
