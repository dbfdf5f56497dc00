"""Variances and deviations: the warning about degrees of freedom, and what the tape keeps."""

import warnings

import pytest

import yesca

FUNCTIONS = ("std", "var", "std_mean", "var_mean")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape,options", [
    ((1,), {}), ((), {}), ((3, 1), {"dim": -1}), ((2, 2), {"correction": 4}), ((0,), {}),
    ((2, 0), {"dim": 0, "correction": 0}), ((2, 2), {"dim": 0, "correction": 2.5})])
def test_too_few_elements_are_warned_of(name, shape, options):
    with pytest.warns(UserWarning) as seen:
        getattr(yesca, name)(yesca.ones(shape), **options)
    assert [str(w.message) for w in seen] == [
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
        "reduction factor (input numel divided by output numel)."]
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape,options", [
    ((1,), {"correction": 0}), ((2, 2), {"dim": 0}), ((3, 1), {}), ((2,), {"correction": 1.5})])
def test_enough_elements_are_not(name, shape, options):
    getattr(yesca, name)(yesca.ones(shape), **options)
    getattr(yesca, name)(yesca.ones(1, device="meta"))  # nothing is computed there


def test_a_place_warns_once_by_the_usual_rules():
    one = yesca.ones(1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(5):
            one.std()
    assert len(seen) == 1
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(5):
            one.std()
    assert len(seen) == 5


def test_complex_numbers_warn_too():
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom"):
        made = yesca.var(yesca.ones(1, dtype=yesca.complex64))
    assert made.isnan()


@pytest.mark.parametrize("name,kept", [("var", 1), ("std", 2)])
def test_no_mean_is_kept(name, kept):
    """Backward finds the mean once more, also where other results have been written to since."""
    x = yesca.tensor([[1.0, 2.0, 6.0]], dtype=yesca.float64, requires_grad=True)
    packed = []
    with yesca.autograd.graph.saved_tensors_hooks(packed.append, lambda value: x):
        getattr(yesca, name)(x, 1)
    assert len(packed) == kept
    assert yesca.autograd.gradcheck(lambda x: getattr(yesca, name)(x, 1), (x,))
    values, mean = getattr(yesca, name + "_mean")(x, 1)
    mean.detach().zero_()
    values.sum().backward()
    assert x.grad.sum().abs() < 1e-12
