"""Images that are made smaller with smoothing, against tables of weights."""

import math

import numpy as np
import pytest

import yesca as torch
from yesca.nn.functional import interpolate

NAN, INF = float("nan"), float("inf")


def cubic(x):
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return ((-0.5 * x + 2.5) * x - 4) * x + 2


def lanczos(x):
    turned = math.pi * x
    return 1.0 if x == 0 else 3 * math.sin(turned) * math.sin(turned / 3) / turned**2


FILTERS = {"bilinear": (lambda x: 1 - x, 1), "bicubic": (cubic, 2), "lanczos": (lanczos, 3)}


def weights(size, result, mode, corners=False, factor=None):
    """(result, size): a row for each output."""
    function, width = FILTERS[mode]
    scale = size / result if factor is None else 1 / factor
    if corners:
        scale = (size - 1) / (result - 1) if result > 1 else 0.0
    wide = max(scale, 1.0)
    made = np.zeros((result, size))
    for o in range(result):
        centre = scale * (o + 0.5)
        low = max(int(centre - width * wide + 0.5), 0)
        for place in range(low, min(int(centre + width * wide + 0.5), size)):
            distance = abs(place - centre + 0.5) / wide
            made[o, place] = function(distance) if distance < width else 0
    return made / np.where(made.sum(1) == 0, 1, made.sum(1))[:, None]


def image(*shape):
    return torch.arange(math.prod(shape), dtype=torch.float64).mul(0.7).sin().reshape(shape)


SIZES = [((8, 8), (3, 5)), ((5, 7), (2, 9)), ((4, 4), (8, 8)), ((9, 1), (1, 4)), ((16, 3), (2, 2)),
         ((6, 6), (6, 6)), ((40, 3), (3, 40)), ((1, 1), (3, 3))]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", FILTERS)
def test_values_and_gradients(mode, corners, sizes):
    if mode == "lanczos" and corners:
        with pytest.raises(ValueError, match="does not support align_corners=True"):
            interpolate(image(1, 1, 4, 4), size=2, mode=mode, antialias=True, align_corners=True)
        return
    size, result = sizes
    x = image(2, 3, *size).requires_grad_()
    y = interpolate(x, size=result, mode=mode, antialias=True, align_corners=corners)
    down, across = (weights(n, m, mode, corners) for n, m in zip(size, result, strict=True))
    assert np.allclose(y.detach().numpy(), down @ x.detach().numpy() @ across.T, atol=1e-12)
    grad = image(*y.shape).cos()
    found, = torch.autograd.grad(y, x, grad)
    assert np.allclose(found.numpy(), down.T @ grad.numpy() @ across, atol=1e-12)


@pytest.mark.parametrize("factor", [0.5, 0.3, 1.7])
def test_scale_factors(factor):
    x = image(1, 2, 9, 7)
    y = interpolate(x, scale_factor=factor, mode="bilinear", antialias=True)
    down, across = (weights(n, int(n * factor), "bilinear", False, factor) for n in (9, 7))
    assert np.allclose(y.numpy(), down @ x.numpy() @ across.T, atol=1e-12)


@pytest.mark.parametrize("mode", FILTERS)
def test_derivatives(mode):
    def function(x):
        return interpolate(x, size=(3, 2), mode=mode, antialias=True)

    x = image(1, 1, 5, 4).requires_grad_()
    assert torch.autograd.gradcheck(function, x) and torch.autograd.gradgradcheck(function, x)


#: What PyTorch 2.13 gives for these bytes.
BYTES = {"bilinear": [[59, 71, 55, 62], [57, 64, 65, 63], [69, 58, 60, 74]],
         "bicubic": [[59, 75, 51, 63], [55, 64, 67, 61], [72, 57, 59, 76]]}


@pytest.mark.parametrize("mode", BYTES)
def test_bytes(mode):
    x = (image(1, 1, 6, 6).abs() * 100).to(torch.uint8)
    assert interpolate(x, size=(3, 4), mode=mode, antialias=True)[0, 0].tolist() == BYTES[mode]


def test_lanczos_against_pytorch():
    x = torch.arange(64.0).sin().reshape(1, 1, 8, 8)
    y = interpolate(x, size=(3, 5), mode="lanczos", antialias=True)
    assert torch.allclose(y[0, 0, 0], torch.tensor([0.1834, -0.0048, -0.1917, 0.0227, 0.1830]),
                          rtol=0, atol=5e-5)


def test_what_is_far_away_does_not_matter():
    x = torch.tensor([INF, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, NAN]).reshape(1, 1, 1, 8)
    y = interpolate(x, size=(1, 4), mode="bilinear", antialias=True)
    assert y[0, 0, 0, :3].tolist() == [INF, 1.0, 1.0] and y[0, 0, 0, 3].isnan()


def test_memory_formats_and_nodes():
    x = image(1, 2, 6, 6).to(memory_format=torch.channels_last).requires_grad_()
    for mode, name in (("bilinear", "Bilinear"), ("bicubic", "Bicubic"), ("lanczos", "Lanczos")):
        y = interpolate(x, size=(3, 4), mode=mode, antialias=True)
        assert y.stride() == (24, 1, 8, 2)
        assert y.grad_fn.name() == f"Upsample{name}2DAaBackward0"


@pytest.mark.parametrize("call, error, message", [
    (lambda: interpolate(image(1, 1, 4), size=2, mode="linear", antialias=True), ValueError,
     "restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor"),
    (lambda: interpolate(image(1, 1, 4, 4), size=2, mode="lanczos"), ValueError,
     "Lanczos mode requires antialias=True"),
    (lambda: interpolate(image(1, 1, 4, 4).half(), size=2, mode="bicubic", antialias=True),
     NotImplementedError, "\"compute_index_ranges_weights\" not implemented for 'Half'"),
    (lambda: interpolate(image(1, 1, 4, 4), size=(0, 2), mode="bicubic", antialias=True),
     RuntimeError, r"got input \(H: 4, W: 4\) output \(H: 0, W: 2\)"),
    (lambda: interpolate(image(1, 1, 4), size=0, mode="linear"), RuntimeError,
     r"got input \(W: 4\) and output \(W: 0\)"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_images():
    assert interpolate(image(0, 2, 6, 6), size=(3, 4), mode="bicubic",
                       antialias=True).shape == (0, 2, 3, 4)
