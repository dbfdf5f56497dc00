"""What runs while a profile is on, as it happens: one list of raw events a thread.

There is one collector a process. Sessions (profiles) switch it on and off and take from it what
happened during their time, so profiles may overlap; what one of them wants recorded, all pay for.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from ..dispatch import call as calls
from ..dispatch import fast, observing
from ..dispatch.state import STATE
from ..operators.record import Record
from ..runtime import forks, memory
from . import flops, inputs, names, stacks

#: PyTorch's numbers of what an event stands for.
FUNCTION, BACKWARD, USER = 0, 1, 7

now = time.perf_counter_ns


class Raw:
    """One event of a thread. What a session did not ask for keeps the values of the class."""

    end = 0
    plan: Any = None
    given: inputs.Inputs | None = None
    stack: tuple[Any, ...] = ()
    sequence = -1
    scope = FUNCTION
    flops = 0
    memory: tuple[int, int] | None = None  # bytes allocated at the start and at the end
    argument: str | None = None

    def __init__(self, name: str, parent: Raw | None) -> None:
        self.name, self.parent = name, parent
        self.start = now()


@dataclass(eq=False)
class ThreadEvents:
    """The events of one thread, in the order of their starts."""

    number: int  # 1 for the first thread seen, and so on
    native: int
    name: str
    events: list[Raw] = field(default_factory=list)
    innermost: Raw | None = None


@dataclass(frozen=True)
class Options:
    """What is recorded besides names and times."""

    shapes: bool = False
    memory: bool = False
    stacks: bool = False
    flops: bool = False

    def __or__(self, other: Options) -> Options:
        return Options(self.shapes or other.shapes, self.memory or other.memory,
                       self.stacks or other.stacks, self.flops or other.flops)


class _Local(threading.local):
    """Where this thread's events go."""

    def __init__(self) -> None:
        self.events: ThreadEvents | None = None


class Range(AbstractContextManager["Range"]):
    """One event around a block."""

    def __init__(self, collector: Collector, name: str, scope: int, sequence: int = -1,
                 argument: str | None = None) -> None:
        self.collector, self.name, self.scope = collector, name, scope
        self.sequence, self.argument = sequence, argument

    def __enter__(self) -> Range:
        raw = self.raw = self.collector.enter(self.name)
        raw.scope, raw.sequence, raw.argument = self.scope, self.sequence, self.argument
        return self

    def __exit__(self, *exc: object) -> None:
        self.collector.leave(self.raw)


class Collector(observing.Observer):
    """Records what it sees."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.local = _Local()
        self.threads: list[ThreadEvents] = []
        self.wanted: list[Options] = []  # of the sessions that are on
        self.options = Options()
        self.allocated: Any = None
        self.joined = False  # to what happens around a fork

    # ---- sessions ----------------------------------------------------------------------------

    def begin(self, options: Options) -> int:
        """Switch on for one session; gives the time."""
        with self.lock:
            if not self.joined:
                self.joined = True
                forks.join(in_child=self._stop_in_child)
            self.wanted.append(options)
            self._refresh()
        return now()

    def finish(self, options: Options) -> int:
        """A session ends. Gives the time."""
        ended = now()
        with self.lock:
            self.wanted.remove(options)
            self._refresh()
        return ended

    def _stop_in_child(self) -> None:
        """A forked process has no session: nobody would ever take its events."""
        self.lock = threading.RLock()
        self.threads, self.wanted, self.local = [], [], _Local()
        self._refresh()

    def _refresh(self) -> None:
        self.options = Options()
        for one in self.wanted:
            self.options |= one
        if self.options.memory and self.allocated is None:
            self.allocated = memory.allocated_cell()
        on = observing.current is self
        if bool(self.wanted) is not on:
            observing.observe(self if self.wanted else None)

    def taken(self, start: int, end: int) -> list[tuple[ThreadEvents, list[Raw]]]:
        """The events of each thread that began in a span of time."""
        with self.lock:
            found = [(t, [raw for raw in t.events if start <= raw.start <= end])
                     for t in self.threads]
            if not self.wanted:
                self.threads = []
                self.local = _Local()
        return [(thread, events) for thread, events in found if events]

    # ---- events ------------------------------------------------------------------------------

    def enter(self, name: str) -> Raw:
        """An event of this thread begins."""
        thread = self.local.events or self._new_thread()
        raw = Raw(name, thread.innermost)
        if self.options.memory:
            raw.memory = (self.allocated.value, 0)
        if self.options.stacks:
            raw.stack = stacks.frames(sys._getframe(1))
        thread.innermost = raw
        thread.events.append(raw)
        return raw

    def leave(self, raw: Raw) -> None:
        """It ends."""
        raw.end = now()
        if raw.memory is not None:
            raw.memory = (raw.memory[0], self.allocated.value)
        thread = self.local.events
        if thread is not None and thread.innermost is raw:  # else another session began inside
            thread.innermost = raw.parent

    def forget(self, raw: Raw) -> None:
        """It did not happen."""
        thread = self.local.events
        if thread is not None and thread.events and thread.events[-1] is raw:
            thread.events.pop()

    def _new_thread(self) -> ThreadEvents:
        thread = threading.current_thread()
        with self.lock:
            made = ThreadEvents(len(self.threads) + 1, thread.native_id or 0, thread.name)
            self.threads.append(made)
        self.local.events = made
        return made

    # ---- what the observer sees --------------------------------------------------------------

    def call(self, record: Record, values: tuple[Any, ...], target: Any = None, out: Any = None
             ) -> Any:
        options = self.options
        inplace = target is not None
        given = inputs.of(record, values) if options.shapes else None
        operations = flops.of(record, values) if options.flops else 0
        sequence = fast.upcoming_sequence() if STATE.tape else -1
        casts = bool(record.autocast) and STATE.autocast is not None  # which are to be seen
        bare = None if out is not None or casts else _bare(record, inplace)
        plan = None if bare is None else calls.known_plan(record, values, inplace)
        raw = self.enter(names.of(record, inplace))
        raw.given, raw.flops, raw.sequence = given, operations, sequence
        if plan is not None:
            raw.plan = plan
            try:
                return fast.FAST.unobserved(bare, values)  # type: ignore[union-attr, arg-type]
            finally:
                self.leave(raw)
        made = None
        try:
            made = calls.base(record, values, target, out)
        finally:
            self.leave(raw)
            if made is NotImplemented:  # nothing has run: the call comes again without `out`
                self.forget(raw)
            plan = STATE.last_plan
            if plan is not None and plan.record is record:
                raw.plan = plan
                STATE.last_plan = None  # a call around this one has not run it
        return made

    def function(self, function: Callable[..., Any], args: tuple[Any, ...],
                 kwargs: dict[str, Any]) -> Any:
        raw = self.enter(names.PREFIX + function.__name__)
        if self.options.shapes:
            raw.given = inputs.of_arguments(args, kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            self.leave(raw)

    def node(self, name: str, sequence: int) -> Range:
        return Range(self, name, BACKWARD, sequence)

    def range(self, name: str, annotation: bool = True) -> Range:
        return Range(self, name, USER if annotation else FUNCTION)


_builtins: dict[tuple[Record, bool], Callable[..., Any] | None] = {}


def _bare(record: Record, inplace: bool) -> Callable[..., Any] | None:
    """The builtin of a record below the levels, so that a profile sees the times of that path.

    None where there is none, or where its parts are to be seen.
    """
    key = (record, inplace)
    if key in _builtins:
        return _builtins[key]
    made = None
    if fast.FAST is not None and record.composite is None and record.name != "getitem":
        def twin(*values: Any) -> Any:
            return calls.unobserved(record, values, values[0] if inplace else None)

        made = fast.FAST.function(record, twin, record.name)
    _builtins[key] = made
    return made


COLLECTOR = Collector()

__all__ = ["COLLECTOR", "Collector", "Options", "Range", "Raw", "ThreadEvents"]
