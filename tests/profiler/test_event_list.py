"""Lists of events, sums of events, and what can be read from them."""

import pytest

import yesca as torch
from yesca.profiler.event_list import EventList, nested
from yesca.profiler.events import FunctionEvent, FunctionEventAvg


def tree():
    outer = FunctionEvent(1, "outer", 1, 0, 10, cpu_memory_usage=100)
    first = FunctionEvent(2, "inner", 1, 1, 3, cpu_memory_usage=60, bytes_moved=8, flops=5)
    second = FunctionEvent(3, "inner", 1, 4, 5)
    first.cpu_parent = second.cpu_parent = outer
    events = EventList([outer, first, second])
    nested(events)
    return events


def test_self_times():
    outer, first, _ = tree()
    assert (outer.cpu_time_total, outer.self_cpu_time_total) == (10, 7)
    assert (outer.cpu_memory_usage, outer.self_cpu_memory_usage) == (100, 40)
    assert (first.cpu_time_total, first.self_cpu_time_total, first.cpu_time) == (2, 2, 2)
    assert tree().self_cpu_time_total == 10
    assert outer.cpu_time_total_str == "10.000us" and outer.key == outer.name == "outer"


def test_averages():
    outer, inner = tree().key_averages()
    assert (outer.key, outer.count, inner.key, inner.count) == ("outer", 1, "inner", 2)
    assert (inner.cpu_time_total, inner.cpu_time, inner.self_cpu_time_total) == (3, 1.5, 3)
    assert (inner.bytes_moved, inner.flops, inner.cpu_memory_usage) == (8, 5, 60)
    assert (inner.device_time_total, inner.self_device_time_total) == (0, 0)
    assert inner.stack == [] and inner.input_shapes == ""


def test_averages_have_no_averages():
    with pytest.raises(AssertionError, match="Expected tree to be built before calling"):
        tree().key_averages().key_averages()


def test_the_total():
    total = tree().total_average()
    assert (total.key, total.count, total.self_cpu_time_total) == ("Total", 3, 10)
    made = FunctionEventAvg()
    made += tree()[0]
    assert (made.key, made.count) == ("outer", 1)
    assert FunctionEventAvg().cpu_time == 0


def test_shown():
    assert repr(tree()[1]).startswith(
        "<FunctionEvent id=2 name=inner overload_name= device_type=DeviceType.CPU node_id=-1 "
        "cpu_time=2.000us start_us=1 end_us=3 cpu_children=[]")
    assert repr(tree().key_averages()[1]) == (
        "<FunctionEventAvg key=inner self_cpu_time=3.000us cpu_time=1.500us  "
        "self_cuda_time=0.000us cuda_time=0.000us input_shapes= cpu_memory_usage=60 "
        "cuda_memory_usage=0>")


def test_stacks(tmp_path):
    path = tmp_path / "stacks.txt"
    events = EventList([FunctionEvent(0, "a", 1, 0, 7.9, stack=["in.py(1): f", "out.py(2): g h"]),
                        FunctionEvent(1, "b", 1, 9, 9.5, stack=["in.py(1): f"]),
                        FunctionEvent(2, "c", 1, 10, 20)])
    events.export_stacks(str(path), "self_cpu_time_total")
    assert path.read_text(encoding="utf-8") == "out.py(2):_g_h;in.py(1):_f 7\n"
    events.export_stacks(str(path), "self_cuda_time_total")
    assert path.read_text(encoding="utf-8") == ""
    with pytest.raises(ValueError, match=r"metric should be one of: \['self_cpu_time_total'"):
        events.export_stacks(str(path), "cpu_time_total")


def test_stacks_of_a_profile(tmp_path):
    path = str(tmp_path / "stacks.txt")
    with torch.profiler.profile(with_stack=True) as prof:
        torch.ones(200_000).exp()
    prof.export_stacks(path)
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert any("test_stacks_of_a_profile" in line for line in lines)
    assert all(line.rpartition(" ")[2].isdigit() for line in lines)
    with torch.profiler.profile() as prof:
        torch.ones(2)
    with pytest.raises(AssertionError, match="export_stacks.. requires with_stack=True"):
        prof.export_stacks(path)
