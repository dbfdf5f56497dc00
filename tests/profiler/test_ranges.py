"""`record_function`."""

import pytest

import yesca as torch
from yesca.profiler import profile, record_function


def test_a_block():
    with profile() as prof, record_function("outer", "details"):
        torch.ones(2)
        with record_function("inner"):
            torch.zeros(2)
    at = {event.name: event for event in prof.events()}
    assert at["inner"].cpu_parent is at["outer"]
    assert [c.name for c in at["outer"].cpu_children] == ["aten::ones", "inner"]
    assert at["outer"].is_user_annotation and at["outer"].scope == 7
    assert at["aten::ones"].scope == 0


def test_a_decorator():
    @record_function("double")
    def double(x):
        """Twice x."""
        return x * 2

    assert (double.__name__, double.__doc__) == ("double", "Twice x.")
    with profile() as prof:
        assert double(double(torch.ones(1))).item() == 4
    assert [a.count for a in prof.key_averages() if a.key == "double"] == [2]


def test_outside_of_a_profile():
    with record_function("nobody looks") as mark:
        assert torch.ones(1).item() == 1
    assert (mark.name, mark.args) == ("nobody looks", None)


def test_an_error_goes_through():
    with profile() as prof, pytest.raises(KeyError), record_function("fails"):
        raise KeyError("x")
    assert [e.name for e in prof.events()] == ["fails"]


def test_wrong_names():
    with pytest.raises(RuntimeError, match="Expected a value of type 'str' for argument 'name' "
                                           "but instead found type 'int'"):
        record_function(3).__enter__()
    with pytest.raises(RuntimeError, match=r"'Optional\[str\]' for argument 'args'"):
        record_function("a", 3).__enter__()
    with pytest.raises(AssertionError, match="Expected record to be set"):
        record_function("a").__exit__(None, None, None)
