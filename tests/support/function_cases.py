"""Records as functions of the tensors of their cases: what batches and derivatives are taken of."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import operator_cases
import record_cases

import yesca
from yesca.core.dtypes import FLOATING

#: Cases of a record that the tests take.
MOST = 3


@dataclass
class Case:
    """A record's function of some tensors; `examples` are two lists of them."""

    one: Any
    function: Any
    arguments: tuple[Any, ...]
    examples: list[list[Any]]

    def __call__(self, *tensors):
        """The results, as a tuple where there are several."""
        given = iter(tensors)
        return operator_cases.call(self.one, self.function, operator_cases.map_tensors(
            yesca, self.arguments, lambda _: next(given)))

    def written(self, *tensors):
        """The same for an in-place function: what it has written."""
        tensors = [tensors[0].clone(), *tensors[1:]]
        self(*tensors)
        return tensors[0]


@cache
def records():
    """All records that have cases with elements in them."""
    return tuple(one for one in operator_cases.records().values() if cases(one))


def tensors_of(arguments):
    return operator_cases.tensors_in(yesca, arguments)


def cases(one, inplace=False):
    """The first cases of a record, of float64 where it computes with that, else of int64."""
    function = record_cases.function_of(one)
    if inplace:
        function = getattr(record_cases.OPERATORS, one.name + "_")
    for dtype in ("float64", "int64"):
        found = []
        pairs = zip(*(record_cases.own(one, dtype, True, seed) or () for seed in (0, 1)))
        for first, second in pairs:
            examples = [tensors_of(first), tensors_of(second)]
            if any(t.numel() for t in examples[0]) and len(found) < MOST:
                found.append(Case(one, function, first, examples))
        if found and answers(found[0]):
            return found
    return []


def answers(case):
    """Whether a record has a kernel for a case."""
    try:
        case(*[t.clone() for t in case.examples[0]])
    except NotImplementedError:
        return False
    return True


def tensors(made):
    """The tensors of a result, complex ones as pairs of numbers."""
    return [yesca.view_as_real(t.resolve_conj()) if t.is_complex() else t
            for t in operator_cases.tensors_in(yesca, made)]


def smooth(made):
    """Those of the tensors of a result that may have derivatives."""
    return [t for t in tensors(made) if t.dtype.category == FLOATING]
