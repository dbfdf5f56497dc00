"""`torch.distributed` where no process groups are: programs ask, and go on alone.

`is_available()` is False, as in a PyTorch that was built without it; what needs a group raises.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NoReturn

from .base import absent
from .base.naming import lives_in

_NONE = ("Default process group has not been initialized, please make sure to call "
         "init_process_group.")


def is_available() -> bool:
    """False: there is no communication between processes.

    >>> import yesca as torch
    >>> torch.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False: there is no default process group."""
    return False


def _absent() -> bool:
    """False: this backend is not there."""
    return False


is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = _absent
is_xccl_available = is_torchelastic_launched = _absent


def is_backend_available(backend: str) -> bool:
    """False, whichever backend."""
    return False


def get_rank(group: Any = None) -> int:
    """Raises ValueError: there is no process group."""
    raise ValueError(_NONE)


def get_world_size(group: Any = None) -> int:
    """Raises ValueError: there is no process group."""
    raise ValueError(_NONE)


def get_backend(group: Any = None) -> str:
    """Raises ValueError: there is no process group."""
    raise ValueError(_NONE)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The fallback; without one RuntimeError."""
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment: this process was not started by "
                           "torchrun. Pass fallback_rank")
    return int(fallback_rank)


def destroy_process_group(group: Any = None) -> None:
    """Raises AssertionError: there is no process group."""
    raise AssertionError("Process group cannot be None")


@lives_in("torch.distributed")
class ReduceOp(IntEnum):
    """How values of several processes are combined."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


@lives_in("torch.distributed")
class ProcessGroup:
    """A group of processes: none can be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("ProcessGroup")


@lives_in("torch.distributed")
class Work:
    """A communication under way."""


@lives_in("torch.distributed")
class group:  # noqa: N801 - PyTorch's name
    """The default group, which is None."""

    WORLD: ProcessGroup | None = None


@lives_in("torch.distributed")
class GroupMember:
    """Names of groups."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


@lives_in("torch.distributed")
class DistError(RuntimeError):
    """Raised by communication between processes."""


@lives_in("torch.distributed")
class DistBackendError(DistError):
    """Raised by a backend."""


@lives_in("torch.distributed")
class DistNetworkError(DistError):
    """Raised by the network."""


@lives_in("torch.distributed")
class DistStoreError(DistError):
    """Raised by a store."""


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"torch.distributed.{name}() needs processes that communicate, which are "
                       "not available here; ask torch.distributed.is_available() first, and run "
                       "in one process")


def _needs_group(name: str, error: type[Exception], text: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        if text:
            raise error(text)
        _refuse(name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises {error.__name__}: there is no process group."
    return function


_COMMUNICATING = (
    "all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_reduce "
    "all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv broadcast "
    "broadcast_object_list gather gather_object get_global_rank get_group_rank "
    "get_process_group_ranks irecv isend monitored_barrier recv recv_object_list reduce "
    "reduce_scatter reduce_scatter_tensor scatter scatter_object_list send send_object_list"
).split()
_STARTING = (
    "init_process_group init_device_mesh new_group new_subgroups new_subgroups_by_enumeration "
    "rendezvous register_rendezvous_handler split_group TCPStore FileStore HashStore PrefixStore"
).split()
globals().update({name: _needs_group(name, ValueError, _NONE) for name in _COMMUNICATING})
globals().update({name: _needs_group(name, RuntimeError, "") for name in _STARTING})


__path__: list[str] = []  # a package: what asks for its modules is told which lack
__getattr__ = absent.names_of(__name__)
