"""Short-time Fourier transforms: `stft` and its inverse by least squares, `istft`.

Both are compositions: frames are a view of the signal, and the overlapping sum of frames is the
derivative of that view.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import shape_text
from ..base.frames import warn_once
from ..core.dtypes import FLOATING, SCALAR_NAMES, bfloat16, float16
from ..core.spec import contiguous_strides
from .kinds import composite

_LEAST = 1e-11  # windows that overlap to less than this cannot be divided out


def _window_text(window: Any) -> str:
    return "None" if window is None else \
        f"torch.{SCALAR_NAMES[window.dtype]}Tensor{{{shape_text(window.shape)}}}"


def _shown(value: Any) -> Any:
    """A setting as the error texts print it: truth values as numbers."""
    return int(value) if isinstance(value, bool) else value


def _call_text(head: str, n_fft: int, hop: int, points: int, window: Any, **rest: Any) -> str:
    more = ", ".join(f"{name}={_shown(value)}" for name, value in rest.items())
    return (f"{head}, n_fft={n_fft}, hop_length={hop}, win_length={points}, "
            f"window={_window_text(window)}, {more})")


def _check_devices(name: str, x: Any, window: Any) -> None:
    if window is not None and window.device != x.device:
        raise RuntimeError(f"{name} input and window must be on the same device but got self on "
                           f"{x.device} and window on {window.device}")


def _widened(ops: Any, window: Any, like: Any, length: int, n_fft: int) -> Any:
    """The window in the middle of n_fft points; None stays None where it fills them."""
    if length == n_fft:
        return window
    if window is None:
        window = ops.ones((length,), dtype=like.dtype, device=like.device)
    left = (n_fft - length) // 2
    return _between_zeros(ops, window, left, n_fft - length - left)


# ---- stft ----------------------------------------------------------------------------------------

def _padded(ops: Any, x: Any, width: int, mode: str) -> Any:
    """The signal with `width` more samples at both ends."""
    if mode == "constant":
        return _between_zeros(ops, x, width, width)
    shape = (1,) * (3 - x.dim()) + tuple(x.shape)  # as `pad` sees it
    size = shape[-1]
    if mode == "reflect":
        if width >= size:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({width}, {width}) at dimension {len(shape) - 1} of input "
                f"{list(shape)}")
        positions = [size - 1 - abs(size - 1 - abs(k)) for k in range(-width, size + width)]
    elif mode == "replicate":
        positions = [min(max(k, 0), size - 1) for k in range(-width, size + width)]
    elif mode == "circular":
        if width > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        positions = [k % size for k in range(-width, size + width)]
    else:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return ops.index_select(x, -1, ops.tensor(positions, device=x.device))


def _between_zeros(ops: Any, x: Any, before: int, after: int) -> Any:
    """Zeros before and after along the last dimension."""
    lead = tuple(x.shape)[:-1]
    parts = [ops.zeros((*lead, n), dtype=x.dtype, device=x.device) for n in (before, after)]
    return ops.cat([parts[0], x, parts[1]], -1)


def _check_stft(x: Any, n_fft: int, hop: int, length: int, window: Any, text: str) -> None:
    if x.dtype.category < FLOATING:
        raise RuntimeError(f"{text} : expected a tensor of floating point or complex values")
    if x.dim() not in (1, 2):
        raise RuntimeError(f"{text} : expected a 1D or 2D tensor")
    size = x.shape[-1]
    if not 0 < n_fft <= size:
        raise RuntimeError(f"{text} : expected 0 < n_fft < {size}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{text} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{text} : expected 0 < win_length <= n_fft, but got "
                           f"win_length={length}")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(f"{text} : expected a 1D window tensor of size equal to "
                           f"win_length={length}, but got window with size "
                           f"{shape_text(window.shape)}")


def _wants_complex(return_complex: Any, x: Any, window: Any) -> bool:
    if return_complex is None:
        return_complex = x.is_complex() or (window is not None and window.is_complex())
        if not return_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will "
                "further require that return_complex=True in a future PyTorch release.")
    if not return_complex:
        warn_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
            "return complex tensors for all inputs, and return_complex=False will raise an "
            "error.\nNote: you can still call torch.view_as_real on the complex output to recover "
            "the old return format.")
    return bool(return_complex)


def _spectrum(ops: Any, frames: Any, normalized: bool, onesided: Any) -> Any:
    """The transform of the last dimension."""
    if frames.dtype in (float16, bfloat16):
        raise RuntimeError("MKL FFT doesn't support tensors of type: "
                           f"{SCALAR_NAMES[frames.dtype]}")
    norm = "ortho" if normalized else "backward"
    if frames.is_complex():
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        return ops.fft_fft(frames, None, -1, norm)
    if onesided is None or onesided:
        return ops.fft_rfft(frames, None, -1, norm)
    return ops.fft_fft(frames, None, -1, norm)


def _stft(ops: Any, x: Any, n_fft: int, hop_length: Any, win_length: Any, window: Any,
          center: bool, pad_mode: str, normalized: bool, onesided: Any, return_complex: Any,
          align_to_window: Any) -> Any:
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        x = _padded(ops, x, n_fft // 2, pad_mode)
    _check_devices("stft", x, window)
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to "
            "cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage.To suppress this "
            "warning and use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`.")
    hop = n_fft >> 2 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    complex_result = _wants_complex(return_complex, x, window)
    _check_stft(x, n_fft, hop, length, window, _call_text(
        f"stft(torch.{SCALAR_NAMES[x.dtype]}Tensor{shape_text(x.shape)}", n_fft, hop, length,
        window, normalized=normalized, onesided=onesided, return_complex=return_complex,
        align_to_window=align_to_window))
    if align_to_window and length < n_fft:  # the first window begins with the signal
        left = (n_fft - length) // 2
        x = _between_zeros(ops, x, left, n_fft - length - left)
    wide = _widened(ops, window, x, length, n_fft)
    frames = ops.unfold(x, -1, n_fft, hop)  # (..., frames, n_fft)
    if wide is not None:
        frames = ops.mul(frames, wide)
    made = ops.transpose(_spectrum(ops, frames, normalized, onesided), -1, -2)
    return made if complex_result else ops.view_as_real(made)


stft = composite(
    "stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool center=True, str pad_mode='reflect', bool normalized=False, "
    "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    _stft, autocast="float32",
    samples=lambda make: [
        (make(24), 8, None, None, make(8), True, "reflect", False, None, True, None),
        (make(2, 24), 8, 3, 6, make(6), False, "reflect", True, False, True, None)],
    doc="Spectra (frequencies, frames) of overlapping pieces of a signal.")


# ---- istft ---------------------------------------------------------------------------------------

def _check_istft(x: Any, n_fft: int, hop: int, length: int, window: Any, onesided: bool,
                 text: str) -> None:
    dims, bins = x.dim() + 1, x.shape[-2]  # PyTorch counts real and imaginary part as one more
    if x.numel() == 0:
        raise RuntimeError(f"{text} : input tensor cannot be empty.")
    if dims not in (3, 4):
        raise RuntimeError(f"{text} : expected a tensor with 3 or 4 dimensions, but got {dims}")
    wanted, shown = (n_fft // 2 + 1, "n_fft / 2 + 1") if onesided else (n_fft, "n_fft")
    if bins != wanted:
        raise RuntimeError(
            f"{text} : expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {shown} when onesided={onesided}, but got {bins}")
    if not 0 < hop <= length:
        raise RuntimeError(f"{text} : expected 0 < hop_length <= win_length")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{text} : expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(f"{text} : Invalid window shape. window has to be 1D and length of "
                           "`win_length`")


def _pieces(ops: Any, x: Any, n_fft: int, window: Any, normalized: bool, onesided: bool,
            return_complex: bool) -> Any:
    """Each frame back in time: (batch, frames, n_fft)."""
    norm = "ortho" if normalized else "backward"
    x = ops.transpose(x, 1, 2)
    if return_complex:
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        return ops.fft_ifft(x, None, -1, norm)
    if window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    return ops.fft_irfft(x if onesided else ops.narrow(x, -1, 0, n_fft // 2 + 1), n_fft, -1, norm)


def _overlapped(ops: Any, pieces: Any, hop: int) -> Any:
    """The sum of pieces (batch, frames, n_fft), each `hop` behind the one before."""
    batch, frames, size = pieces.shape
    shape = (batch, size + hop * (frames - 1))
    strides = contiguous_strides(shape)
    return ops.as_strided_scatter_add(pieces, shape, strides, (strides[0], hop, 1), 0)


def _istft(ops: Any, x: Any, n_fft: int, hop_length: Any, win_length: Any, window: Any,
           center: bool, normalized: bool, onesided: Any, length: Any, return_complex: bool
           ) -> Any:
    _check_devices("istft", x, window)
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the "
            "same window used by stft to make the inversion lossless.To suppress this warning and "
            "use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`.")
    hop = n_fft >> 2 if hop_length is None else hop_length
    points = n_fft if win_length is None else win_length
    if not x.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from "
                           "stft with return_complex=True.")
    if x.dim() < 2:
        low = -x.dim() - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {-low - 1}], "
                         f"but got {-3 if x.dim() else -2})")
    half = x.shape[-2] != n_fft if onesided is None else onesided
    text = _call_text(f"istft(CPU{SCALAR_NAMES[x.dtype]}Type{shape_text(x.shape)}", n_fft, hop,
                      points, window, center=center, normalized=normalized, onesided=onesided,
                      length=length, return_complex=return_complex)
    _check_istft(x, n_fft, hop, points, window, half, text)
    batched = x if x.dim() == 3 else ops.unsqueeze(x, 0)
    pieces = _pieces(ops, batched, n_fft, window, normalized, half, return_complex)
    wide = _widened(ops, window, pieces, points, n_fft)
    if wide is None:
        wide = ops.ones((n_fft,), dtype=pieces.dtype, device=pieces.device)
    made = _divided(ops, pieces, wide, hop, center, length, text)
    return made if x.dim() == 3 else ops.squeeze(made, 0)


def _divided(ops: Any, pieces: Any, wide: Any, hop: int, center: bool, length: Any, text: str
             ) -> Any:
    """The pieces times their windows, added up, over the sum of squared windows."""
    _, frames, n_fft = pieces.shape
    whole = n_fft + hop * (frames - 1)
    signal = _overlapped(ops, ops.mul(pieces, wide), hop)
    weight = _overlapped(ops, ops.expand(ops.pow(wide, 2), (1, frames, n_fft)), hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    kept = slice(start, max(end, 0))
    signal, weight = (ops.getitem(t, (slice(None), kept)) for t in (signal, weight))
    if not weight.numel():
        raise RuntimeError("min(): Expected reduction dim to be specified for input.numel() == 0. "
                           "Specify the reduction dim with the 'dim' argument.")
    if weight.device.type != "meta" and float(ops.amin(ops.abs(weight))) < _LEAST:
        raise RuntimeError(f"{text} window overlap add min: 1\n[ CPUBoolType{{}} ]")
    made = ops.div(signal, weight)
    if end > whole:
        warn_once("The length of signal is shorter than the length parameter. Result is being "
                   "padded with zeros in the tail. Please check your center and hop_length "
                   "settings.")
        made = _between_zeros(ops, made, 0, end - whole)
    return made


istft = composite(
    "istft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, "
    "int? length=None, bool return_complex=False) -> Tensor",
    _istft, autocast="float32",
    doc="The signal whose `stft` is nearest to the input.")
