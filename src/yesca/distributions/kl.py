"""Divergences of Kullback and Leibler.

`_kl_registry.py` finds the function for a pair of classes, `_kl_families.py` has those of two
distributions of one family, `_kl_pairs.py` those of two families.
"""

from __future__ import annotations

from ..base import absent
from . import _kl_families as _kl_families
from . import _kl_pairs as _kl_pairs
from ._kl_registry import _KL_MEMOIZE as _KL_MEMOIZE
from ._kl_registry import _KL_REGISTRY as _KL_REGISTRY
from ._kl_registry import kl_divergence, register_kl

__all__ = ["register_kl", "kl_divergence"]

__getattr__ = absent.names_of(__name__)
