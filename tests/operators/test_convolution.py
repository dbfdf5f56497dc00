"""Convolutions against a direct sum, and their derivatives."""

import itertools

import numpy as np
import pytest
from convolutions import direct
from finite_differences import array, check_gradients, tensor, values

import yesca as torch
from yesca import functional as ops
from yesca.operators import windows
from yesca.operators.windows import Windows
from yesca.runtime import products


OPTIONS = [{}, {"stride": 2}, {"padding": 1}, {"stride": 2, "padding": 2, "dilation": 2}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("channels", "outputs", "groups"), [(3, 4, 1), (18, 5, 1), (4, 4, 4),
                                                             (4, 6, 2)])
def test_conv2d(channels, outputs, groups, options):
    x, w = values((2, channels, 7, 8)), values((outputs, channels // groups, 3, 2), 1)
    b = values((outputs,), 2)
    made = ops.conv2d(tensor(x), tensor(w), tensor(b), groups=groups, **options)
    wanted = direct(x, w, groups=groups, **options) + b[:, None, None]
    np.testing.assert_allclose(array(made), wanted, rtol=1e-10, atol=1e-10)


def test_other_ranks_and_layouts():
    x, w = values((2, 3, 9)), values((4, 3, 3), 1)
    np.testing.assert_allclose(array(ops.conv1d(tensor(x), tensor(w))), direct(x, w), atol=1e-10)
    np.testing.assert_allclose(array(ops.conv1d(tensor(x[0]), tensor(w))), direct(x, w)[0],
                               atol=1e-10)
    x, w = values((1, 2, 4, 5, 3)), values((3, 2, 2, 2, 2), 1)
    np.testing.assert_allclose(array(ops.conv3d(tensor(x), tensor(w))), direct(x, w), atol=1e-10)
    x, w = values((2, 5, 6, 3)).transpose(0, 3, 1, 2), values((2, 3, 3, 3), 1)
    last = tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1))).permute(0, 3, 1, 2)
    made = ops.conv2d(last, tensor(w))
    assert made.stride() == (24, 1, 8, 2)
    np.testing.assert_allclose(array(made), direct(x, w), atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1, "output_padding": 1}])
def test_transposed_is_the_gradient_of_the_plain_one(options):
    plain = {k: v for k, v in options.items() if k != "output_padding"}
    w = tensor(values((4, 3, 3, 3), 1))
    x = tensor(values((2, 4, 4, 5)))
    made = ops.conv_transpose2d(x, w, **options)
    big = ops.zeros(tuple(made.shape), dtype=torch.float64).requires_grad_()
    grad, = torch.autograd.grad(ops.conv2d(big, w, **plain), [big], grad_outputs=x)
    np.testing.assert_allclose(array(made), array(grad), atol=1e-10)


@pytest.mark.parametrize("options", [{"stride": 2}, {"groups": 2, "dilation": 2}])
def test_gradients(options):
    weight = (2, 2 // options.get("groups", 1), 2, 2)
    check_gradients(lambda x, w, b: ops.conv2d(x, w, b, padding=1, **options),
                    [(1, 2, 4, 3), weight, (2,)])


def test_gradients_of_the_transposed():
    check_gradients(lambda x, w, b: ops.conv_transpose1d(x, w, b, stride=2, padding=1),
                    [(2, 2, 3), (2, 2, 3), (2,)])


def test_padding_by_name():
    x, w = tensor(values((1, 1, 5))), tensor(values((1, 1, 4), 1))
    assert ops.conv1d(x, w, padding="same").shape == (1, 1, 5)
    assert ops.conv1d(x, w, padding="valid").shape == (1, 1, 2)
    with pytest.raises(RuntimeError, match="padding='same' is not supported for strided"):
        ops.conv1d(x, w, padding="same", stride=2)


def test_errors():
    x, w = torch.zeros(1, 4, 8, 8), torch.zeros(6, 4, 3, 3)
    with pytest.raises(RuntimeError, match=r"to have 3 channels, but got 4 channels instead"):
        ops.conv2d(x, w[:, :3])
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        ops.conv2d(x[..., :2, :2], w)
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input"):
        ops.conv2d(x[0, 0], w)
    with pytest.raises(RuntimeError, match="bias to be 1-dimensional with 6 elements"):
        ops.conv2d(x, w, torch.zeros(5))
    with pytest.raises(RuntimeError, match="non-positive stride is not supported"):
        ops.conv2d(x, w, stride=0)
    with pytest.raises(RuntimeError, match="output padding must be smaller"):
        ops.conv_transpose2d(x, w.transpose(0, 1), output_padding=1)


def test_nothing():
    w = torch.zeros(6, 4, 3, 3)
    assert ops.conv2d(torch.zeros(0, 4, 8, 8), w).shape == (0, 6, 6, 6)
    assert ops.conv2d(torch.zeros(1, 0, 8, 8), torch.zeros(6, 0, 3, 3)).abs().sum().item() == 0


@pytest.mark.parametrize("samples", [1, 3, 32])
@pytest.mark.parametrize("size", [14, 30, 62])
def test_rows_do_not_begin_at_the_same_place_of_their_pages(samples, size):
    w = Windows(samples, 1, 32, 32, (size, size), (size, size), (3, 3), (1, 1), (1, 1), (1, 1))
    assert w.length + w.shift((2, 2)) <= w.whole
    assert w.whole * 4 % 64 == 0
    assert w.whole * 4 % 4096


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
def test_gradient_of_weights_in_parts(groups, stride, padding, monkeypatch):
    """A long sum is cut; the parts reach into the zeros beyond the last place."""
    monkeypatch.setattr(windows, "PART_STEPS", 16)
    torch.manual_seed(0)
    x = torch.randn(3, 32, 21, 23, dtype=torch.float64)
    weight = torch.randn(40, 32 // groups, 3, 2, dtype=torch.float64, requires_grad=True)
    y = torch.nn.functional.conv2d(x, weight, None, stride, padding, 1, groups)
    grad = torch.randn(*y.shape, dtype=torch.float64)
    (got,) = torch.autograd.grad(y, weight, grad)
    patches = torch.nn.functional.unfold(x, (3, 2), 1, padding, stride)  # (N, C * K, places)
    patches = patches.view(3, groups, 32 // groups * 6, -1)
    right = torch.einsum("ngop,ngkp->gok", grad.view(3, groups, 40 // groups, -1), patches)
    torch.testing.assert_close(got, right.reshape(weight.shape))


def test_parts_fit_into_rows():
    for size, kernel in itertools.product([5, 14, 31], [1, 2, 3]):
        w = Windows(64, 1, 3, 8, (size + kernel - 1,) * 2, (size,) * 2, (kernel,) * 2, (1, 1),
                    (0, 0), (1, 1))
        parts, steps = w.parts
        assert parts * steps >= w.length
        assert parts * steps + w.shift(w.positions[-1]) <= w.whole
    assert parts > 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_positions_of_a_kernel_are_one_product(dtype, monkeypatch):
    """... in the convolution and in both gradients."""
    plans, planned = [], products._planned
    monkeypatch.setattr(products, "_planned",
                        lambda *sizes, **more: plans.append(sizes) or planned(*sizes, **more))
    x = torch.randn(2, 20, 9, 8, dtype=dtype, requires_grad=True)
    weight = torch.randn(24, 20, 3, 3, dtype=dtype, requires_grad=True)
    made = torch.nn.functional.conv2d(x, weight)
    assert [sizes[2:5:2] for sizes in plans] == [(24, 180)]
    made.backward(torch.ones_like(made))
    assert [sizes[2:5:2] for sizes in plans[1:]] == [(20, 216), (180, 126)]


def test_integers():
    x, w = np.arange(96).reshape(1, 4, 4, 6) % 7, np.arange(48).reshape(4, 2, 3, 2) % 5
    made = ops.conv2d(tensor(x), tensor(w), stride=2, padding=1, groups=2)
    np.testing.assert_array_equal(array(made), direct(x, w, 2, 1, groups=2))


@pytest.mark.parametrize(("dtype", "last"), [
    (torch.float32, True), (torch.bfloat16, True), (torch.complex64, True),
    (torch.float64, False), (torch.float16, False), (torch.int64, False)])
def test_places_of_volumes(dtype, last):
    """Volumes with the channels last stay so where PyTorch has its library compute them."""
    x = torch.ones(2, 4, 3, 3, 3).to(dtype).contiguous(memory_format=torch.channels_last_3d)
    for convolve, sizes in ((torch.nn.functional.conv3d, (6, 4, 2, 2, 2)),
                            (torch.nn.functional.conv_transpose3d, (4, 6, 2, 2, 2))):
        made = convolve(x, torch.ones(sizes).to(dtype))
        assert made.is_contiguous(memory_format=torch.channels_last_3d) is last
        assert made.is_contiguous() is not last


def test_places_of_empty_batches():
    x, w = torch.ones(0, 4, 5, 5), torch.ones(6, 4, 3, 3)
    w = w.contiguous(memory_format=torch.channels_last)
    assert torch.nn.functional.conv2d(x, w).stride() == (54, 9, 3, 1)
