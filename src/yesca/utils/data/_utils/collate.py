"""Samples to a batch: `default_collate`, its registry, and `default_convert`."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....core.dtypes import float64
from .. import _engine

CollateMap = dict[type | tuple[type, ...], Callable[..., Any]]

#: dtypes of NumPy arrays that no tensor can hold: strings and objects.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """Turn NumPy arrays and numbers within a sample into tensors; leave the rest as it is."""
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_", "bytes_"):
        if kind.__name__ == "ndarray" and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return ops.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        parts = [default_convert(part) for part in data]
        return kind(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt_sequence(data, [default_convert(part) for part in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make a batch of samples that look alike: containers element by element, to any depth.

    Args:
        batch: the samples.
        collate_fn_map: element types, or tuples of them, and the functions
            `f(batch, *, collate_fn_map)` that make batches of them. Exact types come first, then
            the order of the map.

    Raises:
        TypeError: there is no way to make a batch of such samples.
    """
    elem = batch[0]
    function = _function_for(elem, collate_fn_map)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def merged(parts: Any) -> Any:
        return collate(parts, collate_fn_map=collate_fn_map)

    if isinstance(elem, Mapping):
        return _rebuilt_mapping(
            elem, {key: merged([sample[key] for sample in batch]) for key in elem}
        )
    if isinstance(elem, tuple) and hasattr(elem, "_fields"):
        return type(elem)(*(merged(parts) for parts in zip(*batch)))
    if isinstance(elem, Sequence):
        if any(len(sample) != len(elem) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [merged(parts) for parts in zip(*batch)]
        return columns if isinstance(elem, tuple) else _rebuilt_sequence(elem, columns)
    raise TypeError(default_collate_err_msg_format.format(type(elem)))


def _function_for(elem: Any, functions: CollateMap | None) -> Callable[..., Any] | None:
    if functions is None:
        return None
    exact = functions.get(type(elem))
    if exact is not None:
        return exact
    return next((function for kind, function in functions.items() if isinstance(elem, kind)), None)


def _rebuilt_mapping(like: Any, items: dict[Any, Any]) -> Any:
    """A mapping of the kind of `like`; a plain dict if that kind cannot be made so."""
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(items)
            return clone
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _rebuilt_sequence(like: Any, items: list[Any]) -> Any:
    """A sequence of the kind of `like`; a plain list if that kind cannot be made so."""
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for place, item in enumerate(items):
                clone[place] = item
            return clone
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack tensors of one shape along a new first dimension."""
    return _engine.stacked(batch)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack NumPy arrays as tensors."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([ops.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """A tensor of NumPy's numbers."""
    import numpy as np

    return ops.as_tensor(np.array(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """A float64 tensor of Python floats."""
    return ops.tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """A tensor of Python ints (int64) or bools."""
    return ops.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Strings stay as they are."""
    return batch


#: The registry of `default_collate`: add a type and its function to teach it that type. NumPy's
#: types join it when NumPy has been imported.
default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
_numpy_known = [False]


def _meet_numpy() -> None:
    # Before `float`, of which NumPy's float64 is a subclass.
    import numpy as np

    own = dict(default_collate_fn_map)
    default_collate_fn_map.clear()
    default_collate_fn_map[Tensor] = own.pop(Tensor, collate_tensor_fn)
    numpy_kinds = {
        np.ndarray: collate_numpy_array_fn,
        (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    }
    for kind, function in numpy_kinds.items():
        default_collate_fn_map[kind] = own.pop(kind, function)  # type: ignore[index]
    default_collate_fn_map.update(own)
    _numpy_known[0] = True


def default_collate(batch: Any) -> Any:
    """What a loader makes of a list of samples: the batch, with a new first dimension.

    Tensors and NumPy arrays are stacked; floats give float64, ints int64; strings stay a list;
    dicts, named tuples, tuples and lists are merged element by element (a tuple gives a list).

    Example::

        >>> from yesca.utils.data import default_collate
        >>> default_collate([(1, 2.5, "a"), (3, 4.5, "b")])
        [tensor([1, 3]), tensor([2.5000, 4.5000], dtype=torch.float64), ('a', 'b')]
    """
    if not _numpy_known[0] and "numpy" in sys.modules:
        _meet_numpy()
    return collate(batch, collate_fn_map=default_collate_fn_map)
