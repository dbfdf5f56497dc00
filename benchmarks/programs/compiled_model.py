"""Training steps as they are written for eager mode, around a compiled model.

    compiled_model.py PROGRAM...
"""

import sys

from compiling import compiled
from step_programs import STEPS
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
result = {}
for name in sys.argv[1:]:
    step = STEPS[name](wrap=compiled)
    result[name] = seconds_per_call("step()", {"step": step}, batch_seconds=0.1)
report(result)
