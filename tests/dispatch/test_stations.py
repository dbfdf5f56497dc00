"""The order of what a call passes, as text."""

import pytest

import yesca as torch
from yesca.dispatch.stations import describe_call, show_calls


def test_a_plain_call():
    x = torch.ones(2)
    assert describe_call("add", x, x) == "add\n  device: cpu"
    assert describe_call("add", torch.ones(2, device="meta"), 1) == "add\n  device: meta"


def test_the_order():
    class Marked(torch.Tensor):
        pass

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        lines = describe_call("mm", x, x).splitlines()
    assert lines == ["mm", "  autocast: lower: torch.bfloat16", "  autograd: MmBackward0",
                     "  device: cpu"]
    with torch.no_grad():
        assert "autograd" not in describe_call("mul", x, x)
    assert "torch function: Marked" in describe_call("mul", x.as_subclass(Marked), x)


def test_levels_come_before_autograd():
    seen = []

    def function(x):
        seen.append(describe_call("mul", x, x))
        return x * x

    torch.func.vmap(function)(torch.ones(2, 3))
    assert seen[0].splitlines()[1].startswith("  level: ")


def test_composites_and_unknown_names():
    assert "composite" in describe_call("pow", torch.ones(2), 2)
    with pytest.raises(ValueError, match="no operator called 'nothing_such'"):
        describe_call("nothing_such", 1)


def test_dispatch_modes_stand_below_the_tape():
    from yesca.utils._python_dispatch import BaseTorchDispatchMode

    x = torch.ones(2, 2, requires_grad=True)
    with BaseTorchDispatchMode(), torch.autocast("cpu"):
        lines = describe_call("mm", x, x).splitlines()
    assert lines[1:] == ["  autocast: lower: torch.bfloat16", "  autograd: MmBackward0",
                         "  dispatch mode: BaseTorchDispatchMode", "  device: cpu"]


def test_calls_are_shown_as_they_run(capsys):
    x = torch.ones(2, requires_grad=True)
    with show_calls():
        x.mul(2).sum().backward()
        with pytest.raises(RuntimeError, match="watches"), show_calls():
            pass
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["mul: autograd (MulBackward0) > device (cpu)",
                         "sum: autograd (SumBackward0) > device (cpu)"]
    assert len(lines) > 2  # and the pass backward
    x.mul(2)
    assert not capsys.readouterr().out
