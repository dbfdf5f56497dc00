"""Numbers that depend on dynamic axes, found by running a model with several sizes.

Python's numbers do not tell where they come from: `x.shape[0] * 4` is 8. The model is run on
inputs of other sizes too, and each number that differs between the runs is looked for among simple
formulas of the sizes: multiples, sums, products, halves rounded down. There are more runs than a
formula has terms, so that none fits by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

from ._tracing import Step, Trace, Value
from .errors import OnnxExporterError


@dataclass(frozen=True)
class Size:
    """A sum of products of dynamic axes: ((2, ("batch",)), (1, ())) is 2 * batch + 1.

    It is divided by the divisor, rounded down; 0 stands for a formula that nobody knows.
    """

    terms: tuple[tuple[int, tuple[str, ...]], ...]
    divisor: int = 1

    def __str__(self) -> str:
        if not self.divisor:
            return "unknown"
        text = " + ".join("*".join([str(c)] * (c != 1 or not axes) + list(axes))
                          for c, axes in self.terms)
        return text if self.divisor == 1 else f"({text}) / {self.divisor}"


UNKNOWN = Size((), 0)
STEEPEST = 64  # how much smaller than an axis a rounded size may be


def formulas(axes: list[str]) -> Iterator[list[tuple[str, ...]]]:
    """Sets of products that a size may be a sum of, the simplest first."""
    products: list[tuple[str, ...]] = [(a,) for a in axes]
    products += [(a, a) for a in axes]
    products += list(combinations(axes, 2)) + list(combinations(axes, 3))
    for one in products:
        yield [one]
    for one in products:
        yield [one, ()]
    for pair in combinations(products, 2):
        yield list(pair)
    for pair in combinations(products, 2):
        yield [*pair, ()]


def fit(numbers: list[int], sizes: list[dict[str, int]]) -> int | Size:
    """The formula of a number that was `numbers[k]` where the axes had `sizes[k]`."""
    if len(set(numbers)) == 1:
        return numbers[0]
    for products in formulas(list(sizes[0])):
        rows = [[prod(at[a] for a in axes) for axes in products] for at in sizes]
        found = _solved(rows, numbers)
        if found is not None:
            divisor = max(f.denominator for f in found)
            if all((f * divisor).denominator == 1 for f in found):
                terms = tuple((int(f * divisor), axes)
                              for f, axes in zip(found, products, strict=True) if f)
                return Size(terms, divisor)
    rounded = _rounded(numbers, sizes)
    if rounded is not None:
        return rounded
    raise OnnxExporterError(f"a size that was {numbers} where the dynamic axes had {sizes} is no "
                            "simple formula of them")


def _rounded(numbers: list[int], sizes: list[dict[str, int]]) -> Size | None:
    """An axis divided by a number and rounded, if there is one such formula: strides, halves."""
    found = []
    for axis in sizes[0]:
        for divisor in range(2, STEEPEST + 1):
            lows = [n * divisor - at[axis] for n, at in zip(numbers, sizes, strict=True)]
            found += [Size(((1, (axis,)), (k, ())) if k else ((1, (axis,)),), divisor)
                      for k in range(max(lows), min(lows) + divisor)]
            if len(found) > 1:
                return None
    return found[0] if found else None


def _shape(number: list[int], sizes: list[dict[str, int]]) -> int | Size:
    """The formula of a tensor's size; nobody may need it."""
    try:
        return fit(number, sizes)
    except OnnxExporterError:
        return UNKNOWN


def _solved(rows: list[list[int]], numbers: list[int]) -> list[Fraction] | None:
    """The only solution of the equations, or None: Gauss, in fractions."""
    table = [[Fraction(x) for x in row] + [Fraction(y)] for row, y in zip(rows, numbers,
                                                                         strict=True)]
    columns = len(rows[0])
    for k in range(columns):
        pivot = next((r for r in range(k, len(table)) if table[r][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [x / table[k][k] for x in table[k]]
        for r, row in enumerate(table):
            if r != k and row[k]:
                table[r] = [x - row[k] * y for x, y in zip(row, table[k], strict=True)]
    if any(row[-1] for row in table[columns:]):
        return None
    return [row[-1] for row in table[:columns]]


def merged(traces: list[Trace], sizes: list[dict[str, int]]) -> Trace:
    """One trace of several runs: what differs between them is a formula of the axes."""
    first = traces[0]
    if len(traces) == 1:
        return first
    for steps in zip(*[[*t.steps, None] for t in traces], strict=False):
        names = {None if s is None else s.name for s in steps}
        if len(names) > 1:
            at = next(s.line for s in steps if s is not None)
            raise OnnxExporterError(
                f"the model runs other operators for other sizes of its dynamic axes, from {at} "
                f"on ({', '.join(sorted(map(str, names)))}): an ONNX model has one path")
    made: dict[int, Value] = {}
    values = zip(*[t.values for t in traces], strict=True)
    for several in values:
        one = several[0]
        if len({v.rank for v in several}) > 1:
            raise OnnxExporterError("a tensor has another number of dimensions for other sizes"
                                    + (f" at {one.step.line}" if one.step else ""))
        shape = tuple(_shape(list(column), sizes) for column in zip(*[v.shape for v in several],
                                                                    strict=True))
        made[one.number] = replace(one, shape=shape, data=_same(several))
    whole = Trace(values=list(made.values()))
    for several_steps in zip(*[t.steps for t in traces], strict=True):
        step = several_steps[0]
        whole.steps.append(Step(
            step.name, _arguments([s.values for s in several_steps], sizes, made),
            [made[v.number] for v in step.results], step.line, step.common))
        for value in whole.steps[-1].results:
            value.step = whole.steps[-1]
    whole.inputs = [made[v.number] for v in first.inputs]
    whole.outputs = [made[v.number] for v in first.outputs]
    return whole


def _same(values: tuple[Value, ...]) -> Any:
    """What a tensor holds in all runs, or None where it differs."""
    first = values[0].data
    if first is None or any(v.data is None or v.data.shape != first.shape
                            or not bool((v.data == first).all()) for v in values[1:]):
        return None
    return first


def _arguments(several: list[Any], sizes: list[dict[str, int]], made: dict[int, Value]) -> Any:
    one = several[0]
    if any(type(other) is not type(one) for other in several):
        raise _differs(several, sizes)
    if isinstance(one, Value):
        return made[one.number]
    if type(one) is int:
        return fit(several, sizes)
    if isinstance(one, (tuple, dict)) and len({len(each) for each in several}) > 1:
        raise _differs(several, sizes)
    if isinstance(one, tuple):
        return tuple([_arguments(list(each), sizes, made) for each in zip(*several, strict=True)])
    if isinstance(one, dict):
        return {name: _arguments([each[name] for each in several], sizes, made) for name in one}
    if isinstance(one, slice):
        return slice(*[_arguments([getattr(each, part) for each in several], sizes, made)
                       for part in ("start", "stop", "step")])
    if any(other is not one and other != one and not other != other for other in several):
        raise _differs(several, sizes)
    return one


def _differs(several: list[Any], sizes: list[dict[str, int]]) -> OnnxExporterError:
    return OnnxExporterError(
        f"an argument that was {several} where the dynamic axes had {sizes} is no formula of "
        "them: what Python computes of sizes is whole numbers, by +, - and *. Compute it of "
        "tensors, or of sizes that are not dynamic")
