"""Names that both versions of the interface have."""

from __future__ import annotations

from ..interpolation import InterpolationMode as InterpolationMode
from ..policies import AutoAugmentPolicy as AutoAugmentPolicy
