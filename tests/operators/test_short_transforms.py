"""stft and istft: sums of exponentials in NumPy, inversion, gradients, PyTorch's errors."""

import numpy as np
import pytest

import yesca as torch

SIGNAL = torch.tensor(np.random.default_rng(0).normal(size=(2, 40)))
WINDOW = torch.hann_window(8, dtype=torch.float64) + 0.1


def spectra(x, n, hop, window):
    """The definition: sums of exponentials over frames, (frequencies, frames)."""
    waves = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    return np.stack([waves @ (x[s:s + n] * window) for s in range(0, len(x) - n + 1, hop)], -1)


@pytest.mark.parametrize("mode", ["reflect", "constant", "circular", "replicate"])
@pytest.mark.parametrize(("n", "hop"), [(8, 2), (7, 3)])
def test_stft_is_its_definition(mode, n, hop):
    window = WINDOW[:n]
    name = {"reflect": "reflect", "constant": "constant", "circular": "wrap",
            "replicate": "edge"}[mode]
    padded = np.pad(SIGNAL.numpy(), ((0, 0), (n // 2, n // 2)), mode=name)
    want = np.stack([spectra(row, n, hop, window.numpy()) for row in padded])
    made = torch.stft(SIGNAL, n, hop, window=window, pad_mode=mode, return_complex=True)
    np.testing.assert_allclose(made.numpy(), want[:, :n // 2 + 1], atol=1e-12)
    assert made.stride() == (made.shape[1] * made.shape[2], 1, made.shape[1])
    both = torch.stft(SIGNAL, n, hop, window=window, pad_mode=mode, onesided=False,
                      return_complex=True)
    np.testing.assert_allclose(both.numpy(), want, atol=1e-12)


def test_short_windows_lie_in_the_middle():
    short = WINDOW[:5]
    wide = torch.zeros(8, dtype=torch.float64)
    wide[1:6] = short
    made = torch.stft(SIGNAL, 8, 3, 5, short, return_complex=True)
    assert torch.equal(made, torch.stft(SIGNAL, 8, 3, window=wide, return_complex=True))
    aligned = torch.stft(SIGNAL[0], 8, 3, 4, WINDOW[:4], center=False, return_complex=True,
                         align_to_window=True)
    assert aligned.shape[-1] == 1 + (40 - 4) // 3
    torch.testing.assert_close(aligned[0, 0].real, (SIGNAL[0, :4] * WINDOW[:4]).sum())


@pytest.mark.parametrize("options", [
    {}, {"normalized": True}, {"onesided": False}, {"hop_length": 3}, {"center": False},
    {"win_length": 6, "window": WINDOW[:6]}], ids=str)
def test_istft_inverts(options):
    given = {"window": WINDOW, **options}
    spectrum = torch.stft(SIGNAL, 8, return_complex=True, **given)
    made = torch.istft(spectrum, 8, **given)
    torch.testing.assert_close(made, SIGNAL[:, :made.shape[1]])
    assert made.shape[1] >= 38
    longer = torch.istft(spectrum[0], 8, length=36, **given)
    torch.testing.assert_close(longer, SIGNAL[0, :36])


def test_complex_signals():
    x = torch.complex(SIGNAL[0], SIGNAL[1])
    spectrum = torch.stft(x, 8, window=WINDOW)
    assert spectrum.shape == (8, 21)
    torch.testing.assert_close(
        torch.istft(spectrum, 8, window=WINDOW, return_complex=True), x)
    with pytest.raises(RuntimeError, match="Cannot have onesided output if window or input is"):
        torch.stft(x, 8, window=WINDOW, onesided=True)


def test_real_pairs_and_zeros_behind():
    with pytest.warns(UserWarning, match="stft with return_complex=False is deprecated"):
        made = torch.stft(SIGNAL, 8, window=WINDOW, return_complex=False)
    spectrum = torch.stft(SIGNAL, 8, window=WINDOW, return_complex=True)
    assert torch.equal(made, torch.view_as_real(spectrum))
    with pytest.warns(UserWarning, match="The length of signal is shorter than the length"):
        long = torch.istft(spectrum, 8, window=WINDOW, length=60)
    assert long.shape == (2, 60) and not long[:, 44:].any()


def test_gradients():
    x, window = SIGNAL[:, :12].clone().requires_grad_(), WINDOW.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: torch.view_as_real(torch.stft(
        x, 8, 3, window=w, return_complex=True)), (x, window))
    spectrum = torch.stft(x, 8, window=window, return_complex=True).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda s, w: torch.istft(s, 8, window=w), (spectrum, window))
    assert torch.autograd.gradgradcheck(lambda x, w: torch.view_as_real(torch.stft(
        x, 8, 3, window=w, return_complex=True)), (x, window))


def test_under_vmap():
    made = torch.vmap(lambda x: torch.stft(x, 8, window=WINDOW, return_complex=True))(SIGNAL)
    torch.testing.assert_close(made, torch.stft(SIGNAL, 8, window=WINDOW, return_complex=True))


REAL = torch.ones(16)
HEAD = "stft(torch.FloatTensor[24], n_fft=8, hop_length=2, win_length=8, "
SPECTRUM = torch.ones(5, 9, dtype=torch.complex64)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda w: torch.stft(REAL, 8, window=w), RuntimeError,
     "stft requires the return_complex parameter be given for real inputs, and will further "
     "require that return_complex=True in a future PyTorch release."),
    (lambda w: torch.stft(REAL, 8, window=w[:5], return_complex=True), RuntimeError,
     HEAD + "window=torch.FloatTensor{[5]}, normalized=0, onesided=None, return_complex=1, "
     "align_to_window=None) : expected a 1D window tensor of size equal to win_length=8, but got "
     "window with size [5]"),
    (lambda w: torch.stft(REAL, 8, 0, window=w, return_complex=True), RuntimeError,
     "expected hop_length > 0, but got hop_length=0"),
    (lambda w: torch.stft(REAL, 40, window=w, center=False, return_complex=True), RuntimeError,
     "expected 0 < n_fft < 16, but got n_fft=40"),
    (lambda w: torch.stft(REAL, 40, window=w, return_complex=True), RuntimeError,
     "Argument #4: Padding size should be less than the corresponding input dimension, but got: "
     "padding (20, 20) at dimension 2 of input [1, 1, 16]"),
    (lambda w: torch.stft(REAL, 8, 2, 10, w, return_complex=True), RuntimeError,
     "expected 0 < win_length <= n_fft, but got win_length=10"),
    (lambda w: torch.stft(REAL.int(), 8, window=w, return_complex=True), RuntimeError,
     "expected a tensor of floating point or complex values"),
    (lambda w: torch.stft(REAL.reshape(1, 1, 16), 8, window=w, return_complex=True), RuntimeError,
     "expected a 1D or 2D tensor"),
    (lambda w: torch.stft(REAL, 8, window=w, align_to_window=True, return_complex=True),
     RuntimeError, "stft align_to_window should only be set when center = false"),
    (lambda w: torch.stft(REAL, 8, window=w.to("meta"), return_complex=True), RuntimeError,
     "stft input and window must be on the same device but got self on cpu and window on meta"),
    (lambda w: torch.stft(REAL.half(), 8, window=w.half(), return_complex=True), RuntimeError,
     "MKL FFT doesn't support tensors of type: Half"),
    (lambda w: torch.stft(REAL, 8, window=w, pad_mode="x", return_complex=True),
     NotImplementedError, "Unrecognised padding mode x"),
    (lambda w: torch.istft(torch.view_as_real(SPECTRUM), 8, window=w), RuntimeError,
     "istft requires a complex-valued input tensor matching the output from stft with "
     "return_complex=True."),
    (lambda w: torch.istft(SPECTRUM, 10, window=w), RuntimeError,
     "istft(CPUComplexFloatType[5, 9], n_fft=10, hop_length=2, win_length=10, "
     "window=torch.FloatTensor{[8]}, center=1, normalized=0, onesided=None, length=None, "
     "return_complex=0) : expected the frequency dimension (3rd to the last) of the input tensor "
     "to match n_fft / 2 + 1 when onesided=True, but got 5"),
    (lambda w: torch.istft(SPECTRUM, 8, window=w * 0), RuntimeError,
     "window overlap add min: 1\n[ CPUBoolType{} ]"),
    (lambda w: torch.istft(SPECTRUM, 8, 20, window=w), RuntimeError,
     "expected 0 < hop_length <= win_length"),
    (lambda w: torch.istft(SPECTRUM[0], 8, window=w), IndexError,
     "Dimension out of range (expected to be in range of [-2, 1], but got -3)"),
    (lambda w: torch.istft(SPECTRUM[:, :0], 8, window=w), RuntimeError,
     "input tensor cannot be empty."),
    (lambda w: torch.istft(SPECTRUM, 8, window=w.to(torch.complex64)), RuntimeError,
     "Complex windows are incompatible with return_complex=False"),
])
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call(torch.ones(8))
    assert message in str(caught.value)
