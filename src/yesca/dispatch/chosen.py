"""What depends on the values of a mask: the places of true elements, the elements at them.

How many there are no plan can say beforehand, so machine code looks and makes the result at once
(`runtime/native/fastmask.py`); where it cannot, plans are made for the number that was found.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..runtime import builtins
from . import bridges, fast


@cache
def _native(name: str) -> Any:
    """A function of machine code, or one that always leaves it to plans."""
    if fast.FAST is None:
        return lambda *_: None
    from ..runtime.native import fastmask

    bridges.prepare()
    return builtins.builtin(getattr(fastmask, name), name)


def found_positions(self: Any) -> Any:
    """(count, ndim) indices of the elements that are not zero."""
    made = _native("positions")(self)
    if made is not None:
        return made
    from .call import OPERATORS

    return OPERATORS.positions(self, int(OPERATORS.count_nonzero(self).item()))


def masked(self: Any, mask: Any) -> Any:
    """`self[mask]`, or None where plans have to see to it."""
    return _native("masked")(self, mask)


FUNCTIONS = {"_found_positions": found_positions, "_masked": masked}
