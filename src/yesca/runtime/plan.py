"""Plans: what one operator call does once its checks and choices are made.

A plan holds for every call with the same key: it names the results' specs and the launches, each
a template of words and the places that pointers and numbers go to. Slots number the tensors of a
call: operands first, then results, then temporaries.
"""

from __future__ import annotations

import struct
import sys
import time
from array import array
from dataclasses import dataclass, field
from typing import Any

from ..core.devices import CPU
from ..core.spec import Spec
from ..core.storage import UntypedStorage
from ..core.tensor_base import address_of
from ..base import settings
from . import memory

PLAN_LIMIT = 1 << 14  # plans that a record keeps; then it starts anew
launches = 0  # calls of the launcher in this process, whatever the number of stages (for tests)


@dataclass(frozen=True)
class Launch:
    """One stage of a plan's launch: a machine function over [0, total) in chunks of `grain`.

    pointers: (word, slot, bytes beyond the tensor's first element)
    numbers:  (word, position of the argument, "f" float64, "s" float32 or "i" integer; "real" and
              "imag": a part of a complex number as float64)
    written:  words of pointers through which it writes, and reads nothing of before; None for a
              stage, which says it itself, and where it is not known
    long:     whether it may take its time though it is one piece of work
    blocks:   of a product, which part of its result each unit of [0, total) writes
    """

    address: int
    words: array[int]
    pointers: tuple[tuple[int, int, int], ...]
    numbers: tuple[tuple[int, int, str], ...]
    total: int
    grain: int
    name: str
    written: tuple[int, ...] | None = None
    long: bool = False
    blocks: Any = None


@dataclass(frozen=True)
class Flat:
    """What a launch does whose words and machine code are not those of a stage: a flat stage over
    `points` elements that lie in a row, from the first one of each tensor.

    slots: of each buffer; numbers: of each argument, as a Launch has them, without the word
    """

    stage: Any
    points: int
    slots: tuple[int, ...]
    numbers: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class HostStep:
    """A step that is no machine code: a function of NumPy arrays over the call's tensors.

    operands: (slot, bytes beyond the tensor's first element, how it is seen)
    numbers:  positions of run-time numbers that follow the arrays
    """

    function: Any
    operands: tuple[tuple[int, int, Spec], ...]
    numbers: tuple[int, ...]
    name: str


class _Number:
    """Stands in a plan's values for a number given at run time."""

    def __repr__(self) -> str:
        return "number"


NUMBER = _Number()


@dataclass(eq=False)
class Plan:
    """Everything about a call but its data."""

    record: Any
    values: tuple[Any, ...]  # Refs for tensors, NUMBER for run-time numbers, statics as given
    operands: int
    results: tuple[Spec, ...] = ()
    temporaries: tuple[int, ...] = ()
    launches: tuple[Launch, ...] = ()  # the stages of the one launch, in order
    view: tuple[Spec, int] | None = None  # the result shares operand 0's storage
    views: tuple[tuple[Spec, int], ...] = ()  # all of them, where one call gives several
    inplace: bool = False  # results are operand 0 itself
    out: bool = False  # and operand 0 is `out=`, which nothing is read from
    checks: int = 0  # words of the error cell that launches may write
    on_check: Any = None  # raises, given the error words
    saved: dict[int, tuple[tuple[bool, int], ...]] = field(default_factory=dict)
    passes: dict[int, bool] = field(default_factory=dict)  # by mask: see `second_pass`
    differentiable: bool = False
    steps: dict[Any, Any] = field(default_factory=dict)  # derivative by mask of wanted operands
    native: Any = None  # objects that the builtin's form of this plan refers to
    writes: tuple[int, ...] = ()  # operands that the stages write as well (running statistics)
    negated: tuple[int, ...] = ()  # operands that it is handed copies of, with the sign settled
    host: tuple[HostStep, ...] = ()  # run after the launches, one after the other
    stages: tuple[Any, ...] = ()  # each launch's loop IR; of other code Cost, Flat or None
    digest: bytes | None = None  # of all that its launches do; empty where that cannot be named

    def saves(self, wanted: int) -> tuple[tuple[bool, int], ...]:
        """What the tape keeps when the operands in the bit mask `wanted` need gradients.

        Pairs: whether it is a result, and which operand or result.
        """
        found = self.saved.get(wanted)
        if found is None:
            found = self.saved[wanted] = self._saves(wanted)
        return found

    def _saves(self, wanted: int) -> tuple[tuple[bool, int], ...]:
        slots: dict[str, list[int]] = {}
        for parameter, value in zip(self.record.schema.parameters, self.values, strict=True):
            refs = value if isinstance(value, tuple) else (value,)
            slots[parameter.name] = [r.slot for r in refs if type(r).__name__ == 'Ref']
        places: list[tuple[bool, int]] = []
        for name in self.record.saved_names(
                {n for n, own in slots.items() if any(wanted >> k & 1 for k in own)}):
            if name.startswith("result"):
                places.append((True, int(name[6:] or 0)))
            else:
                places += [(False, k) for k in slots.get(name, ())]
        return tuple(places)

    def second_pass(self, wanted: int) -> bool:
        """Whether a node that keeps no tensor may be walked again once it was freed: not where
        PyTorch's keeps one, as it does of a number that it has made a tensor."""
        found = self.passes.get(wanted)
        if found is None:
            record, names = self.record, set()
            if record.counts_numbers:
                given = dict(zip((p.name for p in record.schema.parameters), self.values,
                                 strict=True))
                tensors = {p.name for p in record.schema.parameters if p.is_tensor}
                wants = {n for n, v in given.items()
                         if type(v).__name__ == "Ref" and wanted >> v.slot & 1}
                names = {n for n in record.saved_names(wants) if given.get(n) is NUMBER} & tensors
            found = self.passes[wanted] = not names and not record.keeps_more
        return found

    def operand_spec(self, slot: int) -> Spec:
        """The spec of an operand."""
        if self.out and slot == 0:
            return self.results[0]
        for value in self.values:
            for ref in value if isinstance(value, tuple) else (value,):
                if type(ref).__name__ == "Ref" and ref.slot == slot:
                    return ref.spec
        raise KeyError(slot)

    def carries(self, result: int) -> bool:
        """Whether gradients flow through this result."""
        dtype = self.results[result].dtype
        if self.record.carriers is not None and result >= self.record.carriers:
            return False
        return bool(dtype.is_floating_point or dtype.is_complex)

    @property
    def meta(self) -> bool:
        return bool(self.results) and self.results[0].device is not CPU


def new_storage(nbytes: int) -> UntypedStorage:
    """A storage of the allocator's memory."""
    address, owner = memory.allocate(nbytes)
    return UntypedStorage._wrap(address, nbytes, owner, 0)


def number_word(value: Any, kind: str) -> int:
    """A run-time number as the 64 bits that a kernel reads."""
    if kind in ("real", "imag"):
        value, kind = getattr(value, kind), "f"
    if kind == "f":
        return int(struct.unpack("q", struct.pack("d", value))[0])
    if kind == "s":
        return int(struct.unpack("q", struct.pack("f4x", value))[0])
    value = int(value)
    if not -(1 << 63) <= value < 1 << 64:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return value if -(1 << 63) <= value < 1 << 63 else (value + (1 << 63)) % (1 << 64) - (1 << 63)


def run(plan: Plan, tensors: list[Any], arguments: tuple[Any, ...], launch: Any) -> list[Any]:
    """Run the launches; gives the storages of the results (operand 0's for in-place plans)."""
    places = [address_of(t) for t in tensors]
    if plan.inplace:
        storages = [tensors[0]._storage]
        places.append(places[0])
    else:
        storages = [new_storage(s.nbytes) for s in plan.results]
        places += [s._address for s in storages]
    kept = [new_storage(n) for n in plan.temporaries]
    places += [s._address for s in kept]
    cell = array("q", bytes(8 * plan.checks)) if plan.checks else None
    if cell is not None:
        places.append(cell.buffer_info()[0])
    if plan.launches or plan.host:
        run_steps = _timed if settings.DEBUG.get() else _run_steps
        run_steps(plan, places, arguments, launch)
    if cell is not None and any(cell):
        plan.on_check(cell.tolist())
    return storages


def _run_steps(plan: Plan, places: list[int], arguments: tuple[Any, ...], launch: Any) -> None:
    if plan.launches:
        _launch(plan.launches, places, arguments, launch)
    for step in plan.host:
        _run_host(step, places, arguments)


def _run_host(step: HostStep, places: list[int], arguments: tuple[Any, ...]) -> None:
    from .library.arrays import array_at

    arrays = [array_at(places[slot] + beyond, seen) for slot, beyond, seen in step.operands]
    step.function(*arrays, *(arguments[k] for k in step.numbers))


def _timed(plan: Plan, places: list[int], arguments: tuple[Any, ...], launch: Any) -> None:
    """YESCA_DEBUG=1: a line a call, with its time, the bytes it moves and its arithmetic."""
    from .inspection import cost

    start = time.perf_counter()
    _run_steps(plan, places, arguments, launch)
    spent = time.perf_counter() - start
    found = cost(plan)
    shapes = " ".join(str(list(s.shape)) for s in plan.results)
    print(f"{plan.record.name:24} {spent * 1e6:10.1f} us {found.nbytes:12,} bytes "
          f"{found.nbytes / spent / 1e9:8.2f} GB/s {found.flops / spent / 1e9:8.2f} Gflop/s  "
          f"{shapes}", file=sys.stderr)


def _launch(stages: tuple[Launch, ...], places: list[int], arguments: tuple[Any, ...],
            launch: Any) -> None:
    """All stages by one call, each when the one before it has ended."""
    global launches
    launches += 1
    filled = []
    for one in stages:
        words = one.words[:]
        for word, slot, beyond in one.pointers:
            words[word] = places[slot] + beyond
        for word, position, kind in one.numbers:
            words[word] = number_word(arguments[position], kind)
        filled.append(words)
    if len(stages) == 1:
        launch(one.address, filled[0].buffer_info()[0], one.total, one.grain)
        return
    from .threads import stages_address

    table = array("q")
    for one, words in zip(stages, filled, strict=True):
        table.extend((one.address, words.buffer_info()[0], one.total, one.grain))
    slow = any(one.total > one.grain for one in stages)
    launch(stages_address(), table.buffer_info()[0], len(stages), len(stages), int(slow))
