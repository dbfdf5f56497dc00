"""Puts builtins of machine code on the tensor's class that tell what a tensor is.

They run no plans: `runtime/native/fastitem.py` reads one value, `fastread.py` the rest. Each has
its Python twin for what it does not know.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..core import dtypes
from ..runtime import builtins, units
from . import fast


def install(cls: type) -> None:
    """Replace methods and properties of the class by builtins, which keep them as their twins."""
    from ..runtime.native import fastitem, fastread

    own = fast.FAST
    assert own is not None
    for place, dtype in ((fastitem.FLOAT32, dtypes.float32), (fastitem.INT64, dtypes.int64),
                         (fastitem.FLOAT64, dtypes.float64), (fastitem.BOOL, dtypes.bool_)):
        own.write(place, id(dtype))
    for place, name, function in ((fastitem.ITEM, "item", fastitem.item),
                                  (fastitem.AS_FLOAT, "__float__", fastitem.as_float),
                                  (fastitem.AS_TRUTH, "__bool__", fastitem.as_truth)):
        twin = cls.__dict__[name]
        own.kept.append(twin)
        own.write(place, id(twin))
        setattr(cls, name, builtins.method(cls, function, name, twin.__doc__))
    for place, names, function in (
            (fastread.SIZE, ("size",), fastread.size),
            (fastread.STRIDE, ("stride",), fastread.stride),
            (fastread.DIM, ("dim", "ndimension"), fastread.dim),
            (fastread.NUMEL, ("numel", "nelement"), fastread.numel),
            (fastread.CONTIGUOUS, ("is_contiguous",), fastread.is_contiguous),
            (fastread.DETACH, ("detach",), fastread.detach),
            (fastread.TO_LIST, ("tolist",), fastread.to_list)):
        twin = _keep(place, cls.__dict__[names[0]])
        for name in names:
            setattr(cls, name, builtins.method(cls, function, name, twin.__doc__))
    for place, name, function in (
            (fastread.SHAPE, "shape", fastread.shape), (fastread.DTYPE, "dtype", fastread.dtype),
            (fastread.DEVICE, "device", fastread.device), (fastread.NDIM, "ndim", fastread.ndim),
            (fastread.REQUIRES_GRAD, "requires_grad", fastread.requires_grad),
            (fastread.DATA, "data", fastread.data)):
        found = cls.__dict__[name]
        _keep(place, found.fget)
        reader = builtins.builtin(function, name)
        setattr(cls, name, property(reader, found.fset, found.fdel, found.__doc__))
    _install_parts(cls)


def _install_parts(cls: Any) -> None:
    """Put the maker of rows and runs in front of the builtin that finds plans of indices."""
    from ..core import spec
    from ..runtime.native import fastrows

    twin = cls.__getitem__
    things = units.address(fastrows.things)
    for place, thing in ((fastrows.TWIN, twin), (fastrows.FIND_ROW, spec.find_row),
                         (fastrows.FIND_RUN, spec.find_run)):
        fast.FAST.kept.append(thing)  # type: ignore[union-attr]
        ctypes.c_int64.from_address(things + place).value = id(thing)
    cls.__getitem__ = builtins.method(cls, fastrows.subscript, "__getitem__", twin.__doc__)


def _keep(place: int, twin: Any) -> Any:
    """Let machine code know a Python function."""
    from ..runtime.native import fastread

    fast.FAST.kept.append(twin)  # type: ignore[union-attr]
    ctypes.c_int64.from_address(units.address(fastread.twins) + place).value = id(twin)
    return twin


#: Free functions that run no plans, by name: what stands in front of them.
FUNCTIONS = ("equal",)


def function(name: str, twin: Callable[..., Any]) -> Any:
    """A builtin in front of a public function where there is one; else its twin."""
    if name not in FUNCTIONS or fast.FAST is None:
        return twin
    from ..runtime.native import fastread

    _keep(fastread.EQUAL, twin)
    return fast.builtin(units.address(fastread.equal), name, fast.owner(-1, "public"), twin.__doc__)
