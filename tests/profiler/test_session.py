"""`torch.autograd.profiler`."""

import pytest

import yesca as torch
from yesca.autograd import profiler


def test_a_profile():
    with profiler.profile(record_shapes=True) as prof:
        torch.ones(2, 3).exp()
    assert prof.function_events[-1].input_shapes == [[2, 3]]
    assert prof.self_cpu_time_total == prof.function_events.self_cpu_time_total > 0
    assert "aten::exp" in prof.table(sort_by="self_cpu_time_total", row_limit=2)
    assert str(prof) == prof.table()
    assert prof.total_average().count == len(prof.function_events)
    assert [a.key for a in prof.key_averages()][-1] == "aten::exp"


def test_unfinished():
    prof = profiler.profile()
    assert repr(prof) == str(prof) == "<unfinished torch.autograd.profile>"
    assert prof.table() == "" and prof.key_averages() == [] == prof.function_events
    with pytest.raises(AssertionError, match="Expected profiling results"):
        prof.export_stacks("x")


def test_disabled():
    with profiler.profile(enabled=False) as prof:
        torch.ones(1)
    assert prof is None


def test_it_cannot_be_entered_twice():
    prof = profiler.profile()
    with prof:
        torch.ones(1)
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), prof:
        pass
    assert [e.name for e in prof.function_events][:1] == ["aten::ones"]


def test_other_devices():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        assert profiler.profile(use_device="cuda").use_device is None
    with pytest.warns((FutureWarning, UserWarning), match="CUDA|use_device"):
        profiler.profile(use_cuda=True)


def test_marks_for_other_tools():
    with profiler.emit_itt() as mark:
        assert torch.ones(1).item() == 1
    assert mark.enabled
    with profiler.emit_nvtx(enabled=False) as mark:
        assert mark is None
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"), \
            profiler.emit_nvtx():
        pass
    with pytest.raises(RuntimeError, match="ITT annotation context manager is not reentrant"), \
            profiler.emit_itt() as mark, mark:
        pass


def test_one_class_under_all_names():
    assert torch.profiler.record_function is profiler.record_function
    assert torch.autograd.profiler_util.FunctionEvent is profiler.FunctionEvent
    with torch.profiler.profile() as prof:
        torch.ones(1)
    assert isinstance(prof.profiler, profiler.profile)
    assert isinstance(prof.events(), profiler.EventList)
