"""`compiler.explain`: what a function's recordings become, and where they break."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..runtime import inspection
from . import breaks
from .breaks import Break, Listener
from .program import Entry, Program
from .reports import code
from .steps import Step


@dataclass(frozen=True, eq=False)
class Graph:
    """One recording that ran.

    ops: the operators that were called; launches: what ran for them; nbytes: what the launches
    move, eager_bytes: what the calls would have moved one by one; arena: bytes for temporaries.
    """

    ops: list[str]
    launches: list[str]
    nbytes: int
    eager_bytes: int
    arena: int
    program: Program

    def code(self) -> str:
        """The generated loop of each launch."""
        return code(self.program)

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
    def __init__(self) -> None:
        self.output = ExplainOutput()

    def broke(self, found: Break) -> None:
        self.output.break_reasons.append(found)

    def ran(self, program: Program, entries: list[Entry]) -> None:
        self.output.graphs.append(Graph(
            [entry.plan.record.name for entry in entries], [step.name for step in program.steps],
            sum(_moved(step, entries) for step in program.steps),
            sum(inspection.cost(entry.plan).nbytes for entry in entries), program.arena, program))


def _moved(step: Step, entries: list[Entry]) -> int:
    """The bytes that a launch reads and writes, each element of an operand once."""
    nest = step.nest
    if nest is None:  # a launch of one of the calls
        return next((inspection.cost(replace(plan, launches=(one,), stages=(stage,))).nbytes
                     for plan in (entry.plan for entry in entries)
                     for one, stage in zip(plan.launches, plan.stages, strict=True)
                     if one.address == step.address and one.words == step.words), 0)
    return sum(
        buffer.dtype.itemsize
        * math.prod(n for n, s in zip(nest.sizes, operand.strides, strict=True) if s)
        for buffer, operand in zip(nest.stage.buffers, nest.operands, strict=True))


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

        watch = _Watch()
        started = time.perf_counter()
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
