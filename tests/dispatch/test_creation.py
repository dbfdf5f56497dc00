"""New tensors: where they are made, and that making them is no write."""

import pytest

import yesca as torch

MADE = {
    "zeros": lambda **k: torch.zeros(3, **k), "ones": lambda **k: torch.ones(3, **k),
    "full": lambda **k: torch.full((3,), 2.0, **k),
    "full of a tensor": lambda **k: torch.full((3,), torch.tensor(2.0), **k),
    "zeros_like": lambda **k: torch.zeros_like(torch.ones(3), **k),
    "full_like": lambda **k: torch.full_like(torch.ones(3), 2.0, **k),
    "scalar_tensor": lambda **k: torch.scalar_tensor(1.0, **k),
    "new_zeros": lambda **k: torch.ones(3).new_zeros((3,), **k),
    "new_full": lambda **k: torch.ones(3).new_full((3,), 2.0, **k),
    "tril_indices": lambda **k: torch.tril_indices(3, 2, **k),
    "triu_indices": lambda **k: torch.triu_indices(3, 2, **k),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_new_tensors_are_at_version_0(name, device):
    made = MADE[name](device=device)
    assert made._version == 0 and not made._is_view() and made.device.type == device


def test_layouts_and_formats_are_no_writes():
    assert torch.zeros(3, layout=torch.strided)._version == 0
    x = torch.ones(2, 3)
    assert torch.zeros_like(x, memory_format=torch.contiguous_format)._version == 0
    assert torch.full_like(x, torch.tensor(2.0))._version == 0


@pytest.mark.parametrize("call", [
    lambda: torch.tril_indices(3, 3), lambda: torch.triu_indices(3, 3),
    lambda: torch.fft.fftfreq(4), lambda: torch.fft.rfftfreq(4), lambda: torch.zeros(3)])
def test_the_default_device(call):
    here = call()
    with torch.device("meta"):
        there = call()
    assert there.device.type == "meta"
    assert (there.shape, there.dtype, there.stride()) == (here.shape, here.dtype, here.stride())


def test_what_the_default_device_does_not_reach():
    with torch.device("meta"), pytest.warns(UserWarning, match="torch.range is deprecated"):
        assert torch.range(0, 3).device.type == "cpu"
    with torch.device("meta"):
        assert torch.normal(0.0, 1.0, (3,)).device.type == "cpu"
