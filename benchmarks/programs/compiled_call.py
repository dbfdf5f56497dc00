"""One call of a compiled function of eight operators, on tensors whose kernels take no time."""

import os

os.environ["YESCA_RECORD"] = "1"  # as often as it is called: nothing would be gained by it

import torch  # noqa: E402
from compiling import compiled  # noqa: E402
from timing import report, seconds_per_call, use_two_threads  # noqa: E402

use_two_threads()
torch.manual_seed(0)


def function(x, y):
    return ((x * y + x).tanh() + (y - x).sigmoid() * x).relu()


names = {"function": compiled(function), "x": torch.randn(4), "y": torch.randn(4)}
report({"eight operators": seconds_per_call("function(x, y)", names)})
