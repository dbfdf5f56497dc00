"""`torch.cuda` and its like answer as PyTorch's CPU build does."""

import pytest

import yesca as torch

NO_CUDA = "^Torch not compiled with CUDA enabled$"


def test_questions():
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_reserved() == 0
    assert torch.cuda.memory_stats() == {}
    assert torch.cuda.get_arch_list() == torch.cuda.get_rng_state_all() == []
    assert not torch.cuda.is_bf16_supported()
    assert not torch.cuda.is_initialized()


def test_calls_that_do_nothing():
    torch.cuda.manual_seed(3)
    torch.cuda.manual_seed_all(3)
    torch.cuda.empty_cache()
    torch.cuda.set_device(-1)
    torch.cuda.reset_peak_memory_stats()
    with torch.cuda.stream(None), torch.cuda.device(-1), torch.cuda.device_of(object()):
        pass


@pytest.mark.parametrize(
    "name",
    ["synchronize", "current_device", "current_stream", "get_device_name", "mem_get_info",
     "get_device_properties", "get_device_capability", "init", "get_rng_state", "ipc_collect"],
)
def test_calls_that_need_a_device(name):
    with pytest.raises(AssertionError, match=NO_CUDA):
        getattr(torch.cuda, name)()


def test_classes_that_need_a_device():
    with pytest.raises(RuntimeError, match="requires CUDA support"):
        torch.cuda.Stream()
    with pytest.raises(RuntimeError, match="dummy base class Event"):
        torch.cuda.Event(enable_timing=True)
    with pytest.raises(TypeError, match="type torch.cuda.FloatTensor not available"):
        torch.cuda.FloatTensor(2)
    assert not isinstance(3.0, torch.cuda.FloatTensor)
    with pytest.raises(RuntimeError, match="compiled without CUDA"), torch.cuda.device(0):
        pass
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        torch.cuda.device("cpu")
    with pytest.raises(AttributeError):
        torch.cuda.nothing  # noqa: B018


def test_submodules():
    assert not torch.cuda.graphs.is_current_stream_capturing()
    with pytest.raises(RuntimeError, match="NVTX"):
        torch.cuda.nvtx.range_push("x")
    assert torch.cuda.random.manual_seed is torch.cuda.manual_seed


def test_accelerator():
    assert torch.accelerator.current_accelerator() is None
    assert not torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 0
    with torch.accelerator.device_index(None):
        pass
    for call in (torch.accelerator.synchronize, torch.accelerator.current_device_index):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is"):
            call()


def test_cpu():
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1
    stream = torch.cpu.Stream()
    with torch.cpu.stream(stream):
        assert torch.cpu.current_stream() is stream
    assert torch.cpu.current_stream() is not stream
    torch.cpu.synchronize()


def test_mps():
    assert not torch.mps.is_available() and torch.mps.device_count() == 0
    with pytest.raises(RuntimeError, match=r"deviceSynchronize\(\) without MPS"):
        torch.mps.synchronize()


def test_profiler():
    profiler = torch.cuda.profiler
    for call in (profiler.start, profiler.stop, profiler.profile().__enter__):
        with pytest.raises(AssertionError, match=NO_CUDA):
            call()
