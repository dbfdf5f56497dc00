"""Programs as a picture: a box for each launch, a line for each memory between two of them.

SVG without scripts, for light and dark pages; what a box has no room for shows when the pointer
rests on it. An HTML page holds the same picture, and the loops below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from ..profiler import formatting
from .figures import Figures
from .layout import Edge, Layout, arranged, edges

WIDTH, HEIGHT, ACROSS, DOWN = 236, 74, 24, 74  # of a box, and the gaps beside and below it
MARGIN, HEAD = 24, 46
LETTERS = 32  # of a name: what a box has room for
CROWD = 4  # lines into one box that have labels of their own

STYLE = """
svg { font: 11px system-ui, sans-serif; }
.ground { fill: #ffffff; } .box { fill: #f3f5f9; stroke: #9aa4b5; }
text { fill: #1d2330; } .quiet { fill: #5b6575; } .strong { font-weight: 600; }
.title { font-size: 14px; font-weight: 600; } .break { fill: #a33b1f; }
.edge { fill: none; stroke: #7b8aa3; } .tip { fill: #7b8aa3; }
.track { fill: #dde2ea; } .bar { fill: #d9822b; }
.size { stroke: #ffffff; stroke-width: 3px; paint-order: stroke; }
@media (prefers-color-scheme: dark) {
.ground { fill: #14171c; } .box { fill: #1f242c; stroke: #566172; }
text { fill: #e6e9ef; } .quiet { fill: #a0a9b8; } .break { fill: #f0957b; }
.edge { stroke: #76849a; } .tip { fill: #76849a; }
.track { fill: #363e4a; } .bar { fill: #e59a4c; }
.size { stroke: #14171c; }
}
"""


@dataclass(frozen=True)
class Picture:
    """A program as it is drawn.

    seconds: the time of each launch, or nothing; sizes: bytes of each memory; kept: the memories
    that are there afterwards; broken: why it ran before the function's end, or an empty text.
    """

    title: str
    figures: Sequence[Figures]
    seconds: Sequence[float]
    sizes: dict[int, int]
    kept: frozenset[int]
    broken: str = ""


def svg(pictures: Sequence[Picture]) -> str:
    """All pictures, one below the other."""
    parts, top, width = [], float(MARGIN), 0.0
    for picture in pictures:
        found, before, last = edges([one.step for one in picture.figures])
        layout = arranged(len(picture.figures), found)
        width = max(width, layout.columns * (WIDTH + ACROSS) - ACROSS, 8 * len(picture.title),
                    6.5 * len(picture.broken))
        parts.append((picture, layout, before, last))
    lines = []
    for picture, layout, before, last in parts:
        own = layout.columns * (WIDTH + ACROSS) - ACROSS
        lines += _program(_Sheet(picture, layout, MARGIN + (width - own) / 2, top + HEAD + 16),
                          before, last, top)
        top += HEAD + layout.rows * (HEIGHT + DOWN) + 36
    size = f"{width + 2 * MARGIN:.0f}", f"{top:.0f}"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" role="img">', f"<style>{STYLE}</style>",
        '<rect class="ground" width="100%" height="100%"/>', *lines, "</svg>", ""])


def html(pictures: Sequence[Picture]) -> str:
    """A page: the picture, and the loop of each launch."""
    loops = []
    for picture in pictures:
        loops.append(f"<h2>{escape(picture.title)}</h2>")
        for one in picture.figures:
            loops.append(f"<details><summary>{escape(one.step.name)}</summary>"
                         f"<pre>{escape(one.loop())}</pre></details>")
    return "\n".join([
        '<!doctype html>', '<html lang="en"><head><meta charset="utf-8">',
        "<title>compiled programs</title>",
        "<style>:root { color-scheme: light dark; } body { font: 14px system-ui, sans-serif; } "
        "svg { max-width: none; } h2 { font-size: 16px; }</style></head><body>",
        svg(pictures), *loops, "</body></html>", ""])


# ---- one program -------------------------------------------------------------------------------

@dataclass(frozen=True)
class _Sheet:
    """A picture with its layout, and where on the page its first box may stand."""

    picture: Picture
    layout: Layout
    left: float
    top: float

    def corner(self, k: int) -> tuple[float, float]:
        column, row = self.layout.places[k]
        return self.left + column * (WIDTH + ACROSS), self.top + row * (HEIGHT + DOWN)


def _program(sheet: _Sheet, before: list[set[int]], last: list[set[int]],
             top: float) -> list[str]:
    picture = sheet.picture
    lines = [_text(MARGIN, top + 14, picture.title, "title")]
    if picture.broken:
        lines.append(_text(MARGIN, top + 32, picture.broken, "break"))
    lines += _edge_lines(sheet)
    longest = max(picture.seconds, default=0.0)
    for k, one in enumerate(picture.figures):
        x, y = sheet.corner(k)
        lines += _box(one, x, y, picture.seconds[k] if picture.seconds else None, longest)
        lines += _outside("in", sorted(before[k]), picture.sizes, x + 10, y - 5)
        lines += _outside("out", sorted(last[k] & picture.kept), picture.sizes,
                          x + 10, y + HEIGHT + 13)
    return lines


def _box(one: Figures, x: float, y: float, seconds: float | None, longest: float) -> list[str]:
    shown = [] if seconds is None else [formatting.time(seconds * 1e6)]
    if one.cost.nbytes:  # of a launch of several, the first one has those of all
        shown.append(formatting.memory(one.cost.nbytes))
        if seconds:
            shown.append(f"{one.cost.nbytes / seconds / 1e9:.1f} GB/s")
    lines = [f"<g><title>{escape(hint(one))}</title>",
             f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{WIDTH}" height="{HEIGHT}" '
             'rx="6"/>',
             _text(x + 10, y + 18, shortened(one.name), "strong"),
             _text(x + 10, y + 34, shortened(one.kernel), "quiet"),
             _text(x + 10, y + 50, f"{one.points}" + _joined(one), "quiet"),
             _text(x + 10, y + 63, " · ".join(shown), "")]
    if seconds is not None and longest:
        wide = WIDTH - 20
        lines += [_bar("track", x + 10, y + 67, wide),
                  _bar("bar", x + 10, y + 67, wide * seconds / longest)]
    return [*lines, "</g>"]


def hint(one: Figures) -> str:
    """All that is known of a launch."""
    lost = "".join(f"\nnot stored: {value}" for value in one.unstored)
    return f"{one.step.name}{lost}\n{one.loop()}"


def shortened(name: str) -> str:
    """A name that a box has room for."""
    return name if len(name) <= LETTERS else name[:LETTERS - 3] + "..."


def _joined(one: Figures) -> str:
    return f" · {len(one.parts)} joined" if len(one.parts) > 1 else ""


def _outside(word: str, memories: list[int], sizes: dict[int, int], x: float,
             y: float) -> list[str]:
    """What comes from outside the program, or stays after it."""
    if not memories:
        return []
    total = formatting.memory(sum(sizes.get(m, 0) for m in memories))
    several = f"{len(memories)} tensors, " if len(memories) > 1 else ""
    return [_text(x, y, f"{word}: {several}{total}", "quiet size")]


# ---- lines -------------------------------------------------------------------------------------

def _edge_lines(sheet: _Sheet) -> list[str]:
    layout, sizes = sheet.layout, sheet.picture.sizes
    leaving = _ports(layout.edges, lambda e: e.source, lambda e: layout.places[e.target])
    arriving = _ports(layout.edges, lambda e: e.target, lambda e: layout.places[e.source])
    crowds = Counter(edge.target for edge in layout.edges)
    lines, labels = [], []
    for number, edge in enumerate(layout.edges):
        x, y = sheet.corner(edge.source)
        x, y = x + WIDTH * leaving[edge], y + HEIGHT
        u, v = sheet.corner(edge.target)
        u = u + WIDTH * arriving[edge]
        bend = max((v - y) / 2, 20)
        size = formatting.memory(sizes[edge.memory]) if edge.memory in sizes else ""
        lines.append(f'<g><title>{size}</title>'
                     f'<path class="edge" d="M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} '
                     f'{u:.1f} {v - bend:.1f} {u:.1f} {v - 5:.1f}"/>'
                     f'<path class="tip" d="M{u - 3:.1f} {v - 6:.1f}h6l-3 6z"/></g>')
        if size and crowds[edge.target] <= CROWD:
            labels.append(_text(u + 5, v - 18 - 12 * (number % 3), size, "quiet size"))
    for target, count in crowds.items():
        if count > CROWD:
            total = sum(sizes.get(e.memory, 0) for e in layout.edges if e.target == target)
            x, y = sheet.corner(target)
            labels.append(_text(x + 10, y - 18, f"{count} tensors, {formatting.memory(total)}",
                                "quiet size"))
    return lines + labels


def _ports(all_edges: Sequence[Edge], end: Callable[[Edge], int],
           other: Callable[[Edge], tuple[float, int]]) -> dict[Edge, float]:
    """Where along a box's side each edge begins or ends, in the order of the other ends."""
    at: dict[int, list[Edge]] = {}
    for edge in all_edges:
        at.setdefault(end(edge), []).append(edge)
    found = {}
    for own in at.values():
        own.sort(key=other)
        for n, edge in enumerate(own, 1):
            found[edge] = 0.4 + 0.5 * n / (len(own) + 1)  # texts stand on the left
    return found


def _bar(kind: str, x: float, y: float, width: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="3"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
