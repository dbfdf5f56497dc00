"""Convolutions of small images, by products with patches, against the direct sum."""

import math

import numpy as np
import pytest
from convolutions import direct
from finite_differences import array, tensor, values

import yesca as torch
from yesca import functional as ops
from yesca.operators import unfolding, windows
from yesca.operators.windows import Windows

#: Sizes of the image, kernel, numbers: small images with channels enough.
CASES = [
    ((4, 4), (3, 3), {"padding": 1}),
    ((4, 5), (3, 2), {"stride": 2, "padding": 1}),
    ((5, 5), (3, 3), {"dilation": 2, "padding": 2}),
    ((3, 3), (3, 3), {}),
    ((4, 4), (1, 1), {"stride": 2}),
    ((6,), (3,), {"padding": 1}),
    ((2, 3, 2), (2, 2, 2), {"padding": 1}),
    ((4, 4), (3, 3), {"padding": 1, "groups": 2}),
]


def chosen(monkeypatch):
    """The geometries of the products with patches that are planned from here on."""
    seen = []

    def spied(function):
        def run(p, w, *rest):
            seen.append((function.__name__, w))
            return function(p, w, *rest)
        return run

    for name in ("forward", "input_gradient", "weight_gradient"):
        monkeypatch.setattr(unfolding, name, spied(getattr(unfolding, name)))
    return seen


@pytest.mark.parametrize(("size", "kernel", "options"), CASES)
@pytest.mark.parametrize("layout", ["rows", "channels last"])
def test_values_and_gradients(size, kernel, options, layout, monkeypatch):
    seen = chosen(monkeypatch)
    groups = options.get("groups", 1)
    samples = 2 if layout == "rows" else 3
    x, w = values((samples, 6 * groups, *size)), values((160 * groups, 6, *kernel), 1)
    b = values((160 * groups,), 2)
    torch_x, torch_w, torch_b = (tensor(v).requires_grad_() for v in (x, w, b))
    given = torch_x
    if layout == "channels last":
        given = given.movedim(1, -1).contiguous().movedim(-1, 1)
    convolve = getattr(ops, f"conv{len(size)}d")
    made = convolve(given, torch_w, torch_b, **options)
    wanted = direct(x, w, **options) + b[:, *(None,) * len(size)]
    np.testing.assert_allclose(array(made), wanted, rtol=1e-10, atol=1e-10)
    g = values(tuple(made.shape), 3)
    made.backward(tensor(g))
    assert [name for name, _ in seen] == ["forward", "input_gradient", "weight_gradient"]
    # The operator is linear: each gradient is told by products with all unit vectors, so with any.
    for leaf, other in ((torch_x, values(x.shape, 4)), (torch_w, values(w.shape, 5))):
        moved = direct(*((other, w) if leaf is torch_x else (x, other)), **options)
        np.testing.assert_allclose((array(leaf.grad) * other).sum(), (g * moved).sum(), rtol=1e-9)
    np.testing.assert_allclose(array(torch_b.grad), g.sum((0, *range(2, g.ndim))), rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_other_dtypes(dtype):
    x, w = values((2, 64, 4, 4)), values((128, 64, 3, 3), 1) / 24
    x, w = (torch.tensor(v).to(dtype) for v in (x, w))
    made = torch.nn.functional.conv2d(x, w, padding=1)
    assert made.dtype == dtype
    wanted = direct(x.double().numpy(), w.double().numpy(), padding=1)
    np.testing.assert_allclose(made.double().numpy(), wanted, rtol=2 * torch.finfo(dtype).eps,
                               atol=1e-4)


def test_transposed():
    x, w = values((2, 160, 3, 3)), values((160, 6, 3, 3), 1)
    made = ops.conv_transpose2d(tensor(x), tensor(w), stride=2, padding=1, output_padding=1)
    other = values(tuple(made.shape), 2)
    read = direct(other, w, stride=2, padding=1)  # what it is the transpose of
    np.testing.assert_allclose((array(made) * other).sum(), (x * read).sum(), rtol=1e-9)


def test_the_choice():
    def pays(samples, inputs, outputs, size, kernel=3, stride=1, groups=1):
        result = (size - 1) // stride + 1
        return unfolding.pays(Windows(
            samples, groups, inputs, outputs, (size,) * 2, (result,) * 2, (kernel,) * 2,
            (stride,) * 2, (kernel // 2,) * 2, (1, 1)))

    assert pays(2, 512, 512, 4) and pays(32, 256, 256, 8) and pays(2, 256, 512, 14, 1, 2)
    assert not pays(32, 32, 32, 32) and not pays(2, 64, 64, 56) and not pays(8, 32, 32, 8)
    assert not pays(2, 512, 512, 4, groups=512)  # one channel in a group: dot products


def test_both_ways_agree():
    w = Windows(2, 1, 64, 256, (4, 4), (4, 4), (3, 3), (1, 1), (1, 1), (1, 1))
    assert unfolding.pays(w) and w.grid > 2 * w.samples * math.prod(w.result)
    assert {*unfolding.__all__} - {"pays"} <= {*vars(windows)}
