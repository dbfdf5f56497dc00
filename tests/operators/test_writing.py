"""In-place forms and `out=` give what the functional form gives, and count as one write."""

import warnings

import operator_cases
import pytest

import yesca
from yesca.dispatch.call import OPERATORS


def WANTED(one):  # noqa: N802 - read by conftest
    return one.inplace or one.out


def cases(one):
    """Cases and results of the functional form, where it gives tensors."""
    function = getattr(OPERATORS, one.name)
    made = zip(*(operator_cases.cases(one, yesca) for _ in range(2)), strict=True)
    for case, again in made:
        try:
            yield again, operator_cases.call(one, function, case)
        except (RuntimeError, IndexError):
            continue


@operator_cases.only(lambda one: one.inplace)
def test_inplace(one):
    """`x.name_(...)` is `name(x, ...)` in x's memory, one version later."""
    function = getattr(OPERATORS, one.name + "_")
    for case, wanted in cases(one):
        case = operator_cases.map_tensors(yesca, case, lambda t: t.clone())
        target = case[0]
        if not isinstance(target, yesca.Tensor) or not fits(wanted, target):
            continue
        before, place = target._version, target.data_ptr()
        made = operator_cases.call(one, function, case)
        assert made is target
        assert target.data_ptr() == place
        assert target._version == before + 1
        operator_cases.check_same(yesca, target, wanted.to(target.dtype), strides=False)


def fits(result, target):
    return isinstance(result, yesca.Tensor) and result.shape == target.shape and \
        yesca.can_cast(result.dtype, target.dtype)


@operator_cases.only(
    lambda one: one.kind == "elementwise" and one.inplace and one.samples is None)
def test_inplace_refuses_dtypes(one):
    """A target of a lower category than the result is refused."""
    case = operator_cases.cases(one, yesca, "int64")[0]
    try:
        result = operator_cases.call(one, getattr(OPERATORS, one.name), case)
    except RuntimeError:
        return
    if yesca.can_cast(result.dtype, yesca.int64):
        return
    before = case[0].clone()
    with pytest.raises(RuntimeError, match="result type .* can't be cast to the desired output"):
        operator_cases.call(one, getattr(OPERATORS, one.name + "_"), case)
    operator_cases.check_same(yesca, case[0], before)


@operator_cases.only(lambda one: one.out)
def test_out(one):
    """`out=` takes the result, resized from nothing, and counts one write."""
    function = getattr(OPERATORS, one.name)
    for case, wanted in list(cases(one))[:2]:
        if one.name in ("sum", "prod") and len(case) < 2:
            continue  # those of all elements have no `out`
        results = operator_cases.tensors_in(yesca, wanted)
        outs = [yesca.empty(0, dtype=r.dtype) for r in results]
        exact = [yesca.zeros_like(r) for r in results]
        for given in (outs, exact):
            before = [t._version for t in given]
            positional, named = operator_cases.bound(one, case)
            made = function(*positional, **named, out=given[0] if len(given) == 1 else
                            tuple(given))
            assert operator_cases.tensors_in(yesca, made) == given or \
                all(a is b for a, b in zip(operator_cases.tensors_in(yesca, made), given))
            operator_cases.check_same(yesca, given, wanted, strides=False)
            assert all(t._version >= b + 1 for t, b in zip(given, before))


def test_out_refuses_dtypes():
    """A result does not fit into an `out=` of a lower category."""
    x = yesca.ones(3)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output "
                                           "type Long"):
        yesca.add(x, x, out=yesca.zeros(3, dtype=yesca.int64))
    wide = yesca.zeros(3, dtype=yesca.float64)
    assert yesca.add(x, x, out=wide) is wide
    assert wide.tolist() == [2.0, 2.0, 2.0]


def test_out_of_another_size_warns():
    x, out = yesca.ones(3), yesca.zeros(2)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        yesca.neg(x, out=out)
    assert out.tolist() == [-1.0, -1.0, -1.0]


def test_out_keeps_no_tape():
    x = yesca.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        yesca.exp(x, out=yesca.zeros(3))
    with yesca.no_grad(), warnings.catch_warnings():
        assert not yesca.exp(x, out=yesca.empty(3)).requires_grad
