"""Kernels: what `yesca.kernel` makes of a function, and what happens when one is launched.

A launch binds its arguments, looks for the machine code made for their types, and hands words and
the number of programs to the pool of threads. Tensors are passed as pointers; whole numbers as
int32 (or int64 where they need it), but 1 as a constant, since strides often are.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ..base import settings
from ..core.tensor_base import address_of
from ..dispatch import inplace, observing
from ..dispatch.state import STATE
from ..runtime import threads
from . import blocks, types
from .arguments import Form, argument_kind, form_of, plain, refuse_lost, sorted_out
from .blocks import Block
from .compiling import Compiled, compiled
from .errors import NeedsInterpreter
from .sources import Function

#: Hints for other machines, which a launch accepts and ignores.
HINTS = frozenset("num_warps num_stages num_ctas num_buffers_warp_spec num_consumer_groups "
                  "reg_dec_producer reg_inc_consumer maxnreg waves_per_eu matrix_instr_nonkdim "
                  "kpack enable_fp_fusion stream grid warmup extern_libs debug "
                  "launch_cooperative_grid launch_pdl".split())
MOST_PROGRAMS = (1 << 31) - 1


class Launcher:
    """`kernel[grid]`: calls it on a grid."""

    __slots__ = ("kernel", "grid", "interpret")

    def __init__(self, kernel: Any, grid: Any, interpret: bool = False) -> None:
        self.kernel, self.grid, self.interpret = kernel, grid, interpret

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel.launch(self.grid, self.interpret, args, kwargs)


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
        self.arg_names = list(parameters)
        self.fixed = {n: _is_constant(p.annotation) for n, p in parameters.items()}
        self.defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
        self.orders: dict[Any, tuple[int, ...]] = {}  # by how arguments are given
        self.forms: dict[Any, Form | None] = {}  # by their classes too
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
        given = (*args, *kwargs.values(), *self.defaults.values())
        self.latest = self._compiled(self.bound(given, args, kwargs))[0]
        return self.latest

    def run(self, *args: Any, grid: Any, interpret: bool = False, **kwargs: Any) -> Any:
        """Run the kernel on a grid; gives what was compiled, None if it was interpreted.

        Raises CompilationError with the line that is wrong, TypeError and ValueError for
        arguments that no kernel takes.
        """
        return self.launch(grid, interpret, args, kwargs)

    def launch(self, grid: Any, interpret: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
               ) -> Any:
        """`run`, of arguments as they are given."""
        given = (*args, *kwargs.values(), *self.defaults.values())
        if STATE.derivative is not None:
            refuse_lost(self.__name__, given)
        extents = checked_grid(grid(dict(zip(self.arg_names, self.bound(given, args, kwargs),
                                             strict=True))) if callable(grid) else grid)
        if interpret or self.always_interpreted:
            return self._interpreted(self.bound(given, args, kwargs), extents)
        classes = (*kwargs, *map(type, given))
        form = self.forms.get(classes)
        found = None if form is None else form.sorted_out(given)
        if found is None or found[0].outer and not found[0].holds():
            values = self.bound(given, args, kwargs)
            try:
                found = self._compiled(values)
            except NeedsInterpreter:
                return self._interpreted(values, extents)
            if form is None:
                form = self.forms[classes] = form_of(
                    self.fixed, self.orders[len(args), *kwargs], given)
            if form is not None:
                form.remember(given, found[0])
        made, words, tensors = found
        self.latest = made
        total = extents[0] * extents[1] * extents[2]
        if total:
            _launch(made, words, tensors, extents, total)
        return made

    def bound(self, given: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
              ) -> list[Any]:
        """The values of all parameters, in order; given: all arguments, and all defaults."""
        key = (len(args), *kwargs)
        order = self.orders.get(key)
        if order is None:
            order = self.orders[key] = self._order(len(args), kwargs)
        return [given[place] for place in order]

    def _order(self, count: int, names: Iterable[str]) -> tuple[int, ...]:
        """Where the parameters are among arguments, arguments by name, and defaults.

        Raises TypeError for arguments that do not fit.
        """
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
               for p in self.function.signature.parameters.values()):
            raise TypeError(f"{self.__name__}(): a kernel that is launched names all of its "
                            "parameters; functions called from one may have *args")
        places = {name: count + k for k, name in enumerate(names)}
        named = {n: k for n, k in places.items() if n not in HINTS or n in self.fixed}
        found = self.function.bind(range(count), named)
        given = {*self.arg_names[:count], *named}
        defaults = {name: count + len(places) + k for k, name in enumerate(self.defaults)}
        return tuple((found if name in given else defaults)[name] for name in self.arg_names)

    def _compiled(self, values: list[Any]) -> tuple[Compiled, list[Any], list[Any]]:
        """The machine code for arguments, their words, and the tensors among them."""
        key, words, tensors = sorted_out(self.fixed, values)
        try:
            made = self.made.get(key)
        except TypeError:
            made, key = None, (repr(key),)
        if made is None or made.outer and not made.holds():
            made = self.made[key] = compiled(self.function, self.fixed, values)
        return made, words, tensors

    def _interpreted(self, values: list[Any], grid: tuple[int, int, int]) -> None:
        from .interpreter import Interpreter, Memory, number

        if STATE.recorder is not None:
            STATE.recorder.broken("inside", self.__name__, False)
        machine = Interpreter(self.__name__, grid)
        given: dict[str, Any] = {}
        memories: dict[str, Memory] = {}
        for (name, fixed), value in zip(self.fixed.items(), map(plain, values), strict=True):
            kind = None if fixed else argument_kind(name, value)
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
        for memory in memories.values():
            if (memory.stored >= 0).any() or machine.synchronised:
                inplace.bump(memory.tensor)


def _is_constant(annotation: Any) -> bool:
    from .language import constexpr

    return annotation is constexpr or isinstance(annotation, str) and \
        annotation.strip("'\"").endswith("constexpr")


def checked_grid(grid: Any) -> tuple[int, int, int]:
    """Three extents. Raises TypeError and ValueError for what is no grid."""
    given = (grid,) if isinstance(grid, int) else grid
    if not isinstance(given, (tuple, list)) or not 1 <= len(given) <= 3:
        raise TypeError(f"a grid is a tuple of one to three whole numbers, got {grid!r}")
    x, y, z = (*given, 1, 1)[:3]
    if x.__class__ is y.__class__ is z.__class__ is int and x >= 0 <= y and 0 <= z \
            and x * y * z <= MOST_PROGRAMS:
        return x, y, z
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


def _launch(made: Compiled, words: list[Any], tensors: list[Any], grid: tuple[int, int, int],
            total: int) -> None:
    if STATE.recorder is None or not _recorded(made, words, tensors, grid, total):
        packed = array("q", made.pack(*grid, *[
            address_of(word) if pointer else word
            for word, pointer in zip(words, made.pointers, strict=True)]))
        run = threads.launch if observing.current is None else observing.observed(
            made.name, threads.launch, annotation=False)
        run(made.address, packed.buffer_info()[0], total, *made.pieces(total))
    for k in made.written:
        inplace.bump(tensors[k])


def _recorded(*launch: Any) -> bool:
    from . import plans  # loads what a recorder has loaded

    return plans.recorded(*launch)


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
