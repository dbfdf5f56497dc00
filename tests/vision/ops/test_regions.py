"""Regions of interest and moved convolutions, checked pixel by pixel in plain NumPy."""

import itertools
import math

import numpy as np
import pytest

import yesca as torch
from yesca.autograd import gradcheck
from yesca.vision import ops


def bilinear(image, y, x):
    """The value between pixels; the rim up to one pixel outside, zero beyond."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    down = 0.0 if top == height - 1 else y - top
    right = 0.0 if left == width - 1 else x - left
    below, beside = min(top + 1, height - 1), min(left + 1, width - 1)
    return ((1 - down) * ((1 - right) * image[top, left] + right * image[top, beside])
            + down * ((1 - right) * image[below, left] + right * image[below, beside]))


def align(image, rois, size, scale, ratio, aligned, divided=False):
    (tall, wide), channels = size, image.shape[1]
    bins = tall * wide if divided else 1
    out = np.zeros((len(rois), channels // bins, tall, wide))
    for k, c, i, j in itertools.product(*(range(n) for n in out.shape)):
        number, x1, y1, x2, y2 = rois[k]
        offset = 0.5 if aligned or divided else 0.0
        x1, y1, x2, y2 = (value * scale - offset for value in (x1, y1, x2, y2))
        height, width = y2 - y1, x2 - x1
        if not aligned and not divided:
            height, width = max(height, 1.0), max(width, 1.0)
        step, stride = height / tall, width / wide
        rows = ratio if ratio > 0 else math.ceil(step)
        columns = ratio if ratio > 0 else math.ceil(stride)
        source = image[int(number), (c * tall + i) * wide + j if divided else c]
        samples = [bilinear(source, y1 + i * step + (a + 0.5) * step / rows,
                            x1 + j * stride + (b + 0.5) * stride / columns)
                   for a in range(rows) for b in range(columns)]
        out[k, c, i, j] = sum(samples) / max(rows * columns, 1)
    return out


def away(x):
    """Halves are rounded away from zero."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def pool(image, rois, size, scale, divided=False):
    (tall, wide), channels = size, image.shape[1]
    bins, beyond = (tall * wide, 0) if divided else (1, 1)
    out = np.zeros((len(rois), channels // bins, tall, wide))
    limits = [n - 1 if divided else n for n in image.shape[2:]]
    for k, c, i, j in itertools.product(*(range(n) for n in out.shape)):
        number, x1, y1, x2, y2 = rois[k]
        edges = []
        for first, last, place, count, limit in (
                (y1, y2, i, tall, limits[0]), (x1, x2, j, wide, limits[1])):
            first, last = away(first * scale), away(last * scale)
            step = max(last - first + beyond, 1) / count
            edges += [min(max(first + round_(place_ * step), 0), limit)
                      for place_, round_ in ((place, math.floor), (place + 1, math.ceil))]
        source = image[int(number), (c * tall + i) * wide + j if divided else c]
        part = source[edges[0]:edges[1], edges[2]:edges[3]]
        if part.size:
            out[k, c, i, j] = part.mean() if divided else part.max()
    return out


#: Inside, small, over the rim, far outside, upside down, on halves of pixels.
ROIS = np.array([
    [0, 1.0, 2.0, 7.5, 8.25], [1, 3.2, 3.1, 3.4, 3.3], [0, -4.0, -3.0, 3.0, 4.5],
    [1, 6.0, 5.0, 14.0, 13.0], [0, 30.0, 30.0, 40.0, 40.0], [1, 6.0, 6.0, 2.0, 3.0],
    [0, 0.5, 1.5, 4.5, 6.5], [1, -1.5, -0.5, 2.5, 3.5]])


def image(channels, dtype="float64"):
    values = np.sin(np.arange(2 * channels * 9 * 8) * 0.9).reshape(2, channels, 9, 8)
    return values.astype(dtype)


@pytest.mark.parametrize("ratio", [-1, 0, 2])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize(("size", "scale"), [((2, 3), 1.0), ((3, 1), 0.5)])
def test_roi_align(size, scale, aligned, ratio):
    x = image(3)
    got = ops.roi_align(torch.from_numpy(x), torch.from_numpy(ROIS), size, scale, ratio, aligned)
    assert got.is_contiguous()
    assert np.allclose(got.numpy(), align(x, ROIS, size, scale, ratio, aligned), atol=1e-12)


@pytest.mark.parametrize("ratio", [-1, 2])
def test_ps_roi_align(ratio):
    x, upright = image(12), ROIS[[0, 1, 2, 3, 4, 6, 7]]
    got = ops.ps_roi_align(torch.from_numpy(x), torch.from_numpy(upright), (2, 3), 0.75, ratio)
    expected = align(x, upright, (2, 3), 0.75, ratio, True, divided=True)
    assert np.allclose(got.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(("size", "scale"), [((2, 3), 1.0), (4, 0.5), ((1, 2), 0.25)])
def test_roi_pool(size, scale):
    x = image(3)
    got = ops.roi_pool(torch.from_numpy(x), torch.from_numpy(ROIS), size, scale)
    size = size if isinstance(size, tuple) else (size, size)
    assert np.array_equal(got.numpy(), pool(x, ROIS, size, scale))


def test_ps_roi_pool():
    x = image(12)
    got = ops.ps_roi_pool(torch.from_numpy(x), torch.from_numpy(ROIS), (2, 3), 0.9)
    assert np.allclose(got.numpy(), pool(x, ROIS, (2, 3), 0.9, divided=True), atol=1e-12)


def test_many_regions_are_read_in_parts(monkeypatch):
    from yesca.vision.ops import _sampling

    x, rois = torch.from_numpy(image(12)), torch.from_numpy(ROIS)
    calls = [lambda: ops.roi_align(x, rois, 3), lambda: ops.ps_roi_align(x, rois, 2),
             lambda: ops.roi_pool(x, rois, 3), lambda: ops.ps_roi_pool(x, rois, 2)]
    whole = [call() for call in calls]
    monkeypatch.setattr(_sampling, "_LIMIT", 3000)
    for one, call in zip(whole, calls):
        assert torch.allclose(one, call(), equal_nan=True)


@pytest.mark.parametrize("call", [
    lambda x, rois: ops.roi_align(x, rois, (2, 2), 0.8, -1, True),
    lambda x, rois: ops.ps_roi_align(x, rois, (2, 2), 0.8, 2),
    lambda x, rois: ops.roi_pool(x, rois, (2, 2), 0.8),
    lambda x, rois: ops.ps_roi_pool(x, rois, (2, 2), 0.8),
])
def test_gradients_of_the_image(call):
    x = torch.from_numpy(image(4)[:, :, :5, :5].copy()).requires_grad_()
    rois = torch.tensor(ROIS[[0, 2, 6]] * [1, 0.6, 0.6, 0.6, 0.6])
    assert gradcheck(lambda each: call(each, rois), (x,))
    moved = rois.clone().requires_grad_()
    assert call(x, moved).requires_grad and torch.autograd.grad(
        call(x, moved).sum(), moved, allow_unused=True) == (None,)


def test_boxes_of_each_image_and_layers():
    x, rois = torch.from_numpy(image(4, "float32")), torch.from_numpy(ROIS).float()
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    lists = [rois[order[:4], 1:], rois[order[4:], 1:]]
    layers = [ops.RoIAlign(2, 0.5, 2, True), ops.PSRoIAlign(2, 0.5, 2), ops.RoIPool((2, 2), 0.5),
              ops.PSRoIPool(2, 0.5)]
    for layer in layers:
        assert torch.equal(layer(x, lists), layer(x, rois[order]))
        assert layer(x, rois[:0]).shape == layer(x, rois).shape[:0] + (0,) + layer(
            x, rois).shape[1:]
    assert [repr(layer) for layer in layers] == [
        "RoIAlign(output_size=2, spatial_scale=0.5, sampling_ratio=2, aligned=True)",
        "PSRoIAlign(output_size=2, spatial_scale=0.5, sampling_ratio=2)",
        "RoIPool(output_size=(2, 2), spatial_scale=0.5)",
        "PSRoIPool(output_size=2, spatial_scale=0.5)"]
    assert layers[0](x.to("meta"), rois.to("meta")).shape == (8, 4, 2, 2)


def test_what_regions_refuse():
    x, rois = torch.zeros(1, 3, 4, 4), torch.zeros(2, 5)
    for boxes in (torch.zeros(2, 4), [torch.zeros(2, 5)], 3):
        with pytest.raises(AssertionError, match="boxes"):
            ops.roi_align(x, boxes, 2)
    with pytest.raises(RuntimeError, match="same dtype"):
        ops.roi_pool(x, rois.double(), 2)
    with pytest.raises(RuntimeError, match="multiple of pooling height"):
        ops.ps_roi_pool(x, rois, 2)
    with pytest.raises(RuntimeError, match="4d tensor"):
        ops.roi_align(x[0], rois, 2)
    for number in (7.0, -1.0, float("nan")):
        wrong = torch.tensor([[number, 0.0, 0.0, 2.0, 2.0]])
        for call in (ops.roi_align, ops.roi_pool):
            with pytest.raises(RuntimeError, match="boxes are of images 0 to 0 of the input"):
                call(x, wrong, 2)
    for far in (1e9, float("inf"), float("nan")):
        with pytest.raises(RuntimeError, match="a bin has .* samples"):
            ops.roi_align(x, torch.tensor([[0.0, 0.0, 0.0, far, far]]), 2)
    odd = torch.tensor([[0.0, float("nan"), 0.0, float("inf"), 2.0]])
    assert ops.roi_align(x, odd, 2, sampling_ratio=2).shape == (1, 3, 2, 2)


def test_regions_of_several_maps():
    sizes = {"a": 32, "b": 16, "c": 8}
    maps = {name: torch.sin(torch.arange(2.0 * n * n).reshape(1, 2, n, n)) for name, n in
            sizes.items()}
    boxes = [torch.tensor([[0.0, 0.0, 12.0, 12.0], [3.0, 5.0, 60.0, 63.0], [8.0, 9.0, 40.0, 30.0],
                           [1.0, 1.0, 2.0, 2.0]])]
    layer = ops.MultiScaleRoIAlign(["a", "b", "c"], 3, 2, canonical_scale=32, canonical_level=2)
    got = layer(maps, boxes, [(64, 64)])
    assert layer.scales == [0.5, 0.25, 0.125]
    for row, name in enumerate(["a", "b", "a", "a"]):
        alone = ops.roi_align(maps[name], [boxes[0][row:row + 1]], 3, sizes[name] / 64, 2)
        level = int(layer.map_levels([boxes[0][row:row + 1]]))
        name_at = "abc"[level]
        alone = ops.roi_align(maps[name_at], [boxes[0][row:row + 1]], 3, sizes[name_at] / 64, 2)
        assert torch.equal(got[row], alone[0])
    assert layer.map_levels(boxes).tolist() == [0, 1, 0, 0]
    one = ops.MultiScaleRoIAlign(["b"], (2, 1), 2)
    assert one(maps, boxes, [(64, 64)]).shape == (4, 2, 2, 1)
    with pytest.raises(ValueError, match="should not be empty"):
        ops.MultiScaleRoIAlign(["b"], 2, 2)(maps, boxes, [])


def moved_convolution(x, offset, weight, bias, stride, padding, dilation, mask, groups):
    count, channels, height, width = x.shape
    outputs, inner, kh, kw = weight.shape
    parts = offset.shape[1] // (2 * kh * kw)
    rows, columns = offset.shape[2:]
    out = np.zeros((count, outputs, rows, columns)) + bias[None, :, None, None]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for n, o, i, j, c, a, b in itertools.product(
            range(count), range(outputs), range(rows), range(columns), range(inner), range(kh),
            range(kw)):
        source = o // (outputs // groups) * inner + c
        tap = source // (channels // parts) * kh * kw + a * kw + b
        y = i * stride[0] - padding[0] + a * dilation[0] + offset[n, 2 * tap, i, j]
        z = j * stride[1] - padding[1] + b * dilation[1] + offset[n, 2 * tap + 1, i, j]
        if not (-1 < y < height and -1 < z < width):
            continue
        value = bilinear(padded[n, source], y + 1, z + 1)
        out[n, o, i, j] += weight[o, c, a, b] * value * mask[n, tap, i, j]
    return out


@pytest.mark.parametrize(("groups", "parts", "stride", "padding", "dilation"), [
    (1, 1, (1, 1), (0, 0), (1, 1)), (2, 1, (2, 1), (1, 2), (1, 2)), (1, 2, (1, 2), (1, 1), (2, 1)),
    (2, 4, (1, 1), (2, 0), (1, 1))])
def test_deform_conv2d(groups, parts, stride, padding, dilation):
    generator = np.random.default_rng(groups + parts)
    x, weight = generator.normal(size=(2, 4, 6, 5)), generator.normal(size=(4, 4 // groups, 2, 3))
    size = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(
        (6, 5), padding, dilation, (2, 3), stride)]
    offset = generator.normal(size=(2, parts * 12, *size)) * 2
    offset[:, :, 0] = np.round(offset[:, :, 0])
    mask, bias = generator.uniform(size=(2, parts * 6, *size)), generator.normal(size=4)
    got = ops.deform_conv2d(
        *(torch.from_numpy(each) for each in (x, offset, weight, bias)), stride, padding, dilation,
        torch.from_numpy(mask))
    expected = moved_convolution(
        x, offset, weight, bias, stride, padding, dilation, mask, groups)
    assert np.allclose(got.numpy(), expected, atol=1e-12)


def test_nothing_moved_is_a_convolution_and_gradients():
    torch.manual_seed(0)
    x = torch.randn(1, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(3, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    still = torch.zeros(1, 18, 4, 4, dtype=torch.float64)
    plain = torch.nn.functional.conv2d(x, weight, padding=1)
    assert torch.allclose(ops.deform_conv2d(x, still, weight, padding=1), plain)
    offset = (torch.rand_like(still) * 0.8 + 0.1).requires_grad_()
    mask = torch.rand(1, 9, 4, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(
        lambda a, b, c, d: ops.deform_conv2d(a, b, c, padding=1, mask=d), (x, offset, weight, mask))


def test_layers_of_moved_convolutions():
    layer = ops.DeformConv2d(4, 6, 3, padding=1, groups=2, dilation=2, bias=False)
    assert repr(layer) == ("DeformConv2d(4, 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), "
                           "dilation=(2, 2), groups=2, bias=False)")
    assert layer(torch.zeros(1, 4, 5, 5), torch.zeros(1, 18, 3, 3)).shape == (1, 6, 3, 3)
    for options, words in (({"groups": 3}, "in_channels must be"),
                           ({"groups": 4}, "out_channels must be")):
        with pytest.raises(ValueError, match=words):
            ops.DeformConv2d(4, 6, 3, **options)
    x, weight = torch.zeros(1, 2, 4, 4), torch.zeros(1, 2, 3, 3)
    for offset, mask, words in (
            (torch.zeros(1, 17, 2, 2), None, "dimension 1 is not valid"),
            (torch.zeros(1, 18, 3, 2), None, "offset should have shape"),
            (torch.zeros(1, 18, 2, 2), torch.zeros(1, 8, 2, 2), "mask should have shape"),
            (torch.zeros(1, 54, 2, 2), None, "no multiple")):
        with pytest.raises(RuntimeError, match=words):
            ops.deform_conv2d(x, offset, weight, mask=mask)
