"""A whole training step of the GPT under bfloat16 autocast, compiled and call by call."""

import torch
from compiling import compiled
from step_programs import gpt
from timing import report, seconds_per_call, use_two_threads

use_two_threads()
step = compiled(gpt(lower=torch.bfloat16))
report({"GPT": seconds_per_call("step()", {"step": step}, batch_seconds=0.1)})
