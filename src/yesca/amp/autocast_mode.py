"""`autocast`: a region in which products run in a lower precision and losses in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..base.frames import warn
from .._tensor import Tensor
from ..base.naming import lives_in
from ..core.dtypes import DType, bfloat16, float16, float64
from ._devices import (
    autocast_decrement_nesting, autocast_increment_nesting, clear_autocast_cache,
    get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype, is_autocast_available,
    is_autocast_cache_enabled, is_autocast_cpu_enabled, is_autocast_enabled,
    set_autocast_cache_enabled, set_autocast_cpu_dtype, set_autocast_cpu_enabled,
    set_autocast_dtype, set_autocast_enabled, set_autocast_gpu_dtype,
)

__all__ = [
    "autocast_decorator", "autocast", "is_autocast_available", "custom_fwd", "custom_bwd",
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
]


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]
                       ) -> Callable[..., Any]:
    """`func`, run inside a region."""
    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


@lives_in("torch.amp.autocast_mode")
class autocast:
    """A region of mixed precision: a context manager, and a decorator.

    Matrix products, convolutions, linear layers and attention cast float32 arguments to `dtype`;
    losses, `prod` and a few others widen halves to float32; `cat` and `stack` take the widest
    dtype of their arguments; everything else runs on what it gets. float64 is left alone. Weights
    stay as they are: their casts are kept until the outermost region ends, and gradients come
    back in the weights' own dtype.

    Args:
        device_type: `"cpu"`; another device's name is accepted and changes nothing on the CPU.
        dtype: bfloat16 or float16; by default `torch.get_autocast_dtype(device_type)`.
        enabled: False makes a region without autocast inside another.
        cache_enabled: whether the casts of weights are kept.

    >>> import yesca as torch
    >>> weight, x = torch.ones(2, 3), torch.ones(4, 3)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     y = x @ weight.t()
    >>> y.dtype, weight.dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(self, device_type: str, dtype: DType | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = (is_autocast_cache_enabled() if cache_enabled is None
                               else cache_enabled)
        self._enabled = enabled and self._supported()

    def _supported(self) -> bool:
        """Whether the region can be on; a warning where it cannot."""
        supported = (bfloat16, float16)
        if self.device == "cuda":
            problem = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype in supported:
            return True
        else:
            name = self.device.upper()
            problem = (f"In {name} autocast, but the target dtype is not supported. Disabling "
                       f"autocast.\n{name} Autocast only supports dtypes of "
                       f"{', '.join(map(str, supported))} currently.")
        warn(problem)
        return False

    def __enter__(self) -> autocast:
        self.prev_cache_enabled = is_autocast_cache_enabled()
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        set_autocast_enabled(self.device, bool(self._enabled))
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> bool:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_autocast_enabled(self.device, self.prev)
        set_autocast_dtype(self.device, self.prev_fastdtype)
        set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)")
        return autocast_decorator(self, func)


# ---- autograd functions ----------------------------------------------------------------------

def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Floating tensors (but for float64) in `dtype`, also inside containers."""
    if isinstance(value, Tensor):
        eligible = (value.is_floating_point() and value.device.type == device_type
                    and value.dtype is not float64)
        return value.to(dtype) if eligible else value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype)
                for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    if type(value).__module__ == "numpy" or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, Iterable):
        return (_cast(v, device_type, dtype) for v in value)
    return value


def _check_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str,
               cast_inputs: DType | None = None) -> Any:
    """Decorator for the `forward` of an autograd function that is used under autocast.

    With `cast_inputs`, a forward in an autocast region gets its floating tensors in that dtype
    and runs with autocast off; without it, forward runs under the autocast that it finds.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context, active = args[0], is_autocast_enabled(device_type)
        context._dtype = get_autocast_dtype(device_type)
        context._fwd_used_autocast = active and cast_inputs is None
        if not active or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs),
                       **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorator for the `backward` that belongs to a `custom_fwd`: the same autocast as there."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        with autocast(device_type, enabled=context._fwd_used_autocast, dtype=context._dtype):
            return bwd(*args, **kwargs)

    return decorated
