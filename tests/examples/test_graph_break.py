"""examples/graph_break.py: two islands of products, and the log of the break between them."""

from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "graph_break.py"
LINES = EXAMPLE.read_text(encoding="utf-8").splitlines()
BRIDGE = next(k for k, line in enumerate(LINES, 1) if "hidden.mean() > 1.0" in line)


def test_both_ways_give_what_eager_gives(run_program):
    assert run_program(EXAMPLE).splitlines() == [
        "small input: largest difference 0.0e+00",
        "large input: largest difference 0.0e+00",
        "small input: largest difference 0.0e+00",
        "programs: 2, graph breaks: 1",
        "because: __bool__ needs the value of a tensor",
        f"at line: {LINES[BRIDGE - 1].strip()}",
    ]


def test_the_log_shows_the_break(run_python):
    done = run_python("-m", "yesca", EXAMPLE, TORCH_LOGS="graph_breaks")
    assert done.returncode == 0, done.stderr
    broken = done.stderr.splitlines()
    assert len(broken) == 2  # that of the calls, and that of explain
    for line in broken:
        assert line.startswith("[graph_breaks] __bool__ needs the value of a tensor: ran ")
        assert line.endswith(f"graph_break.py:{BRIDGE})")


def test_there_is_a_program_for_each_island(run_python):
    done = run_python("-m", "yesca", EXAMPLE, YESCA_LOGS="fusion")
    heads = [line for line in done.stderr.splitlines() if line.startswith("[fusion] ")]
    assert len(heads) == 5  # before the break, one way, the other way; and two of explain
    assert all("islands (" in line for line in heads)
    assert sum("product" in line for line in done.stderr.splitlines()) >= 7
