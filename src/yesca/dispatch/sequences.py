"""Sequences of numbers, and the identity matrix."""

from __future__ import annotations

import math
from typing import Any

from ..base.errors import shape_text, type_name
from ..base.frames import warn
from ..core.devices import CPU, resolve
from ..core.dtypes import (
    BOOL, COMPLEX, INTEGRAL, SCALAR_NAMES, DType, as_dtype, default_for, float64,
    get_default_dtype, int64,
)
from ..core.spec import spec
from ..core.tensor_base import TensorBase
from ..operators.argument_types import is_number, is_whole, numbers, whole
from .creation import check_out, finished, into, make


def _delivered(made: Any, out: Any, requires_grad: bool) -> Any:
    """The new tensor, or `out` with its values: in a shape of its own that holds a sequence."""
    if out is not None:
        if made.dim() == 1 and made.numel() == out._spec.numel:
            made = made.reshape(tuple(out._spec.shape))
        made = into(out, tuple(made.shape)).copy_(made)
    return finished(made, requires_grad)


def _made(name: str, device: Any, shape: tuple[int, ...], dtype: DType, *arguments: Any) -> Any:
    """What a record gives, or a tensor without bytes on the device that has none."""
    from .call import OPERATORS

    place = resolve(device)
    if place is CPU:
        return getattr(OPERATORS, name)(*arguments)
    return make(spec(dtype, shape, None, place))


def arange(start: Any, end: Any = None, step: Any = 1, *, out: Any = None,
           dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """start, start + step, ... below end."""
    if out is not None:
        check_out("arange", out, dtype, device)
    if end is None:
        numbers("arange", ("end", start))
        start, end = 0, start
    numbers("arange", ("start", start), ("end", end), ("step", step))
    start, end, step = (v.item() if isinstance(v, TensorBase) else v for v in (start, end, step))
    dtype = as_dtype(dtype)
    if dtype is None and out is not None:
        dtype = out._spec.dtype
    if dtype is None:
        floats = any(isinstance(v, float) for v in (start, end, step))
        dtype = get_default_dtype() if floats else int64
    if dtype.category in (BOOL, COMPLEX) or dtype.category == INTEGRAL and not dtype.is_signed \
            and dtype.itemsize > 1:
        raise NotImplementedError(f'"arange_cpu" not implemented for \'{SCALAR_NAMES[dtype]}\'')
    if dtype is int64:  # counted in integers throughout
        start, end, step = int(start), int(end), int(step)
    if out is not None and out._spec.dtype is int64 and not int(step):
        raise ValueError("step must be nonzero")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    size = math.ceil((end - start) / step)
    if dtype.category <= INTEGRAL:
        start, step = int(start), int(step)
    made = _made("ramp", device, (size,), dtype, size, dtype, start, step)
    if out is not None and out._spec.numel != size:
        warn(f"The number of elements in the out tensor of shape {shape_text(out.shape)} is "
             f"{out._spec.numel} which does not match the computed number of elements {size}. Note "
             "that this may occur as a result of rounding error. The out tensor will be resized "
             f"to a tensor of shape ({size},).")
    return _delivered(made, out, requires_grad)


def _end(name: str, which: str, value: Any) -> Any:
    """A number, of a 0-dim tensor where it is one."""
    if not isinstance(value, TensorBase):
        return value
    if value._spec.ndim:
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got "
                           f"{which} with {value._spec.ndim} dimension(s).")
    return value.item()  # type: ignore[attr-defined]


def _line_dtype(start: Any, end: Any) -> DType:
    if isinstance(start, complex) or isinstance(end, complex):
        return default_for(COMPLEX)
    return get_default_dtype()


def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """`steps` evenly spaced values from start to end."""
    from .call import OPERATORS

    if out is not None:
        check_out("linspace", out, dtype, device)
    if not (is_number(start) or isinstance(start, TensorBase)) or not (
            is_number(end) or isinstance(end, TensorBase)) or not is_whole(steps):
        raise TypeError("linspace() received an invalid combination of arguments - got ("
                        f"{', '.join(map(type_name, (start, end, steps)))})")
    start, end = (_end("linspace", n, v) for n, v in (("start", start), ("end", end)))
    wanted = as_dtype(dtype) or (
        out._spec.dtype if out is not None else _line_dtype(start, end))
    steps = steps.__index__()
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if wanted.is_complex:
        low, high, part = complex(start), complex(end), wanted.to_real()
        made = OPERATORS.complex(
            _made("line", device, (steps,), part, steps, part, low.real, high.real),
            _made("line", device, (steps,), part, steps, part, low.imag, high.imag))
    elif isinstance(start, complex) or isinstance(end, complex):
        raise RuntimeError(f"torch.linspace(): inferred dtype {default_for(COMPLEX)} can't be "
                           f"safely cast to passed dtype {wanted}")
    else:
        made = _made("line", device, (steps,), wanted, steps, wanted, start, end)
    return _delivered(made, out, requires_grad)


def eye(n: int, m: int | None = None, *, out: Any = None, dtype: DType | None = None,
        layout: Any = None, device: Any = None, requires_grad: bool = False,
        pin_memory: bool = False) -> Any:
    """Ones on the diagonal."""
    if out is not None:
        check_out("eye", out, dtype, device)
    n, m = whole("eye", "n", 1, n), None if m is None else whole("eye", "m", 2, m)
    for name, size in (("n", n), ("m", n if m is None else m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    columns, dtype = n if m is None else m, dtype or get_default_dtype()
    made = _made("identity", device, (n, columns), dtype, n, columns, dtype)
    return _delivered(made, out, requires_grad)


def range_(start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None,
           dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False) -> Any:
    """start, start + step, ... up to and including end; `arange` is what PyTorch recommends."""
    from ..base.frames import warn

    warn("torch.range is deprecated and will be removed in a future release because its "
         "behavior is inconsistent with Python's range builtin. Instead, use "
         "torch.arange, which produces values in [start, end).")
    if out is not None:
        check_out("range", out, dtype, device)
    if end is None:
        raise TypeError("range() missing the argument 'end'; use arange(end) for 0, 1, ... end - 1")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    size = int((end - start) / step + 1)
    dtype = dtype or get_default_dtype()
    # PyTorch's default device does not reach this one.
    made = _made("ramp", device or CPU, (size,), dtype, size, dtype, start, step)
    return _delivered(made, out, requires_grad)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None,
             dtype: DType | None = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Any:
    """base ** start to base ** end in `steps` steps whose exponents are evenly spaced.

    >>> import yesca as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    from .call import OPERATORS

    if out is not None:
        check_out("logspace", out, dtype, device)
    start, end = (_end("logspace", n, v) for n, v in (("start", start), ("end", end)))
    wanted = as_dtype(dtype) or (
        out._spec.dtype if out is not None else _line_dtype(start, end))
    exponents = linspace(start, end, steps, device=device, dtype=(
        wanted if wanted.is_complex else float64))
    made = OPERATORS.pow(float(base), exponents)
    made = made if made.dtype is wanted else OPERATORS.to_dtype(made, wanted)
    return _delivered(made, out, requires_grad)


range_.__name__ = range_.__qualname__ = "range"
FUNCTIONS = {f.__name__: f for f in (arange, linspace, logspace, eye, range_)}
