"""Kernels: what `yesca.kernel` makes of a function, and what happens when one is launched.

A launch binds its arguments, looks for the machine code made for their types, and hands words and
the number of programs to the pool of threads. Tensors are passed as pointers; whole numbers as
int32 (or int64 where they need it), but 1 as a constant, since strides often are.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ..base import settings
from ..core.tensor_base import TensorBase, address_of
from ..dispatch import inplace
from ..dispatch.state import STATE
from . import blocks, plans, types
from .blocks import Block
from .compiling import Compiled, compiled
from .errors import NeedsInterpreter
from .sources import Function, constant_key

#: Hints for other machines, which a launch accepts and ignores.
HINTS = frozenset("num_warps num_stages num_ctas num_buffers_warp_spec num_consumer_groups "
                  "reg_dec_producer reg_inc_consumer maxnreg waves_per_eu matrix_instr_nonkdim "
                  "kpack enable_fp_fusion stream grid warmup extern_libs debug "
                  "launch_cooperative_grid launch_pdl".split())
MOST_PROGRAMS = (1 << 31) - 1


@dataclass(frozen=True)
class Launcher:
    """`kernel[grid]`: calls it on a grid."""

    kernel: Any
    grid: Any
    interpret: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel.run(*args, grid=self.grid, interpret=self.interpret, **kwargs)


@dataclass(frozen=True)
class Interpreted:
    """`kernel.interpret[grid]`: runs it as Python, and checks each access to memory."""

    kernel: Any

    def __getitem__(self, grid: Any) -> Launcher:
        return Launcher(self.kernel, grid, interpret=True)


class JITFunction:
    """A kernel: `kernel[grid](arguments, BLOCK=1024)` runs it once for each point of the grid.

    grid        a tuple of up to three numbers, or a function of the arguments (a dict) giving one
    interpret   `kernel.interpret[grid](...)` runs it as Python, and checks each access to memory
    """

    def __init__(self, fn: Callable[..., Any], interpret: bool = False) -> None:
        self.fn = fn
        self.always_interpreted = interpret or settings.INTERPRET.get()
        self.function = Function(fn)
        self.__name__, self.__qualname__, self.__doc__ = fn.__name__, fn.__qualname__, fn.__doc__
        self.__module__, self.__wrapped__ = fn.__module__, fn
        parameters = self.function.signature.parameters
        self.arg_names, self.parameters = list(parameters), frozenset(parameters)
        self.constants = frozenset(n for n, p in parameters.items() if _is_constant(p.annotation))
        self.made: dict[Any, Compiled] = {}
        self.latest: Compiled | None = None

    def __getitem__(self, grid: Any) -> Launcher:
        return Launcher(self, grid)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if blocks.current() is None:
            raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel; launch "
                               f"it on a grid: {self.__name__}[grid](...)")
        return self.fn(*args, **kwargs)  # the interpreter's way; a compiled kernel walks the body

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.__qualname__})"

    def __reduce__(self) -> str:
        return self.__qualname__

    @property
    def interpret(self) -> Interpreted:
        """The kernel as Python, checked: `kernel.interpret[grid](...)`."""
        return Interpreted(self)

    @property
    def asm(self) -> dict[str, str]:
        """Texts of the machine code made last: see `Compiled.asm`."""
        if self.latest is None:
            raise RuntimeError(f"{self.__name__} has not been compiled; launch it, or ask "
                               "`kernel.source(arguments)`")
        return self.latest.asm

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The LLVM text of the kernel for arguments like these, which is not run."""
        return self.warmup(*args, **kwargs).asm["llir"]

    def warmup(self, *args: Any, **kwargs: Any) -> Compiled:
        """Compile the kernel for arguments like these, and do not run it."""
        return self._compiled(self.bound(args, kwargs))

    def run(self, *args: Any, grid: Any, interpret: bool = False, **kwargs: Any) -> Any:
        """Run the kernel on a grid; gives what was compiled, None if it was interpreted.

        Raises CompilationError with the line that is wrong, TypeError and ValueError for
        arguments that no kernel takes.
        """
        values = self.bound(args, kwargs)
        extents = checked_grid(grid(dict(values)) if callable(grid) else grid)
        if interpret or self.always_interpreted:
            return self._interpreted(values, extents)
        try:
            made = self._compiled(values)
        except NeedsInterpreter:
            return self._interpreted(values, extents)
        total = extents[0] * extents[1] * extents[2]
        if total:
            _launch(made, values, extents, total)
        return made

    def bound(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Parameters and their values."""
        values = dict(zip(self.arg_names, args, strict=False))
        for name, value in kwargs.items():
            if name in self.parameters:
                if name in values:
                    break
                values[name] = value
            elif name not in HINTS:
                break
        else:
            if len(values) == len(self.arg_names) and len(args) <= len(values):
                return values
        # Defaults, and what is wrong, are Python's matter.
        return self.function.bind(args, {k: v for k, v in kwargs.items()
                                         if k not in HINTS or k in self.parameters})

    def _compiled(self, values: dict[str, Any]) -> Compiled:
        key: list[Any] = []
        tensors = []
        for name, value in values.items():
            kind = None if name in self.constants else argument_kind(name, value)
            if kind == "pointer":
                key.append(value._spec.dtype)
                tensors.append(value)
            else:
                key.append(constant_key(value) if kind is None else kind)
        memories = aliases(tensors)
        full = (*key, memories)
        try:
            made = self.made.get(full)
        except TypeError:
            made, full = None, (repr(full),)
        if made is None or made.outer and not made.holds():
            made = self.made[full] = compiled(self.function, self.constants, values, memories)
        self.latest = made
        return made

    def _interpreted(self, values: dict[str, Any], grid: tuple[int, int, int]) -> None:
        from .interpreter import Interpreter, Memory, number

        if STATE.recorder is not None:
            STATE.recorder.broken("inside", self.__name__, False)
        machine = Interpreter(self.__name__, grid)
        given: dict[str, Any] = {}
        memories: dict[str, Memory] = {}
        for name, value in values.items():
            kind = None if name in self.constants else argument_kind(name, value)
            if kind == "pointer":
                memories[name] = memory = Memory(name, value)
                zero = machine.constant(0, types.int64.core)
                given[name] = Block(zero, types.pointer_type(types.of(memory.dtype)), (), memory)
            else:
                given[name] = value if kind is None else number(machine, value, kind)
        for position in machine.positions():
            try:
                blocks.run(machine, lambda: self.fn(**given))
            except Exception as error:
                error.add_note(f"in program {position} of {self.__name__}")
                raise
        for name, memory in memories.items():
            if (memory.stored >= 0).any() or machine.synchronised:
                inplace.bump(values[name])


def _is_constant(annotation: Any) -> bool:
    from .language import constexpr

    return annotation is constexpr or isinstance(annotation, str) and \
        annotation.strip("'\"").endswith("constexpr")


def argument_kind(name: str, value: Any) -> Any:
    """"pointer", the type of a number, or None for what is known when the kernel is compiled."""
    if value.__class__ is int:
        return None if value == 1 else types.of_number(value)
    if isinstance(value, TensorBase):
        batched = value.__class__.__name__ == "BatchedTensor"
        if value._spec.device.type != "cpu" or batched:
            found = "batched" if batched else value.device
            raise ValueError(
                f"Pointer argument ({name}) cannot be accessed from Triton ({found} "
                "tensor?); kernels run on tensors of the CPU. An operator around the kernel "
                "(torch.library.custom_op) can have rules for others: register_fake, register_vmap")
        if value._spec.neg:
            raise ValueError(
                f"Pointer argument ({name}) is a tensor with the negative bit: its memory holds "
                "the numbers with the other sign; pass resolve_neg() of it")
        return "pointer"
    if isinstance(value, bool):
        return types.int1
    if isinstance(value, float):
        return types.float32
    return None


def checked_grid(grid: Any) -> tuple[int, int, int]:
    """Three extents. Raises TypeError and ValueError for what is no grid."""
    given = (grid,) if isinstance(grid, int) else grid
    if not isinstance(given, (tuple, list)) or not 1 <= len(given) <= 3:
        raise TypeError(f"a grid is a tuple of one to three whole numbers, got {grid!r}")
    extents = []
    for extent in given:
        try:
            extents.append(extent.__index__())
        except AttributeError:
            raise TypeError(f"a grid is a tuple of one to three whole numbers, got {grid!r}; "
                            "triton.cdiv(n, BLOCK) rounds up") from None
    total = 1
    for extent in extents:
        if extent < 0:
            raise ValueError(f"a grid has no negative extents, got {tuple(extents)}")
        total *= extent
    if total > MOST_PROGRAMS:
        raise ValueError(f"a grid has at most {MOST_PROGRAMS} programs, got {tuple(extents)}")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def aliases(tensors: list[Any]) -> tuple[int, ...]:
    """Of each tensor, which memory it is in: the first tensor whose memory it shares."""
    storages = [t._storage for t in tensors]
    known = [id(s) for s in storages]
    found = [known.index(k) for k in known]
    # Only what code outside knows the address of can lie in two storages.
    shared = [k for k, s in enumerate(storages) if s._flags and found[k] == k]
    if len(shared) > 1:
        spans = {k: (storages[k]._address, storages[k]._nbytes) for k in shared}
        first = {k: next(j for j, (other, size) in spans.items() if j == k
                         or start < other + size and other < start + nbytes)
                 for k, (start, nbytes) in spans.items()}
        found = [first.get(k, k) for k in found]
    return tuple(found)


def _launch(made: Compiled, values: dict[str, Any], grid: tuple[int, int, int], total: int
            ) -> None:
    if STATE.recorder is None or not plans.recorded(made, values, grid, total):
        from ..runtime import threads

        given = [address_of(values[n]) if pointer else values[n] for n, pointer in made.arguments]
        words = array("q", struct.pack(made.format, *grid, *given))
        threads.launch(made.address, words.buffer_info()[0], total, plans.grain_of(made, total),
                       plans.long(made, total))
    for name in made.written:
        inplace.bump(values[name])


def jit(fn: Callable[..., Any] | None = None, *, interpret: bool = False, version: Any = None,
        repr: Any = None, launch_metadata: Any = None, do_not_specialize: Any = None,
        do_not_specialize_on_alignment: Any = None, debug: Any = None, noinline: Any = None
        ) -> Any:
    """Make a kernel of a function written in the language of `yesca.kernels.language`.

    Args:
        interpret: always run it as Python, with checks; so does YESCA_INTERPRET=1 (also read as
            TRITON_INTERPRET) with every kernel that is made.

    The other arguments are hints for other machines. Gives a JITFunction; raises ValueError for a
    function whose source is not to be had.
    """
    def made(function: Callable[..., Any]) -> JITFunction:
        if isinstance(function, JITFunction):
            return function
        if not isinstance(function, (FunctionType, BuiltinFunctionType)):
            raise TypeError(f"[kernel] wants a function, got {type(function).__name__}")
        return JITFunction(function, interpret)

    return made if fn is None else made(fn)
