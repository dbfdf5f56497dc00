"""What is said of graph breaks, new programs and storms of them: `explain`, YESCA_LOGS."""

import inspect
import logging

import numpy
import pytest

import yesca as torch
from yesca.base import settings
from yesca.graph import reports, trie


def line_of(function, text):
    """FILE:LINE of the line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    number = next(first + k for k, line in enumerate(lines) if text in line)
    return f"{inspect.getsourcefile(function)}:{number}"


def branching(x):
    y = x * 2
    if y.sum() > 0:  # here
        y = y + 1
    return y.sin()


def test_explain_counts_graphs_and_names_breaks():
    found = torch.compiler.explain(branching)(torch.ones(3))
    assert found.graph_count == 2
    assert found.graph_break_count == 1
    assert found.ops_per_graph == [["mul", "sum", "gt"], ["add", "sin"]]
    assert found.op_count == 5
    assert found.launch_count == sum(len(graph.launches) for graph in found.graphs)
    (one,) = found.break_reasons
    assert one.reason == "__bool__ needs the value of a tensor"
    assert one.place == line_of(branching, "# here")
    assert one.user_stack[-1].line == "if y.sum() > 0:  # here"
    assert [frame.name for frame in one.user_stack] == ["branching"]
    text = str(found)
    for part in ("Graph Count: 2", "Graph Break Count: 1", "Op Count: 5", "Reason: __bool__ needs",
                 "Bytes Moved: "):
        assert part in text


def test_explain_counts_bytes():
    x, y = torch.ones(100, 3), torch.ones(3)
    found = torch.compiler.explain(lambda: ((x + y).exp(), x @ x.t()))()
    (graph,) = found.graphs
    one, whole, row, square = 4 * 300, 2 * 4 * 300, 4 * 3, 4 * 100 * 100
    assert graph.eager_bytes == (one + row + one) + whole + (2 * one + square)
    assert one + row + one + 2 * one + square <= found.nbytes <= graph.eager_bytes
    assert graph.program.arena > 0
    assert "add" in graph.code() and "product_tile" in graph.code()
    assert graph.print_readable(print_output=False).startswith("3 calls: add, exp, ")


def test_explain_of_modules_compiled_functions_and_old_calls():
    x = torch.ones(2, 2)
    model = torch.nn.Linear(2, 2)
    for function in (model, torch.compile(model), torch.compile(lambda x: model(x))):
        assert torch.compiler.explain(function)(x).graph_count == 1
    with pytest.warns(FutureWarning, match="explain.f, .args, ..kwargs. is deprecated"):
        assert torch._dynamo.explain(branching, x).graph_count == 2


def test_fullgraph_names_the_line():
    def shown(x):
        y = x * 2
        return str(y)  # here

    def argument(x):
        print(x)  # here
        return x + 1

    for function, text in ((branching, "if y.sum() > 0"), (shown, "return str(y)"),
                           (argument, "print(x)")):
        with pytest.raises(torch._dynamo.exc.Unsupported) as caught:
            torch.compile(function, fullgraph=True)(torch.ones(2))
        assert line_of(function, "# here") in str(caught.value)
        assert text in str(caught.value)
        assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("refused", [
    lambda x: bool(x[0]), lambda x: print(x), lambda x: str(x), lambda x: numpy.asarray(x),
    lambda x: torch.equal(x, x), lambda x: torch.allclose(x, x), lambda x: range(x[0].long()),
    lambda x: torch.compiler.disable(torch.sin)(x), lambda x: torch._dynamo.graph_break(),
])
def test_fullgraph_refuses(refused):
    with pytest.raises(torch._dynamo.exc.Unsupported, match="test_reports.py:"):
        torch.compile(lambda x: refused(x * 2), fullgraph=True)(torch.ones(2))


@pytest.mark.parametrize("taken", [
    lambda x: torch.linalg.inv(x.outer(x) + torch.eye(2)), lambda x: x[torch.tensor([1])],
    lambda x: torch.fft.fft(x), lambda x: x.masked_scatter(x > 0, x), lambda x: x.sort(),
    lambda x: torch.nn.functional.dropout(x), lambda x: torch.multinomial(x, 1),
    lambda x: x.masked_fill_(x > 0, 1), lambda x: x.histc(3), torch.clone,
    lambda x: x * x.sum().item(), lambda x: float(x[0]), lambda x: int(x[0]), lambda x: x.numpy(),
    lambda x: f"{x[0]:.2f}", lambda x: f"{x}{x.sum()}", lambda x: x.long().tolist(),
    lambda x: 2.0 in x,
    lambda x: x.nonzero(), lambda x: x.unique(), lambda x: x.masked_select(x > 0),
    lambda x: x[x > 0], lambda x: x.long().bincount(), lambda x: torch.zeros(int(x[0])),
])
def test_fullgraph_takes(taken):
    """What PyTorch records in one graph, whatever part of it runs early here."""
    torch.compile(lambda x: taken(x * 2), fullgraph=True)(torch.ones(2))


def test_logs_of_breaks_name_functions_that_are_disabled(capsys):
    shown = torch.compiler.disable(lambda x: x.item())

    @torch.compile
    def outer(x):
        y = x + 1
        torch._dynamo.graph_break("because")
        return shown(y * 2)

    with settings.LOGS.override(("+graph_breaks",)):
        assert outer(torch.tensor(1.0)) == 4.0
    first, second = capsys.readouterr().err.splitlines()
    assert "graph_break('because') was called: ran 1 recorded calls (" in first
    assert "<lambda> runs outside of compiled programs: ran 1 recorded calls (" in second


def changes():
    base = torch.arange(12.0)
    return {
        "x was": ((torch.ones(2),), (torch.ones(2, dtype=torch.float64),),
                  "operand 0 of mul is float64, and was float32"),
        "shape": ((torch.ones(2),), (torch.ones(3),),
                  "operand 0 of mul is of shape (3,), and had (2,)"),
        "strides": ((base.view(3, 4),), (base.view(4, 3).t(),),
                    "operand 0 of mul is of strides (1, 3), and had (4, 1)"),
    }


@pytest.mark.parametrize("name", changes())
def test_logs_say_why_a_program_is_new(name, capsys):
    first, second, why = changes()[name]

    @torch.compile
    def scaled(x):
        return x * 2

    with settings.LOGS.override(("recompiles",)):
        for arguments in (first, first, second, second, first):
            scaled(*arguments)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("[recompiles] ")
    assert "scaled (" in line and "test_reports.py:" in line
    assert line.endswith(f"program 2, because {why}")


def test_logs_say_why_other_ways_are_new(capsys):
    kept, how = [], {"way": 0}
    x, y = torch.ones(2), torch.ones(2)

    @torch.compile
    def turning(a, b):
        c = a.sin() if how["way"] != 1 else a.cos()
        if how["way"] == 2:
            kept.append(c)
        if how["way"] == 3:
            c = c + 1
        return c.sum(how["way"] // 4) * b

    turning(x, y)
    expected = {
        1: "it calls cos where it called sin", 2: "other results are held when it ends",
        3: "it calls add where it called sum", 0: None,
    }
    for way, why in expected.items():
        how["way"] = way
        with settings.LOGS.override(("recompiles",)):
            turning(x, y)
        said = capsys.readouterr().err
        assert why is None and not said or why in said


def test_logs_of_fusion_and_code(capsys):
    with settings.LOGS.override(("fusion", "output_code")):
        torch.compile(lambda x: (x * 2 + 1).exp())(torch.ones(8192))
    said = capsys.readouterr().err
    assert "[fusion] " in said and "3 calls in 1 launch, " in said
    assert "[output_code] " in said and "flat stage" in said and "exp(" in said


def test_launches_that_belong_to_one_call_count_their_bytes_once(capsys):
    a, b = torch.randn(64, 784), torch.randn(256, 784)
    with settings.LOGS.override(("fusion",)):
        torch.compile(lambda: a @ b.t())()
    head, names, *rows = capsys.readouterr().err.splitlines()
    assert names.split() == ["points", "read", "written", "joined", "launch"]
    moved = [row.split()[2:4] for row in rows]
    assert all(row[:1] == ["-"] or float(row[0]) > 0 for row in moved)
    assert "1 call in " in head


def test_set_logs_is_what_the_environment_says(capsys):
    torch._logging.set_logs(graph_breaks=True, recompiles=False)
    try:
        assert settings.LOGS.get() == ("graph_breaks",)
        torch.compile(lambda x: x.exp().item())(torch.ones(1))
        assert "item needs the value" in capsys.readouterr().err
    finally:
        torch._logging.set_logs()


def test_a_storm_is_reported_once_with_its_cause(caplog, monkeypatch):
    monkeypatch.setattr(reports, "STORM", 6)

    @torch.compile
    def grown(x):
        return x * 2

    with caplog.at_level(logging.WARNING, logger="yesca.graph"):
        for size in range(1, 20):
            grown(torch.ones(size))
    (said,) = caplog.messages
    assert "grown (" in said and "needed a new program in 6 of its 6 calls" in said
    assert "operand 0 of mul is of shape (6,), and had (5,)" in said
    caplog.clear()
    torch.compiler.reset()
    for _ in range(20):
        grown(torch.ones(2))
    assert not caplog.messages


def test_programs_are_bounded(monkeypatch):
    monkeypatch.setattr(trie, "MOST_PROGRAMS", 5)
    made = []
    monkeypatch.setattr(trie.Trie, "__init__", lambda self, about, known=trie.Trie.__init__:
                        (made.append(self), known(self, about))[1])

    @torch.compile
    def grown(x):
        for _ in range(11):
            x = torch.cat([x, x[:1] + x.sum().item()])
        return x

    assert grown(torch.zeros(1)).tolist() == [0.0] * 12
    for size in range(1, 20):
        grown(torch.zeros(size))
    assert len(made) > 5
    assert max(one.programs for one in made) <= 5


def test_a_loop_with_a_break_is_recorded_once():
    @torch.compile
    def summed(x):
        total = 0.0
        for _ in range(50):
            x = x * 2 + 1
            total += x.sum().item()
            x = x / 4
        return total

    x = torch.ones(3)
    expected = summed._torchdynamo_orig_callable(x)
    found = torch.compiler.explain(summed)(x)
    assert found.graph_count == 51  # what follows the last break too
    assert len({id(graph.program) for graph in found.graphs}) == 3
    assert [summed(x) for _ in range(2)] == [expected] * 2
