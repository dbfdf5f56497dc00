"""What is recorded while a profile is on, and that nothing is left behind when it ends."""

import os
import threading

import pytest

import yesca as torch
from yesca.dispatch import call, fast, observing
from yesca.profiler.collector import COLLECTOR
from yesca.utils.data import DataLoader


def names(prof):
    return [event.name for event in prof.events()]


def test_operators_are_seen_in_order():
    x = torch.ones(3)
    with torch.profiler.profile() as prof:
        y = (x + 1) * x
        y.add_(2)
        y[0] = 5
        torch.relu(y)
    assert [n for n in names(prof) if n in (
        "aten::add", "aten::mul", "aten::add_", "aten::relu")] == [
        "aten::add", "aten::mul", "aten::add_", "aten::relu"]
    assert y.tolist() == [5.0, 4.0, 4.0]


def test_repeated_calls_are_each_seen():
    """A call whose plan is known runs by the builtin path; it is an event like the first."""
    x = torch.ones(3)
    with torch.profiler.profile() as prof:
        for _ in range(20):
            x = x * 1.0
            x.add_(1)
    found = {average.key: average.count for average in prof.key_averages()}
    assert found == {"aten::mul": 20, "aten::add_": 20}
    assert x.tolist() == [21.0] * 3
    assert all(event.bytes_moved for event in prof.events())


def test_results_that_go_to_a_given_tensor():
    x, out = torch.ones(3), torch.zeros(3)
    empty = torch.empty(0)
    with torch.profiler.profile() as prof:
        for _ in range(2):
            torch.add(x, x, out=out)
        torch.exp(x, out=empty)  # resized, so the kernel cannot write to it at once
    assert out.tolist() == [2.0] * 3 and empty.shape == (3,)
    found = {average.key: average for average in prof.key_averages()}
    assert (found["aten::add"].count, found["aten::exp"].count) == (2, 1)
    assert found["aten::add"].bytes_moved == 2 * 3 * 3 * 4


def test_nothing_is_left_when_a_profile_ends():
    with torch.profiler.profile():
        torch.ones(2) + 1
        assert observing.current is COLLECTOR
    assert observing.current is None
    assert call.run is call.base
    assert not COLLECTOR.threads and not COLLECTOR.wanted
    if fast.FAST is not None:
        torch.ones(2) + 1  # the flags are looked at before a call
        assert not fast.FAST.flags.value & 2


def test_nothing_is_left_after_an_error():
    with pytest.raises(ZeroDivisionError), torch.profiler.profile() as prof:
        torch.ones(2)
        raise ZeroDivisionError
    assert observing.current is None
    assert "aten::ones" in names(prof)


def test_an_operator_that_fails_is_an_event():
    with torch.profiler.profile() as prof:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="size"):
                torch.ones(2) + torch.ones(3)
        torch.ones(2).exp()
    found = prof.events()
    assert [e.name for e in found if e.cpu_parent is None].count("aten::add") == 2
    assert next(e for e in found if e.name == "aten::exp").cpu_parent is None


def test_backward_nodes_hold_their_operators():
    x = torch.ones(3, requires_grad=True)
    with torch.profiler.profile() as prof:
        (x * 2).sum().backward()
        (x * 2).sum().backward()
    node = next(e for e in prof.events() if e.name == "MulBackward0")
    assert node.cpu_parent.name == "autograd::engine::evaluate_function: MulBackward0"
    assert node.cpu_children
    found = {average.key: average.count for average in prof.key_averages()}
    assert found["SumBackward0"] == found["torch::autograd::AccumulateGrad"] == 2
    assert x.grad.tolist() == [4.0] * 3


def test_backward_goes_with_its_forward_operator():
    x = torch.ones(3, requires_grad=True)
    with torch.profiler.profile() as prof:
        y = x.exp().sin()
        y.sum().backward()
    at = {event.name: event for event in prof.events()}
    for operator, node in (("aten::exp", "ExpBackward0"), ("aten::sin", "SinBackward0")):
        assert at[operator].sequence_nr == at[node].sequence_nr >= 0
        assert at[node].fwd_thread == at[operator].thread == 1
    assert at["aten::exp"].fwd_thread == 0


def test_hooks_and_saved_hooks_work_as_ever():
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    pack, unpack = (lambda t: t * 1), (lambda t: t)
    with torch.profiler.profile() as prof, torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).sum()
        y.backward()
    assert seen == [[2.0, 2.0]] and "MulBackward0" in names(prof)


def test_a_custom_function_has_its_name():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    with torch.profiler.profile() as prof:
        Twice.apply(x).sum().backward()
    at = {event.name: event for event in prof.events()}
    assert [child.name for child in at["Twice"].cpu_children] == ["aten::mul"]
    assert not at["Twice"].is_user_annotation
    assert "TwiceBackward" in at


def test_optimizers_and_loaders_have_ranges():
    layer = torch.nn.Linear(2, 1)
    adam = torch.optim.Adam(layer.parameters())
    with torch.profiler.profile() as prof:
        for batch in DataLoader(torch.ones(4, 2), batch_size=2):
            adam.zero_grad()
            layer(batch).sum().backward()
            adam.step()
    found = {average.key: average for average in prof.key_averages()}
    assert found["Optimizer.step#Adam.step"].count == 2
    assert found["Optimizer.zero_grad#Adam.zero_grad"].count == 2
    # The end of the data is asked for as well.
    assert found["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"].count == 3
    assert found["Optimizer.step#Adam.step"].is_user_annotation
    assert "aten::_fused_adam_" in found


def test_random_fills_and_creation():
    with torch.profiler.profile() as prof:
        torch.zeros(2).uniform_()
        torch.nn.functional.dropout(torch.ones(2))
    at = {event.name: event for event in prof.events()}
    assert at["aten::uniform_"].cpu_parent is None
    assert at["aten::bernoulli_"].cpu_parent is at["aten::dropout"]


def test_threads_have_their_own_events():
    def work():
        with torch.profiler.record_function("work"):
            torch.ones(4).mul(2)

    with torch.profiler.profile() as prof:
        threads = [threading.Thread(target=work) for _ in range(3)]
        with torch.profiler.record_function("main"):
            for one in threads:
                one.start()
            for one in threads:
                one.join()
    ranges = [e for e in prof.events() if e.name == "work"]
    assert len(ranges) == 3 and all(e.cpu_parent is None for e in ranges)
    main = next(e for e in prof.events() if e.name == "main")
    assert main.thread not in {e.thread for e in ranges} and not main.cpu_children
    for one in ranges:
        products = [e for e in one.cpu_children if e.name == "aten::mul"]
        assert [e.thread for e in products] == [one.thread]


def test_a_thread_sees_a_profile_that_begins_and_ends_while_it_runs():
    begin, on, done, off = (threading.Event() for _ in range(4))
    counts = []

    def work():
        x = torch.ones(2)
        x + 1
        begin.set()
        on.wait(30)
        x + 1
        done.set()
        off.wait(30)
        x + 1
        counts.append(len(COLLECTOR.threads))

    thread = threading.Thread(target=work)
    thread.start()
    begin.wait(30)
    with torch.profiler.profile() as prof:
        on.set()
        done.wait(30)
    off.set()
    thread.join()
    assert names(prof) == ["aten::add"]
    assert counts == [0]


def test_profiles_may_overlap():
    outer = torch.profiler.profile(record_shapes=True)
    inner = torch.profiler.profile()
    outer.start()
    torch.ones(2).exp()
    inner.start()
    torch.ones(2).sin()
    outer.stop()
    torch.ones(2).cos()
    inner.stop()
    for prof, wanted in ((outer, ["aten::exp", "aten::sin"]), (inner, ["aten::sin", "aten::cos"])):
        assert [n for n in names(prof) if n[6:] in ("exp", "sin", "cos")] == wanted
    assert outer.events()[-1].input_shapes == [[2]]
    assert inner.events()[-1].input_shapes == []


def test_a_range_that_goes_on_is_cut_off():
    mark = torch.profiler.record_function("long")
    with torch.profiler.profile() as prof:
        mark.__enter__()
        torch.ones(2)
    mark.__exit__(None, None, None)
    event = next(e for e in prof.events() if e.name == "long")
    assert event.cpu_time_total >= sum(e.cpu_time_total for e in event.cpu_children)
    with torch.profiler.profile() as later:
        torch.ones(2)
    assert all(e.cpu_parent is None or e.cpu_parent.name != "long" for e in later.events())


def test_memory_is_counted():
    with torch.profiler.profile(profile_memory=True) as prof:
        x = torch.ones(1000)
        y = x * 2
        del x
        y.add_(1)
    at = {event.name: event for event in prof.events()}
    assert at["aten::mul"].cpu_memory_usage == at["aten::ones"].cpu_memory_usage == 4000
    assert at["aten::ones"].self_cpu_memory_usage == 0  # a child has allocated
    assert at["aten::add_"].cpu_memory_usage == 0
    assert at["[memory]"].cpu_memory_usage == -4000


def test_levels_and_autocast():
    x = torch.ones(2, 2)
    with torch.profiler.profile() as prof:
        torch.vmap(lambda row: row * 2)(x)
        with torch.autocast("cpu"):
            torch.nn.functional.linear(x, x)
    found = prof.events()
    assert "aten::mul" in names(prof)
    outer, inner = (e for e in found if e.name == "aten::linear")
    assert inner.cpu_parent is outer
    assert "aten::_to_copy" in [child.name for child in outer.cpu_children]
    assert inner.bytes_moved and not outer.bytes_moved


def test_compiled_functions_run_as_one_range():
    function = torch.compile(lambda x: (x * 2).relu() + 1)
    x = torch.ones(8)
    function(x)
    with torch.profiler.profile() as prof:
        made = function(x)
    assert "Torch-Compiled Region" in names(prof)
    assert made.tolist() == [3.0] * 8


def test_events_keep_no_tensor():
    import weakref

    x = torch.ones(4)
    seen = weakref.ref(x)
    with torch.profiler.profile(record_shapes=True, with_stack=True) as prof:
        torch.cat([x, x])
        x * x
    del x
    assert seen() is None and len(prof.events()) >= 2


@pytest.mark.parametrize("nested", [False, True])
def test_a_forked_process_records_nothing(nested):
    with torch.profiler.profile():
        torch.ones(2)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            torch.ones(2) + 1
            clean = observing.current is None and not COLLECTOR.threads
            if nested:
                with torch.profiler.profile() as prof:
                    torch.ones(2) + 1
                clean = clean and "aten::add" in names(prof)
            os.write(writer, b"clean" if clean else b"dirty")
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reader, 5) == b"clean"
        os.close(reader)
        os.close(writer)
        assert observing.current is COLLECTOR
