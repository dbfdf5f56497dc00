"""torch.masked against PyTorch: results, their dtypes and shapes, gradients, signatures."""

import inspect

import pytest
import torch

import yesca

pytestmark = pytest.mark.oracle
REDUCTIONS = ["sum", "prod", "amax", "amin", "mean", "var", "std", "norm", "logsumexp"]
ALONG = ["argmax", "argmin", "median", "softmax", "log_softmax", "softmin", "normalize", "cumsum",
         "cumprod"]
FLOATS = ("float32", "float64", "float16", "bfloat16")
NUMBERS = [[[3, -4, 5], [7, 0, 2]], [[1, 6, -2], [4, 4, 3]]]
KEPT = [[[1, 0, 1], [1, 1, 1]], [[0, 1, 1], [1, 0, 0]]]


def computed(package, name, dtype, dim, options):
    x = package.tensor(NUMBERS, dtype=getattr(package, dtype)) / (1 if "int" in dtype else 4)
    x = x.to(getattr(package, dtype)).requires_grad_(dtype in FLOATS)
    mask = package.tensor(KEPT, dtype=package.bool)
    more = {"ord": 2.0} if name == "normalize" else {}
    made = getattr(package.masked, name)(x, dim=dim, mask=mask, **more, **options)
    grad = None
    if made.requires_grad:
        shown = package.where(mask, made, 0) if made.shape == mask.shape else made
        shown.double().square().sum().backward()
        grad = x.grad.double().tolist()
    if made.shape == mask.shape:
        made = package.where(mask, made, 0)
    return str(made.dtype), tuple(made.shape), made.double().tolist(), grad


def compare(name, dtype, dim, **options):
    ours, theirs = (computed(m, name, dtype, dim, options) for m in (yesca, torch))
    assert ours[:2] == theirs[:2]
    tolerance = {"float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}.get(dtype, 2e-6)
    for mine, other in zip(ours[2:], theirs[2:]):
        if other is not None:
            torch.testing.assert_close(torch.tensor(mine), torch.tensor(other), rtol=tolerance,
                                       atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    exact = () if name in ("mean", "norm") else ("int64", "uint8", "int32")
    for dtype in (*FLOATS, *exact):
        if dtype == "uint8" and name == "logsumexp":
            continue  # PyTorch counts each masked-out element as exp(0)
        for dim in (None, 1, (0, 2), -1):
            for keepdim in (False, True):
                compare(name, dtype, dim, keepdim=keepdim)


@pytest.mark.parametrize("name", ALONG)
def test_along(name):
    exact = ("int64", "int32") if name in ("cumsum", "cumprod", "argmax", "argmin") else ()
    for dtype in (*FLOATS, *exact):
        for dim in (1, -1):
            compare(name, dtype, dim)


@pytest.mark.parametrize("name", sorted(yesca.masked.__all__))
def test_parameters(name):
    ours, theirs = (
        [(p.name, p.kind, p.default) for p in
         inspect.signature(getattr(m.masked, name)).parameters.values()] for m in (yesca, torch))
    assert ours == theirs


def test_names_that_are_absent():
    absent = set(torch.masked.__all__) - set(yesca.masked.__all__)
    assert absent == {"MaskedTensor", "masked_tensor", "as_masked_tensor", "is_masked_tensor"}
    assert set(yesca.masked.__all__) < set(torch.masked.__all__)
