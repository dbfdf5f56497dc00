"""Traces that chrome://tracing and Perfetto read."""

import gzip
import json
import os
import threading
import time

import yesca as torch


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def recorded(path, **options):
    x = torch.ones(4, requires_grad=True)
    with torch.profiler.profile(**options) as prof:
        with torch.profiler.record_function("mine"):
            y = x.exp()
        y.sum().backward()
        thread = threading.Thread(target=lambda: torch.ones(2))
        thread.start()
        thread.join()
    prof.export_chrome_trace(str(path))
    return prof, read(path)


def test_events(tmp_path):
    before = time.time_ns() / 1000
    prof, trace = recorded(tmp_path / "trace.json")
    after = time.time_ns() / 1000
    assert trace["displayTimeUnit"] == "ms" and trace["schemaVersion"] == 1
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in spans] == [e.name for e in prof.events()]
    for span in spans:
        assert before <= span["ts"] <= after and 0 <= span["dur"] <= after - before
        assert span["pid"] == os.getpid() and isinstance(span["tid"], int)
        assert span["cat"] in ("cpu_op", "user_annotation")
    mine = next(e for e in spans if e["name"] == "mine")
    inner = next(e for e in spans if e["name"] == "aten::exp")
    assert mine["cat"] == "user_annotation"
    assert mine["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= mine["ts"] + mine["dur"] + 0.5  # microseconds as floats


def test_threads_have_tracks(tmp_path):
    _, trace = recorded(tmp_path / "trace.json")
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    named = {e["tid"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert threading.get_native_id() in named and len(named) == 2
    assert {e["tid"] for e in spans} == named


def test_arrows_from_forward_to_backward(tmp_path):
    _, trace = recorded(tmp_path / "trace.json")
    spans = {e["name"]: e for e in trace["traceEvents"] if e["ph"] == "X"}
    flows = [e for e in trace["traceEvents"] if e["ph"] in "sf"]
    number = spans["aten::exp"]["args"]["Sequence number"]
    start, finish = (e for e in flows if e["id"] == number)
    assert (start["ph"], finish["ph"], finish["bp"]) == ("s", "f", "e")
    assert start["ts"] == spans["aten::exp"]["ts"]
    node = spans["autograd::engine::evaluate_function: ExpBackward0"]
    assert finish["ts"] == node["ts"] and node["args"]["Sequence number"] == number


def test_arguments(tmp_path):
    _, trace = recorded(tmp_path / "trace.json", record_shapes=True, with_stack=True,
                        profile_memory=True, with_flops=True)
    found = next(e for e in trace["traceEvents"] if e["name"] == "aten::exp")["args"]
    assert (found["Input Dims"], found["Input Strides"]) == ([[4]], [[1]])
    assert (found["Input type"], found["Concrete Inputs"]) == (["float"], [""])
    assert (found["Bytes allocated"], found["Bytes moved"]) == (16, 32)
    assert "recorded" in found["Call stack"]
    assert trace["record_shapes"] == trace["with_stack"] == trace["profile_memory"] == 1
    instants = [e for e in trace["traceEvents"] if e["name"] == "[memory]"]
    assert all(e["ph"] == "i" and e["args"]["Bytes"] for e in instants)


def test_compressed(tmp_path):
    _, trace = recorded(tmp_path / "trace.json.gz")
    assert any(e["name"] == "aten::exp" for e in trace["traceEvents"])


def test_metadata(tmp_path):
    prof = torch.profiler.profile()
    prof.preset_metadata_json("run", '{"seed": 1}')
    with prof:
        torch.ones(1)
    prof.add_metadata("model", "small")
    prof.add_metadata_json("sizes", "[1, 2]")
    path = tmp_path / "trace.json"
    for _ in range(2):  # it may be written again
        prof.export_chrome_trace(str(path))
    trace = read(path)
    assert (trace["model"], trace["sizes"], trace["run"]) == ("small", [1, 2], {"seed": 1})
    assert trace["trace_id"] == prof.get_trace_id()


def test_lists_of_events(tmp_path):
    with torch.autograd.profiler.profile() as prof:
        torch.ones(1)
    for source in (prof, prof.function_events):
        path = tmp_path / "trace.json"
        source.export_chrome_trace(str(path))
        assert any(e["name"] == "aten::ones" for e in read(path)["traceEvents"])


def test_the_folder_of_a_handler(tmp_path):
    folder = tmp_path / "logs"
    ready = torch.profiler.tensorboard_trace_handler(str(folder), worker_name="w", use_gzip=True)
    with torch.profiler.profile(on_trace_ready=ready):
        torch.ones(1)
    (path,) = folder.iterdir()
    worker, number, rest = path.name.split(".", 2)
    assert (worker, rest) == ("w", "pt.trace.json.gz") and number.isdigit()
    assert any(e["name"] == "aten::ones" for e in read(path)["traceEvents"])
