"""Pools and resampling against direct loops, and their derivatives."""

import itertools
import math

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values

import yesca as torch
from yesca import functional as ops


def windows(size, kernel, stride, padding=0, dilation=1, ceil_mode=False):
    """The places that each window along one dimension reads, padding left out."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (math.ceil if ceil_mode else math.floor)(room / stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return [[p for p in range(i * stride - padding, i * stride - padding + dilation * kernel,
                              dilation) if 0 <= p < size] for i in range(count)]


def parts(size, count):
    return [list(range(i * size // count, -(-(i + 1) * size // count))) for i in range(count)]


def pooled(x, axes, reduce):
    made = np.zeros((*x.shape[:-len(axes)], *(len(a) for a in axes)))
    for at in itertools.product(*(range(len(a)) for a in axes)):
        places = np.ix_(*(axes[d][i] for d, i in enumerate(at)))
        block = x[(slice(None), slice(None), *places)]
        made[(slice(None), slice(None), *at)] = reduce(block.reshape(*x.shape[:2], -1))
    return made


CASES = [dict(kernel=2, stride=2), dict(kernel=3, stride=2, padding=1),
         dict(kernel=3, stride=1), dict(kernel=5, stride=2, padding=2),
         dict(kernel=2, stride=3, ceil_mode=True)]


def arguments(case):
    return (case["kernel"], case["stride"], case.get("padding", 0))


@pytest.mark.parametrize("case", CASES)
def test_max_pool2d(case):
    x = values((2, 3, 8, 9))
    axes = [windows(n, **case) for n in (8, 9)]
    ceil_mode = case.get("ceil_mode", False)
    made, places = ops.max_pool2d_with_indices(tensor(x), *arguments(case), 1, ceil_mode)
    np.testing.assert_array_equal(array(made), pooled(x, axes, lambda b: b.max(-1)))
    flat = np.take_along_axis(x.reshape(2, 3, -1), array(places).astype(int).reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(flat.reshape(made.shape), array(made))
    plain = ops.max_pool2d(tensor(x), *arguments(case), 1, ceil_mode)
    np.testing.assert_array_equal(array(plain), array(made))


def test_max_pool_keeps_nan_and_takes_the_first_of_equals():
    x = torch.tensor([[[1.0, 1.0, float("nan"), 0.0, float("-inf"), float("-inf")]]])
    made, places = ops.max_pool1d_with_indices(x, 2)
    assert made.tolist()[0][0][0] == 1 and math.isnan(made.tolist()[0][0][1])
    assert places.tolist() == [[[0, 2, 4]]]


@pytest.mark.parametrize("case", CASES)
def test_avg_pool2d(case):
    x = values((2, 3, 8, 9))
    axes = [windows(n, **case) for n in (8, 9)]
    made = ops.avg_pool2d(tensor(x), *arguments(case), case.get("ceil_mode", False), False)
    np.testing.assert_allclose(array(made), pooled(x, axes, lambda b: b.mean(-1)), rtol=1e-12)
    if "ceil_mode" not in case:
        whole = ops.avg_pool2d(tensor(x), *arguments(case))
        wanted = pooled(x, axes, lambda b: b.sum(-1)) / case["kernel"] ** 2
        np.testing.assert_allclose(array(whole), wanted, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 11])
def test_adaptive_pools(count):
    x = values((2, 3, 8, 10))
    axes = [parts(n, count) for n in (8, 10)]
    made = ops.adaptive_avg_pool2d(tensor(x), count)
    np.testing.assert_allclose(array(made), pooled(x, axes, lambda b: b.mean(-1)), rtol=1e-12)
    largest, places = ops.adaptive_max_pool2d(tensor(x), count)
    np.testing.assert_array_equal(array(largest), pooled(x, axes, lambda b: b.max(-1)))
    flat = np.take_along_axis(x.reshape(2, 3, -1), array(places).astype(int).reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(flat.reshape(largest.shape), array(largest))


def fractional(size, kernel, count, chance):
    """Places of the windows of Graham's pseudorandom sequence, in exact numbers of binary64."""
    apart = (size - kernel) / (count - 1) if count > 1 else 0.0
    starts = [int((i + chance) * apart) - int(chance * apart) for i in range(count - 1)]
    return [list(range(start, start + kernel)) for start in [*starts, size - kernel]]


@pytest.mark.parametrize("count", [1, 2, 5, 7])
@pytest.mark.parametrize("kernel", [1, 2, 3])
def test_fractional_pools(count, kernel):
    x, chances = values((2, 3, 9, 10)), values((2, 3, 2)) % 1.0
    made, places = ops.fractional_max_pool2d(tensor(x), kernel, count, tensor(chances))
    for image, channel in itertools.product(range(2), range(3)):
        plane = x[image, channel]
        down, across = (fractional(n, kernel, count, chances[image, channel, k])
                        for n, k in ((9, 1), (10, 0)))  # the first number places the columns
        wanted = [[plane[np.ix_(rows, columns)].max() for columns in across] for rows in down]
        np.testing.assert_array_equal(array(made)[image, channel], wanted)
        found = array(places)[image, channel].astype(int)
        np.testing.assert_array_equal(plane.reshape(-1)[found], wanted)


def test_fractional_pools_in_three_dimensions_and_without_a_batch():
    x, chances = values((3, 8, 9, 7)), values((1, 3, 3)) % 1.0
    made, _ = ops.fractional_max_pool3d(tensor(x), (2, 3, 1), (4, 5, 6), tensor(chances))
    for channel in range(3):
        axes = [fractional(n, k, m, chance) for n, k, m, chance in
                zip((8, 9, 7), (2, 3, 1), (4, 5, 6), chances[0, channel])]
        wanted = pooled(x[None, channel:channel + 1], axes, lambda b: b.max(-1))
        np.testing.assert_array_equal(array(made)[channel], wanted[0, 0])


def test_fractional_pools_take_the_last_nan_and_draw_their_places():
    x = torch.full((1, 1, 4, 4), float("nan"))
    x[0, 0, 0, 0] = 1.0
    F = torch.nn.functional
    made, places = F.fractional_max_pool2d(x, 2, output_size=2, return_indices=True)
    assert made.isnan().all() and places.flatten().tolist() == [5, 7, 13, 15]
    pool = torch.nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.7))
    image = torch.arange(400.0).reshape(1, 20, 20)
    results = []
    for _ in range(2):
        torch.manual_seed(1)
        results.append(pool(image).tolist())
    assert results[0] == results[1] and np.shape(results[0]) == (1, 10, 14)
    assert any(pool(image).tolist() != results[0] for _ in range(5))


def test_errors_of_fractional_pools():
    F, x = torch.nn.functional, torch.zeros(1, 2, 5, 6)
    with pytest.raises(ValueError, match="requires specifying either an output_size or an output_"):
        F.fractional_max_pool2d(x, 2)
    with pytest.raises(RuntimeError, match="pool height 2 too large relative to input height 5"):
        F.fractional_max_pool2d(x, 2, output_size=9)
    with pytest.raises(RuntimeError, match="to have the same dtype as input"):
        F.fractional_max_pool2d(x, 2, 2, _random_samples=torch.zeros(1, 2, 2).double())
    with pytest.raises(RuntimeError, match=r"size\(2\) equals to 2; got 3"):
        F.fractional_max_pool2d(x, 2, 2, _random_samples=torch.zeros(1, 2, 3))
    with pytest.raises(RuntimeError, match="kernel_size must either be a single Int or tuple of I"):
        F.fractional_max_pool2d(x, (2, 2, 2), output_size=2)
    with pytest.raises(RuntimeError, match="pool height 2 too large relative to input height 6"):
        F.fractional_max_pool3d(torch.zeros(1, 2, 8, 6, 7), 2, output_size=5)
    with pytest.raises(ValueError, match="only one of output_size and output_ratio"):
        torch.nn.FractionalMaxPool3d(2, output_size=2, output_ratio=0.5)
    with pytest.raises(ValueError, match="output_ratio must be between 0 and 1"):
        torch.nn.FractionalMaxPool2d(2, output_ratio=1.5)


@pytest.mark.parametrize("function", [
    lambda x: ops.max_pool2d(x, 3, 2, 1), lambda x: ops.avg_pool2d(x, 3, 2, 1, True, False),
    lambda x: ops.avg_pool2d(x, 4, 1), lambda x: ops.adaptive_avg_pool2d(x, 3),
    lambda x: ops.adaptive_max_pool2d(x, 3)[0],
    lambda x: ops.fractional_max_pool2d(x, 2, 3, tensor(np.full((1, 2, 2), 0.4)))[0],
    lambda x: ops.upsample_bilinear2d(x, (7, 3)),
    lambda x: ops.upsample_nearest2d(x, (7, 3)), lambda x: ops.im2col(x, 2, 1, 1, 2),
])
def test_gradients(function):
    check_gradients(lambda x: ops.sin(function(x)), [(1, 2, 4, 5)])


def test_errors_of_pools():
    x = torch.zeros(1, 2, 4, 1)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        ops.max_pool2d(x, 2)
    with pytest.raises(RuntimeError, match="pad should be at most half of effective kernel size"):
        ops.max_pool2d(x, 2, padding=2)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        ops.avg_pool2d(x, 1, divisor_override=0)


def test_nearest_and_linear():
    x = torch.tensor([[[0.0, 10.0, 20.0]]])
    assert ops.upsample_nearest1d(x, (6,)).tolist() == [[[0, 0, 10, 10, 20, 20]]]
    assert ops.upsample_nearest1d(x, None, (2.0,)).tolist() == [[[0, 0, 10, 10, 20, 20]]]
    assert ops.upsample_linear1d(x, (5,), True).tolist() == [[[0, 5, 10, 15, 20]]]
    assert ops.upsample_linear1d(x, (6,)).tolist() == [[[0, 2.5, 7.5, 12.5, 17.5, 20]]]
    assert ops._upsample_nearest_exact1d(x, (2,)).tolist() == [[[0, 20]]]


def test_cubic_keeps_lines():
    ramp = torch.arange(0, 8, dtype=torch.float64).reshape(1, 1, 1, 8).expand(1, 1, 8, 8)
    made = array(ops.upsample_bicubic2d(ramp, (15, 15), True))[0, 0]
    np.testing.assert_allclose(made[7, 3:12], np.arange(3, 12) / 2, rtol=1e-12)


def test_columns_and_back():
    x = values((2, 3, 5, 6))
    columns = ops.im2col(tensor(x), (2, 3), 1, 0, 1)
    assert columns.shape == (2, 18, 16)
    np.testing.assert_array_equal(array(columns)[:, :6, 0], x[:, 0, :2, :3].reshape(2, 6))
    counted = ops.col2im(ops.im2col(torch.ones(1, 1, 3, 3), 2, 1, 0, 1), (3, 3), 2, 1, 0, 1)
    assert counted.tolist() == [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]
    with pytest.raises(RuntimeError, match="to be divisible by the product of kernel_size"):
        ops.col2im(torch.zeros(1, 15, 49), (8, 8), 2, 1, 0, 1)


def test_shuffles():
    x = tensor(values((1, 8, 2, 3)))
    assert ops.pixel_shuffle(x, 2).shape == (1, 2, 4, 6)
    np.testing.assert_array_equal(array(ops.pixel_unshuffle(ops.pixel_shuffle(x, 2), 2)), array(x))
    order = ops.channel_shuffle(ops.arange(0, 6).reshape(1, 6, 1), 2).flatten().tolist()
    assert order == [0, 3, 1, 4, 2, 5]
