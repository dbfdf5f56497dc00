"""Arguments for every operator, from its record; tensors of yesca or of PyTorch.

A case is a tuple of arguments in the schema's order, cut off where the defaults begin. The same
record, dtype and layout give the same numbers in every package and every process.
"""

import math
import random
from functools import cache

import operator_samples

from yesca.operators import families, record

FLOATS = ("float32", "float64", "float16", "bfloat16")
WHOLE = ("int64", "int32", "uint8", "bool")
LAYOUTS = ("contiguous", "transposed", "sliced", "expanded")


def records(kinds=None):
    """All records by name, or those of some kinds; derivatives come with what they derive."""
    families.load_all()
    return {name: one for name, one in sorted(record.RECORDS.items())
            if (kinds is None or one.kind in kinds) and one.derived_from is None}


def generated(one):
    """Whether the generated tests call a record: it is no part of another operator, gives a
    result of its own, and is not one for lists of tensors, which the optimizers' tests call."""
    only_inplace = one.inplace and not one.function and not one.method
    elsewhere = one.name.startswith("linalg_") and one.name not in operator_samples.SAMPLES \
        or one.name in operator_samples.ELSEWHERE | operator_samples.INTERNAL
    return one.kind not in ("multi", "library") and not only_inplace \
        and (one.samples is not None or not elsewhere)


@cache
def every(record):
    return True


def only(selects):
    """A decorator: the test runs for the records of its module for which `selects` holds."""
    def mark(test):
        test.selects = selects
        return test

    return mark


def sampled():
    """The records that the generated tests call."""
    import yesca

    return tuple(one for one in records().values()
                 if generated(one) and cases(one, yesca) is not None)


class Maker:
    """Makes the tensors of one case.

    package: yesca or torch. dtype: of the floating-point tensors that a sample asks for.
    layout: how their elements lie in memory. domain: the interval of their values.
    """

    def __init__(self, package, dtype="float32", layout="contiguous", domain=(-2.0, 2.0), seed=0):
        self.package, self.dtype, self.layout = package, dtype, layout
        self.domain, self.numbers = domain, random.Random(seed)

    def __call__(self, *shape, low=None, high=None, dtype=None):
        """A tensor of the dtype under test (or another) with numbers from the domain."""
        dtype = dtype or self.dtype
        low = self.domain[0] if low is None else low
        high = self.domain[1] if high is None else high
        count = math.prod(shape)
        if dtype == "bool":
            values = [self.numbers.random() < 0.5 for _ in range(count)]
        elif dtype in WHOLE:
            ends = math.ceil(low), math.floor(high)
            ends = (max(ends[0], 0), max(ends)) if dtype == "uint8" else (min(ends), max(ends))
            values = [self.numbers.randint(*ends) for _ in range(count)]
        else:
            values = [self.numbers.uniform(low, high) for _ in range(count)]
        return self.lay(self.tensor(values, dtype, shape))

    def integers(self, *shape, low=0, high=4, dtype="int64"):
        """Integers from low to high - 1, whatever the dtype under test."""
        values = [self.numbers.randrange(low, high) for _ in range(math.prod(shape))]
        return self.lay(self.tensor(values, dtype, shape))

    def truths(self, *shape):
        """A mask."""
        return self(*shape, dtype="bool")

    def tensor(self, values, dtype, shape):
        made = self.package.tensor(values, dtype=getattr(self.package, dtype))
        return made.reshape(shape)

    def lay(self, tensor):
        """The tensor's values in the layout (an expanded one repeats its first row)."""
        ndim = tensor.dim()
        if self.layout == "contiguous" or ndim == 0:
            return tensor
        if self.layout == "expanded":
            first = tensor[:1] if tensor.shape[0] else tensor
            return first.expand(tensor.shape)
        if self.layout == "sliced":
            wide = self.package.stack([tensor, tensor], -1)
            return wide[..., 0]
        if self.layout == "offset":
            return self.package.cat([tensor[:1], tensor])[1:]
        order = back = tuple(range(ndim - 1, -1, -1))
        if self.layout == "channels_last":
            if ndim not in (4, 5):
                return tensor
            order, back = (0, *range(2, ndim), 1), (0, ndim - 1, *range(1, ndim - 1))
        return tensor.permute(order).contiguous().permute(back)


def domain_of(one, name):
    """The interval that an argument's numbers come from."""
    domain = one.domain
    if isinstance(domain, dict):
        return domain.get(name, (-2.0, 2.0))
    return domain


def cases(one, package, dtype="float32", layout="contiguous", small=False, seed=0):
    """The cases of a record, or None where it has none and none can be guessed.

    small: only those with few elements, for finite differences. seed: another gives other numbers.
    """
    domain = one.domain if not isinstance(one.domain, dict) else (-2.0, 2.0)
    make = Maker(package, dtype, layout, domain, seed=sum(map(ord, one.name)) + seed)
    samples = one.samples or operator_samples.SAMPLES.get(one.name)
    if samples is not None:
        return [tuple(case) for case in samples(make)]
    if one.kind == "elementwise":
        return _elementwise(one, make, small)
    if one.kind == "reduce":
        return _reduce(one, make)
    return _single(one, make)


def filled(one, make, shapes):
    """A case from the shapes of the tensor arguments; "n" stands for a number."""
    given = iter(shapes)
    values = []
    for parameter in one.schema.parameters:
        if parameter.is_tensor and not parameter.optional:
            shape = next(given)
            low, high = domain_of(one, parameter.name)
            values.append(_number(low, high, make.dtype) if shape == "n" else
                          make(*shape, low=low, high=high))
        elif parameter.type in ("Scalar", "float") and parameter.required:
            values.append(0.75 if make.dtype in FLOATS else 1)
        else:
            break
    return tuple(values)


def _number(low, high, dtype):
    middle = 0.25 * low + 0.75 * high
    return middle if dtype in FLOATS else max(round(middle), 1)


def _elementwise(one, make, small):
    count = sum(p.is_tensor and not p.optional for p in one.schema.parameters)
    if any(p.required and p.type not in ("Tensor", "Scalar", "float")
           for p in one.schema.parameters):
        return None
    found = [filled(one, make, [(3, 4)] * count), filled(one, make, [()] * count)]
    if not small:
        found.append(filled(one, make, [(0, 3)] * count))
        found.append(filled(one, make, [(2, 67)] * count))
    if count > 1:
        found.append(filled(one, make, [(2, 1, 3), (4, 1), (3,)][:count]))
        found.append(filled(one, make, [(5,), (), ()][:count]))
    last = one.schema.parameters[1].name if count > 1 else ""
    if count == 2 and last in one.numbers:
        found.append(filled(one, make, [(2, 3), "n"]))
    return found


def _reduce(one, make):
    names = {p.name: p for p in one.schema.parameters}
    low, high = domain_of(one, "self")
    tensors = [make(3, 2, 4, low=low, high=high), make(low=low, high=high)]
    found = [(t,) for t in tensors]
    if "dim" in names:
        found += [(tensors[0], 1), (tensors[0], -1, True), (tensors[1], 0)]
        found.append((make(0, 3, low=low, high=high), 1))
        if names["dim"].type in ("any", "int[1]"):
            found += [(tensors[0], (0, 2)), (tensors[0], (1, 2), True)]
    return found


def _single(one, make):
    """One tensor, and dim where it has no default; nothing else may be required."""
    needed = [p for p in one.schema.parameters if p.required]
    kinds = [(p.type, p.name) for p in needed]
    if kinds[:1] not in ([("Tensor", "self")], [("Tensor", "input")]):
        return None
    low, high = domain_of(one, needed[0].name)
    tensors = [make(3, 4, low=low, high=high), make(2, 3, 2, low=low, high=high)]
    if kinds[1:] == []:
        return [(t,) for t in tensors]
    if kinds[1:] == [("int", "dim")]:
        return [(tensors[0], 0), (tensors[0], -1), (tensors[1], 1)]
    return None


def bound(one, case):
    """The arguments of a case as Python passes them: positional ones, keyword ones."""
    positional, named = [], {}
    for parameter, value in zip(one.schema.parameters, case):
        if parameter.keyword_only:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def call(one, function, case):
    """Call a function of the record's schema on a case."""
    positional, named = bound(one, case)
    return function(*positional, **named)


def tensors_in(package, values):
    """The tensors of arguments or results, those in lists included."""
    found = []
    for value in values if isinstance(values, (tuple, list)) else (values,):
        if isinstance(value, package.Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += tensors_in(package, value)
    return found


def map_tensors(package, values, function):
    """The same arguments with every tensor replaced."""
    if isinstance(values, package.Tensor):
        return function(values)
    if isinstance(values, (tuple, list)):
        return type(values)(map_tensors(package, v, function) for v in values) \
            if type(values) in (tuple, list) else values
    return values


def values_of(tensor):
    """A tensor's numbers as floats, flat; complex ones as two, huge integers rounded."""
    values = tensor.reshape(-1).tolist()
    if values and isinstance(values[0], complex):
        return [part for v in values for part in (v.real, v.imag)]
    return [float(v) for v in values]


def check_same(package, got, wanted, relative=0.0, absolute=0.0, strides=True):
    """Structure, dtypes, shapes (and strides) are equal; values too, up to the tolerances."""
    got, wanted = tensors_in(package, got), tensors_in(package, wanted)
    assert len(got) == len(wanted)
    for mine, other in zip(got, wanted):
        assert mine.dtype == other.dtype
        assert tuple(mine.shape) == tuple(other.shape)
        if strides:
            assert tuple(mine.stride()) == tuple(other.stride())
        for a, b in zip(values_of(mine), values_of(other)):
            if a != b and not (a != a and b != b):
                assert abs(a - b) <= absolute + relative * abs(b), (a, b)
