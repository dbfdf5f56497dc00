"""What a scheduled profile does at which step."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ..base.frames import warn


class ProfilerActivity(Enum):
    """Where work is recorded. Here everything runs on the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What happens during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded.

    >>> supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def always(step: int) -> ProfilerAction:
    """The schedule of a profile that was given none."""
    return ProfilerAction.RECORD


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """A schedule for `profile`: cycles of steps that wait, warm up and are recorded.

    Args:
        wait: steps of a cycle during which nothing happens.
        warmup: steps after them during which recording is about to begin.
        active: steps that are recorded.
        repeat: how many cycles; 0 for as many as there are steps.
        skip_first: steps before the first cycle.
        skip_first_wait: if not 0, the first cycle does not wait.

    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    assert (wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0), (
        f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
        f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
        f"skip_first={skip_first} (need >= 0).")
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")
    cycle = wait + warmup + active

    def schedule_fn(step: int) -> ProfilerAction:
        assert step >= 0, f"Step must be non-negative. Got {step}."
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return schedule_fn
