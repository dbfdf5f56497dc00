"""Training steps as they are written for eager mode, around a compiled model."""

from compiling import compiled
from step_programs import STEPS
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
result = {}
for name in ("MNIST", "GPT"):
    step = STEPS[name](wrap=compiled)
    result[name] = seconds_per_call("step()", {"step": step}, batch_seconds=0.1)
report(result)
