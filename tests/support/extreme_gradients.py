"""Gradients of operators at zeros, infinities, NaN, large numbers and equal elements.

`gradients(package, one, function)`: text that can be compared between packages, from tensors whose
elements are extreme. An elementwise operator of one or two tensors sees every number, every pair.
"""

import itertools
import math
import warnings

import operator_cases

NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 200.0, -200.0, math.inf, -math.inf, math.nan, 2.0, -2.5)
#: What the elements of other operators' tensors are, in turn.
PATTERNS = {
    "ties": (1.0, 0.0, 1.0, -1.0, 1.0, 0.0, -1.0),
    "zeros": (0.0, -0.0, 0.0, 0.0, 0.5),
    "large": (200.0, -200.0, 1.0, 200.0, -1.0),
    "infinities": (1.0, math.inf, -2.0, 0.5, -math.inf, 1.5, 3.0),
    "nan": (0.5, -1.0, math.nan, 2.0, 0.25, 3.0, -0.5),
}
DTYPES = ("float32", "float64")


class Extremes(operator_cases.Maker):
    """Makes tensors of extreme numbers in place of those that a sample asks for.

    columns: an iterator of the numbers of one tensor after the other, else they go round.
    """

    def __init__(self, package, dtype, numbers, columns=None):
        super().__init__(package, dtype)
        self.extremes, self.columns, self.made = numbers, columns, 0

    def __call__(self, *shape, low=None, high=None, dtype=None):
        if (dtype or self.dtype) not in operator_cases.FLOATS:
            return super().__call__(*shape, low=low, high=high, dtype=dtype)
        count = math.prod(shape)
        if self.columns is not None:
            values = next(self.columns)
        else:
            self.made += 2  # not the same numbers in each of a case's tensors
            values = [self.extremes[(k + self.made) % len(self.extremes)] for k in range(count)]
        return self.tensor(values, dtype or self.dtype, shape)


def _grid(count):
    """Numbers for `count` tensors: all of them, all pairs, or as many triples."""
    if count < 3:
        return list(zip(*itertools.product(NUMBERS, repeat=count)))
    length = len(NUMBERS) ** 2
    return [[NUMBERS[k * step // part % len(NUMBERS)] for k in range(length)]
            for step, part in ((1, 1), (1, len(NUMBERS)), (5, 3), (7, 5))[:count]]


def cases(package, one, dtype):
    """{name: cases} of a record."""
    count = sum(p.is_tensor and not p.optional for p in one.schema.parameters)
    plain = one.kind == "elementwise" and one.samples is None and not any(
        p.required and p.type not in ("Tensor", "Scalar", "float") for p in one.schema.parameters)
    if plain and count:
        columns = _grid(count)
        make = Extremes(package, dtype, NUMBERS, iter(columns))
        return {"all": [operator_cases.filled(one, make, [(len(columns[0]),)] * count)]}
    return {name: _sampled(package, one, dtype, numbers) for name, numbers in PATTERNS.items()}


def _sampled(package, one, dtype, numbers):
    made = _cases(one, Extremes(package, dtype, numbers))
    return [case for case in made or () if sum(
        t.numel() for t in operator_cases.tensors_in(package, case)) <= 150][:3]


def _cases(one, make):
    samples = one.samples or operator_cases.operator_samples.SAMPLES.get(one.name)
    if samples is not None:
        return [tuple(case) for case in samples(make)]
    if one.kind == "elementwise":
        return operator_cases._elementwise(one, make, True)
    if one.kind == "reduce":
        return operator_cases._reduce(one, make)
    return operator_cases._single(one, make)


def gradients(package, one, function):
    """{"dtype name": for each case, the numbers of the gradients of its tensors}."""
    found = {}
    for dtype in DTYPES:
        for name, given in cases(package, one, dtype).items():
            texts = [_text(package, one, function, case, getattr(package, dtype))
                     for case in given]
            if any(text != "-" and text[:1] != "!" for text in texts):
                found[f"{dtype} {name}"] = texts
    return found


def _text(package, one, function, case, dtype):
    """Numbers of the gradients, "|" between those of several tensors; "-": none."""
    case = operator_cases.map_tensors(
        package, case, lambda t: t.detach().requires_grad_() if t.dtype == dtype else t)
    inputs = [t for t in operator_cases.tensors_in(package, case) if t.requires_grad]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = operator_cases.call(one, function, case)
            tracked = [r for r in operator_cases.tensors_in(package, results) if r.requires_grad]
            weights = [package.ones_like(r) for r in tracked]
            if not tracked or not inputs:
                return "-"
            made = package.autograd.grad(tracked, inputs, weights, allow_unused=True)
    except Exception as error:  # the class is what is compared
        return "!" + type(error).__name__.lstrip("_")
    return "|".join("-" if g is None else " ".join(map(number, operator_cases.values_of(g + 0)))
                    for g in made)  # + 0: PyTorch has zeros without memory


def number(value):
    """A few digits: the last ones differ."""
    return "0" if value == 0 else f"{value:.5g}".replace("e+0", "e").replace("e-0", "e-")


def differences(got, wanted):
    """The first elements in which two texts differ, beyond the last digits."""
    if got == wanted:
        return []
    mine, other = (text.replace("|", " | ").split() for text in (got, wanted))
    if len(mine) != len(other):
        return [(got, wanted)]
    return [(k, a, b) for k, (a, b) in enumerate(zip(mine, other)) if not _close(a, b)][:6]


def _close(a, b):
    try:
        x, y = float(a), float(b)
    except ValueError:
        return a == b
    if not (math.isfinite(x) and math.isfinite(y)):
        return a == b
    return abs(x - y) <= 1e-3 * max(abs(x), abs(y), 1e-3)
