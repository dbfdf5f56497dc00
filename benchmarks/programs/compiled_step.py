"""Whole training steps, forward to optimizer, each as one compiled function.

    compiled_step.py PROGRAM...
"""

import sys

from compiling import compiled
from step_programs import STEPS
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
result = {}
for name in sys.argv[1:]:
    step = compiled(STEPS[name]())
    result[name] = seconds_per_call("step()", {"step": step}, batch_seconds=0.1)
report(result)
