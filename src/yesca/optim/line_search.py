"""Line search for a step size that satisfies the strong Wolfe conditions.

First the step grows until an interval must contain a good point; then cubic interpolation narrows
that interval down. (Nocedal and Wright, Numerical Optimization, section 3.5.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .._tensor import Tensor

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9


@dataclass(frozen=True)
class _Point:
    """A step size, and what was found there: loss, gradient, slope along the direction."""

    step: float
    loss: float
    grad: Tensor
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], tuple[float, Tensor]],
    step: float,
    direction: Tensor,
    loss: float,
    grad: Tensor,
    slope: Tensor,
    max_steps: int = 25,
    tolerance_change: float = 1e-9,
) -> tuple[float, Tensor, float, int]:
    """Search along `direction`, starting with `step`.

    Args:
        evaluate: loss and flat gradient at a step size.
        loss, grad, slope: at step size 0.
        max_steps: how many more points may be tried after the first.
        tolerance_change: least change of a parameter worth another try.

    Returns:
        Loss, gradient and step size of the best point, and the number of evaluations.
    """
    search = _Search(evaluate, direction, _Point(0, loss, grad.clone(), slope.item()), max_steps)
    bracket, done = search.bracket(step)
    if not done:
        bracket = search.zoom(bracket, tolerance_change)
    best = min(bracket, key=lambda point: point.loss)
    return best.loss, best.grad, best.step, search.calls


class _Search:
    def __init__(self, evaluate, direction: Tensor, start: _Point, max_steps: int) -> None:
        self.evaluate = evaluate
        self.direction = direction
        self.start = start
        self.max_steps = max_steps
        self.calls = 0

    def at(self, step: float) -> _Point:
        loss, grad = self.evaluate(step)
        self.calls += 1
        return _Point(step, loss, grad, grad.dot(self.direction).item())

    def rises(self, point: _Point) -> bool:
        """The loss has not decreased enough for so long a step."""
        start = self.start
        return point.loss > start.loss + SUFFICIENT_DECREASE * point.step * start.slope

    def is_flat(self, point: _Point) -> bool:
        return abs(point.slope) <= -CURVATURE * self.start.slope

    def bracket(self, step: float) -> tuple[list[_Point], bool]:
        """Two points with a good one between them; or one good point and True."""
        previous, point = self.start, self.at(step)
        for tried in range(self.max_steps):
            if self.rises(point) or (tried > 1 and point.loss >= previous.loss):
                return [previous, point], False
            if self.is_flat(point):
                return [point], True
            if point.slope >= 0:
                return [previous, point], False
            bounds = (point.step + 0.01 * (point.step - previous.step), point.step * 10)
            following = _cubic_minimum(previous, point, bounds)
            previous, point = point, self.at(following)
        return [self.start, point], False

    def zoom(self, bracket: list[_Point], tolerance_change: float) -> list[_Point]:
        """Narrow the bracket until one of its points satisfies both conditions."""
        low, high = sorted(bracket, key=lambda point: point.loss)
        largest = self.direction.abs().max().item()
        stalled = False
        while self.calls <= self.max_steps:
            if abs(high.step - low.step) * largest < tolerance_change:
                break
            step, stalled = _safeguard(_cubic_minimum(low, high), low.step, high.step, stalled)
            point = self.at(step)
            if self.rises(point) or point.loss >= low.loss:
                low, high = (low, point) if low.loss <= point.loss else (point, low)
                continue
            if self.is_flat(point):
                return [point]
            if point.slope * (high.step - low.step) >= 0:
                high = low
            low = point
        return [low, high]


def _safeguard(step: float, one: float, other: float, stalled: bool) -> tuple[float, bool]:
    """Keep a step off the ends of the interval if it was close to one twice in a row."""
    least, greatest = min(one, other), max(one, other)
    margin = 0.1 * (greatest - least)
    if min(greatest - step, step - least) >= margin:
        return step, False
    if not stalled and least < step < greatest:
        return step, True
    if abs(step - greatest) < abs(step - least):
        return greatest - margin, False
    return least + margin, False


def _cubic_minimum(
    one: _Point, other: _Point, bounds: tuple[float, float] | None = None
) -> float:
    """Where the cubic through two points and their slopes is least, within the bounds."""
    left, right = (one, other) if one.step <= other.step else (other, one)
    least, greatest = bounds or (left.step, right.step)
    chord = 3 * (one.loss - other.loss) / (one.step - other.step)
    bend = one.slope + other.slope - chord
    discriminant = bend**2 - one.slope * other.slope
    if not discriminant >= 0:
        return (least + greatest) / 2.0
    root = math.sqrt(discriminant)
    width = right.step - left.step
    share = (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
    return min(max(right.step - width * share, least), greatest)
