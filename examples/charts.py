"""Line and bar charts as SVG files, with nothing but the standard library.

    chart = line_chart("loss", [Line("Adam", epochs, losses)], x_label="epoch", y_label="loss")
    save("loss.svg", chart)

Numbers only: call `.item()` or `.tolist()` on tensors. What has no place on an axis (NaN,
infinity, zero or less on a logarithmic one) leaves a gap in a line and draws no bar. The pictures
suit light and dark pages, and a point or bar says its numbers when the pointer rests on it.
"""

import math
from html import escape
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT = 640, 360  # of one chart, all included
LEFT, RIGHT, TOP, BOTTOM = 72, 16, 60, 48  # margins around the plot
TICKS = 6  # about so many on an axis

STYLE = """
svg { font: 12px system-ui, sans-serif; }
.ground { fill: #ffffff; } text { fill: #1d2330; }
.c0 { fill: #2f6fb0; stroke: #2f6fb0; } .c1 { fill: #d9822b; stroke: #d9822b; }
.c2 { fill: #3a8f5c; stroke: #3a8f5c; } .c3 { fill: #a33b1f; stroke: #a33b1f; }
.c4 { fill: #7a5ea8; stroke: #7a5ea8; }
.grid { stroke: #dde2ea; } .axis { stroke: #1d2330; }
.mark { stroke: #1d2330; stroke-dasharray: 4 4; }
@media (prefers-color-scheme: dark) {
.ground { fill: #14171c; } text { fill: #e6e9ef; }
.c0 { fill: #6ea8e0; stroke: #6ea8e0; } .c1 { fill: #e59a4c; stroke: #e59a4c; }
.c2 { fill: #6cc08d; stroke: #6cc08d; } .c3 { fill: #f0957b; stroke: #f0957b; }
.c4 { fill: #b39ddb; stroke: #b39ddb; }
.grid { stroke: #363e4a; } .axis, .mark { stroke: #e6e9ef; }
}
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.title { font-size: 15px; font-weight: 600; } .middle { text-anchor: middle; }
.end { text-anchor: end; }
"""
COLOURS = 5


class Line(NamedTuple):
    """One curve: its name in the legend and its points."""

    name: str
    xs: list
    ys: list


class Bar(NamedTuple):
    """One bar: the name below it, its height, and the group that gives it its colour."""

    name: str
    height: float
    group: str


class Axis:
    """Maps the values of one axis to places between `start` and `end`, in pixels."""

    def __init__(self, values, start, end, log=False):
        self.log, self.start, self.end = log, start, end
        shown = [self.scaled(value) for value in values if self.has(value)]
        self.whole = all(value == round(value) for value in shown)
        self.low, self.high = min(shown, default=0.0), max(shown, default=1.0)
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def has(self, value):
        return math.isfinite(value) and (value > 0 or not self.log)

    def scaled(self, value):
        return math.log10(value) if self.log else float(value)

    def place(self, value):
        share = (self.scaled(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """Round values inside the axis: multiples of 1, 2 or 5 times a power of ten."""
        step = tick_step(self.high - self.low)
        if self.log and self.high - self.low < 2:  # powers of ten would be too few
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            found = [m * 10.0**power for power in powers for m in (1, 2, 5)]
            return [tick for tick in found if self.low <= math.log10(tick) <= self.high]
        if self.log or self.whole:
            step = max(1, round(step))  # whole powers of ten, whole numbers
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        found = [index * step for index in range(first, last + 1)]
        return [10.0**exponent for exponent in found] if self.log else found

    def label(self, value):
        return f"{value:.0e}" if self.log else f"{value:.6g}"


def tick_step(span):
    """The smallest of 1, 2, 5, 10, 20 ... (or 0.1, 0.2, 0.5 ...) that makes at most TICKS steps."""
    power = 10.0 ** math.floor(math.log10(span / TICKS))
    return next(power * m for m in (1, 2, 5, 10, 20) if span <= power * m * TICKS * (1 + 1e-9))


# --- charts ---------------------------------------------------------------------------------------


def line_chart(title, lines, x_label, y_label, log_x=False, log_y=False, marks=()):
    """A chart of several curves. `marks`: (name, x) pairs, drawn as dashed upright lines."""
    x_axis = Axis(
        [x for line in lines for x in line.xs] + [x for _, x in marks], LEFT, WIDTH - RIGHT, log_x
    )
    y_axis = Axis([y for line in lines for y in line.ys], HEIGHT - BOTTOM, TOP, log_y)
    drawn = [*frame(title, x_label, y_label), *rows(y_axis), *columns(x_axis)]
    for number, (name, x) in enumerate(marks):  # names one below the other: marks may be close
        at = x_axis.place(x)
        drawn.append(stroke("mark", at, TOP, at, HEIGHT - BOTTOM))
        drawn.append(text(at - 4, TOP + 12 + 14 * number, name, "end"))
    for number, line in enumerate(lines):
        drawn += curve(line, x_axis, y_axis, colour(number))
    return drawn + legend([line.name for line in lines])


def bar_chart(title, bars, y_label, log_y=False, groups=()):
    """A chart of named bars; each group of bars has a colour of its own, in the order of `groups`,
    so that charts beside each other agree."""
    floor = [] if log_y else [0.0]
    y_axis = Axis([bar.height for bar in bars] + floor, HEIGHT - BOTTOM, TOP, log_y)
    if log_y:
        y_axis.low = math.floor(y_axis.low) - 0.5  # so that the lowest bar is seen, too
    groups = list(dict.fromkeys((*groups, *(bar.group for bar in bars))))
    drawn = [*frame(title, "", y_label), *rows(y_axis)]
    wide = (WIDTH - LEFT - RIGHT) / max(len(bars), 1)
    base = HEIGHT - BOTTOM if log_y else y_axis.place(0.0)
    for number, bar in enumerate(bars):
        left = LEFT + number * wide
        drawn.append(text(left + wide / 2, HEIGHT - BOTTOM + 16, bar.name, "middle"))
        if y_axis.has(bar.height):
            end = y_axis.place(bar.height)
            drawn.append(
                f'<rect x="{left + 0.15 * wide:.1f}" y="{min(base, end):.1f}" '
                f'width="{0.7 * wide:.1f}" height="{abs(base - end):.1f}" '
                f'class="{colour(groups.index(bar.group))}">'
                f"<title>{escape(bar.name)}: {bar.height:.4g} ({escape(bar.group)})</title></rect>"
            )
    return drawn + legend(groups)


def save(path, *charts):
    """Write the charts to one SVG file, one below the other."""
    size = f'width="{WIDTH}" height="{HEIGHT * len(charts)}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">']
    parts += [f"<style>{STYLE}</style>", '<rect class="ground" width="100%" height="100%"/>']
    for number, drawn in enumerate(charts):
        parts += [f'<g transform="translate(0 {number * HEIGHT})">', *drawn, "</g>"]
    Path(path).write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")


# --- parts ----------------------------------------------------------------------------------------


def frame(title, x_label, y_label):
    """Title and names of the axes."""
    middle = (TOP + HEIGHT - BOTTOM) / 2
    upright = f'<g transform="rotate(-90 14 {middle})">{text(14, middle, y_label, "middle")}</g>'
    below = text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label, "middle")
    return [text(LEFT, 22, title, "title"), below, upright]


def rows(axis):
    """The upright axis, with a line across the plot at each tick."""
    drawn = []
    for tick in axis.ticks():
        y = axis.place(tick)
        drawn.append(stroke("grid", LEFT, y, WIDTH - RIGHT, y))
        drawn.append(text(LEFT - 6, y + 4, axis.label(tick), "end"))
    return [*drawn, stroke("axis", LEFT, TOP, LEFT, HEIGHT - BOTTOM)]


def columns(axis):
    """The level axis, with a line up the plot at each tick."""
    drawn = []
    for tick in axis.ticks():
        x = axis.place(tick)
        drawn.append(stroke("grid", x, TOP, x, HEIGHT - BOTTOM))
        drawn.append(text(x, HEIGHT - BOTTOM + 16, axis.label(tick), "middle"))
    return [*drawn, stroke("axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM)]


def curve(line, x_axis, y_axis, paint):
    """A path with a gap at each point that has no place; a dot for each one if they are few."""
    points, path, joined = [], [], False
    for x, y in zip(line.xs, line.ys):
        shown = x_axis.has(x) and y_axis.has(y)
        if shown:
            points.append((x, y))
            path.append(f"{'L' if joined else 'M'}{x_axis.place(x):.1f} {y_axis.place(y):.1f}")
        joined = shown
    drawn = [f'<path class="line {paint}" d="{"".join(path)}"/>']
    for x, y in points if len(points) <= 50 else []:
        drawn.append(
            f'<circle cx="{x_axis.place(x):.1f}" cy="{y_axis.place(y):.1f}" r="3" class="{paint}">'
            f"<title>{escape(line.name)}: {y:.4g} at {x:.4g}</title></circle>"
        )
    return drawn


def legend(names):
    """A coloured square and a name for each series, in one row below the title."""
    drawn, x = [], LEFT
    for number, name in enumerate(names):
        drawn.append(f'<rect x="{x}" y="34" width="10" height="10" class="{colour(number)}"/>')
        drawn.append(text(x + 15, 43, name))
        x += 35 + 7 * len(name)
    return drawn


def colour(number):
    return f"c{number % COLOURS}"


def stroke(kind, x, y, u, v):
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}"/>'


def text(x, y, content, kind=""):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'
