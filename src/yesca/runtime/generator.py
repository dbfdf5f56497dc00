"""Random number generators: seeds, states, and the lock around every draw.

A `Generator` is a Mersenne Twister in a block of memory that native code reads and writes
(`native/random.py`). Seeding only notes the seed; the words are made when something is drawn, and
the block at the first draw, so that `manual_seed` at the top of a program loads no machine code.
What is drawn is in `draws.py` and `operators/random_numbers.py`.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any, NoReturn

from ..base.errors import type_name
from ..base.naming import public_module
from ..core import registry
from ..core.devices import CPU, Device
from ..core.dtypes import uint8
from ..core.spec import spec
from ..core.tensor_base import TensorBase, address_of
from . import forks

DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056  # PyTorch's size of a saved state
_ALIGNMENT = 64
_native = None


class _Native:
    """The loaded functions that make and exchange states."""

    def __init__(self) -> None:
        from . import units
        from .native import drawing, random

        self.take = units.callable_of(drawing.take, gil=True)
        self.give = units.callable_of(drawing.give, gil=True)
        self.nbytes = random.State.NBYTES
        self.seed = units.callable_of(random.seed, gil=True)
        self.save = units.callable_of(random.save, gil=True)
        self.restore = units.callable_of(random.restore, gil=True)
        self.copy = units.callable_of(random.copy_state, gil=True)


def _loaded() -> _Native:
    global _native
    if _native is None:
        _native = _Native()
    return _native


class _Lock:
    """The lock of a state in memory; plans take it without Python's help."""

    __slots__ = ("_state",)

    def __init__(self, state: int) -> None:
        self._state = state

    def __enter__(self) -> None:
        _loaded().take(self._state)

    def __exit__(self, *_: object) -> None:
        _loaded().give(self._state)


_making = threading.Lock()  # held while a generator gets its memory


class Generator:
    """A source of random numbers with a state of its own, as `torch.Generator`.

    >>> import yesca as torch
    >>> torch.rand(2, generator=torch.Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """

    def __new__(cls, device: Any = None) -> Generator:
        self = super().__new__(cls)
        self._device = _checked_device(device)
        self._block = None
        self._address = 0  # of the state, once it has memory
        self._lock: Any = None
        self._seed = DEFAULT_SEED
        _alive.add(self)
        return self

    def __init__(self, device: Any = None) -> None:
        pass

    @property
    def device(self) -> Device:
        """Where the numbers are drawn: the CPU."""
        return self._device

    # ---- for those who draw --------------------------------------------------------------

    def _ready(self) -> int:
        """The address of the state. Draw from it while holding `_lock` only."""
        if not self._address:
            native = _loaded()
            with _making:
                if not self._address:
                    self._allocate(native)
        return self._address

    def _allocate(self, native: _Native) -> None:
        self._block = ctypes.create_string_buffer(native.nbytes + _ALIGNMENT)
        start = ctypes.addressof(self._block)
        address = -(-start // _ALIGNMENT) * _ALIGNMENT
        native.seed(address, self._seed)
        self._lock = _Lock(address)
        self._address = address

    # ---- seeds ---------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> Generator:
        """Start from `seed`, an int of 64 bits (negative ones wrap around); returns self."""
        if isinstance(seed, bool) or not _is_integer(seed):
            raise RuntimeError(f"manual_seed expected a long, but got {type_name(seed)}")
        number = int(seed)
        if not -(1 << 63) <= number < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        self._restart(number & ((1 << 64) - 1))
        return self

    def _restart(self, seed: int) -> None:
        with _making:
            self._seed = seed
            if self._address:
                with self._lock:
                    _loaded().seed(self._address, seed)

    def seed(self) -> int:
        """Start from a seed that the system gives, which is returned."""
        number = int.from_bytes(os.urandom(8), "little")
        self._restart(number)
        return number

    def initial_seed(self) -> int:
        """The seed from which the generator has started."""
        return self._seed

    # ---- states --------------------------------------------------------------------------

    def get_state(self) -> Any:
        """The state as a uint8 tensor (5056,), in PyTorch's layout."""
        from .plan import new_storage

        address = self._ready()
        storage = new_storage(STATE_BYTES)
        with self._lock:
            _loaded().save(address, storage._address)
        return registry.wrap(storage, spec(uint8, (STATE_BYTES,)), 0)

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state that `get_state` gave, here or in PyTorch."""
        place = _checked_state(new_state)
        self._ready()
        with self._lock:
            if not _loaded().restore(self._address, place):
                raise RuntimeError("Invalid mt19937 state")
            self._seed = ctypes.c_uint64.from_address(self._address).value
        return self

    def clone_state(self) -> Generator:
        """A generator that will draw the same numbers from here on."""
        made = Generator(self._device)
        address = self._ready()
        made._ready()
        with self._lock:
            _loaded().copy(made._address, address)
            made._seed = self._seed
        return made

    def graphsafe_get_state(self) -> NoReturn:
        """For accelerators only. Raises NotImplementedError."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Any) -> NoReturn:
        """For accelerators only. Raises NotImplementedError."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> NoReturn:
        """For accelerators only. Raises RuntimeError."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> NoReturn:
        """For accelerators only. Raises RuntimeError."""
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._device,), (self._seed, None, self.get_state())

    def __setstate__(self, state: tuple[int, None, Any]) -> None:
        self.set_state(state[2])


Generator.__module__ = public_module("torch._C")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) or (
        type(value).__module__ == "numpy" and getattr(value, "__index__", None) is not None)


def _checked_device(device: Any) -> Device:
    if device is None:
        return CPU
    made = Device(device)
    if made.type == "cpu":
        return CPU
    if made.type == "cuda":
        raise RuntimeError("Cannot get CUDA generator without ATen_cuda library: numbers are "
                           "drawn on the CPU; use Generator(device='cpu')")
    raise RuntimeError(f"{made.type.upper()} device type not an accelerator: numbers are drawn on "
                       "the CPU; use Generator(device='cpu')")


def _checked_state(state: Any) -> int:
    """The address of the bytes of a saved state."""
    if not isinstance(state, TensorBase):
        raise TypeError(f"expected a torch.ByteTensor, but got {type_name(state)}")
    made = state._spec
    if made.dtype is not uint8 or made.device is not CPU:
        raise TypeError("RNG state must be a torch.ByteTensor")
    if not made.contiguous:
        raise RuntimeError("RNG state must be contiguous")
    if made.numel != STATE_BYTES:
        raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the "
                           f"input RNG state size to be {made.numel}")
    return address_of(state)


# A child process must find no generator locked, nor one in the middle of a draw.

_alive: weakref.WeakSet[Generator] = weakref.WeakSet()
_held: list[Generator] = []


def _hold() -> None:
    _making.acquire()
    for generator in list(_alive):
        if generator._address:
            generator._lock.__enter__()
            _held.append(generator)


def _let_go() -> None:
    while _held:
        _held.pop()._lock.__exit__()
    _making.release()


forks.join(before=_hold, in_parent=_let_go, in_child=_let_go)


def _make_default() -> Generator:
    made = Generator()
    made.seed()  # as in PyTorch every run differs until it is seeded
    return made


#: What draws when no generator is given.
default_generator = _make_default()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the system."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Restore a state of the default generator."""
    default_generator.set_state(new_state)
