"""The harness that compares yesca with PyTorch: statistics, verdicts, tables, real processes."""

import ctypes
import json
import sys
from pathlib import Path

import pytest
from benchmarks import machine, report, runner
from benchmarks.__main__ import main
from benchmarks.sides import PROCESS, PROGRAMS, Side, SideFailed, Task, make_sides
from benchmarks.statistics_of_pairs import (
    Result,
    Spread,
    differences,
    geometric_mean,
    mean_ratios,
    ratios,
)
from benchmarks.suites import SMALL_OPS, SUITES, Case, Suite


def result(figure=(0.4, 0.5, 0.6), control=1.0, limit=0.6, pairs=9, **others):
    return Result("case", {"yesca": 1e-3}, Spread(*figure), control, limit, pairs, **others)


def rounds_of(**seconds):
    """Rounds of one case: a list of seconds for each side."""
    return [
        {side: {"case": values[number]} for side, values in seconds.items()}
        for number in range(len(next(iter(seconds.values()))))
    ]


# --- statistics -----------------------------------------------------------------------------------


def test_quartiles_lie_between_the_values():
    assert Spread.of([4.0, 1.0, 3.0, 2.0]) == Spread(1.75, 2.5, 3.25)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)
    with pytest.raises(ValueError, match="at least one"):
        Spread.of([])


def test_ratios_are_taken_within_a_round():
    slow_then_fast = rounds_of(yesca=[5.0, 1.0], torch=[10.0, 2.0])
    assert ratios(slow_then_fast, "case", "yesca") == [0.5, 0.5]
    assert differences(slow_then_fast, "case", "torch", "yesca") == [5.0, 1.0]


def test_geometric_mean_of_each_round():
    assert geometric_mean([0.25, 1.0, 4.0]) == pytest.approx(1.0)
    rounds = [{"yesca": {"x": 1.0, "y": 1.0}, "torch": {"x": 4.0, "y": 1.0}}]
    assert mean_ratios(rounds, ["x", "y"], "yesca") == [pytest.approx(0.5)]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (result(), "met"),
        (result(figure=(0.4, 0.5, 0.61)), "missed"),
        (result(control=1.06), "void"),
        (result(control=0.94), "void"),
        (result(limit=None), "-"),
        (result(pairs=8), "few pairs"),
        (result(control=1.2, limit=None), "void"),
    ],
)
def test_verdict(row, verdict):
    assert row.verdict == verdict


# --- suites ---------------------------------------------------------------------------------------


def test_limits_are_those_of_the_project():
    assert {case.limit for case in SMALL_OPS.cases} == {0.9}
    assert (SMALL_OPS.mean_limit, SUITES["calls"].mean_limit) == (0.4, 0.6)
    limits = {
        (name, case.name): case.limit
        for name, suite in SUITES.items()
        for case in suite.cases
        if case.limit is not None and name not in ("small_ops", "sweep", "large_ops")
        if case.base == "torch" or case.figure == "later"
    }
    products = {
        ("matmul", f"{size} {layout}"): limit
        for size in (256, 1024, 2048)
        for layout, limit in (("NN", 1.1), ("NT", 1.15), ("TN", 1.15))
    }
    compiled = {key: limits.pop(key) for key in list(limits) if key[0].startswith("compiled")}
    loading = {"TensorDataset": 0.2, "own Dataset": 0.6, "PNG files": 1.05, "1 MB batches": 0.8,
               "4 workers by spawn": 0.4, "4 workers by fork": 1.0}
    assert limits == {
        **products,
        **{("data", name): limit for name, limit in loading.items()},
        ("bigram", "training step"): 0.45,
        ("mnist", "training step"): 0.5,
        ("recurrent", "LSTM step"): 1.0,
        ("autocast_step", "GPT"): 1.0,
        **{("matmul_bfloat16", f"{size} {layout}"): 1.2
           for size in (1024, 2048) for layout in ("NN", "NT", "TN")},
        ("optimizers", "Adam"): 0.5,
        ("first_step", "first step, warm"): 0.5,
        ("first_step", "first step, cold"): 3.5,
        ("import", PROCESS): 0.13,
        ("files", "load"): 0.7,
        ("files", "mapped load"): 0.02,
        ("files", "save"): 1.0,
        ("files_memory", "load"): 1.1 * (4 * 100 * 1118**2),
    }
    assert {case.limit for case in SUITES["large_ops"].cases} == {1.1}
    sweep = SUITES["sweep"]
    assert ({case.limit for case in sweep.cases}, sweep.mean_limit) == ({1.5}, 0.9)
    check_limits_of_compiled_suites(compiled)


def check_limits_of_compiled_suites(limits):
    names = ("MNIST", "bigram", "GPT", "ResNet", "elementwise", "layer_norm(gelu + r)", "network")
    assert limits == {
        ("compiled_step", "MNIST"): 0.35,
        ("compiled_step", "bigram"): 0.2,
        ("compiled_step", "GPT"): 0.85,
        ("compiled_step", "ResNet"): 1.3,
        ("compiled_model", "MNIST"): 0.5,
        ("compiled_model", "GPT"): 0.92,
        ("compiled_inference", "elementwise"): 0.25,
        ("compiled_inference", "layer_norm(gelu + r)"): 0.5,
        ("compiled_inference", "network"): 0.3,
        **{("compiled_first", name): 0.1 for name in names},
        **{("compiled_first", f"{name}, beyond a later call"): 0.15 for name in names},
        ("compiled_call", "eight operators"): 15e-6,
        ("compiled_memory", "GPT"): 0.8,
    }
    others = {
        (case.name, case.base): case.limit
        for case in SUITES["compiled_step"].cases
        if case.base != "torch"
    }
    assert others == {("MNIST", "jax"): 0.9, ("ResNet", "yesca, eager"): 0.95}


def test_kernels_of_programs_are_held_to_the_built_in():
    cases = SUITES["kernels"].cases
    assert {(case.side, case.base, case.limit) for case in cases} == {
        ("yesca", "yesca, built-in", 1.2)}


def test_limits_of_the_suites_under_autocast():
    step, memory = SUITES["autocast_step"].cases, SUITES["autocast_memory"].cases
    assert [(case.side, case.limit) for case in step] == [("yesca", 0.8), ("yesca, eager", 1.0)]
    assert (memory[0].base, memory[0].limit) == ("yesca, float32", 0.6)


def test_activations_under_autocast_take_less_than_in_float32(run_python):
    program = PROGRAMS / SUITES["autocast_memory"].task.program
    runs = [run_python("-m", "yesca", program, BENCHMARK_SIDE=side)
            for side in ("yesca", "yesca, float32")]
    low, full = (json.loads(run.stdout)["GPT"] for run in runs)
    assert 0 < low <= 1.001 * 74651204  # of PyTorch, which keeps the same: 0.615 of float32
    assert low < 0.62 * full


def test_every_program_of_a_suite_exists():
    for suite in SUITES.values():
        programs = [suite.task.program, *(name for _, name in suite.task.substitutes)]
        for program in filter(None, programs):
            assert (PROGRAMS / program).is_file()


@pytest.mark.parametrize(
    "name", ["small_ops", "calls", "bigram", "frameworks", "compiled_inference", "compiled_call"]
)
def test_programs_time_every_case_under_yesca(name, run_program):
    seconds = json.loads(run_program(PROGRAMS / SUITES[name].task.program))
    assert list(seconds) == [case.name for case in SUITES[name].cases]
    assert all(0 < value < 10 for value in seconds.values())


def test_a_transformer_step_needs_no_more_than_in_pytorch(run_program):
    recorded = Path(__file__).parents[1] / "fixtures" / "memory.json"
    most = json.loads(recorded.read_text(encoding="utf-8"))["gpt_step_peak_bytes"]
    found = json.loads(run_program(PROGRAMS / SUITES["compiled_memory"].task.program))
    assert 0 < found["GPT"] <= most


def test_the_sweep_times_sixty_operators_with_their_gradients(run_program):
    seconds = json.loads(run_program(PROGRAMS / SUITES["sweep"].task.program, "16"))
    assert list(seconds) == [case.name for case in SUITES["sweep"].only(["16"]).cases]
    assert sum("backward" not in name for name in seconds) == 60


@pytest.mark.parametrize("name", ["bigram", "network"])
def test_first_calls_are_timed_under_yesca(name, run_program):
    program = PROGRAMS / SUITES["compiled_first"].task.program
    seconds = json.loads(run_program(program, name))
    assert list(seconds) == [name, f"{name}, beyond a later call"]
    assert 0 <= seconds[f"{name}, beyond a later call"] < seconds[name]


def test_step_programs_train(run_program, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(PROGRAMS)!r})\n"
        "from step_programs import STEPS\n"
        "for name, set_up in STEPS.items():\n"
        "    if name != 'GPT':  # two seconds a step on a slow machine\n"
        "        step = set_up()\n"
        "        losses = [step().item() for _ in range(4)]\n"
        "        assert losses[-1] < losses[0], (name, losses)\n",
        encoding="utf-8",
    )
    run_program(program)


# --- processes ------------------------------------------------------------------------------------


def toy_suite(statement="pass", flops=0.0, **others):
    sides = ("yesca", "torch", "control")
    task = Task(statements=tuple((side, statement) for side in sides))
    return Suite("toy", "nothing at all", task, (Case(PROCESS, limit=1e9, flops=flops),), **others)


@pytest.fixture
def sides():
    return make_sides(sys.executable, None, cache="unused")


def test_rounds_interleave_all_sides(sides):
    seen = []
    rounds = runner.run_rounds(toy_suite(), sides, 3, 2, seen.append)
    order = [line.rpartition(", ")[2] for line in seen if "pair" in line]
    assert order[:3] == ["yesca", "torch", "control"]
    assert order[3:6] == ["torch", "control", "yesca"]
    assert [set(found) for found in rounds] == [{"yesca", "torch", "control"}] * 3
    (row,) = runner.judge(toy_suite(), rounds, None)
    assert 0.1 < row.figure.median < 10
    assert row.pairs == 3


def test_a_side_that_fails_says_why(sides):
    with pytest.raises(SideFailed, match=r"yesca: exit code 1\n(.|\n)*ZeroDivisionError"):
        runner.run_rounds(toy_suite("1 / 0"), sides, 1, 2, lambda text: None)


def test_a_missing_case_is_named(sides):
    suite = toy_suite()
    other = Suite("toy", "", suite.task, (Case("something else"),))
    with pytest.raises(SideFailed, match="yesca: no time for something else"):
        runner.run_rounds(other, sides, 1, 2, lambda text: None)


def test_a_program_reports_its_last_line_of_json():
    task = Task("program.py")
    assert task.seconds('noise\n{"x": 1}\n{"x": 2}\n', 0.0) == {"x": 2.0}
    with pytest.raises(SideFailed, match="no line of JSON"):
        task.seconds("noise\n", 0.0)


def test_threads_and_a_cold_cache_reach_the_process(tmp_path):
    statement = (
        "import os; assert os.environ['OMP_NUM_THREADS'] == '3';"
        "assert not os.listdir(os.environ['YESCA_CACHE_DIR'])"
    )
    side = Side("torch", (sys.executable,), cold=True)
    assert side.run(Task(statements=(("torch", statement),)), threads=3)[PROCESS] > 0


def test_the_parts_of_a_program_have_processes_of_their_own(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os, sys\n"
        "print(json.dumps({sys.argv[1]: os.getpid(), 'side': len(os.environ['BENCHMARK_SIDE'])}))"
    )
    monkeypatch.setattr("benchmarks.sides.PROGRAMS", tmp_path)
    found = Side("torch", (sys.executable,)).run(Task("program.py", parts=("x", "y")), threads=2)
    assert set(found) == {"x", "y", "side"}
    assert found["x"] != found["y"]
    assert found["side"] == len("torch")


def test_a_case_may_be_held_to_another_side_or_to_seconds():
    rounds = rounds_of(yesca=[3.0], torch=[10.0], control=[10.0])
    rounds[0]["yesca, eager"] = {"case": 4.0}
    cases = (
        Case("case", base="yesca, eager", label="to eager"),
        Case("case", base="jax"),
        Case("case", side="yesca, eager"),
        Case("case", figure="own", limit=5.0),
    )
    rows = runner.judge(Suite("toy", "", Task(), cases, unit="ms"), rounds, None)
    assert [row.figure.median for row in rows] == [0.75, 0.4, 3.0]
    assert [row.case for row in rows] == ["to eager", "case", "case"]
    last = report.table(Suite("toy", "", Task(), cases, unit="ms"), rows).splitlines()[-1]
    assert "3000.000 ms" in last
    assert "5000.00 ms" in last


# --- report ---------------------------------------------------------------------------------------


def test_the_table_lines_up():
    suite = toy_suite(unit="µs")
    rows = [result(), result(figure=(0.9, 12.0, 13.0), limit=None, shares={"yesca": 0.5})]
    lines = report.table(suite, rows).splitlines()
    assert lines[0] == "toy: nothing at all"
    assert lines[3].split() == ["case", "1000", "0.500", "0.400-0.600", "0.60", "1.000", "-", "met"]
    column = lines[1].index("figure") + len("figure")
    assert [line[:column].split()[-1] for line in lines[3:]] == ["0.500", "12.000"]
    assert "50%" in lines[4]


def test_the_conclusion_counts():
    assert report.conclusion([result(), result(), result(limit=0.1)]) == "2 met, 1 missed"
    assert report.conclusion([result(control=2.0)]).startswith("1 void; void: PyTorch against")


def test_share_of_the_nearer_limit():
    limits = machine.Limits(flops=100.0, bytes=10.0)
    assert limits.share(flops=50.0, traffic=1.0, seconds=1.0) == pytest.approx(0.5)
    assert limits.share(flops=1.0, traffic=8.0, seconds=1.0) == pytest.approx(0.8)
    assert limits.share(0.0, 0.0, 1.0) is None


def test_the_loops_of_the_limits_compute_what_they_say():
    lanes, engine = machine.compiled_loops()
    multiply_add, read = machine.loop_functions(engine)
    starts = range(machine.ACCUMULATORS)
    assert multiply_add(1) == sum(n * 0.5 + 1.0 for n in starts) * lanes
    data = (ctypes.c_float * (2 * machine.READERS * lanes))(*[0.5] * 2 * machine.READERS * lanes)
    first = sum(range(machine.READERS)) * lanes
    assert read(ctypes.addressof(data), 2) == first + 0.5 * len(data)


def test_unknown_suites_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["no_such_suite", "--torch-python", sys.executable])
    assert "no suite no_such_suite; there are small_ops" in capsys.readouterr().err


def test_one_case_is_measured_in_its_own_part_of_the_program():
    chosen = SUITES["compiled_first"].only(["GPT"])
    assert {case.name for case in chosen.cases} == {"GPT", "GPT, beyond a later call"}
    assert chosen.task.parts == ("GPT",)
    assert [case.name for case in SMALL_OPS.only(["a + b", "forward, backward"]).cases] == [
        "a + b", "forward, backward"]


def test_a_case_that_a_suite_lacks_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["bigram", "--case", "GPT", "--torch-python", sys.executable])
    assert "bigram has none of these cases; it has training step" in capsys.readouterr().err


def test_the_whole_command(monkeypatch, tmp_path, capsys):
    suite = toy_suite(flops=1e6)
    monkeypatch.setitem(SUITES, "toy", suite)
    monkeypatch.setattr("benchmarks.__main__.keep_to_cores", lambda threads: None)
    monkeypatch.setattr(machine, "measure", lambda threads: machine.Limits(1e12, 1e10))
    target = tmp_path / "out.json"
    code = main(["toy", "--torch-python", sys.executable, "--pairs", "1", "--json", str(target)])
    printed = capsys.readouterr().out
    assert code == 0
    assert "the machine's limit: 1000 GFLOP/s float32, 10.0 GB/s" in printed
    assert "toy: nothing at all" in printed
    stored = json.loads(target.read_text())["suites"]["toy"]
    assert stored["results"][0]["case"] == PROCESS
    assert len(stored["rounds"]) == 1
