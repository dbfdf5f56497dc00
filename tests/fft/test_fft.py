"""torch.fft: values against NumPy, gradients by differences, sizes, scales, errors."""

import numpy as np
import pytest
from finite_differences import check_gradients, tensor, values

import yesca as torch
from yesca import fft

REAL = values((3, 4, 5))
COMPLEX = REAL + 1j * values((3, 4, 5), 2)


def made(name, x, *args, **options):
    return getattr(fft, name)(torch.from_numpy(x.copy()), *args, **options).resolve_conj().numpy()


@pytest.mark.parametrize("norm", [None, "backward", "forward", "ortho"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(name, norm):
    x = REAL if name in ("rfft", "ihfft") else COMPLEX
    for n, axis in ((None, -1), (7, 1), (3, 0)):
        expected = getattr(np.fft, name)(x, n, axis, norm)
        assert np.allclose(made(name, x, n, axis, norm), expected)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "rfft2", "irfft2"])
def test_several_dimensions(name):
    x = REAL if name[0] == "r" else COMPLEX
    assert np.allclose(made(name, x), getattr(np.fft, name)(x, axes=(0, 1, 2) if name[-1] == "n"
                                                            else (-2, -1)))
    sizes, axes = (6, 3), (2, 0)
    assert np.allclose(made(name, x, sizes, axes), getattr(np.fft, name)(x, sizes, axes))


def test_hermitian_transforms_undo_each_other():
    half = made("ihfftn", REAL, dim=(0, 2))
    assert np.allclose(made("hfftn", half, (3, 5), (0, 2)), REAL)
    assert made("ihfft2", REAL).shape == (3, 4, 3)


def test_dtypes():
    assert fft.fft(torch.ones(4)).dtype is torch.complex64
    assert fft.fft(torch.ones(4, dtype=torch.int64)).dtype is torch.complex64
    assert fft.irfft(torch.ones(4, dtype=torch.complex128)).dtype is torch.float64


def test_frequencies_and_shifts():
    for n in (4, 5):
        assert np.allclose(fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5))
        assert np.allclose(fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5))
        assert fft.fftfreq(n, dtype=torch.float64).dtype is torch.float64
    assert np.array_equal(made("fftshift", REAL), np.fft.fftshift(REAL))
    assert np.array_equal(made("ifftshift", REAL, (1, 2)), np.fft.ifftshift(REAL, (1, 2)))


@pytest.mark.parametrize("function", [
    lambda x: fft.fft(x).abs(), lambda x: fft.rfft(x, 6).real, lambda x: fft.rfft(x).imag,
    lambda x: fft.irfft(torch.complex(x, x * x)), lambda x: fft.irfft(torch.complex(x, x), 7),
    lambda x: fft.hfft(torch.complex(x, x * x)), lambda x: fft.ihfft(x).imag,
    lambda x: fft.ifft2(x, norm="ortho").abs(), lambda x: fft.rfft2(x).real,
    lambda x: fft.fftshift(x),
])  # fmt: skip
def test_gradients(function):
    check_gradients(lambda x: function(x * x + x), [(2, 5)])


@pytest.mark.parametrize("call, message", [
    (lambda: fft.fft(tensor(REAL), 0), r"Invalid number of data points \(0\) specified"),
    (lambda: fft.fft(tensor(REAL), norm="x"), 'Invalid normalization mode: "x"'),
    (lambda: fft.rfft(torch.from_numpy(COMPLEX)), "rfft expects a real input tensor, but got Com"),
    (lambda: fft.fftn(tensor(REAL), (2,), (0, 1)), "dim and shape arguments must have the same"),
    (lambda: fft.fftn(tensor(REAL), dim=(0, 0)), "FFT dims must be unique"),
    (lambda: fft.fft(torch.ones(4).half()), "Unsupported dtype Half"),
])
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("name,dim,strides", [
    ("fft", 1, (3, 1, 6)), ("rfft", 0, (1, 2, 6)), ("ifft", 2, (4, 8, 1)),
    ("fftn", (0, 1), (1, 2, 6)), ("irfftn", (2, 1), (16, 1, 4)), ("rfftn", (0, 2, 1), (2, 1, 4)),
])  # fmt: skip
def test_results_keep_the_order_of_dimensions(name, dim, strides):
    x = torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0)  # strides (1, 2, 6)
    result = getattr(fft, name)(x, dim=dim)
    assert result.stride() == strides
    assert torch.allclose(result, getattr(fft, name)(x.contiguous(), dim=dim))


def test_nothing_to_shift():
    with pytest.raises(RuntimeError, match="`shifts` required"):
        fft.fftshift(torch.tensor(1.0))
