"""Tables look as PyTorch's do: the same heads, widths and numbers."""

import pytest

import yesca as torch
from yesca.profiler.event_list import EventList, nested
from yesca.profiler.events import FunctionEvent

PLAIN = """\
-----  ------------  ------------  ------------  ------------  ------------  ------------  
 Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  
-----  ------------  ------------  ------------  ------------  ------------  ------------  
    b        66.67%       2.000us        66.67%       2.000us       2.000us             1  
    a        33.33%       1.000us        33.33%       1.000us       1.000us             1  
-----  ------------  ------------  ------------  ------------  ------------  ------------  
Self CPU time total: 3.000us
"""  # noqa: W291 - as PyTorch prints it
SOURCES = """\
--------------------
Source Location
--------------------
...aaaaaaaa.py(1): x
b.py(2): y

--------------------"""


def two(**details):
    return EventList([FunctionEvent(0, "a", 1, 0, 1, **details), FunctionEvent(1, "b", 1, 2, 4)])


def row(text, name):
    return next(line for line in text.splitlines() if line.split()[:1] == [name]).split()


def test_plain():
    assert two().table(sort_by="cpu_time_total") == PLAIN


def test_an_empty_list():
    assert EventList([]).table() == ""


def test_no_time():
    assert row(EventList([FunctionEvent(0, "a", 1, 0, 0)]).table(), "a")[1] == "NaN"


def test_sources():
    event = FunctionEvent(0, "aten::add_with_a_long_name", 1, 0, 10,
                          stack=[f"{'a' * 44}.py(1): x", "b.py(2): y"])
    lines = EventList([event]).table(max_src_column_width=20).splitlines()
    assert len({len(line) for line in lines[:-1]}) == 1
    assert "\n".join(line[-22:].rstrip() for line in lines[:-1]) == SOURCES
    assert lines[3].startswith("    aten::add_with_a_long_name       100.00%")
    assert not lines[4][:-22].strip() and lines[-1] == "Self CPU time total: 10.000us"


def test_names_and_shapes_are_cut():
    events = EventList([FunctionEvent(0, "aten::_slow_conv2d_forward", 1, 0, 1,
                                      input_shapes=[[1, 1, 5, 5], [2, 1, 3, 3]])])
    text = events.table(max_name_column_width=20, max_shapes_column_width=15)
    assert "aten::_slow_conv2..." in text and "[[1, 1, 5, 5..." in text
    whole = events.table(max_name_column_width=None, max_shapes_column_width=None)
    assert "aten::_slow_conv2d_forward " in whole and "[[1, 1, 5, 5], [2, 1, 3, 3]]" in whole


def test_rows():
    events = two()
    assert "    b  " not in events.table(row_limit=1)
    assert len(events.table(row_limit=-1).splitlines()) == len(events.table().splitlines())


def test_a_header():
    lines = two().table(header="HEAD").splitlines()
    assert lines[:2] == ["=" * (len(lines[2]) - 2), "HEAD"]


def test_top_level_only():
    inner, outer = FunctionEvent(1, "inner", 1, 1, 2), FunctionEvent(0, "outer", 1, 0, 4)
    inner.cpu_parent = outer
    events = EventList([outer, inner])
    nested(events)
    text = events.table(top_level_events_only=True)
    assert "inner" not in text and row(text, "outer")[2:5] == ["3.000us", "100.00%", "4.000us"]
    assert text.splitlines()[1] == "This report only display top-level ops statistics"


def test_units_of_time():
    assert row(two().table(time_unit="ms"), "b")[2] == "0.002ms"


def test_memory_and_flops():
    events = EventList([FunctionEvent(0, "a", 1, 0, 1, cpu_memory_usage=2048, flops=3000),
                        FunctionEvent(1, "b", 1, 2, 4)], profile_memory=True, with_flops=True)
    text = events.table()
    head = text.splitlines()[1]
    assert head.split("  ")[-2].strip() == "Total KFLOPs"
    assert head.index("CPU Mem") < head.index("Self CPU Mem") < head.index("# of Calls")
    assert row(text, "a")[6:] == ["2.00", "KB", "2.00", "KB", "1", "3.000"]
    assert row(text, "b")[-1] == "--"


def test_bytes_moved():
    events = two(bytes_moved=4096)
    text = events.table()
    head = text.splitlines()[1]
    assert head.index("# of Calls") < head.index("Bytes Moved") < head.index("Memory BW %")
    assert row(text, "a")[-3:-1] == ["4.00", "KB"] and row(text, "a")[-1].endswith("%")
    assert row(text, "b")[-2:] == ["--", "--"]
    assert "Measured memory bandwidth: " in text.splitlines()[-1]


def test_sorting():
    with pytest.raises(AttributeError, match="'FunctionEvent' object has no attribute 'nope'"):
        two().table(sort_by="nope")
    assert two().table(sort_by="cuda_time_total").splitlines()[3].split()[0] == "a"


def test_a_real_profile():
    with torch.profiler.profile(profile_memory=True, record_shapes=True) as prof:
        x = torch.ones(64, 64, requires_grad=True)
        (x @ x).relu().sum().backward()
    text = prof.key_averages(group_by_input_shape=True).table(
        sort_by="self_cpu_time_total", row_limit=5)
    assert len(text.splitlines()) == 3 + 5 + 3
    assert str(prof.key_averages()) == prof.key_averages().table()
