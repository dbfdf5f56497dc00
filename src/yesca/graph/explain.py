"""`compiler.explain`: what a function's recordings become, and where they break."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from ..profiler import formatting
from . import breaks, drawing
from .breaks import Break, Listener
from .drawing import Picture
from .figures import called, cost, counted, figures, memory_specs
from .program import Entry, Program
from .reports import code, table
from .timing import Timekeeper, timekeeper


@dataclass(frozen=True, eq=False)
class Graph:
    """One recording that ran.

    ops: the operators that were called; launches: what ran for them; nbytes: what the launches
    move, eager_bytes: what the calls would have moved one by one; arena: bytes for temporaries;
    seconds: the time of each launch, run by itself; broken: why it ran before the function's end.
    """

    ops: list[str]
    launches: list[str]
    nbytes: int
    eager_bytes: int
    arena: int
    program: Program
    entries: list[Entry]
    seconds: tuple[float, ...] = ()
    broken: Break | None = None

    def code(self) -> str:
        """The kernel and the generated loop of each launch."""
        return code(self.program, self.entries)

    def table(self) -> str:
        """The launches, lined up: what each visits, moves, joins and does not store."""
        return table(self.program, self.entries)

    def print_readable(self, print_output: bool = True) -> str:
        """The operators and launches as text; printed, if not told otherwise."""
        text = str(self)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        shown = ", ".join(self.launches) or "nothing"
        return (f"{len(self.ops)} calls: {', '.join(self.ops)}\n"
                f"{len(self.launches)} launches: {shown}\n"
                f"{self.nbytes} bytes moved ({self.eager_bytes} call by call), "
                f"{self.arena} bytes of temporaries")


@dataclass
class ExplainOutput:
    """The answer of `explain`, named as in PyTorch; its text says it all."""

    graphs: list[Graph] = field(default_factory=list)
    break_reasons: list[Break] = field(default_factory=list)
    compile_times: str = ""
    out_guards: list[Any] = field(default_factory=list)

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.break_reasons)

    @property
    def ops_per_graph(self) -> list[list[str]]:
        return [graph.ops for graph in self.graphs]

    @property
    def op_count(self) -> int:
        return sum(len(graph.ops) for graph in self.graphs)

    @property
    def launch_count(self) -> int:
        return sum(len(graph.launches) for graph in self.graphs)

    @property
    def nbytes(self) -> int:
        """What all launches move."""
        return sum(graph.nbytes for graph in self.graphs)

    def draw(self, path: str | PathLike[str]) -> None:
        """Draw the launches as a graph, with their times and the memories between them.

        path: a file whose name ends in .svg, or in .html for a page with the loops as well.
        """
        writers = {".svg": drawing.svg, ".html": drawing.html, ".htm": drawing.html}
        file = Path(path)
        if file.suffix.lower() not in writers:
            raise ValueError(f"draw: the name of the file ends in .svg or .html, got {str(path)!r}")
        pictures = [_picture(number, graph) for number, graph in enumerate(self.graphs, 1)]
        file.write_text(writers[file.suffix.lower()](pictures), encoding="utf-8")

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}",
                 f"Op Count: {self.op_count}", f"Launch Count: {self.launch_count}",
                 f"Bytes Moved: {self.nbytes}", "Break Reasons:"]
        for number, one in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {one.reason}", "    User Stack:"]
            lines += [f"      {frame}" for frame in one.user_stack]
        lines.append("Graphs:")
        for number, graph in enumerate(self.graphs, 1):
            lines += [f"  Graph {number}:", *(f"    {line}" for line in str(graph).splitlines())]
        return "\n".join([*lines, self.compile_times])


class _Watch(Listener):
    def __init__(self, keeper: Timekeeper) -> None:
        self.output = ExplainOutput()
        self.keeper = keeper
        self.broken: Break | None = None

    def broke(self, found: Break) -> None:
        self.output.break_reasons.append(found)
        self.broken = found

    def ran(self, program: Program, entries: list[Entry]) -> None:
        seconds = self.keeper.seconds if self.keeper.program is program else ()
        self.output.graphs.append(Graph(
            [entry.plan.record.name for entry in entries], [step.name for step in program.steps],
            sum(cost(step, entries).nbytes for step in program.steps), called(entries).nbytes,
            program.arena, program, entries, seconds, self.broken))
        self.broken = None


def _picture(number: int, graph: Graph) -> Picture:
    """A graph as it is drawn."""
    sizes = {m: spec.nbytes for m, spec in memory_specs(graph.entries).items()}
    sizes |= {m: nbytes for m, (_, _, nbytes) in graph.program.memories.items() if nbytes >= 0}
    time = f", {formatting.time(sum(graph.seconds) * 1e6)}" if graph.seconds else ""
    title = (f"program {number}: {counted(len(graph.ops), 'call')} in "
             f"{counted(len(graph.launches), 'launch')}, "
             f"{formatting.memory(graph.nbytes)} moved{time}")
    kept = {n for _, n, _ in graph.program.outputs} | {n for _, n in graph.program.bases}
    return Picture(title, figures(graph.program, graph.entries), graph.seconds, sizes,
                   frozenset(kept), f"then a graph break: {graph.broken}" if graph.broken else "")


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """What compiling a function does: `explain(f)(*args)` calls it and gives an `ExplainOutput`.

    >>> import yesca as torch
    >>> def shifted(x):
    ...     y = x * 2
    ...     return y + 1 if y.sum() > 0 else y - 1
    >>> found = torch.compiler.explain(shifted)(torch.ones(3))
    >>> found.graph_count, found.graph_break_count, found.ops_per_graph
    (2, 1, [['mul', 'sum', 'gt'], ['add']])
    >>> found.break_reasons[0].reason
    '__bool__ needs the value of a tensor'
    """
    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        from .public import compile

        started = time.perf_counter()
        with timekeeper() as keeper:
            watch = _Watch(keeper)
            breaks.listeners.append(watch)
            try:
                compile(getattr(f, "_torchdynamo_orig_callable", f))(*args, **kwargs)
            finally:
                breaks.listeners.remove(watch)
        watch.output.compile_times = f"Time: {time.perf_counter() - started:.4f} s"
        return watch.output

    if extra_args or extra_kwargs:
        warnings.warn("explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, **kwargs) "
                      "instead.", FutureWarning, stacklevel=2)
        return inner(*extra_args, **extra_kwargs)
    return inner
