"""Every operator inside a compiled function gives what it gives by itself.

Operands are results of the recording and not yet computed, as in a real program; each function
runs three times, so that both new and known recordings are seen.
"""

import operator_cases
import pytest

import yesca
from yesca.dispatch.call import OPERATORS

#: Kinds whose numbers are the same however operators are grouped.
EXACT = ("elementwise", "copy", "view", "gather", "creation", "sort", "random")
#: Results that nobody has written.
UNWRITTEN = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
             "new_empty_strided", "resize_")
ROUNDING = {"float32": 2e-6, "int64": 0.0}


def tangible(value):
    return value.dtype.is_floating_point or value.dtype.is_complex


def attempt(function, *arguments):
    """The results and the generator's next number, or the error."""
    yesca.manual_seed(11)
    try:
        return function(*arguments), yesca.rand(1).item()
    except (RuntimeError, IndexError, NotImplementedError, TypeError, ValueError) as error:
        return type(error), str(error)


def forward(one, case):
    """A program: the operator on operands that the program has computed."""
    def run(*leaves):
        given = iter(leaves)
        operands = operator_cases.map_tensors(yesca, case, lambda _: next(given).clone())
        results = operator_cases.call(one, getattr(OPERATORS, one.name), operands)
        return results, operands if one.name.endswith("_") else ()

    return run


def slopes(leaves, results):
    """The derivatives of results by all leaves that have some; results themselves if none."""
    tracked = [t for t in operator_cases.tensors_in(yesca, results) if t.requires_grad]
    if not tracked:
        return results
    sources = [leaf for leaf in leaves if leaf.requires_grad]
    grads = yesca.autograd.grad(tracked, sources, [t.detach().cos() for t in tracked],
                                allow_unused=True)
    return results, [g if g is not None else yesca.zeros(()) for g in grads]


def same(one, got, wanted, dtype):
    if isinstance(wanted[0], type):
        assert got == wanted
        return
    assert got[1] == wanted[1]
    rounding = 0.0 if one.kind in EXACT else ROUNDING[dtype]
    operator_cases.check_same(yesca, got[0], wanted[0], rounding, rounding)


@operator_cases.only(lambda one: one.name not in UNWRITTEN)
@pytest.mark.parametrize("dtype", ROUNDING)
def test_values(one, dtype):
    for case in operator_cases.cases(one, yesca, dtype):
        leaves = operator_cases.tensors_in(yesca, case)
        program = forward(one, case)
        compiled = yesca.compile(program)
        wanted = attempt(program, *leaves)
        for _ in range(3):
            same(one, attempt(compiled, *leaves), wanted, dtype)


@operator_cases.only(lambda one: one.name not in UNWRITTEN)
def test_gradients(one):
    """The derivative inside of the compiled function, and outside."""
    for case in operator_cases.cases(one, yesca):
        leaves = operator_cases.tensors_in(yesca, case)
        for leaf in leaves:
            leaf.requires_grad_(tangible(leaf))
        run = forward(one, case)
        compiled = yesca.compile(run)

        def whole(*leaves, run=run):
            return slopes(leaves, run(*leaves)[0])

        def around(*leaves, compiled=compiled):
            return slopes(leaves, compiled(*leaves)[0])

        wanted = attempt(whole, *leaves)
        inside = yesca.compile(whole)
        for _ in range(2):
            same(one, attempt(inside, *leaves), wanted, "float32")
            same(one, attempt(around, *leaves), wanted, "float32")
