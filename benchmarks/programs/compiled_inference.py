"""Compiled functions and modules without gradients."""

import torch
from compiling import compiled
from inference_programs import INFERENCE
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
torch.manual_seed(0)
result = {}
with torch.no_grad():
    for name, set_up in INFERENCE.items():
        function, arguments = set_up()
        names = {"function": compiled(function), "arguments": arguments}
        result[name] = seconds_per_call("function(*arguments)", names, batch_seconds=0.02)
report(result)
