"""Which function computes the divergence of which pair of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..base.frames import warn
from .distribution import Distribution

Pair = tuple[type, type]
Divergence = Callable[[Any, Any], Tensor]

_KL_REGISTRY: dict[Pair, Divergence] = {}
_KL_MEMOIZE: dict[Pair, Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """A decorator: a function f(p, q) computes the divergence of two classes and of those derived
    from them, unless a nearer pair is registered.

        @register_kl(Normal, MyNormal)
        def normal_from_mine(p, q): ...
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type) or not issubclass(given, Distribution):
            raise TypeError(
                f"Expected {name} to be a Distribution subclass but got {given}")

    def register(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _nearest(matches: list[Pair], first: int) -> Pair:
    """Of pairs that fit, the one whose classes are nearest, one side (0 or 1) counting first."""
    def distance(pair: Pair) -> tuple[int, int]:
        # A class that derives from another has more ancestors, and is nearer.
        return -len(pair[first].__mro__), -len(pair[1 - first].__mro__)

    return min(matches, key=distance)


def _find(type_p: type, type_q: type) -> Divergence | None:
    matches = [pair for pair in _KL_REGISTRY
               if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return None
    left, right = _nearest(matches, 0), _nearest(matches, 1)
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
             f"register_kl({left[0].__name__}, {right[1].__name__})", RuntimeWarning)
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of Kullback and Leibler: the mean of log p(x) - log q(x) over draws of p.

    The result has the batch's shape. Raises NotImplementedError for pairs without a formula.

    >>> T = torch.distributions
    >>> T.kl_divergence(T.Normal(0.0, 1.0), T.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _find(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type "
            f"{pair[1].__name__}")
    return function(p, q)
