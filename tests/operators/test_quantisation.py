"""Fake quantisation, and the linear layer's record."""

import numpy as np
import pytest

import yesca as torch
from yesca.ao.nn.quantized.modules.packing import PackedLinear
from yesca.dispatch.call import OPERATORS as ops

X = torch.tensor([[-1.0, 0.5, 2.0], [3.0, 0.04, -0.06]])


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    from yesca import _quantized

    monkeypatch.setattr(_quantized, "warn_once", lambda text: None)


def test_fake_quantisation_as_pytorch():
    x = torch.tensor([-1.0, 0.5, 30.0, 100.0, float("nan")], requires_grad=True)
    made = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)
    assert made.tolist()[:4] == pytest.approx([-0.3, 0.5, 25.2, 25.2])
    assert made.tolist()[4] == pytest.approx(-0.3)
    assert made.grad_fn.name() == "FakeQuantizePerTensorAffineCachemaskBackward0"
    made.sum().backward()
    assert x.grad.tolist() == [0, 1, 0, 0, 0]
    given = torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(3), 0, 255)
    assert given[:4].equal(made[:4])
    assert given.grad_fn.name() == "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"
    half = torch.fake_quantize_per_tensor_affine(X.half(), 0.1, 3, 0, 255)
    assert half.dtype is torch.float16


def test_fake_quantisation_by_channel():
    x = torch.tensor([[-1.0, 0.5], [30.0, 100.0]], requires_grad=True)
    zero = torch.tensor([3, 3], dtype=torch.int32)
    made = torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2]), zero, 0, 0, 255)
    assert made.flatten().tolist() == pytest.approx([-0.3, 0.5, 30.0, 50.4])
    assert made.grad_fn.name() == "FakeQuantizePerChannelAffineCachemaskBackward0"
    (made * torch.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize("call, kind, words", [
    (lambda f, g: f(X, 0.1, 3, 255, 0), RuntimeError, "`quant_min` should be less"),
    (lambda f, g: f(X, 0.1, 300, 0, 255), RuntimeError, "`zero_point` must be between"),
    (lambda f, g: f(X.long(), 0.1, 3, 0, 255), NotImplementedError, "'Long'"),
    (lambda f, g: g(X, torch.ones(2), torch.tensor([3, 3]), 0, 0, 255), RuntimeError,
     "must be Int32, Float or Half, found Long"),
    (lambda f, g: g(X, torch.ones(2).double(), torch.zeros(2), 0, 0, 255), RuntimeError,
     "Scale must be Float"),
    (lambda f, g: g(X, torch.ones(1, 2), torch.zeros(2), 0, 0, 255), RuntimeError, "1-D"),
    (lambda f, g: g(X, torch.ones(2), torch.zeros(3), 0, 0, 255), RuntimeError, "same dimensions"),
    (lambda f, g: g(X, torch.ones(2), torch.zeros(2), 1, 0, 255), RuntimeError, "not consistent"),
    (lambda f, g: g(X, torch.ones(2), torch.zeros(2), 2, 0, 255), IndexError,
     "Dimension out of range"),
])
def test_fake_refusals(call, kind, words):
    with pytest.raises(kind, match=words):
        call(torch.fake_quantize_per_tensor_affine, torch.fake_quantize_per_channel_affine)


def wanted(x, weight, scale, bias, top):
    """The result, and the integers on the way, by NumPy."""
    least, most = min(x.min(), 0), max(x.max(), 0)
    step = np.float32((np.float64(most) - np.float64(least)) / top)
    zero = int(np.clip(np.rint(-np.float64(least) / ((np.float64(most) - least) / top)), 0, top))
    exact = x.astype(np.float64) * (np.float32(1) / step) + zero
    q = np.clip(np.rint(exact.astype(np.float32)), 0, 255).astype(np.int64)
    sums = (q - zero) @ weight.T.astype(np.int64)
    return sums.astype(np.float32) * (step * scale.astype(np.float32)) + bias


@pytest.mark.parametrize("shape, outputs, top", [
    ((1, 784), 256, 127), ((5, 7), 3, 127), ((2, 3, 33), 18, 255), ((70, 130), 65, 127)])
def test_the_linear_layer(shape, outputs, top):
    rng = np.random.default_rng(outputs)
    x = rng.standard_normal(shape).astype(np.float32)
    weight = rng.integers(-128, 128, (outputs, shape[-1])).astype(np.int8)
    scales = rng.random(outputs) * 0.01 + 0.001
    bias = rng.standard_normal(outputs).astype(np.float32)
    q = torch.quantize_per_channel(
        torch.from_numpy(weight * scales[:, None].astype(np.float32)), torch.from_numpy(scales),
        torch.zeros(outputs, dtype=torch.int64), 0, torch.qint8)
    assert (q.int_repr().numpy() == weight).all()
    packed = PackedLinear(q, torch.from_numpy(bias))
    expected = wanted(x, weight, scales, bias, top)
    found = packed.product(torch.from_numpy(x), top == 127)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-6)
    # Seen through other strides, under other numbers of threads, and compiled: the same bits.
    turned = torch.from_numpy(np.ascontiguousarray(x.swapaxes(-1, -2))).transpose(-1, -2)
    assert packed.product(turned, top == 127).equal(found)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert packed.product(torch.from_numpy(x), top == 127).equal(found)
    finally:
        torch.set_num_threads(threads)
    compiled = torch.compile(lambda x: packed.product(x * 1, top == 127) + 0)
    for _ in range(3):
        assert compiled(torch.from_numpy(x)).equal(found)


def test_examples_of_a_batch():
    q = torch.quantize_per_tensor(torch.randn(4, 6), 0.01, 0, torch.qint8)
    packed = PackedLinear(q, torch.randn(4))
    x = torch.randn(3, 2, 6)
    found = torch.func.vmap(packed.product)(x)
    assert found.equal(torch.stack([packed.product(one) for one in x]))  # a range for each


def test_empty_sizes():
    q = torch.quantize_per_tensor(torch.ones(3, 4), 0.01, 0, torch.qint8)
    assert PackedLinear(q, None).product(torch.ones(0, 4)).shape == (0, 3)
    nothing = torch.quantize_per_tensor(torch.ones(3, 0), 0.01, 0, torch.qint8)
    bias = torch.tensor([1.0, 2.0, 3.0])
    assert PackedLinear(nothing, bias).product(torch.ones(2, 0)).tolist() == [[1.0, 2.0, 3.0]] * 2
    assert PackedLinear(nothing, None).product(torch.ones(2, 0)).tolist() == [[0.0] * 3] * 2


def test_ranges_that_no_scale_fits():
    scale, zero = ops._affine_range(torch.zeros(4), 0, 127)
    assert (scale.item(), zero.item()) == (pytest.approx(0.1), 0)
    scale, _ = ops._affine_range(torch.tensor([1e-9, 2e-9]), 0, 127)
    assert scale.item() == pytest.approx(6.1e-5)


@pytest.mark.parametrize("call", [
    lambda x, scale, zero: torch.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 255),
    lambda x, scale, zero: torch.fake_quantize_per_tensor_affine(x, scale[:1], zero[:1], 0, 255)])
def test_scales_are_not_learned(call):
    x, scale = torch.ones(2, 3, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'scale'"):
        call(x, scale, torch.zeros(2, dtype=torch.int32))


@pytest.mark.parametrize("count", [1, 16, 70, 20000])
def test_ranges_of_both_zeros_infinities_and_what_is_no_number(count):
    x = torch.zeros(count)
    for value in (float("nan"), -float("nan")):
        x[-1] = value
        for one in (x, -x):
            with pytest.raises(RuntimeError, match="min should be less than or equal to max"):
                ops._affine_range(one, 0, 127)
    x[-1] = -0.0
    assert [v.item() for v in ops._affine_range(x, 0, 127)] == [0.1, 0.0]
    for value in (1e-39, -1e-39):  # the scale's inverse is infinite
        x[-1] = value
        assert [v.item() for v in ops._affine_range(x, 0, 127)] == [0.1, 0.0]
    x[-1] = -float("inf")
    assert [v.item() for v in ops._affine_range(x, 0, 127)] == [float("inf"), 127.0]
