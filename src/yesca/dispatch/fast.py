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

from ..base import settings
from ..core.devices import CPU
from ..core.dtypes import DType
from ..core.node_base import Saved
from ..core.spec import Size
from ..core.storage import UntypedStorage
from ..core.tensor_base import Extra, TensorBase, Version
from ..operators.record import Record
from ..runtime import builtins, layout, machine, memory, threads, units
from ..runtime.plan import Plan
from . import observing
from .state import STATE, listeners

CAPACITY = 1 << 15
LIMIT = CAPACITY // 2  # entries; then the table starts anew
#: Operators whose calls may come down to one plan of another record, on the same tensors.
INDIRECT = {"getitem": ("index_at",), "reshape": ("view",), "flatten": ("view",),
            "unflatten": ("view",), "view_as": ("view",), "reshape_as": ("view",),
            "expand_as": ("expand",)}
SLOTS, WORDS, RESULTS, OPERANDS = 144, 512, 15, 62


@dataclass
class _Fast:
    """The state of the builtin path, and what must live as long as it."""

    types: dict[str, type]
    kept: list[Any] = field(default_factory=list)
    plans: list[Any] = field(default_factory=list)
    retired: list[list[Any]] = field(default_factory=list)  # plans of emptied tables
    operators: list[tuple[Record, Callable[..., Any]]] = field(default_factory=list)
    entries: int = 0
    off: bool = False  # every call takes the Python path (refresh() makes a change known)
    recorder: Any = None  # whose tape the builtin writes
    owner: int = 0  # under an observer: the thread whose flags these are, if nothing else is slow

    def __post_init__(self) -> None:
        from ..runtime.native import capture, fastcall, fastkey, fastrun

        self.off = settings.DEBUG.get() > 0  # the Python path reports what it launches
        memory.prepare()
        threads.prepare()
        self.code, self.key, self.runner = fastcall, fastkey, fastrun
        self.state = units.address(fastkey.state)
        self.tape_place = capture.TAPE
        self.function_address = units.address(fastcall.fast_function)
        self.call_address = units.address(fastcall.fast_call)
        self.hash = units.callable_of(fastcall.hash_words)
        ctypes.memmove(units.address(fastrun.fail_format), b"OL\0", 3)
        self.table = (ctypes.c_int64 * (4 * CAPACITY))()
        self.directory = (ctypes.c_int64 * 4096)()
        words = {
            fastcall.TABLE: ctypes.addressof(self.table), fastcall.CAPACITY: CAPACITY,
            fastcall.OPERATORS: ctypes.addressof(self.directory),
            fastcall.THREAD: 0, fastrun.RUNNING: 0, fastrun.SEQUENCE: SEQUENCE_ADDRESS,
        }
        objects = {
            fastkey.TENSOR_TYPE: self.types["tensor"],
            fastkey.PARAMETER_TYPE: self.types.get("parameter", self.types["tensor"]),
            fastkey.SIZE_TYPE: Size, fastkey.DTYPE_TYPE: DType,
            fastkey.STORAGE_TYPE: UntypedStorage, fastrun.VERSION_TYPE: Version,
            fastrun.NODE_TYPE: self.types["node"], fastrun.SAVED_TYPE: Saved,
            fastrun.EXTRA_TYPE: Extra, fastrun.CPU: CPU, fastrun.ZERO: 0, fastrun.EMPTY: (),
            fastrun.FAIL: _fail, fastrun.CHANGED: raise_changed,
            fastcall.LEARN: self.learn, fastcall.REFRESH: self.refresh,
        }
        for place, word in words.items():
            self.write(place, word)
        for place, thing in objects.items():
            self.kept.append(thing)
            self.write(place, id(thing))
        self.restore = builtins.builtin(fastrun.restore, "restore")
        self.flags = ctypes.c_int64.from_address(self.state + fastcall.FLAGS)
        self.thread = ctypes.c_int64.from_address(self.state + fastcall.THREAD)
        self.running = ctypes.c_int64.from_address(self.state + fastrun.RUNNING)
        listeners.append(self.refresh)
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
        slow = (self.off or state.python or state.levels or state.saving or state.inference
                or state.anomaly or state.autocast)
        recorder = state.recorder
        if recorder is not self.recorder:
            self.recorder = recorder
            tape = None if recorder is None else recorder.tape
            self.write(self.tape_place, 0 if tape is None else tape.address)
            self.write(self.key.RECORDED_TYPE, 0 if tape is None else id(tape.storage_class))
        if recorder is not None and recorder.running:
            slow = True  # for another thread; this one waits for it in Python
        if observing.current is not None:
            self.owner = 0 if slow or recorder is not None else get_ident()
            slow = True
        self.flags.value = ((1 if state.grad else 0) | (2 if slow else 0)
                            | (0 if recorder is None else 4))
        self.thread.value = 0

    # ---- operators -----------------------------------------------------------------------

    def operator(self, record: Record, twin: Callable[..., Any], spread: bool = False) -> int:
        """Make an operator known; gives its number."""
        number = len(self.operators)
        if number >= len(self.directory) or len(record.modes) > self.code.PARAMETER_LIMIT:
            raise RuntimeError("[fast] the directory of operators is full")
        position = record.spread if spread else -1
        words = [id(twin), len(record.modes), position]
        for k, (mode, parameter) in enumerate(zip(record.modes, record.schema.parameters,
                                                  strict=True)):
            default = parameter.default
            counts = mode in "TS" and type(default) in (int, float) and not parameter.required
            name = sys.intern(parameter.name)
            words += [ord("V" if k == position else mode), id(default) if counts else 0, id(name)]
            self.kept.append((default, name))
        block = (ctypes.c_int64 * len(words))(*words)
        self.kept.append((block, twin))
        self.directory[number] = ctypes.addressof(block)
        self.operators.append((record, twin))
        return number

    def function(self, record: Record, twin: Callable[..., Any], name: str) -> Any:
        """A builtin free function."""
        number = _owner(self.operator(record, twin))
        return _builtin(self.function_address, name, number, twin.__doc__)

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
        self.flags.value &= ~2
        try:
            return function(*values)
        finally:
            self.flags.value |= 2

    # ---- plans ---------------------------------------------------------------------------

    def learn(self, number: int, key: bytes, /, *args: Any, **options: Any) -> Any:
        """Run the Python twin and enter its plan under the key that was not found."""
        record, twin = self.operators[number]
        STATE.last_plan = None
        given = (*args, *options.values())
        if record.name in INDIRECT:
            made = self._in_python(twin, args, options)
        else:
            made = twin(*args, **options)
        plan = STATE.last_plan
        if plan is not None and _computes(plan, record, _tensors_in(given)):
            self.enter([*memoryview(key).cast("q")], plan, given)
        return made

    def _in_python(self, twin: Callable[..., Any], args: Any, options: Any) -> Any:
        """Run a twin whose inner calls shall be seen: none of them takes the builtin path."""
        before, STATE.python = STATE.python, True
        self.refresh()
        try:
            return twin(*args, **options)
        finally:
            STATE.python = before
            self.refresh()

    def enter(self, key: list[int], plan: Plan, args: tuple[Any, ...]) -> None:
        """Put a plan into the table, if the builtin can run it."""
        words, sizes = self.block(plan, key[1])
        if not words:
            return
        if self.entries >= LIMIT:
            self.forget()
        block = (ctypes.c_int64 * len(words))(*words)
        stored = (ctypes.c_int64 * (len(key) + 1))(len(key), *key)
        code = self.hash(ctypes.addressof(stored) + 8, len(key))
        # The key holds addresses of specs, which the plan keeps, and of texts.
        self.plans.append((block, stored, plan, sizes, _texts_in(args)))
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

    def block(self, plan: Plan, mask: int) -> tuple[list[int], list[int]]:
        """The plan as `fastrun` reads it, and the numbers it refers to; empty if it cannot run."""
        nothing: tuple[list[int], list[int]] = ([], [])
        if plan.inplace and len(plan.results) != 1:
            return nothing
        slots = plan.operands + len(plan.results) + len(plan.temporaries)
        if (plan.meta or plan.host or len(plan.views) > 1 or slots >= SLOTS
                or plan.record.schema.results == 0
                or len(plan.results) > RESULTS
                or plan.operands > OPERANDS or plan.checks > 8
                or any(len(one.words) > WORDS for one in plan.launches)
                or any(n[2] not in "ifs" for one in plan.launches for n in one.numbers)):
            return nothing
        if plan.view is not None and \
                plan.view[0].dtype.itemsize != plan.operand_spec(0).dtype.itemsize:
            return nothing
        saved = plan.saves(mask) if plan.differentiable and mask else ()
        slow = any(one.total > one.grain for one in plan.launches)
        offset = plan.view[1] if plan.view is not None else int(slow)
        kind = 2 if plan.inplace else int(plan.view is not None)
        words = [kind, plan.operands, len(plan.results), len(plan.temporaries),
                 len(plan.launches), int(plan.differentiable), offset,
                 id(plan), plan.checks, len(saved), len(plan.writes)]
        words += [plan.operand_spec(k).dtype.itemsize for k in range(plan.operands)]
        plan.native = sizes = [spec.nbytes for spec in plan.results]  # new results refer to them
        for k, (spec, size) in enumerate(zip(plan.results, sizes, strict=True)):
            words += [id(spec), size, id(size), int(plan.carries(k))]
        words += plan.temporaries
        for is_result, which in saved:
            words += [int(is_result), which]
        words += plan.writes
        for one in plan.launches:
            words += [one.address, one.total, one.grain, len(one.words), len(one.pointers),
                      len(one.numbers), *one.words]
            for entry in one.pointers:
                words += entry
            for word, position, kind in one.numbers:
                words += [word, position, "ifs".index(kind)]
        return words, sizes


def _tensors_in(values: Any) -> list[Any]:
    """The tensors among arguments, also inside lists, tuples and slices."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors_in(value)
        elif isinstance(value, slice):
            found += _tensors_in((value.start, value.stop, value.step))
    return found


def _texts_in(values: Any) -> list[str]:
    """The strings among arguments, also inside lists and tuples."""
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _texts_in(value)
    return found


def _computes(plan: Plan, record: Record, tensors: list[Any]) -> bool:
    """Whether the plan that ran last is all that a call of the record on these tensors does.

    An index expression with tensors ends in a gather from the tensor itself where its other parts
    change nothing. A tensor whose value was read (as a size, say) is no operand of the plan.
    """
    if plan.operands != len(tensors) or any(
            plan.operand_spec(k) is not t._spec for k, t in enumerate(tensors)):
        return False
    return plan.record is record or plan.record.name in INDIRECT.get(record.name, ())


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
    """What a builtin function is bound to: its operator's number, and where pickle finds it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        from .call import OPERATORS

        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(OPERATORS, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_owner, (-1,))  # numbers differ between processes


_Owner.__name__ = _Owner.__qualname__ = "type"  # shown as `<built-in method add of type object>`


def _owner(number: int) -> _Owner:
    return _Owner(number)


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


def _builtin(address: int, name: str, number: int, doc: str | None) -> Any:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p,
                             ctypes.c_void_p)(("PyCFunction_NewEx", ctypes.pythonapi))
    _definitions.append(number)
    return make(_definition(address, name, doc), id(number), None)


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
