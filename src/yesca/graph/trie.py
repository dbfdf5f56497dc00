"""The trie of recordings: edges are calls, nodes hold the programs that end there.

The key of an edge is the call's plan and what its operands are: the number of each storage in
order of first sight, and where in it the operand begins. So two runs that take the same edges do
the same work on storages that share memory in the same way, and need no planning.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..base import settings
from ..runtime.plan import NUMBER, Plan
from ..runtime.recording import CHILD, FRAME, KEY, ROUSES
from . import breaks, reports, stored
from .program import Entry, Operand, Program

#: Of one function; then its trie starts anew.
MOST_NODES, MOST_PROGRAMS = 1 << 15, 1 << 10
#: What is new gets a plain program until it runs again, where this many calls have left programs
#: that ran just once, or its own call this many.
MOST_CALLS_ONCE, MOST_OF_CALL_ONCE = 3, 16
#: Bytes that a program must save to be worth recording: what is moved in the time that it takes to
#: begin and end a recording.
LEAST_SAVED = 3 << 15
#: How many recorded calls before a program for several threads these are woken: as long as that
#: takes, and less than they watch for work.
LEAD = 8


class Node:
    """One recorded call after those of its parents.

    block: what native code reads of it, see `runtime.recording`.
    """

    __slots__ = ("parent", "children", "entry", "sizes", "numbers", "values", "block", "address",
                 "programs", "new", "after", "latest", "written", "left")

    def __init__(self, parent: Node | None, key: bytes, entry: Entry | None,
                 sizes: dict[int, int], numbers: int, values: int) -> None:
        self.parent = parent
        self.children: dict[bytes, Node] = {}
        self.entry = entry
        self.sizes = sizes  # bytes of the new storages that this call makes
        self.numbers = numbers  # storages seen up to here
        self.values = values  # run-time values up to here
        words = memoryview(key).cast("q").tolist()
        self.block = (ctypes.c_int64 * (KEY + len(words)))(0, 0, 0, len(words), *words)
        self.address = ctypes.addressof(self.block)
        self.programs: dict[tuple[int, ...], Program] = {}
        self.latest: Program | None = None  # the one that ran last: the likeliest to run next
        self.after: Node | None = None  # where recording goes on after a break here
        self.left = False  # what came after it at first was not recorded
        self.written: frozenset[int] = frozenset()  # earlier storages that calls write up to here
        if parent is not None and entry is not None:
            self.written = parent.written.union(n for n in entry.written() if n not in sizes)
        self.new: tuple[int, ...] = (*parent.new, *sizes) if parent is not None else ()

    def runs(self, program: Program) -> None:
        """Note which program runs here; native code goes on with one that has run before."""
        self.latest = program
        program.runs += 1
        self.block[FRAME] = program.frame_address if program.runs > 1 else 0
        if program.slow:
            early = self
            for _ in range(LEAD):
                early = early.parent or early
            early.block[ROUSES] = 1

    def path(self) -> list[Node]:
        """The nodes from the first call to this one."""
        found: list[Node] = []
        node = self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        found.reverse()
        return found

    def entries(self) -> list[Entry]:
        """The calls that lead here."""
        return [node.entry for node in self.path() if node.entry is not None]

    def why(self) -> str:
        """What was not known of the way here, or of its end, when its latest program was made."""
        if len(self.programs) > 1:
            return "other results are held when it ends"
        path = self.path()
        for node in reversed(path):
            assert node.parent is not None and node.entry is not None
            others = [n for n in node.parent.children.values() if n is not node]
            if others and others[-1].entry is not None:
                return reports.difference(node.entry, others[-1].entry)
        if self.children:
            return f"it ends after {len(path)} calls where it went on before"
        return f"it makes {len(path)} calls, more than before"


@dataclass(eq=False)
class Function:
    """A compiled function, its recordings, and how often it needed a new program."""

    function: Callable[..., Any]
    trie: Trie | None = None
    calls: int = 0
    built: int = 0  # programs
    building: int = 0  # calls that needed one
    last: int = 0  # the last of them
    told: bool = False  # of a storm
    idle: bool = False  # programs save less than it takes to record: most calls just run
    broken: set[str] = field(default_factory=set)  # the breaks that were logged

    def recordings(self) -> Trie:
        """What is known at the beginning of a call."""
        self.calls += 1
        trie = self.trie
        if trie is None or trie.full():
            trie = self.trie = Trie(self)
        return trie

    def forget(self) -> None:
        """Start anew, as if it had never been called."""
        self.trie, self.calls, self.built, self.building = None, 0, 0, 0
        self.told = self.idle = False
        self.broken.clear()

    def source(self) -> tuple[str, str, int]:
        """Its name, and the file and line where it is written."""
        owner = getattr(self.function, "__self__", None)
        inner = self.function if owner is None else getattr(owner, "forward", self.function)
        code = getattr(getattr(inner, "__func__", inner), "__code__", None)
        name = type(owner).__name__ if owner is not None else getattr(
            inner, "__qualname__", type(inner).__name__)
        return (name, "", 0) if code is None else (name, code.co_filename, code.co_firstlineno)

    def name(self) -> str:
        """Its name and place, as reports show them."""
        name, file, line = self.source()
        return f"{name} ({file}:{line})" if file else name

    def location(self) -> str:
        """Its name and place, as PyTorch's errors show them."""
        name, file, line = self.source()
        return f"filename: '{file}', function name: '{name}', line number: {line}"


class Trie:
    """The recordings of one function."""

    def __init__(self, about: Function) -> None:
        self.about = about
        self.programs = 0
        self.worth = False  # some program saves more than it takes to record
        self.once: dict[Program, int] = {}  # those that ran once, and the calls that made them
        self.starts: dict[str, Node] = {}
        self.root = _start()
        self.nodes: dict[int, Node] = {self.root.address: self.root}

    def at(self, address: int) -> Node:
        """The node whose block is at an address."""
        return self.nodes[address]

    def branch(self, address: int, key: bytes) -> Node:
        """The node after a call; made when the call is new there."""
        node = self.nodes[address]
        child = node.children.get(key)
        if child is None:
            child = node.children[key] = _child(node, key)
            self.nodes[child.address] = child
        node.block[CHILD] = child.address
        return child

    def program(self, node: Node, live: tuple[int, ...]) -> Program:
        """What computes the new storages in `live`, and every write to earlier ones."""
        found = node.programs.get(live)
        if found is None:
            found = self._made(node, live, self.passing())
            self.programs += 1
            reports.needed(self.about, found.plain, node.why)
            if not found.plain:
                self.once[found] = self.about.calls
        elif found.plain:
            found = self._made(node, live, False)
        else:
            if found in self.once:
                call = self.once[found]
                self.once = {p: c for p, c in self.once.items() if c != call}
            self.about.idle = not (self.worth or settings.RECORD.get() or settings.LOGS.get())
        node.runs(found)
        return found

    def _made(self, node: Node, live: tuple[int, ...], plain: bool) -> Program:
        entries = node.entries()
        sizes = {n: nbytes for one in node.path() for n, nbytes in one.sizes.items()}
        made = node.programs[live] = stored.program(entries, live, sizes, node.numbers, plain)
        if not plain:
            if made.saved >= LEAST_SAVED:
                self.record_always()
            reports.built(self.about, made, entries)
        return made

    def record_always(self) -> None:
        """From here on no call of the function just runs."""
        self.worth, self.about.idle = True, False

    def passing(self) -> bool:
        """Whether what is new will come just once, from what became of the programs so far."""
        calls = Counter(self.once.values())
        made = calls.pop(self.about.calls, 0)
        return not breaks.listeners and (
            len(calls) >= MOST_CALLS_ONCE or made >= MOST_OF_CALL_ONCE)

    def resumed(self, node: Node) -> Node:
        """Where recording goes on after what led to a node has run: numbering starts anew.

        Breaks at one line share what follows them, so that a loop with a break in it is recorded
        once and not once a turn.
        """
        if node.after is None:
            place = breaks.place()
            if place not in self.starts:
                start = self.starts[place] = _start()
                self.nodes[start.address] = start
            node.after = self.starts[place]
        return node.after

    def bounded(self) -> Trie:
        """This trie, or an empty one in its place when it has grown too large."""
        return Trie(self.about) if self.full() else self

    def full(self) -> bool:
        """Whether it has grown too large."""
        return len(self.nodes) >= MOST_NODES or self.programs >= MOST_PROGRAMS


def _start() -> Node:
    return Node(None, b"", None, {}, 0, 0)


def _child(node: Node, key: bytes) -> Node:
    words = memoryview(key).cast("q").tolist()
    plan: Plan = ctypes.cast(words[0], ctypes.py_object).value
    numbers, values = node.numbers, node.values
    operands = []
    for number, offset in zip(words[1::2], words[2::2], strict=True):
        numbers = max(numbers, number + 1)
        if offset < 0:
            operands.append(Operand(number, 0, -1 - offset))
            values = max(values, -offset)
        else:
            operands.append(Operand(number, offset, -1))
    sizes: dict[int, int] = {}
    if not plan.inplace:
        sizes = {numbers + k: spec.nbytes for k, spec in enumerate(plan.results)}
    entry = Entry(plan, tuple(operands), tuple(sizes), values)
    return Node(node, key, entry, sizes, numbers + len(sizes), values + 2 * scalars(plan))


def scalars(plan: Plan) -> int:
    """How many run-time numbers a call of this plan has."""
    return sum(value is NUMBER for value in plan.values)
