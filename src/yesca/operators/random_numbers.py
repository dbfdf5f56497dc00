"""Random numbers in new tensors and in place: one launch, which holds the generator's lock.

`kind` names the distribution (see `core.draws.Recipe`), `state` is the address of the generator's
state. To the tape a draw is the storing of constants, which `dispatch.random_fills` sees to.
"""

from __future__ import annotations

from typing import Any

from ..core.draws import BLOCKS_FROM, FEW, Recipe
from ..core.dtypes import DType, float64
from ..core.memory_formats import strides_for
from ..core.spec import Spec, spec
from .kinds import rows


def recipe(kind: str, made: Spec) -> tuple[DType, int, int]:
    """What to draw for a target: the dtype of its parts, how many there are, and the recipe.

    Complex numbers are drawn as two real ones.
    """
    dtype, count = made.dtype, made.numel
    if dtype.is_complex:
        dtype, count = dtype.to_real(), 2 * count
    if kind == "normal" and made.contiguous and count >= BLOCKS_FROM:
        return dtype, count, Recipe.NORMAL_BLOCKS
    return dtype, count, getattr(Recipe, kind.upper())


def _draw(p: Any, out: Any, kind: str, first: int) -> None:
    """Fill `out`; `first`: the position of the first of the numbers given at run time."""
    dtype, count, number = recipe(kind, out.spec)
    whole = "i" if number >= Recipe.INTEGERS else "f"
    p.native("draw_words", [out], [dtype.code, count, number], min(count, 1), int(count <= FEW),
             [(first, whole), (first + 1, whole), (first + 2, "i")])


def _random_new(p: Any, size: tuple[int, ...], dtype: DType, kind: str, *numbers: Any) -> None:
    _draw(p, p.result(spec(dtype, size, None, p.device)), kind, 3)


rows("random_new(any size, any dtype, any kind, Scalar first, Scalar second, Scalar state)"
     " -> Tensor", _random_new, kind="random", method=False, doc="A new tensor of random numbers.")


def _random_fill(p: Any, self: Any, kind: str, *numbers: Any) -> None:
    base = self.spec
    made = p.result(spec(base.dtype, base.shape, strides_for(base, None), p.device))
    _draw(p, made, kind, 2)


rows("random_fill(Tensor self, any kind, Scalar first, Scalar second, Scalar state) -> Tensor",
     _random_fill, kind="random", method=False, inplace=True, takes="bifc",
     doc="Random numbers with the shape, dtype and strides of self, or in its memory.")


def no_chance(_: int) -> None:
    """Refuse a chance that is not in [0, 1]."""
    raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this "
                       "error message be improved?  If so, please report an enhancement request "
                       "to PyTorch.) Chances must be in [0, 1].")


def _random_chances(p: Any, self: Any, state: Any) -> None:
    """The chances lie in the order in which they are drawn for."""
    base = self.spec
    made = p.result(spec(base.dtype, base.shape, None, p.device))
    numbers = [base.dtype.code, base.numel, int(base.dtype is float64)]
    p.native("chances_words", [made, self, p.failing(no_chance)], numbers, min(base.numel, 1),
             int(base.numel <= FEW), [(1, "i")])


rows("random_chances(Tensor self, Scalar state) -> Tensor", _random_chances, kind="random",
     method=False, doc="Ones with the chances that a contiguous tensor holds, else zeros.")
