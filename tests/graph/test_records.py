"""Every operator inside a compiled function gives what it gives by itself, bit for bit.

Operands are results of the recording and not yet computed, as in a real program; each function
runs several times, so that both new and known recordings are seen. All records are here: those
that only other operators call get what these call them with.
"""

import differential
import operator_cases
import operator_facts
import pytest
import record_cases

import yesca
from yesca.dispatch.call import OPERATORS

DTYPES = ("float32", "int64")
RUNS = 3
RECORDS = operator_cases.records()
RAISED = (RuntimeError, IndexError, TypeError, ValueError, AssertionError)


def each(selects=lambda one: True):
    """A decorator: the test runs for all records, or for those of them that are selected."""
    chosen = [RECORDS[name] for name in record_cases.names() if selects(RECORDS[name])]
    return pytest.mark.parametrize("one", chosen, ids=lambda one: one.name)


def tangible(value):
    return value.dtype.is_floating_point or value.dtype.is_complex


def seen(outcome, leaves):
    """Facts, sharing of memory and numbers of all tensors that a program gives or gets."""
    found = [*operator_cases.tensors_in(yesca, outcome), *leaves]
    storages = {}
    sharing = [storages.setdefault(id(t._storage), len(storages)) for t in found]
    numbers = [repr(differential.numbers_of(t)) for t in found]
    return [differential.facts(t) for t in found], sharing, numbers


def attempt(function, leaves):
    """All that can be seen of a call, and the generator's next number; or of its error."""
    yesca.manual_seed(11)
    try:
        outcome = function(*leaves)
    except RAISED as error:
        return type(error), str(error), seen((), leaves)
    return seen(outcome, leaves), yesca.rand(1).item()


def leaves_of(case, tracked=False):
    """Copies of a case's tensors, in the order in which `filled` takes them."""
    made = [t.detach().clone() for t in operator_cases.tensors_in(yesca, case)]
    return [t.requires_grad_(tracked and tangible(t)) for t in made]


def filled(case, leaves):
    """The case with tensors that the program has computed from leaves."""
    given = iter(leaves)
    return operator_cases.map_tensors(yesca, case, lambda _: next(given).clone())


def compare(program, case, tracked=False, wrap=yesca.compile):
    """Run a program as it is and compiled; gives what was seen of it."""
    wanted = attempt(program, leaves_of(case, tracked))
    compiled = wrap(program)
    for _ in range(RUNS):
        assert attempt(compiled, leaves_of(case, tracked)) == wanted
    return wanted


def forward(one, case, reached=None):
    """A program: the operator on operands that it has computed; gives results and operands."""
    function = record_cases.function_of(one)

    def run(*leaves):
        operands = filled(case, leaves)
        if reached is not None:
            reached.append("before")
        results = operator_cases.call(one, function, operands)
        if reached is not None:
            reached.append("after")
        return results, operands

    return run


def cases(one):
    """Those of all dtypes."""
    return [case for dtype in DTYPES for case in record_cases.cases(one, dtype)]


@each()
def test_values(one):
    for case in cases(one):
        compare(forward(one, case), case)


@pytest.mark.parametrize("name", ["linalg_solve", "fft_r2c", "_adam_step", "special_zeta",
                                  "convolution_derivatives", "softmax_backward_data"])
def test_cases_are_there(name):
    """Of libraries, lists and parts; a test over no cases would say nothing."""
    assert record_cases.cases(RECORDS[name])


def test_all_records_have_cases():
    assert not [name for name in record_cases.names() if not record_cases.cases(RECORDS[name])]


def slopes(leaves, results):
    """The derivatives of results by all leaves that have some; results themselves if none."""
    tracked = [t for t in operator_cases.tensors_in(yesca, results) if t.requires_grad]
    if not tracked:
        return results
    sources = [leaf for leaf in leaves if leaf.requires_grad]
    grads = yesca.autograd.grad(tracked, sources, [t.detach().cos() for t in tracked],
                                allow_unused=True)
    return results, [g if g is not None else yesca.zeros(()) for g in grads]


@each(lambda one: one.kind != "multi")
def test_gradients(one):
    """The derivative inside of the compiled function, and outside."""
    for case in record_cases.cases(one):
        run = forward(one, case)

        def whole(*leaves, run=run):
            return slopes(leaves, run(*leaves)[0])

        def outside(whole, run=run):
            compiled = yesca.compile(run)
            return lambda *leaves: slopes(leaves, compiled(*leaves)[0])

        compare(whole, case, True)
        compare(whole, case, True, outside)


@each(lambda one: one.inplace and (one.function or one.method))
def test_inplace(one):
    """The form that writes into its first argument: a computed tensor, a view of one."""
    function = getattr(OPERATORS, one.name + "_")
    done = 0
    for case in cases(one):
        if not isinstance(case[0], yesca.Tensor):
            continue
        for viewed in (False, True):
            def program(*leaves, case=case, viewed=viewed):
                operands = filled(case, leaves)
                whole = yesca.stack([operands[0], operands[0]])
                target = whole[1] if viewed else operands[0]
                made = operator_cases.call(one, function, (target, *operands[1:]))
                return made, whole, operands, whole + 1, made is target

            for tracked in (False, True):
                done += len(compare(program, case, tracked)) == 2
    assert done


def public(one):
    """The package's function of this name that takes `out`."""
    return operator_facts.public(yesca, one.name) if one.out else None


@each(public)
def test_out(one):
    """Results go into tensors of the caller's: empty ones, computed ones, parts of larger ones."""
    done = 0
    for case in cases(one):
        wanted = attempt(forward(one, case), leaves_of(case))
        if len(wanted) == 3:
            continue
        given = operator_cases.tensors_in(yesca, operator_cases.call(
            one, record_cases.function_of(one), case))
        for target in (lambda t: t.new_empty(0), yesca.zeros_like,
                       lambda t: yesca.zeros((*t.shape, 2), dtype=t.dtype)[..., 1]):
            def program(*leaves, case=case, given=given, target=target):
                positional, named = operator_cases.bound(one, filled(case, leaves))
                out = tuple(target(t) for t in given)
                made = public(one)(*positional, **named, out=out if len(out) > 1 else out[0])
                return made, out, [t == 0 for t in out]

            done += len(compare(program, case)) == 2
    assert done


def spoiled(case):
    """Cases like this one with something wrong in them."""
    for position, value in enumerate(case):
        others = []
        if isinstance(value, yesca.Tensor):
            others = [value.reshape(-1)[1:], yesca.stack([value] * 3)]
            if not tangible(value) and value.dtype is not yesca.bool:
                others.append(value + 100)
            if tangible(value):
                others += [value * float("nan"), value != 0, yesca.complex(value, value)
                           if value.dtype is yesca.float32 else value.bool()]
        elif type(value) is int:
            others = [-9, 9]
        for other in others:
            yield (*case[:position], other, *case[position + 1:])


@pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning")  # said once a process
@each(lambda one: record_cases.own(one) and operator_facts.public(yesca, one.name)
      and one.name != "as_strided_view")  # the part of as_strided that leaves checks to it
def test_errors(one):
    """What is refused, is refused with the same words at the same place, as far as it gets."""
    for case in record_cases.cases(one)[:2]:
        for wrong in spoiled(case):
            places = []
            for wrap in (lambda run: run, yesca.compile):
                reached = []
                program = wrap(forward(one, wrong, reached))
                places.append((attempt(program, leaves_of(wrong)), reached))
            assert places[0] == places[1]


DRAWN = {
    "rand": lambda x: yesca.rand(3, 4), "randn": lambda x: yesca.randn(5, dtype=yesca.float64),
    "randint": lambda x: yesca.randint(3, 9, (4,)), "randperm": lambda x: yesca.randperm(6),
    "rand_like": yesca.rand_like, "randint_like": lambda x: yesca.randint_like(x, 7),
    "randn_like": yesca.randn_like, "bernoulli": lambda x: yesca.bernoulli(x.sigmoid()),
    "normal": lambda x: yesca.normal(x, x.exp()), "poisson": lambda x: yesca.poisson(x.exp()),
    "multinomial": lambda x: yesca.multinomial(x.softmax(-1), 2),
    "dropout": lambda x: yesca.nn.functional.dropout(x, 0.5),
    "gamma": lambda x: yesca._standard_gamma(x.exp()),
    "own generator": lambda x: yesca.rand(3, generator=yesca.Generator().manual_seed(3)),
    **{name: lambda x, name=name: getattr(x.clone(), name)() for name in (
        "uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "random_", "bernoulli_")},
    "geometric_": lambda x: x.clone().geometric_(0.5),
}


@pytest.mark.parametrize("name", DRAWN)
def test_draws(name):
    """The same numbers from the same seed, between other draws, and with states set between."""
    def program(x):
        first = yesca.rand(2)
        state = yesca.get_rng_state()
        made = DRAWN[name](x + first.sum())
        again = yesca.rand(1)
        yesca.set_rng_state(state)
        return first, made, again, DRAWN[name](x * 2), yesca.randn(1)

    compare(program, (yesca.tensor([[0.5, -1.0, 0.25], [1.0, 2.0, 0.125]]),))
