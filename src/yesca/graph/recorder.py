"""The recorder of a thread: takes launches instead of running them, and runs them together.

While a compiled function runs, its Python runs as ever: checks, shapes, the tape, version counters
and views are made call by call. Only the launches are put off: results are storages without bytes,
and storages that a recorded call reads or writes are watched. Whoever asks for an address - item(),
NumPy, printing, an operator that cannot be recorded, another thread - makes the recording run
first (a *graph break*); the function's end does so too. See `tape.py` for the recording itself,
`trie.py` for what is known of earlier ones, `program.py` for what is run.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from array import array
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple

from ..core import registry
from ..core.storage import UntypedStorage
from ..dispatch import observing, state
from ..dispatch.state import STATE
from ..runtime import memory
from ..runtime.plan import Plan
from ..runtime.recording import (
    BRANCH, CALLS, CHECKED, CLOSED, FRAME, NODE, NOTHING, NUMBER_MASK, OTHERS_LIVE, PENDING_BYTES,
    RAN, REPORTED,
)
from . import breaks, checks, tape
from .program import Program
from .tape import Tape
from .trie import Function, Node, Trie

RECOUNTS = 8  # of what is held: another thread may let go of it while a program is made
replays = 0  # native replay calls in this process (for tests and reports)


def _as_a_whole(write: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method write a call down as a whole: where an error comes in between, as from the
    handler of a signal, what was recorded before runs, and the call is not part of it."""
    @wraps(write)
    def run(self: Recorder, *given: Any) -> Any:
        try:
            return write(self, *given)
        except BaseException:
            self.flush()
            if self.tape.closed():  # there was nothing
                self.tape.clear(self.tape.header[NODE])
            raise

    return run


class Recorder:
    """One thread's recorder; `begin` and `end` bracket each call of a compiled function."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.tape = Tape(self)
        self.native = _native()
        self.trie = Trie(Function(self.begin))
        self.running = False
        self.inside = False  # between `begin` and `end`
        self.strict = False  # fullgraph=True: a break is an error
        self.leaving = False  # the call recorded last is the last one of this compiled call
        self.passing = False  # what follows is run at once
        self.again = False  # it is recorded, for its beginning has come before
        self._called = (self.branch, self.checked)  # by native code: they live as long
        self.tape.header[BRANCH], self.tape.header[CHECKED] = map(id, self._called)
        self._held = self._references_of_the_tape()

    def _references_of_the_tape(self) -> int:
        """What `sys.getrefcount` says of a storage that only the tape holds."""
        return self._counts([UntypedStorage._wrap(0, 0, None, 0)], (0,))[0]

    @staticmethod
    def _counts(storages: list[Any], numbers: tuple[int, ...]) -> list[int]:
        return [sys.getrefcount(storages[n]) for n in numbers]

    # ---- a compiled call ---------------------------------------------------------------------

    def begin(self, trie: Trie, strict: bool) -> None:
        """Record this thread's launches from here on."""
        if self.tape.storages:  # of a call whose end was interrupted
            self.flush()
        self.trie, self.strict, self.inside = trie, strict, True
        self.leaving = self.passing = self.again = False
        STATE.recorder = self
        native, root = self.native, trie.root.address
        if native is None or not native.begin(self.tape.address, root):
            self.tape.header[NODE] = root
            state.set_recorder(self)

    def end(self) -> None:
        """Run what is recorded; launches run at once again.

        The caller has said already that nothing is recorded: `inside`, and `STATE.recorder`.
        """
        global replays
        native = self.native
        if native is None or breaks.listeners or observing.current is not None:
            self._end(OTHERS_LIVE)
            return
        with self.lock:
            try:
                ran = native.conclude(self.tape.address)
            except BaseException:
                self._end_lost()
                raise
            if ran == RAN:
                replays += 1
            elif ran != NOTHING:
                self._end(ran)

    def _end(self, ran: int) -> None:
        """The end of a call that native code did not bring about, or whose launches reported."""
        global replays
        state.set_recorder(None)
        if ran != REPORTED:
            self.flush()
            return
        replays += 1
        program = self.trie.at(self.tape.header[NODE]).latest
        assert program is not None
        plan, words = _reported(program, self.tape.values)
        self.tape.clear(self.trie.root.address)
        plan.on_check(words)

    def _end_lost(self) -> None:
        """The end of a call that could not run what it recorded."""
        state.set_recorder(None)
        tape.abandon(self.tape.storages)
        self.tape.clear(self.trie.root.address)

    # ---- recording ---------------------------------------------------------------------------

    def offer(self, plan: Plan, tensors: list[Any], scalars: tuple[Any, ...]) -> Any:
        """Record a call; gives the storages of its results, or None if it has to run at once."""
        if self.passing:
            return None
        with self.lock:
            if self.tape.closed():  # the handler of a signal has come in between, or it leaves
                if self.leaving:
                    self.flush()
                return None
            alone = plan.checks and not self.tape.storages  # it would run at once
            if alone or plan.host or plan.record.kind == "random" or not self._recordable(
                    tensors, scalars):
                return None  # draws happen in the program's order, seeds set between them included
            if self.tape.full():
                self.broken("full", str(self.tape.header[CALLS]), False)
            collects = gc.isenabled()
            gc.disable()  # what a finalizer runs would be recorded in between
            try:
                made = self._record(plan, tensors, scalars)
            finally:
                if collects:
                    gc.enable()
            if plan.checks:
                self.checked()
            return made

    @_as_a_whole
    def _record(self, plan: Plan, tensors: list[Any], scalars: tuple[Any, ...]) -> list[Any]:
        """Write a call down; gives the storages of its results.

        Again from the start, if the handler of a signal has run the recording in between.
        """
        header = self.tape.header
        while True:
            header[PENDING_BYTES] += CLOSED
            key = self._key(plan, tensors, scalars)
            made = [] if plan.inplace else [self.tape.new(s.nbytes) for s in plan.results]
            node = self._next(key)
            if header[PENDING_BYTES] >= CLOSED:
                header[NODE] = node
                header[CALLS] += 1
                header[PENDING_BYTES] -= CLOSED
                return made

    def _key(self, plan: Plan, tensors: list[Any], scalars: tuple[Any, ...]) -> bytes:
        """The key of a call, whose operands are part of the recording from here on."""
        key = array("q", (id(plan),))
        for tensor in tensors:
            storage = tensor._storage
            start = tensor._offset * tensor._spec.dtype.itemsize
            if storage.__class__ is not self.tape.storage_class:
                self.tape.adopt(storage, start)
            key.extend((storage._number & NUMBER_MASK, self.tape.offset(storage, start)))
        for number in scalars:
            self.tape.number(number)
        return key.tobytes()

    def _recordable(self, tensors: list[Any], scalars: tuple[Any, ...]) -> bool:
        """Memory that code outside may write has to be read when the call is made."""
        own = (UntypedStorage, self.tape.storage_class)
        for tensor in tensors:
            storage = tensor._storage
            if storage._flags or storage.__class__ not in own:
                return False
        return not any(isinstance(number, complex) for number in scalars)

    @_as_a_whole
    def branch(self, address: int, nbytes: int) -> None:
        """Take an edge that native code did not find where it looked; it has closed the recording,
        and begins again where that is open afterwards."""
        header = self.tape.header
        node = self._next(ctypes.string_at(address, nbytes))
        if header[PENDING_BYTES] >= CLOSED:
            header[NODE] = node

    def _next(self, key: bytes) -> int:
        """The node after a call. Where most of what is new comes just once, a call that is new is
        recorded, but what follows it is run at once, until it comes again."""
        trie, header = self.trie, self.tape.header
        before = header[NODE]
        known = len(trie.nodes)
        node = trie.branch(before, key)
        if len(trie.nodes) > known and not self.again:
            if trie.at(before).left:
                self.again = True
            elif not self.strict and trie.passing():
                node.left = self.leaving = True
                if header[PENDING_BYTES] >= CLOSED:  # no handler of a signal has run it
                    header[PENDING_BYTES] += CLOSED
        return node.address

    def checked(self) -> None:
        """The call recorded last checks values: its error belongs to this line of the program."""
        header = self.tape.header
        node = self.trie.at(header[NODE])
        if checks.passes(node.entry, node.written, self.tape):
            return
        if breaks.wanted():
            assert node.entry is not None
            breaks.note("check", node.entry.plan.record.name, header[CALLS],
                        self.trie.about.broken)
        self.flush()

    # ---- running -----------------------------------------------------------------------------

    def touch(self) -> None:
        """Somebody asks for the address of a recorded storage."""
        with self.lock:
            if not self.tape.storages:
                return
            if self.tape.closed():  # the handler of a signal asks: it gets the value at once
                self.flush()
                return
            kind, what = breaks.reader(2)
            self.broken(kind, what, self.strict and STATE.recorder is self
                        and what in breaks.REFUSED)

    def shown(self) -> None:
        """A tensor is about to be written out, one whose values are at hand too: an error where
        breaks are."""
        kind, what = breaks.reader(1)
        if self.strict and STATE.recorder is self and what in breaks.REFUSED:
            self.broken(kind, what, True)

    def broken(self, kind: str, what: str, refused: bool) -> None:
        """Run what is recorded before the function's end; an error where that is refused."""
        with self.lock:
            found = breaks.note(kind, what, self.tape.header[CALLS], self.trie.about.broken) \
                if refused or breaks.wanted() else None
            self.flush()
            if refused and found is not None:
                raise breaks.refused(found)

    def flush(self) -> None:
        """Run the recording; the storages are plain ones afterwards."""
        with self.lock:
            storages = self.tape.storages
            if not storages:
                return
            collects = gc.isenabled()
            gc.disable()  # finalizers may run operators, and so record or run calls
            try:
                node, failed = self._ran(storages)
            finally:
                if collects:
                    gc.enable()
            if node is None:
                return
            if breaks.listeners:
                breaks.ran(node.latest, node.entries())
            if failed is not None:
                plan, words = failed
                plan.on_check(words)

    def _ran(self, storages: list[Any]) -> tuple[Node | None, Any]:
        """Run the recording of these storages, and start anew; gives the node that it led to, and
        (plan, error words) of a failed call or None.

        The handler of a signal may come in between. What it calls is not recorded. If it asks for
        a value of this recording, all of it is run there, and there is no node for the caller.
        """
        self._mark(True)
        node = self.trie.at(self.tape.header[NODE])
        try:
            replay = self._replay if observing.current is None else observing.observed(
                "Torch-Compiled Region", self._replay)
            failed = replay(node, storages) if self.tape.storages is storages else None
        except BaseException:
            if self.tape.storages is storages:
                tape.abandon(storages)
            raise
        finally:
            own = self.tape.storages is storages
            self._mark(False)
            if own:
                self._go_on(node)
            elif self.tape.closed():  # it has begun anew, before it was closed
                self.tape.header[PENDING_BYTES] -= CLOSED
        return (node if own else None), failed

    def _go_on(self, node: Node) -> None:
        """Record what follows from an empty tape, in a new trie where the old one is full."""
        trie = self.trie.bounded()
        start = trie.resumed(node) if trie is self.trie else trie.root
        self.trie = trie
        self.tape.clear(start.address)
        if self.leaving:
            self.leaving, self.passing = False, True
            for listener in state.listeners:
                listener()

    def _replay(self, node: Node, storages: list[Any]) -> Any:
        """Run the program for what is held now; gives (plan, error words) of a failed call."""
        global replays
        replays += 1
        if self.native is None:
            return self._run(self.trie.program(node, self._live(node, storages)), storages)
        finish, ran = self.native.finish, OTHERS_LIVE
        program = node.latest if node.block[FRAME] else None
        for _ in range(1 + RECOUNTS):
            if program is not None:
                if self.tape.storages is not storages:
                    return None  # a signal's handler has run it; none comes before the next call
                ran = finish(self.tape.address, program.frame_address)
                if ran != OTHERS_LIVE:
                    break
            program = self.trie.program(node, self._live(node, storages))
        assert ran != OTHERS_LIVE, "a program that was made for what is held does not know it"
        if ran != REPORTED:
            return None
        assert program is not None
        return _reported(program, self.tape.values)

    def _live(self, node: Node, storages: list[Any]) -> tuple[int, ...]:
        """The new storages that somebody besides the tape holds."""
        counts = self._counts(storages, node.new)
        held = self._held
        return tuple([n for n, count in zip(node.new, counts, strict=True) if count > held])

    def _mark(self, running: bool) -> None:
        """Native code of the recorder's own thread must not record while the recording is run, by
        another thread or by itself: there is no room for more until it starts anew."""
        self.running = running
        if running:
            self.tape.header[PENDING_BYTES] += CLOSED
        if self.inside and STATE.recorder is not self:
            for listener in state.listeners:
                listener()

    def _run(self, program: Program, storages: list[Any]) -> Any:
        """The twin of `runtime/native/finish.py` for interpreters without builtins."""
        arena, owner = memory.allocate(program.arena)
        bases = array("q", (arena,))
        for _, number in program.bases:
            bases.append(tape.address_of(storages[number]))
        for _, number, nbytes in program.outputs:
            address, own = memory.allocate(nbytes)
            tape.materialise(storages[number], address, own)
            bases.append(address)
        checks = sum(count for _, _, count in program.cells)
        if checks:
            ctypes.memset(arena + program.cells_at, 0, 8 * checks)
        self._launch(program, bases, storages)
        for storage in storages:
            storage.__class__ = UntypedStorage
        words = (ctypes.c_int64 * checks).from_address(arena + program.cells_at)
        failed = _reported(program, words) if any(words) else None
        del owner
        return failed

    def _launch(self, program: Program, bases: array[int], storages: list[Any]) -> None:
        """Run the launches; bases: the addresses that they start from."""
        native_replay()(program.address, bases.buffer_info()[0], self.tape.values_address,
                        program.slow)


def _reported(program: Program, words: Any) -> Any:
    """The first call that reported an error, and its words."""
    for plan, first, count in program.cells:
        if any(words[first:first + count]):
            return plan, words[first:first + count]
    return None


class _Native(NamedTuple):
    """Builtins of machine code, see `runtime/native/bracket.py` and `finish.py`."""

    begin: Callable[[int, int], bool]
    conclude: Callable[[int], int]
    finish: Callable[[int, int], int]


@cache
def _native() -> _Native | None:
    """The builtins; None where there are none."""
    from ..runtime import builtins, layout, threads

    threads.prepare()
    if not layout.uses_builtins():
        return None
    from ..runtime.native import bracket, finish

    return _Native(builtins.builtin(bracket.python_begin, "begin", "begin(tape, root)"),
                   builtins.builtin(bracket.python_conclude, "conclude", "conclude(tape)"),
                   builtins.builtin(finish.python_finish, "finish", "finish(tape, frame)"))


@cache
def native_replay() -> Any:
    """`replay` by ctypes."""
    from ..runtime import units
    from ..runtime.native import replay

    held, free = (units.callable_of(replay.replay, gil=gil) for gil in (True, False))

    def run(program: int, bases: int, values: int, slow: bool) -> None:
        (free if slow else held)(program, bases, values)

    return run


class _Threads(threading.local):
    recorder: Recorder | None = None


threads = _Threads()


def current() -> Recorder:
    """This thread's recorder."""
    if threads.recorder is None:
        threads.recorder = Recorder()
    return threads.recorder


def choose(own: Recorder | None) -> Recorder | None:
    """Give this thread another recorder, outside of recordings; gives the one it had."""
    before, threads.recorder = threads.recorder, own
    return before


def capture(plan: Plan, tensors: list[Any], scalars: tuple[Any, ...]) -> Any:
    """What `dispatch` asks for each launch while a recorder is set."""
    return STATE.recorder.offer(plan, tensors, scalars)


registry.capture = capture
