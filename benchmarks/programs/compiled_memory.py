"""The most bytes that a training step has allocated at once, above what was there before it."""

import torch
from compiling import compiled
from step_programs import gpt
from timing import report, use_two_threads

WARM_UP = 3  # the optimizer's state is there before


def peak_of(step):
    """Of yesca, from its allocator; of PyTorch, from the allocations that its profiler saw."""
    if hasattr(torch, "reset_peak_memory_stats"):
        before = torch.memory_stats()["allocated_bytes"]
        torch.reset_peak_memory_stats()
        step()
        return torch.memory_stats()["peak_allocated_bytes"] - before
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        step()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


use_two_threads()
plain = gpt()
step = compiled(plain)
for _ in range(WARM_UP):
    step()
plain.clear()  # a block that PyTorch's profiler sees freed must have been allocated under it
report({"GPT": peak_of(step)})
