"""First and second derivatives of every operator, against differences in float64."""

import contextlib

import gradient_checks
import operator_cases

import yesca
from yesca.dispatch.call import OPERATORS


#: Operators that PyTorch refuses to differentiate, and those whose slope is declared: a part of
#: nextafter, and what is quantised, straight through.
REFUSED = ("_fake_quantize", "_fake_quantize_channels", "fake_quantize_per_channel_affine",
           "fake_quantize_per_tensor_affine", "floor_divide", "heaviside", "histogram",
           "histogramdd", "igamma", "igammac", "stepped", "underived", "unique",
           "unique_consecutive")


#: Composites whose results are integers or truth values.
DISCRETE = ("allclose", "argmax", "argmin", "argsort", "argwhere", "bincount", "bucketize",
            "count_nonzero", "equal", "isclose", "isin", "nonzero", "nonzero_static",
            "nonzero_tuple", "searchsorted", "unravel_index")


def WANTED(one):  # noqa: N802 - read by conftest
    return (one.backward or one.composite) and not one.name.endswith("_") \
        and one.name not in REFUSED + DISCRETE and one.node_name != "NotImplemented" \
        and one.dtype != "compare"


#: Arguments that are read but have no gradient.
CONSTANT = {"nll_loss": ("weight",), "cross_entropy": ("weight",),
            "batch_norm": ("running_mean", "running_var")}


def as_function(one, case):
    """The operator as a function of the case's floating-point tensors, and those tensors."""
    constant = CONSTANT.get(one.name, ())
    places = [t for p, value in zip(one.schema.parameters, case) if p.name not in constant
              for t in operator_cases.tensors_in(yesca, value) if t.dtype == yesca.float64]
    function = getattr(OPERATORS, one.name)

    def run(*values):
        given = {id(t): v for t, v in zip(places, values)}
        replaced = operator_cases.map_tensors(yesca, case, lambda t: given.get(id(t), t))
        results = operator_cases.call(one, function, replaced)
        return [r for r in (yesca.view_as_real(r.resolve_conj()) if r.is_complex() else r
                            for r in operator_cases.tensors_in(yesca, results))
                if r.dtype == yesca.float64]

    return run, places


def chosen(one):
    cases = operator_cases.cases(one, yesca, "float64", small=True)
    pairs = []
    for function, inputs in (as_function(one, case) for case in cases):
        with yesca.no_grad(), contextlib.suppress(RuntimeError):  # refused: nothing to derive
            if sum(t.numel() for t in inputs) and function(*inputs):
                pairs.append((function, inputs))
    assert pairs, "no case gives a result that has a gradient"
    return pairs


def test_first(one):
    """Gradients equal differences."""
    for function, inputs in chosen(one):
        gradient_checks.check(yesca, function, inputs)


def test_second(one):
    """Gradients of gradients equal differences of gradients."""
    for function, inputs in chosen(one)[:3]:
        gradient_checks.check_twice(yesca, function, inputs)


def test_tangents(one):
    """Forward mode gives the products that the gradients give."""
    for function, inputs in chosen(one)[:2]:
        gradient_checks.check_tangents(yesca, function, inputs)


def test_batched(one):
    """A batch of gradients in one pass."""
    for function, inputs in chosen(one)[:2]:
        gradient_checks.check_batched(yesca, function, inputs)
