"""What operator programs hold in place of tensors and of stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.dtypes import DType
from ..core.spec import Spec, spec
from ..core.views import Strided
from ..loops.ir import Expr

#: Where the slots of results, temporaries and error cells begin while a plan is built; operands
#: count from 0. `Program.finish` numbers them without gaps.
RESULT, TEMPORARY, ERROR = (k << 40 for k in (1, 2, 3))
NO_ERROR = -(1 << 63)  # the one value that a failed check cannot report: its cell stays 0


@dataclass(frozen=True)
class Ref:
    """A tensor of the call: its slot and how it is seen."""

    slot: int
    spec: Spec
    beyond: int = 0  # elements beyond the tensor's first
    row: bool = False  # one value per row: no inner axis

    def seen(self, made: Strided) -> Ref:
        """The same memory through another view (see `core.views`)."""
        shape, strides, offset = made
        own = self.spec
        return Ref(self.slot, spec(own.dtype, shape, strides, own.device, own.conj, own.neg),
                   self.beyond + offset, self.row)

    def reread(self, dtype: DType, made: Strided) -> Ref:
        """The same memory as elements of another dtype; offsets so far are counted anew."""
        shape, strides, offset = made
        start = self.beyond * self.spec.dtype.itemsize // dtype.itemsize
        return Ref(self.slot, spec(dtype, shape, strides, self.spec.device), start + offset,
                   self.row)

    def moved(self, elements: int) -> Ref:
        """The same view, begun further on."""
        return Ref(self.slot, self.spec, self.beyond + elements, self.row) if elements else self

    def as_rows(self) -> Ref:
        """One value per row of the stage."""
        return Ref(self.slot, self.spec, self.beyond, True)


@dataclass(frozen=True)
class Put:
    """A stored value at `offset` elements beyond the point's place; see ir.Store."""

    value: Expr
    offset: Expr | None = None
    guard: Expr | None = None
    accumulate: str = ""  # "sum", "prod", "max" or "min": combined with what is there


def raise_first(raisers: list[Callable[[int], None]], cells: list[int]) -> None:
    """Raise what the first failed check explains."""
    for fail, cell in zip(raisers, cells, strict=True):
        if cell:
            fail(cell ^ NO_ERROR)
    raise RuntimeError("[launch] a kernel reported an error that its record does not explain")
