"""The first call of one compiled program, and what it takes beyond a later call.

PyTorch compiles here too, from an empty cache; where it lacks a C++ compiler it says so.
"""

import sys
import time

import torch
from inference_programs import INFERENCE
from step_programs import STEPS
from timing import report, use_two_threads


def prepared(name):
    """The program's function and arguments, its data and its model made already."""
    return (STEPS[name](), ()) if name in STEPS else INFERENCE[name]()


def seconds_of(function, arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


use_two_threads()
name = sys.argv[1]
function, arguments = prepared(name)
with torch.set_grad_enabled(name in STEPS):
    start = time.perf_counter()
    compiled = torch.compile(function)
    compiled(*arguments)
    first = time.perf_counter() - start
    later = min(seconds_of(compiled, arguments) for _ in range(6))
report({name: first, f"{name}, beyond a later call": max(first - later, 0.0)})
