"""Windows: their formulas in double precision, periodic and symmetric forms, PyTorch's errors."""

import math

import numpy as np
import pytest

import yesca as torch

OLD = {  # name: the symmetric window of M points as NumPy has it
    "hann_window": np.hanning, "hamming_window": np.hamming, "bartlett_window": np.bartlett,
    "blackman_window": np.blackman, "kaiser_window": lambda m: np.kaiser(m, 12.0),
}


def middle(m):
    return np.arange(m) - (m - 1) / 2


def cosines(m, a):
    x = 2 * np.pi * np.arange(m) / (m - 1)
    return sum((-1) ** i * w * np.cos(i * x) for i, w in enumerate(a))


NEW = {
    "bartlett": np.bartlett, "blackman": np.blackman, "hamming": np.hamming, "hann": np.hanning,
    "kaiser": lambda m: np.kaiser(m, 12.0),
    "cosine": lambda m: np.sin(np.pi * (np.arange(m) + 0.5) / m),
    "exponential": lambda m: np.exp(-np.abs(middle(m))),
    "gaussian": lambda m: np.exp(-middle(m) ** 2 / 2),
    "general_hamming": lambda m: cosines(m, (0.54, 0.46)),
    "nuttall": lambda m: cosines(m, (0.3635819, 0.4891775, 0.1365995, 0.0106411)),
}


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_old_windows(name, dtype):
    make, tolerance = getattr(torch, name), {4: 2e-6, 8: 1e-13, 2: 2e-2}[dtype.itemsize]
    for points in (2, 3, 8, 33):
        for made, want in ((make(points, False, dtype=dtype), OLD[name](points)),
                           (make(points, dtype=dtype), OLD[name](points + 1)[:-1])):
            assert made.dtype is dtype and made._version == 0
            np.testing.assert_allclose(made.double().numpy(), want, atol=tolerance)
    assert make(0).tolist() == [] and make(1).tolist() == [1.0]


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_new_windows(name, dtype):
    make, tolerance = getattr(torch.signal.windows, name), {4: 2e-6, 8: 1e-13}[dtype.itemsize]
    for points in (2, 3, 8, 33):
        for made, want in ((make(points, dtype=dtype), NEW[name](points)),
                           (make(points, sym=False, dtype=dtype), NEW[name](points + 1)[:-1])):
            assert made.dtype is dtype
            np.testing.assert_allclose(made.numpy(), want, atol=tolerance)
    assert make(0).tolist() == [] and make(1).tolist() == [1.0]


def test_numbers_of_the_shape():
    assert torch.hamming_window(4, True, 0.5, 0.3).tolist() == pytest.approx([0.2, 0.5, 0.8, 0.5])
    windows = torch.signal.windows
    assert windows.gaussian(3, std=2.0)[0].item() == pytest.approx(math.exp(-1 / 8))
    assert windows.exponential(3, center=0.0, tau=2.0, sym=False)[1].item() == pytest.approx(
        math.exp(-0.5))
    assert windows.general_cosine(3, a=[0.5, 0.25]).tolist() == pytest.approx([0.25, 0.75, 0.25])
    assert windows.kaiser(5, beta=0.0).tolist() == [1.0] * 5


def test_places_and_gradients():
    made = torch.hann_window(4, requires_grad=True)
    assert made.is_leaf and made.requires_grad and not made._is_view()
    assert torch.kaiser_window(4, device="meta").shape == (4,)
    assert torch.signal.windows.hann(4, device="meta").device.type == "meta"
    assert torch.signal.windows.hann(4, requires_grad=True).requires_grad
    with torch.device("meta"):
        assert torch.bartlett_window(3).device.type == "meta"


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: torch.hann_window(-1), RuntimeError,
     "hann_window requires non-negative window_length, got window_length=-1"),
    (lambda: torch.hann_window(4, dtype=torch.int64), RuntimeError,
     "hann_window expects floating point dtypes, got: "),
    (lambda: torch.kaiser_window(4, dtype=torch.complex64), NotImplementedError,
     "\"arange_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: torch.hann_window(4.5), TypeError,
     "hann_window(): argument 'window_length' (position 1) must be int, not float"),
    (lambda: torch.kaiser_window(4, True, "a"), TypeError,
     "kaiser_window() received an invalid combination of arguments - got (int, bool, str), but "
     "expected one of:\n * (int window_length, *, torch.dtype dtype = None"),
    (lambda: torch.signal.windows.hann(-1), ValueError,
     "general_cosine requires non-negative window length, got M=-1"),
    (lambda: torch.signal.windows.hann(3, dtype=torch.half), ValueError,
     "general_cosine expects float32 or float64 dtypes, got: torch.float16"),
    (lambda: torch.signal.windows.gaussian(3, std=0), ValueError,
     "Standard deviation must be positive, got: 0 instead."),
    (lambda: torch.signal.windows.exponential(3, tau=0), ValueError,
     "Tau must be positive, got: 0 instead."),
    (lambda: torch.signal.windows.exponential(3, center=1), ValueError,
     "Center must be None for symmetric windows"),
    (lambda: torch.signal.windows.kaiser(3, beta=-1), ValueError,
     "beta must be non-negative, got: -1 instead."),
    (lambda: torch.signal.windows.general_cosine(3, a=1), TypeError,
     "Coefficients must be a list/tuple"),
    (lambda: torch.signal.windows.general_cosine(3, a=[]), ValueError,
     "Coefficients cannot be empty"),
])
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(message)
