"""Windows and short-time transforms against PyTorch."""

import warnings

import pytest
import torch

import yesca

pytestmark = pytest.mark.oracle
OLD = ["hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", OLD)
def test_old_windows(name, dtype):
    tolerance = {"float32": 2e-6, "float64": 1e-13}.get(dtype, 0)
    for points in (0, 1, 2, 7, 40):
        for periodic in (True, False):
            ours, theirs = (getattr(m, name)(points, periodic, dtype=getattr(m, dtype))
                            for m in (yesca, torch))
            assert str(ours.dtype).split(".")[1] == dtype
            assert ours.double().tolist() == pytest.approx(
                theirs.double().tolist(), abs=tolerance or (1e-3 if name[0] == "k" else 0))


@pytest.mark.parametrize("name", yesca.signal.windows.__all__)
def test_new_windows(name):
    assert yesca.signal.windows.__all__ == torch.signal.windows.__all__
    more = {"a": (0.5, 0.3, 0.1)} if name == "general_cosine" else {}
    for points in (0, 1, 2, 7, 40):
        for sym in (True, False):
            ours, theirs = (getattr(m.signal.windows, name)(points, sym=sym, **more)
                            for m in (yesca, torch))
            assert ours.tolist() == pytest.approx(theirs.tolist(), abs=1e-6)


CASES = [
    {}, {"hop_length": 3}, {"win_length": 6}, {"center": False}, {"normalized": True},
    {"onesided": False}, {"hop_length": 5, "win_length": 7, "normalized": True},
]


@pytest.mark.parametrize("options", CASES, ids=str)
def test_transforms_and_their_gradients(options):
    values = torch.randn(2, 40, generator=torch.Generator().manual_seed(0)).tolist()
    made = []
    for m in (yesca, torch):
        x = m.tensor(values, dtype=m.float64, requires_grad=True)
        window = (m.hann_window(options.get("win_length", 8), dtype=m.float64) + 0.1)
        window.requires_grad_()
        spectrum = m.stft(x, 8, window=window, return_complex=True, **options)
        again = m.istft(spectrum * 1.5, 8, window=window, **options)
        (again.square().sum() + m.view_as_real(spectrum).pow(3).sum()).backward()
        parts = (m.view_as_real(spectrum), again, x.grad, window.grad)
        made.append([p.detach().flatten().tolist() for p in parts] + [spectrum.stride()])
    for ours, theirs in zip(*made, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def test_without_a_window():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (m.view_as_real(m.stft(m.arange(30.0), 8, return_complex=True))
                        for m in (yesca, torch))
        assert ours.flatten().tolist() == pytest.approx(theirs.flatten().tolist(), abs=1e-4)
        ours, theirs = (m.istft(m.view_as_complex(m.tensor(theirs.tolist())), 8)
                        for m in (yesca, torch))
    assert ours.tolist() == pytest.approx(theirs.tolist(), abs=1e-4)
