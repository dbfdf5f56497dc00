"""Where the boxes of a drawing stand: rows by what they wait for, edges for what they hand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .steps import Step

COLUMNS = 6  # boxes side by side


@dataclass(frozen=True)
class Edge:
    """A memory that one step writes and a later one reads."""

    source: int
    target: int
    memory: int


@dataclass(frozen=True)
class Layout:
    """row and column of each step; a column may be half one, so that rows are centred."""

    places: tuple[tuple[float, int], ...]
    edges: tuple[Edge, ...]
    columns: int
    rows: int


def edges(steps: Sequence[Step]) -> tuple[list[Edge], list[set[int]], list[set[int]]]:
    """The edges; and of each step what it reads from before the program, and what it writes that
    no later step writes over."""
    writer: dict[int, int] = {}
    found, before = [], []
    for k, step in enumerate(steps):
        reads = {m for m in step.reads if m >= 0 or m in writer}
        found += [Edge(writer[m], k, m) for m in sorted(reads) if m in writer]
        # launches of other machine code do not say which memory they only write
        unsure = step.parts[0] if step.parts else step
        before.append({m for m in reads - writer.keys() if step.nest or m not in unsure.writes})
        writer.update(dict.fromkeys(step.writes, k))
    last = [{m for m in step.writes if writer[m] == k} for k, step in enumerate(steps)]
    return found, before, last


def arranged(count: int, found: Sequence[Edge]) -> Layout:
    """Places for `count` steps: each below all that it waits for, near the middle of them."""
    waits: list[list[int]] = [[] for _ in range(count)]
    serves: list[list[int]] = [[] for _ in range(count)]
    for edge in found:
        waits[edge.target].append(edge.source)
        serves[edge.source].append(edge.target)
    depths: list[int] = []
    for k in range(count):
        depths.append(1 + max((depths[s] for s in waits[k]), default=-1))
    for k in reversed(range(count)):  # just above what it is made for
        depths[k] = min((depths[t] - 1 for t in serves[k]), default=depths[k])
    layers: list[list[int]] = [[] for _ in range(1 + max(depths, default=-1))]
    for k, depth in enumerate(depths):
        layers[depth].append(k)
    columns = min(COLUMNS, max(map(len, layers), default=1))
    places: dict[int, tuple[float, int]] = {}
    row = 0
    for layer in layers:
        layer.sort(key=lambda k: (_middle([places[s][0] for s in waits[k]], columns), k))
        for first in range(0, len(layer), columns):
            part = layer[first:first + columns]
            left = (columns - len(part)) / 2
            places.update({k: (left + n, row) for n, k in enumerate(part)})
            row += 1
    return Layout(tuple(places[k] for k in range(count)), tuple(found), columns, row)


def _middle(columns: list[float], count: int) -> float:
    return sum(columns) / len(columns) if columns else (count - 1) / 2
