"""Indexing: Python's index expressions as views, gathers and writes."""

from __future__ import annotations

from typing import Any

from .base.errors import type_name
from .base.frames import warn
from .core.devices import META
from .core.dtypes import (
    INTEGRAL, SCALAR_NAMES, SMALL_FLOATS, bfloat16, bool_, float16, int32, int64, uint8,
)
from .core.tensor_base import TensorBase
from .dispatch import chosen, creation, fast, from_data, inplace
from .dispatch.call import OPERATORS, call
from .dispatch.functions import record
from .dispatch.protocol import through_mode
from .dispatch.state import STATE

_basic: list[Any] = []
_ALL = slice(None)
_BASIC = (int, slice, type(None), type(Ellipsis))
_INDICES = (int64, int32, uint8, bool_)
_LONGEST = 31  # sequences up to this length may stand for a tuple of indices


def _is_basic(index: Any) -> bool:
    """Whether an index expression gives a view."""
    kind = type(index)
    return kind in _BASIC or (kind is tuple and all(type(i) in _BASIC for i in index))


def get(tensor: Any, index: Any) -> Any:
    """`tensor[index]`."""
    if STATE.levels and not STATE.levels[-1].transforms:
        return _by_mode("__getitem__", tensor, index)
    if not _basic:
        _basic.append(record("getitem"))
    if _is_basic(index):
        return call(_basic[0], (tensor, _bounded(index)))
    if isinstance(index, TensorBase) and index._spec.dtype is bool_:
        made = chosen.masked(tensor, index)
        if made is not None:
            return made
    view, indices = _parts(tensor, index)
    if not indices:
        return OPERATORS.alias(tensor) if view is tensor else view
    return OPERATORS.index_at(view, *_packed(view, indices))


def _by_mode(name: str, *args: Any) -> Any:
    """A mode sees what the program wrote, and not what that is made of."""
    from ._tensor import Tensor

    return through_mode(getattr(Tensor, name), args, {})


def _bounded(index: Any) -> Any:
    """A basic index with slices of plain integers."""
    return tuple(map(_settled, index)) if type(index) is tuple else _settled(index)


def _parts(tensor: Any, index: Any) -> tuple[Any, dict[int, Any]]:
    """`split`, with a shorter way for one mask."""
    if isinstance(index, TensorBase) and index._spec.dtype is bool_ and index._spec.ndim:
        if index._spec.ndim > tensor._spec.ndim:
            raise IndexError(f"too many indices for tensor of dimension {tensor._spec.ndim}")
        return tensor, {0: index}
    return split(tensor, index)


def put(tensor: Any, index: Any, value: Any) -> None:
    """`tensor[index] = value`."""
    if STATE.levels and not STATE.levels[-1].transforms:
        _by_mode("__setitem__", tensor, index, value)
        return
    if not isinstance(value, TensorBase):
        value = _as_value(value, tensor)
    if index is False:
        return  # whatever the value's shape
    if index is True:
        index = None
    if index is Ellipsis or (type(index) is slice and index == _ALL and tensor._spec.ndim):
        view, indices = tensor, {}  # no view of it
    elif _is_basic(index):
        view, indices = _view(tensor, index), {}
    else:
        view, indices = _parts(tensor, index)
    inplace.check_captured(tensor, "index_put_" if indices else "copy_")
    if isinstance(value, TensorBase):
        value = _beside(view, value)
    if indices:
        _put_indexed(view, indices, value)
        return
    inplace.check_places(view._spec)
    if isinstance(value, TensorBase):
        if view._spec.ndim and not value._spec.ndim and not value._spec.dtype.is_complex:
            OPERATORS.fill_(view, value)
        else:
            OPERATORS.copy_(view, _fitting(value, view))
    else:
        if STATE.tape and view._requires_grad:  # PyTorch's node has an edge for the value
            value = creation.full((), value, dtype=view.dtype, device=view.device)
        OPERATORS.fill_(view, value)


def _view(tensor: Any, index: Any) -> Any:
    """The part of a tensor at a basic index."""
    if fast.FAST is not None and type(tensor) is fast.FAST.types["tensor"]:
        return tensor[index]  # rows and runs then need no plan for each number
    return OPERATORS.getitem(tensor, _bounded(index))


#: Numbers up to here fit into all half types; what is too large is assigned as infinity.
_SURE = 65504.0


def _as_value(value: Any, tensor: Any) -> Any:
    """What is no tensor must be a number: Python's, or a NumPy scalar that passes for one."""
    plain = type(value)
    if plain in (float, int, bool, complex):
        if plain is int and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        dtype = tensor._spec.dtype
        if dtype in SMALL_FLOATS or dtype in (float16, bfloat16) and not (
                plain is not complex and abs(value) <= _SURE):
            return creation.scalar_tensor(value, dtype=tensor.dtype, device=tensor.device)
        return value
    if isinstance(value, (int, float, complex)):  # NumPy's, or a class of the program's
        made = next(kind(value) for kind in (int, float, complex) if isinstance(value, kind))
        return _as_value(made, tensor)
    if type(value).__module__ == "numpy" and getattr(value, "__index__", None) is not None \
            and type(value).__name__ != "ndarray":
        return value.__index__()
    raise TypeError(f"can't assign a {type_name(value)} to a "
                    f"torch.{SCALAR_NAMES[tensor._spec.dtype]}Tensor")


def _fitting(value: Any, view: Any) -> Any:
    """A value in the target's shape: leading dimensions of size 1 that this has not got go."""
    shape, wanted = value._spec.shape, view._spec.shape
    extra = len(shape) - len(wanted)
    if extra > 0 and all(n == 1 for n in shape[:extra]):
        value = OPERATORS.reshape(value, tuple(shape[extra:]))
    return value if value._spec.shape == wanted else OPERATORS.expand(value, tuple(wanted))


def _put_indexed(view: Any, indices: dict[int, Any], value: Any) -> None:
    if len(indices) == 1 and (not isinstance(value, TensorBase) or value._spec.numel == 1):
        (dim, index), = indices.items()
        if index.dtype in (bool_, uint8) and _check_mask(view, dim, index):
            if isinstance(value, TensorBase):
                value = OPERATORS.reshape(value, ())
            mask = _stretched(_beside(view, index), view.dim() - dim)
            OPERATORS.masked_fill_(view, mask, value)
            return
    if not isinstance(value, TensorBase):
        value = creation.full((), value, dtype=view.dtype, device=view.device)
    where, tensors = _packed(view, indices)
    OPERATORS.index_put_at_(view, value, where, tensors, False)


def _packed(view: Any, indices: dict[int, Any]) -> tuple[tuple[int, ...], list[Any]]:
    """Which dimensions are indexed, by which integer tensors (masks become positions)."""
    where: list[int] = []
    tensors: list[Any] = []
    for dim, index in indices.items():
        if index.dtype in (bool_, uint8):
            if index.dtype is uint8:
                warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype "
                     "torch.bool instead.")
            _check_mask(view, dim, index)
            found = OPERATORS.nonzero_tuple(index)
            where += [dim + k for k in range(len(found))]
            tensors += found
        else:
            where.append(dim)
            tensors.append(index)
    return tuple(where), [_beside(view, index) for index in tensors]


def _beside(view: Any, other: Any) -> Any:
    """What indexes a tensor without values, or is written to it, needs no values either."""
    if view._spec.device is other._spec.device:
        return other
    if other._spec.device is META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    return other.to(view._spec.device)


def _stretched(mask: Any, ndim: int) -> Any:
    """A mask with dimensions of size 1 behind its own, so that it broadcasts as an index would."""
    return mask if mask.dim() == ndim else OPERATORS.reshape(
        mask, (*mask.shape, *(1 for _ in range(ndim - mask.dim()))))


def _check_mask(view: Any, dim: int, mask: Any) -> bool:
    if mask._spec.shape == view._spec.shape:
        return True
    for k, size in enumerate(mask.shape):
        if view.shape[dim + k] != size:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {k} does not match the shape "
                f"of the indexed tensor {list(view.shape)} at index {dim + k}")
    return True


def split(tensor: Any, index: Any) -> tuple[Any, dict[int, Any]]:
    """The basic part applied as a view, and the tensors that index its dimensions."""
    items = list(index) if _is_several(index) else [index]
    if len(items) > tensor.dim() and sum(map(_width, items)) > tensor.dim():
        raise IndexError(f"too many indices for tensor of dimension {tensor.dim()}")
    items = [_settled(i) for i in items]
    used = sum(_width(i) for i in items)
    if used > tensor.dim():
        raise IndexError(f"too many indices for tensor of dimension {tensor.dim()}")
    if Ellipsis not in [i for i in items if not isinstance(i, TensorBase)]:
        items.append(Ellipsis)
    basic: list[Any] = []
    indices: dict[int, Any] = {}
    place = 0  # dimension of the view that the next item describes
    for item in items:
        if item is Ellipsis:
            spread = tensor.dim() - used
            basic += [slice(None)] * spread
            place += spread
        elif isinstance(item, TensorBase):
            if not item._spec.ndim and item._spec.dtype in (bool_, uint8):
                basic.append(None)  # of one dimension more all is taken, or nothing
                indices[place], = OPERATORS.nonzero_tuple(OPERATORS.reshape(item, (1,)))
                place += 1
                continue
            indices[place] = item
            width = _width(item)
            basic += [slice(None)] * width
            place += width
        else:
            basic.append(item)
            place += not isinstance(item, int)
    if all(isinstance(i, slice) and i == slice(None) for i in basic):
        return tensor, indices
    return call(record("getitem"), (tensor, tuple(basic))), indices  # type: ignore[arg-type]


def _is_several(index: Any) -> bool:
    """Whether an index stands for several: a tuple does, and a short sequence with more than
    numbers in it, as NumPy once had it."""
    if isinstance(index, tuple):
        return True
    if isinstance(index, TensorBase) or not _is_sequence(index) or len(index) > _LONGEST:
        return False
    if not any(i is None or i is Ellipsis or isinstance(i, (slice, TensorBase)) or _is_sequence(i)
               for i in index):
        return False
    if type(index).__module__ != "numpy" and not isinstance(index, (str, bytes)):
        warn("Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
             "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this "
             "will be interpreted as tensor index, x[torch.tensor(seq)], which will result either "
             "in an error or a different result")
        return True
    return isinstance(index, str)


def _is_sequence(value: Any) -> bool:
    """Whether items can be asked for by position."""
    kind = type(value)
    return not isinstance(value, dict) and getattr(kind, "__getitem__", None) is not None \
        and getattr(kind, "__len__", None) is not None and getattr(value, "ndim", 1) != 0


def _width(item: Any) -> int:
    """How many dimensions an index takes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, TensorBase) and item._spec.dtype in (bool_, uint8):
        return item._spec.ndim
    return 1


def _settled(item: Any) -> Any:
    """Anything that may stand in an index as int, slice, None, Ellipsis or tensor."""
    kind = type(item)
    if kind is int:
        return _word(item)
    if item is None or item is Ellipsis:
        return item
    if kind is slice:
        return slice(_bound(item.start), _bound(item.stop), _bound(item.step))
    if kind is bool:
        return from_data.tensor(item)
    if isinstance(item, TensorBase):
        spec = item._spec
        if not spec.ndim and spec.dtype.category == INTEGRAL and spec.dtype is not uint8 \
                and item._all_examples() is item:  # one of a batch has no number of its own
            return int(item.item())  # type: ignore[attr-defined]
        if spec.dtype not in _INDICES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return item
    if _is_sequence(item):
        if isinstance(item, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type_name(item)}'")
        if len(item) == 0:
            return creation.empty(0, dtype=int64)
        made = from_data.from_data(item, None, None, copy=False)
        if made.is_complex():
            raise TypeError("'complex' object cannot be interpreted as an integer")
        return _settled(made if made._spec.dtype in (bool_, uint8) else made.long())
    if getattr(item, "__index__", None) is not None:
        return _word(item.__index__())
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
        f"valid indices (got {type_name(item)})")


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def _word(number: int) -> int:
    """An index that 64 bits hold."""
    if not _LEAST <= number <= _MOST:
        raise ValueError("Overflow when unpacking long long")
    return number


def _bound(value: Any) -> int | None:
    """A part of a slice: what 64 bits do not hold is as good as the last number they do."""
    if value is None:
        return value
    if getattr(value, "__index__", None) is None:
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return min(max(int(value.__index__()), _LEAST), _MOST)
