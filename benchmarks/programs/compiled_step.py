"""Whole training steps, forward to optimizer, each as one compiled function."""

from compiling import compiled
from step_programs import STEPS
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
result = {}
for name, set_up in STEPS.items():
    step = compiled(set_up())
    result[name] = seconds_per_call("step()", {"step": step}, batch_seconds=0.1)
report(result)
