"""Streams, threads between operators, and the tensor types of old."""

import pytest

import yesca as torch
from yesca import interop


def test_streams_and_events():
    stream = torch.Stream()
    event = stream.record_event()
    assert stream.query() and event.query()
    with stream:
        stream.wait_event(event)
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    start, end = torch.Event(enable_timing=True), torch.Event(enable_timing=True)
    with pytest.raises(ValueError, match="Both events must be recorded"):
        start.elapsed_time(end)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(torch.Event())
    with pytest.raises(RuntimeError, match="no such device"):
        torch.Stream(device="cuda")


def test_interop_threads(monkeypatch):
    monkeypatch.setattr(interop, "_count", None)
    assert torch.get_num_interop_threads() >= 1
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        torch.set_num_interop_threads(0)
    torch.set_num_interop_threads(3)
    assert torch.get_num_interop_threads() == 3
    with pytest.raises(RuntimeError, match="cannot set number of interop threads"):
        torch.set_num_interop_threads(2)


@pytest.fixture
def tensors():
    return pytest.importorskip("yesca.functional")


def test_tensor_types_by_dtype():
    assert torch.LongTensor.dtype is torch.int64
    assert torch.FloatTensor.__name__ == "FloatTensor"
    assert not torch.FloatTensor.is_cuda
    with pytest.raises(RuntimeError, match="expects device type: cpu but device type: cuda"):
        torch.FloatTensor(2, device="cuda")


def test_tensors_of_old(tensors):
    assert torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.FloatTensor().shape == (0,)
    assert torch.FloatTensor(torch.Size([4])).shape == (4,)
    assert torch.LongTensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert torch.LongTensor([True, 2]).dtype is torch.int64
    assert torch.FloatTensor(range(3)).tolist() == [0.0, 1.0, 2.0]
    x = torch.ones(2)
    assert torch.FloatTensor(x).data_ptr() == x.data_ptr()
    assert isinstance(x, torch.FloatTensor) and not isinstance(x, torch.LongTensor)
    assert not isinstance(3, torch.FloatTensor)


def test_errors_of_tensors_of_old(tensors):
    for arguments, error, text in (
        (("x",), TypeError, r"new\(\): invalid data type 'str'"),
        ((2.5,), TypeError, r"new\(\): data must be a sequence \(got float\)"),
        ((2, "a"), TypeError, "failed to unpack the object at pos 2"),
        ((-1,), RuntimeError, "negative dimension -1"),
        ((torch.ones(2, dtype=torch.float64),), TypeError, "expected a tensor of torch.float32"),
    ):
        with pytest.raises(error, match=text):
            torch.FloatTensor(*arguments)


def test_default_tensor_type():
    try:
        with pytest.warns(UserWarning, match="deprecated as of PyTorch 2.1"):
            torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.get_default_dtype() is torch.float64
        with pytest.warns(UserWarning), pytest.raises(TypeError, match="only floating-point"):
            torch.set_default_tensor_type(torch.LongTensor)
        with pytest.warns(UserWarning), pytest.raises(TypeError, match="invalid type object"):
            torch.set_default_tensor_type("x")
    finally:
        torch.set_default_dtype(torch.float32)
