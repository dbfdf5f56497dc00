"""The lines that events came from."""

import sys

import yesca as torch
from yesca.profiler import stacks


def here():
    return stacks.frames(sys._getframe())


def test_frames():
    first, second = stacks.texts(here())[:2]
    line = here.__code__.co_firstlineno + 1
    assert first.endswith(f"test_stacks.py({line}): here")
    assert second.endswith("): test_frames")


def test_a_profile_leaves_the_package_out():
    layer = torch.nn.Linear(2, 2)
    with torch.profiler.profile(with_stack=True) as prof:
        layer(torch.ones(1, 2)).sum().backward()
    at = {event.name: event for event in prof.events()}
    inner = at["aten::linear"].stack
    assert "nn/modules/linear.py(" in inner[0] and inner[0].endswith(": forward")
    assert any(place.endswith(": test_a_profile_leaves_the_package_out") for place in inner)
    assert not any("dispatch/" in place or "profiler/coll" in place for place in inner)
    # A derivative is shown with the lines of what it is the derivative of.
    assert at["AddmmBackward0"].stack == inner
    total = next(event for event in prof.events() if event.name == "aten::sum")
    assert total.stack[0].endswith(": test_a_profile_leaves_the_package_out")


def test_calls_from_different_lines():
    def twice(x):
        x.exp()
        x.exp()

    with torch.profiler.profile(with_stack=True) as prof:
        for _ in range(3):
            twice(torch.ones(1))
    found = [a for a in prof.key_averages(group_by_stack_n=1) if a.key == "aten::exp"]
    assert [a.count for a in found] == [3, 3]
    assert all(len(a.stack) == 1 and a.stack[0].endswith(": twice") for a in found)
    assert [a.count for a in prof.key_averages() if a.key == "aten::exp"] == [6]


def test_without_stacks():
    with torch.profiler.profile() as prof:
        torch.ones(1).exp()
    assert all(event.stack == [] for event in prof.events())
