"""Devices: their names, the default, what is refused, what moves between them."""

import pytest

import yesca as torch


@pytest.mark.parametrize(("arguments", "kind", "message"), [
    (("",), RuntimeError, "Device string must not be empty"),
    ((":0",), RuntimeError, "Invalid device string: ':0'"),
    (("cpu", -1), RuntimeError, "Device index must not be negative"),
    (("cpu:x",), RuntimeError, "Invalid device string: 'cpu:x'"),
    (("disk",), RuntimeError, "Expected one of cpu, cuda"),
    ((1.5,), TypeError, "must be str, not float"),
])  # fmt: skip
def test_names_that_are_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        torch.device(*arguments)


def test_devices_have_no_order():
    with pytest.raises(TypeError, match="comparison not implemented"):
        torch.device("cpu") < torch.device("cuda")  # noqa: B015 - the comparison is what raises


@pytest.mark.parametrize(("device", "kind", "message"), [
    ("cuda", AssertionError, "Torch not compiled with CUDA enabled"),
    ("xpu", AssertionError, "Torch not compiled with XPU enabled"),
    ("mps", RuntimeError, "PyTorch is not linked with support for mps devices"),
    ("hpu", RuntimeError, "Could not run on device 'hpu'")])
def test_devices_that_are_not_there(device, kind, message):
    for call in (lambda: torch.ones(2, device=device), lambda: torch.ones(2).to(device)):
        with pytest.raises(kind, match=message):
            call()
    before = torch.get_default_device()
    torch.set_default_device(device)
    try:
        with pytest.raises(kind, match=message):
            torch.ones(2)
    finally:
        torch.set_default_device(before)
    with pytest.raises(AssertionError, match="XPU"):
        torch.ones(2).xpu()


def test_copies_between_devices():
    shapes = torch.ones(2, device="meta")
    assert shapes.copy_(torch.ones(2)) is shapes and shapes.is_meta
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        torch.ones(2).copy_(shapes)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        shapes.tolist()
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        shapes + torch.ones(2)


def test_dtypes_without_kernels():
    """Programs compare with them; no tensor has them."""
    assert torch.chalf is torch.complex32 and torch.complex32.is_complex
    assert torch.complex32.to_real() is torch.float16 and torch.complex32.itemsize == 4
    assert str(torch.quint8) == "torch.quint8" and torch.int64 not in (torch.int4, torch.uint7)
    for dtype, shown in ((torch.complex32, "ComplexHalf"), (torch.quint4x2, "QUInt4x2")):
        with pytest.raises(NotImplementedError, match=f"not implemented for '{shown}'"):
            torch.zeros(2, dtype=dtype)
        with pytest.raises(NotImplementedError, match=f"not implemented for '{shown}'"):
            torch.ones(2).to(dtype)
