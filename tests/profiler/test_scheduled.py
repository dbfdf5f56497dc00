"""Schedules, steps, and profiles used wrongly."""

import pytest

import yesca as torch
from yesca.profiler import ProfilerAction, ProfilerActivity, profile, scheduled
from yesca.profiler import schedule as make_schedule

NONE, WARMUP, RECORD, SAVE = (ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD,
                              ProfilerAction.RECORD_AND_SAVE)
LETTERS = {NONE: "-", WARMUP: "w", RECORD: "r", SAVE: "S"}


@pytest.mark.parametrize(("options", "expected"), [
    ({"wait": 1, "warmup": 1, "active": 2}, "-wrS-wrS-wrS-w"),
    ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}, "--wrS-wrS-----"),
    ({"wait": 1, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
     "-wS-wS-wS-wS-w"),
])
def test_schedules(options, expected):
    made = make_schedule(**options)
    assert "".join(LETTERS[made(step)] for step in range(14)) == expected


def test_schedules_are_checked():
    with pytest.raises(AssertionError, match=r"Got wait=-1 \(need >= 0\), warmup=1"):
        make_schedule(wait=-1, warmup=1, active=1)
    with pytest.raises(AssertionError, match="Step must be non-negative. Got -1."):
        make_schedule(wait=1, warmup=1, active=1)(-1)
    with pytest.warns(UserWarning, match="Profiler won't be using warmup"):
        assert make_schedule(wait=0, warmup=0, active=1)(5) is SAVE


def run(steps, plan, **options):
    """Steps of a profiled loop, each an addition; what the handler saw at each call."""
    seen = []

    def ready(prof):
        seen.append((prof.step_num, [e.name for e in prof.events() if e.cpu_parent is None]))

    x = torch.ones(3)
    with profile(schedule=plan, on_trace_ready=ready, **options) as prof:
        for _ in range(steps):
            x + 1
            prof.step()
    return prof, seen


@pytest.fixture
def warned(monkeypatch):
    """As if the warning about cycles had been given."""
    monkeypatch.setattr(scheduled, "_warned", [True])


@pytest.mark.usefixtures("warned")
def test_cycles():
    prof, seen = run(10, make_schedule(wait=1, warmup=1, active=2, repeat=2))
    assert seen == [(4, ["ProfilerStep*", "ProfilerStep*"]), (8, ["ProfilerStep*"] * 2)]
    assert (prof.step_num, prof.current_action) == (10, NONE)
    step, inner = prof.events()[:2]
    assert (step.trace_name, inner.name) == ("ProfilerStep#6", "aten::add")
    assert inner.cpu_parent is step


def test_cycles_are_forgotten_with_a_warning(monkeypatch):
    monkeypatch.setattr(scheduled, "_warned", [])
    with pytest.warns(UserWarning, match="Profiler clears events at the end of each cycle"):
        run(5, make_schedule(wait=0, warmup=1, active=1))


def test_cycles_may_be_kept():
    prof, _ = run(4, make_schedule(wait=0, warmup=1, active=1, repeat=2), acc_events=True)
    names = [e.name for e in prof.events()]
    assert names == ["ProfilerStep*", "aten::add"] * 2
    starts = [e.time_range.start for e in prof.events()]
    assert starts == sorted(starts)


def test_an_unfinished_cycle_is_reported():
    prof, seen = run(3, make_schedule(wait=1, warmup=1, active=5))
    assert seen == [(3, ["ProfilerStep*", "ProfilerStep*"])]
    assert [e.name for e in prof.events()].count("aten::add") == 1


def test_without_a_schedule_there_are_no_steps():
    prof, seen = run(3, None)
    assert [e.name for e in prof.events()] == ["aten::add"] * 3
    assert [step for step, _ in seen] == [3]


@pytest.mark.parametrize(("actions", "message"), [
    ([WARMUP, NONE], "Incorrect schedule: WARMUP followed by NONE"),
    ([RECORD, NONE], "Incorrect schedule: RECORD followed by NONE"),
])
def test_incorrect_schedules(actions, message):
    with pytest.warns(UserWarning, match=message):
        _, seen = run(3, lambda step: actions[step] if step < len(actions) else NONE)
    assert seen == []


def test_start_and_stop():
    prof = profile()
    for count in (1, 2):
        prof.start()
        for _ in range(count):
            torch.ones(2)
        prof.stop()
        assert [e.name for e in prof.events() if e.cpu_parent is None] == ["aten::ones"] * count


def test_used_before_it_is_started():
    for use, purpose in ((lambda p: p.events(), "accessing events"),
                         (lambda p: p.key_averages(), "getting key averages"),
                         (lambda p: p.export_chrome_trace("x"), "exporting chrome trace"),
                         (lambda p: p.export_stacks("x"), "exporting stacks"),
                         (lambda p: p.stop(), "stopping trace")):
        with pytest.raises(AssertionError, match=f"must be initialized before {purpose}"):
            use(profile())
    profile().step()
    assert profile().get_trace_id() is None


def test_activities():
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=["cpu"])
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        torch.ones(2)
    assert prof.events() == []
    with pytest.warns(FutureWarning, match="`use_cuda` is deprecated"):
        made = profile(use_cuda=True)
    assert made.activities == {ProfilerActivity.CPU, ProfilerActivity.CUDA}
    assert torch.profiler.supported_activities() == {ProfilerActivity.CPU}
    assert torch.profiler.kineto_available()
    assert repr(ProfilerActivity.CPU) == "<ProfilerActivity.CPU: 0>"


def test_pauses():
    with profile() as prof:
        torch.ones(2)
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        torch.zeros(2)
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        torch.ones(2)
    names = [e.name for e in prof.events()]
    assert names.count("aten::ones") == 2 and "aten::zeros" not in names


def test_handlers_of_folders_that_cannot_be(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    ready = torch.profiler.tensorboard_trace_handler(str(place))
    with pytest.raises(RuntimeError, match="Can't create directory: "):
        ready(profile())


def test_names_of_recordings():
    with profile(custom_trace_id_callback=lambda: "run 7") as prof:
        torch.ones(1)
    assert prof.get_trace_id() == "run 7"
