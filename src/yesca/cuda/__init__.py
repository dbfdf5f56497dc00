"""`torch.cuda` on a machine without CUDA: what PyTorch's CPU build answers.

Programs ask `is_available()` first, and then seed, empty caches and read counters without asking:
those calls do nothing or give zero. What needs a device raises AssertionError.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..base import absent
from ..base.errors import CUDA_MISSING, raise_no_cuda
from ..base.naming import lives_in, public_module
from ..predicates import AcceleratorError as AcceleratorError
from ..predicates import OutOfMemoryError as OutOfMemoryError
from .memory import caching_allocator_alloc as caching_allocator_alloc
from .memory import caching_allocator_delete as caching_allocator_delete
from .memory import empty_cache as empty_cache
from .memory import get_per_process_memory_fraction as get_per_process_memory_fraction
from .memory import max_memory_allocated as max_memory_allocated
from .memory import max_memory_cached as max_memory_cached
from .memory import max_memory_reserved as max_memory_reserved
from .memory import mem_get_info as mem_get_info
from .memory import memory_allocated as memory_allocated
from .memory import memory_cached as memory_cached
from .memory import memory_reserved as memory_reserved
from .memory import memory_snapshot as memory_snapshot
from .memory import memory_stats as memory_stats
from .memory import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from .memory import memory_summary as memory_summary
from .memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from .memory import reset_max_memory_allocated as reset_max_memory_allocated
from .memory import reset_max_memory_cached as reset_max_memory_cached
from .memory import reset_peak_memory_stats as reset_peak_memory_stats
from .memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all
from .streams import Event as Event
from .streams import ExternalStream as ExternalStream
from .streams import Stream as Stream
from .streams import StreamContext as StreamContext
from .streams import current_stream as current_stream
from .streams import default_stream as default_stream
from .streams import set_stream as set_stream
from .streams import stream as stream

has_half = True
has_magma = False
default_generators: tuple[Any, ...] = ()

_SUBMODULES = frozenset(("amp", "graphs", "memory", "nvtx", "profiler", "random", "streams"))
_ELEMENTS = (
    "BFloat16 Bool Byte Char ComplexDouble ComplexFloat Double Float Half Int Long Short".split()
)


@lives_in("torch.cuda")
class CudaError(RuntimeError):
    """An error that the CUDA runtime reports."""


@lives_in("torch.cuda")
class DeferredCudaCallError(Exception):
    """A call that had to wait for CUDA's initialisation failed then."""


@lives_in("torch.cuda")
class device:
    """Context manager that selects a device; a negative index selects nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


@lives_in("torch.cuda")
class device_of(device):
    """Context manager that selects the device of a tensor or storage; the CPU selects nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(-1)


def _index(device: Any) -> int:
    if device is None:
        raise_no_cuda()
    if isinstance(device, int):
        return device
    from ..core.devices import Device

    found: Any = Device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return found.index or 0


def is_available() -> bool:
    """Whether there is a CUDA device: False.

    >>> import yesca as torch
    >>> torch.cuda.is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def is_initialized() -> bool:
    """Whether CUDA was initialised: False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16: False without a device."""
    return False


def is_tf32_supported() -> bool:
    """Whether the device computes in TF32: False without a device."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured: False (PyTorch's CPU build cannot say)."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler's flags for those architectures."""
    return ""


def ipc_collect() -> None:
    raise_no_cuda()


def init() -> None:
    """Raises AssertionError, as all functions below do."""
    raise_no_cuda()


def current_device() -> int:
    raise_no_cuda()


def set_device(device: Any) -> None:
    """Select a device: nothing for a negative index, else AssertionError."""
    if _index(device) >= 0:
        raise_no_cuda()


def synchronize(device: Any = None) -> None:
    raise_no_cuda()


def get_device_name(device: Any = None) -> str:
    raise_no_cuda()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    raise_no_cuda()


def get_device_properties(device: Any = None) -> Any:
    raise_no_cuda()


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    raise_no_cuda()


def current_blas_handle() -> int:
    raise_no_cuda()


def cudart() -> Any:
    raise_no_cuda()


def get_sync_debug_mode() -> int:
    raise_no_cuda()


def set_sync_debug_mode(debug_mode: int | str) -> None:
    raise_no_cuda()


def utilization(device: Any = None) -> int:
    raise_no_cuda()


def _refusing(name: str) -> Callable[..., Any]:
    """The `__new__` of a class of CUDA tensors or storages."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"type torch.cuda.{name} not available. {CUDA_MISSING}.")

    return refuse


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __package__)
    for ending in ("Tensor", "Storage"):
        if name.removesuffix(ending) in _ELEMENTS:
            # Programs ask isinstance(x, torch.cuda.FloatTensor); nothing is one of these.
            body = {"__module__": public_module("torch.cuda"), "__new__": _refusing(name)}
            return globals().setdefault(name, type(name, (), body))
    raise absent.error(__name__, name)
