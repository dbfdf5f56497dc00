"""Sets the builtin call path up: operators, methods, and the plans that Python made.

`runtime/native/fastcall.py` runs plans whose key it knows; this module enters them. Nothing here
decides what a call computes: the planner does, in `dispatch.call`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from ..base import frames, settings
from ..core.devices import CPU, Device
from ..core.dtypes import DType
from ..core.layouts import MemoryFormat
from ..core.node_base import Saved
from ..core.spec import Size
from ..core.storage import UntypedStorage
from ..core.tensor_base import Extra, NoGradView, OneOfSeveral, Version
from ..operators.record import Record
from ..runtime import builtins, layout, machine, memory, threads, units
from ..runtime.plan import Plan
from . import autocast, observing, shortcuts
from .shortcuts import Shortcut
from .state import STATE, listeners, tape_listeners

CAPACITY = 1 << 15
LIMIT = CAPACITY // 2  # entries; then the table starts anew
PARAMETERS = 32
#: Entries of an operator whose key holds numbers; more are not made, for they may never recur.
FIXED_LIMIT = 512


@dataclass
class _Operator:
    """A function behind the builtin. Without a record, or with a composite one, its keys hold the
    values of all numbers."""

    record: Record | None
    twin: Callable[..., Any]
    block: Any
    entries: int = 0

    @property
    def fixed(self) -> bool:
        return self.record is None or self.record.composite is not None


@dataclass
class _Fast:
    """The state of the builtin path, and what must live as long as it."""

    types: dict[str, type]
    kept: list[Any] = field(default_factory=list)
    plans: list[Any] = field(default_factory=list)
    retired: list[list[Any]] = field(default_factory=list)  # plans of emptied tables
    operators: list[_Operator] = field(default_factory=list)
    entries: int = 0
    watched: int = 0  # calls that `learn` has run
    off: bool = False  # every call takes the Python path (refresh() makes a change known)
    bare: int = 0  # the thread that runs a call past the observer
    owner: int = 0  # under an observer: the thread whose flags these are, if nothing else is slow

    def __post_init__(self) -> None:
        from ..core import devices, dtypes
        from ..runtime.native import fastcall, fastkey, fastobjects, fastrun, fasttape
        from . import blocks

        self.off = settings.DEBUG.get() > 0  # the Python path reports what it launches
        memory.prepare()
        threads.prepare()
        self.code, self.key, self.runner, self.blocks = fastcall, fastkey, fastrun, blocks
        self.lower = {None: 0, dtypes.bfloat16: fastcall.LOWER_BFLOAT16,
                      dtypes.float16: fastcall.LOWER_FLOAT16}
        self.state = units.address(fastkey.state)
        self.adopt = builtins.builtin(fastcall.python_adopt, "adopt",
                                      "adopt(flags, tape, birth, casts)")
        self.function_address = units.address(fastcall.fast_function)
        self.call_address = units.address(fastcall.fast_call)
        self.hash = units.callable_of(fastcall.hash_words)
        ctypes.memmove(units.address(fastrun.fail_format), b"OL\0", 3)
        self.table = (ctypes.c_int64 * (4 * CAPACITY))()
        self.directory = (ctypes.c_int64 * 4096)()
        words = {
            fastcall.TABLE: ctypes.addressof(self.table), fastcall.CAPACITY: CAPACITY,
            fastcall.OPERATORS: ctypes.addressof(self.directory),
            fastcall.THREAD: 0, fastobjects.RUNNING: 0, fastobjects.SEQUENCE: SEQUENCE_ADDRESS,
        }
        objects = {
            fastkey.TENSOR_TYPE: self.types["tensor"],
            fastkey.PARAMETER_TYPE: self.types.get("parameter", self.types["tensor"]),
            fastkey.SIZE_TYPE: Size, fastkey.DTYPE_TYPE: DType,
            fastkey.DEVICE_TYPE: Device, fastkey.FORMAT_TYPE: MemoryFormat,
            fastkey.STORAGE_TYPE: UntypedStorage, fastobjects.VERSION_TYPE: Version,
            fastobjects.NODE_TYPE: self.types["node"], fastobjects.SAVED_TYPE: Saved,
            fastobjects.EXTRA_TYPE: Extra, fastobjects.NO_GRAD_TYPE: NoGradView,
            fastobjects.SEVERAL_TYPE: OneOfSeveral, fastobjects.CPU: CPU, fastobjects.ZERO: 0,
            fastobjects.EMPTY: (), fastobjects.FAIL: _fail, fasttape.CHANGED: raise_changed,
            fastcall.DEFAULT_DTYPES: dtypes._default,
            fastcall.DEFAULT_DEVICES: devices._defaults,
            fastcall.LEARN: self.learn, fastcall.REFRESH: self.refresh,
        }
        for place, word in words.items():
            self.write(place, word)
        for place, thing in objects.items():
            self.kept.append(thing)
            self.write(place, id(thing))
        self.restore = builtins.builtin(fasttape.restore, "restore")
        self.flags = ctypes.c_int64.from_address(self.state + fastcall.FLAGS)
        self.running = ctypes.c_int64.from_address(self.state + fastobjects.RUNNING)
        listeners.append(self.refresh)
        tape_listeners.append(builtins.builtin(fastcall.python_tape, "tape", "tape(on)"))
        self.refresh()

    def parameter_class(self, cls: type) -> None:
        """Let a second class count as a plain tensor: the modules' Parameter."""
        self.kept.append(cls)
        self.write(self.key.PARAMETER_TYPE, id(cls))

    def write(self, place: int, word: int) -> None:
        ctypes.c_int64.from_address(self.state + place).value = word

    def refresh(self) -> None:
        """Copy the running thread's flags to where the builtin reads them."""
        state = STATE
        lower = self.lower.get(state.autocast, -1)
        slow = (self.off or state.python or state.levels or state.saving or state.inference
                or state.anomaly or lower < 0)
        recorder = state.recorder
        if recorder is not None and recorder.passing:
            recorder = None
        if recorder is not None:
            slow = slow or recorder.running  # for another thread; this one waits for it in Python
        if observing.current is not None:
            self.owner = 0 if slow or recorder is not None else get_ident()
            slow = slow or self.bare != get_ident()
        self.adopt((1 if state.tape else 0) | (2 if slow else 0) | (0 if recorder is None else 4)
                   | max(lower, 0), 0 if recorder is None else recorder.tape.address, state.birth,
                   None if lower <= 0 else autocast.kept())

    # ---- operators -----------------------------------------------------------------------

    def operator(self, record: Record | None, twin: Callable[..., Any], spread: bool = False,
                 parameters: tuple[str, ...] = ()) -> int:
        """Make an operator known; gives its number. Without a record: its parameters' names."""
        number = len(self.operators)
        made = _Operator(record, twin, None)
        position = record.spread if spread and record is not None else -1
        if record is not None:
            modes = "X" * len(record.modes) if made.fixed else record.modes
            parameters = tuple(p.name for p in record.schema.parameters)
        else:
            modes = "X" * len(parameters)
        takes_out = record is not None and record.out and not made.fixed and not spread
        out = len(modes) if takes_out else -1  # `spread`: a method, which has no `out=`
        if out >= 0:
            modes, parameters = modes + "X", (*parameters, "out")
        if number >= len(self.directory) or len(modes) > self.code.PARAMETER_LIMIT:
            raise RuntimeError("[fast] the directory of operators is full")
        words = [id(twin), len(modes), position, out, 0]
        for k, (mode, parameter) in enumerate(zip(modes, parameters, strict=True)):
            default = None if made.fixed or k == out else \
                record.schema.parameters[k].default  # type: ignore[union-attr]
            counts = mode in "TS" and type(default) in (int, float)
            name = sys.intern(parameter)
            words += [ord("V" if k == position else mode), id(default) if counts else 0, id(name)]
            self.kept.append((default, name))
        made.block = (ctypes.c_int64 * len(words))(*words)
        self.kept.append((made.block, twin))
        self.directory[number] = ctypes.addressof(made.block)
        self.operators.append(made)
        return number

    def function(self, record: Record, twin: Callable[..., Any], name: str) -> Any:
        """A builtin free function."""
        number = owner(self.operator(record, twin))
        return builtin(self.function_address, name, number, twin.__doc__)

    def watch(self, twin: Callable[..., Any], name: str, parameters: tuple[str, ...],
              place: str = "") -> Any:
        """A builtin in front of a function that is no record."""
        number = owner(self.operator(None, twin, False, parameters), place)
        return builtin(self.function_address, name, number, twin.__doc__)

    def watched_method(self, twin: Callable[..., Any], name: str, parameters: tuple[str, ...]
                       ) -> Any:
        """The same as a method."""
        return bindable(self.watch(twin, name, parameters, "Tensor"))

    def method(self, record: Record, twin: Callable[..., Any], name: str) -> Any:
        """What a class holds so that its objects have a builtin method.

        Bound at each call: unlike the descriptors of `methods`, it costs no code of its own.
        """
        number = owner(self.operator(record, twin, True), "Tensor")
        return bindable(builtin(self.function_address, name, number, twin.__doc__))

    def methods(self, cls: type, wanted: list[tuple[str, Record, Callable[..., Any]]]) -> None:
        """Method descriptors of machine code, all in one module of trampolines."""
        numbers = [self.operator(record, twin, spread=True) for _, record, twin in wanted]
        key = machine.hash_key("trampolines", *numbers)

        def text() -> str:
            lines = ["declare ptr @yesca_fast_call(i64, ptr, ptr, i64, ptr)"]
            for n in numbers:
                lines.append(
                    f"define ptr @{machine.symbol(f'method{n}', key)}(ptr %s, ptr %a, i64 %n, "
                    f"ptr %k) {{\n  %r = tail call ptr @yesca_fast_call(i64 {n}, ptr %s, ptr %a, "
                    "i64 %n, ptr %k)\n  ret ptr %r\n}")
            return "\n".join(lines)

        loaded = machine.load("trampolines", text, key, {"yesca_fast_call": self.call_address})
        for (name, _, twin), n in zip(wanted, numbers, strict=True):
            address = loaded.address(machine.symbol(f"method{n}", key))
            setattr(cls, name, _descriptor(cls, address, name, twin.__doc__))

    def unobserved(self, function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        """A builtin function's result, where only the observer stands in the builtin's way."""
        if self.owner != get_ident():
            self.refresh()
            if not self.owner:
                return function(*values)  # by its twin
        self.bare = get_ident()
        self.flags.value &= ~2
        try:
            return function(*values)
        finally:
            self.bare = 0
            self.flags.value |= 2

    # ---- plans ---------------------------------------------------------------------------

    def learn(self, number: int, key: bytes, /, *args: Any, **options: Any) -> Any:
        """Run the Python twin and enter its plan under the key that was not found."""
        self.watched += 1
        one = self.operators[number]
        out = options.get("out")
        given = (*args, *(v for name, v in options.items() if name != "out"))
        words = [*memoryview(key).cast("q")]
        if not all(id(text) in words for text in shortcuts.texts_in(given)):
            shortcuts.note_read()
            return one.twin(*args, **options)  # the text in the key is gone
        tensors = shortcuts.tensors_in(given if out is None else (out, *given))
        specs = [tensor._spec for tensor in tensors]
        before, seen, warned = STATE.seen, [], frames.issued[0]  # type: ignore[var-annotated]
        STATE.seen = seen
        try:
            made = self._in_python(one.twin, args, options)
        finally:
            STATE.seen = before
        if before is not None:
            before.append(None)
        if frames.issued[0] != warned:
            return made  # no plan would say it again
        found = shortcuts.find(seen, made, tensors, specs, words[1], one.fixed, self.runner)
        if one.fixed and len({id(tensor) for tensor in tensors}) < len(tensors):
            found = None  # which of two equal ones the plan took where, cannot be told
        self.enter(words, found, given)
        if one.fixed:
            one.entries += 1
            if one.entries >= FIXED_LIMIT:
                one.block[self.code.CLOSED // 8] = 1
        return made

    def _in_python(self, twin: Callable[..., Any], args: Any, options: Any) -> Any:
        """Run a twin whose inner calls and reads shall be seen: none takes the builtin path."""
        before, STATE.python = STATE.python, True
        self.refresh()
        try:
            return twin(*args, **options)
        finally:
            STATE.python = before
            self.refresh()

    def enter(self, key: list[int], found: Shortcut | None, args: tuple[Any, ...]) -> None:
        """Put a plan into the table, or the note that Python must see to such calls."""
        plan = None if found is None else found.plan
        words, kept = ([], []) if found is None else self.blocks.block(found, key[1])
        words = words or [self.runner.TWIN]
        if self.entries >= LIMIT:
            self.forget()
        block = (ctypes.c_int64 * len(words))(*words)
        stored = (ctypes.c_int64 * (len(key) + 1))(len(key), *key)
        code = self.hash(ctypes.addressof(stored) + 8, len(key))
        # The key holds addresses of specs, which the plan keeps, and of texts.
        self.plans.append((block, stored, plan, kept, shortcuts.texts_in(args), found))
        slot = code & (CAPACITY - 1)
        while self.table[4 * slot + 1]:
            slot = (slot + 1) & (CAPACITY - 1)
        self.table[4 * slot] = code - (1 << 64) if code >> 63 else code
        self.table[4 * slot + 2] = ctypes.addressof(block)
        self.table[4 * slot + 1] = ctypes.addressof(stored)
        self.entries += 1

    def forget(self) -> None:
        """Empty the table. Calls that go on, in other threads or below this one, keep its plans."""
        ctypes.memset(self.table, 0, ctypes.sizeof(self.table))
        self.retired.append(self.plans)
        if not self.running.value:
            del self.retired[:-1]
        self.plans = []
        self.entries = 0


class SavedChanged(RuntimeError):
    """A saved value was written to; the node that kept it words the error."""


def raise_changed(saved: Any) -> None:
    """What the builtin calls when a version differs."""
    raise SavedChanged(saved.version)


def _fail(plan: Plan, cell: int) -> None:
    """Raise what a kernel reported."""
    plan.on_check(list((ctypes.c_int64 * plan.checks).from_address(cell)))


_sequence = ctypes.c_int64(0)
SEQUENCE_ADDRESS = ctypes.addressof(_sequence)


def next_sequence() -> int:
    """Numbers tape nodes in creation order, for both call paths."""
    _sequence.value += 1
    return _sequence.value


def upcoming_sequence() -> int:
    """The number that the next node will get."""
    return _sequence.value + 1


class _Owner(int):
    """What a builtin function is bound to: its operator's number, and where pickle finds it.

    place: "" for the operators, "public" for the package, "Tensor" for that class.
    """

    _place = ""

    def __getattr__(self, name: str) -> Any:
        from .call import OPERATORS

        if name.startswith("__"):
            raise AttributeError(name)
        if self._place == "Tensor" and FAST is not None:
            return getattr(FAST.types["tensor"], name)
        package = sys.modules[__name__.partition(".")[0]]
        return getattr(package if self._place == "public" else OPERATORS, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return (owner, (-1, self._place))  # numbers differ between processes


_Owner.__name__ = _Owner.__qualname__ = "type"  # shown as `<built-in method add of type object>`


def owner(number: int, place: str = "") -> _Owner:
    made = _Owner(number)
    made._place = place
    return made


def is_operator(function: Any) -> bool:
    """Whether a builtin is one of the package's."""
    return isinstance(getattr(function, "__self__", None), _Owner)


def is_method(function: Any) -> bool:
    """Whether a builtin of the package is a method of tensors."""
    return function.__self__._place == "Tensor"  # type: ignore[no-any-return]


class _MethodDefinition(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p),
                ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_definitions: list[Any] = []


def _definition(address: int, name: str, doc: str | None) -> int:
    made = _MethodDefinition(name.encode(), address,
                             layout.METH_FASTCALL | layout.METH_KEYWORDS,
                             doc.encode() if doc else None)
    _definitions.append(made)
    return ctypes.addressof(made)


def builtin(address: int, name: str, number: int, doc: str | None) -> Any:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p,
                             ctypes.c_void_p)(("PyCFunction_NewEx", ctypes.pythonapi))
    _definitions.append(number)
    return make(_definition(address, name, doc), id(number), None)


def bindable(function: Any) -> Any:
    """A builtin function that becomes a method of the objects of a class that holds it."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(
        ("PyInstanceMethod_New", ctypes.pythonapi))
    return make(function)


def _descriptor(cls: type, address: int, name: str, doc: str | None) -> Any:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(
        ("PyDescr_NewMethod", ctypes.pythonapi))
    return make(cls, _definition(address, name, doc))


FAST: _Fast | None = None
_tried = False


def setup(types: dict[str, type]) -> _Fast | None:
    """Set the builtin path up once; None where the interpreter's probe rules it out."""
    global FAST, _tried
    if not _tried:
        _tried = True
        if layout.uses_builtins():
            FAST = _Fast(types)
    return FAST


def plain_class(cls: type) -> None:
    """Make the builtin path know the class of parameters."""
    if FAST is not None:
        FAST.parameter_class(cls)
