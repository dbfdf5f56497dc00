"""Functions whose signatures no schema says: any number of tensors, shapes without tensors."""

from __future__ import annotations

import itertools
from typing import Any

from ..base.frames import warn_once
from ..base.naming import public_module
from ..operators.argument_types import refuse_others, whole
from ..core.devices import CPU, resolve
from ..core.dtypes import DType, bool_, int64
from ..core.spec import spec
from ..core.views import broadcast_shapes as _common_shape
from .call import OPERATORS as ops
from .creation import finished, make


def _given(tensors: tuple[Any, ...]) -> list[Any]:
    """`f(a, b)` and `f([a, b])` mean the same."""
    given = list(tensors)
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        given = list(tensors[0])
    refuse_others(given, 0)
    return given


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape, as views; who has it already is not touched."""
    given = _given(tensors)
    shapes = [t.shape for t in given]
    if len(set(shapes)) < 2:
        return tuple(given)
    shape = _common_shape(*shapes)
    return tuple(t if own == shape else ops.expand(t, shape) for t, own in zip(given, shapes))


def broadcast_shapes(*shapes: Any) -> Any:
    """The common shape of shapes (ints count as shapes of one dimension)."""
    from ..core.spec import Size

    shapes = tuple(s for s in shapes if s is not None)
    wrong = next((s for s in shapes if not isinstance(s, int | tuple | list)), None)
    if wrong is not None:
        raise RuntimeError("Input shapes should be of type ints, a tuple of ints, or a list of "
                           f"ints, got {wrong}")
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    if any(size < 0 for shape in given for size in shape):
        raise ValueError(f"Attempting to broadcast a dimension with negative length! Got {given}")
    try:
        return Size(_common_shape(*given))
    except RuntimeError as error:
        raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape: "
                           f"{error}") from None


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Coordinate grids of one-dimensional tensors, as views.

    indexing: "ij" (the first input varies along the first dimension) or "xy" (along the second).
    """
    given = _given(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the "
                  "indexing argument.")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError("torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but "
                           f"received: {indexing}")
    for t in given:
        if t.dim() > 1:
            raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but "
                               f"got: {list(t.shape)}")
        if t.dtype is not given[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype, but got "
                               f"{given[0].dtype} and {t.dtype}")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[:2] = given[1::-1]
    shape = tuple(t.numel() for t in given)
    grids = []
    for k, t in enumerate(given):
        line = ops.reshape(t, tuple(-1 if d == k else 1 for d in range(len(given))))
        grids.append(ops.expand(line, shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of one element of each one-dimensional tensor, a row each."""
    given = _given(tensors)
    for t in given:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(given) == 1:
        return given[0]
    grids = meshgrid(*given, indexing="ij")
    return ops.stack([ops.reshape(g, (-1,)) for g in grids], 1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements of a one-dimensional tensor, a row each."""
    if input.dim() != 1:
        raise RuntimeError("Expect a 1D vector, but got shape " f"{list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return ops.empty(0, dtype=input.dtype, device=input.device)
    choose = itertools.combinations_with_replacement if with_replacement \
        else itertools.combinations
    rows = list(choose(range(input.numel()), r))
    if not rows:
        return ops.reshape(ops.narrow(input, 0, 0, 0), (0, r))
    places = ops.tensor(rows, dtype=int64, device=input.device)
    return ops.index_at(input, (0,), [places])


def block_diag(*tensors: Any) -> Any:
    """A matrix with the given matrices along its diagonal."""
    refuse_others(tensors, 0)
    return ops.block_diag_list(list(tensors))


def _atleast(count: int) -> Any:
    def function(*tensors: Any) -> Any:
        from ..operators import joining

        at_least = getattr(joining, f"at_least_{count}d")
        if len(tensors) == 1:
            return at_least(ops, tensors[0])
        return at_least(ops, tensors)

    function.__name__ = function.__qualname__ = f"atleast_{count}d"
    function.__doc__ = f"Tensors with dimensions of size 1 added until there are {count}."
    return function


def _triangle_places(upper: bool) -> Any:
    name = "triu" if upper else "tril"

    def function(row: int, col: int, offset: int = 0, *, dtype: DType = int64,
                 device: Any = None, layout: Any = None, requires_grad: bool = False) -> Any:
        row, col, offset = (whole(f"{name}_indices", label, position, value) for position, (
            label, value) in enumerate((("row", row), ("col", col), ("offset", offset)), start=1))
        for label, value in (("row", row), ("col", col)):
            if value < 0:
                raise RuntimeError(f"{label} must be non-negative, got {value}")
        # The number of places is a fact about sizes: known also where there are no values.
        full = ops.ones((row, col), dtype=bool_, device=CPU)
        made = ops.transpose_copy(ops.nonzero(getattr(ops, name)(full, offset)), 0, 1)
        made = made if dtype is int64 else ops.to_dtype(made, dtype)
        place = resolve(device)
        if place is not CPU:
            made = make(spec(dtype, tuple(made.shape), None, place))
        return finished(made, requires_grad)

    function.__name__ = function.__qualname__ = f"{name}_indices"
    function.__doc__ = (f"Rows and columns of the elements of a {'n upper' if upper else ' lower'} "
                        "triangle, row by row: (2, n).")
    return function


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of a size (the last may be smaller) or of the listed sizes, as views."""
    return ops.split_pieces(tensor, split_size_or_sections, dim)


FUNCTIONS = {
    f.__name__: f for f in (
        broadcast_tensors, broadcast_shapes, meshgrid, cartesian_prod, combinations, block_diag,
        split, _atleast(1), _atleast(2), _atleast(3), _triangle_places(False),
        _triangle_places(True))
}
for _function in FUNCTIONS.values():
    _function.__module__ = public_module("torch")
