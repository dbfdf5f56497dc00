"""How the programs of this folder take time; they run under PyTorch and yesca alike."""

import json
import os
import timeit

import torch


def use_two_threads():
    """As many threads as the harness says, two where a program is run by hand."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


def seconds_per_call(statement, names, batch_seconds=0.004, batches=12):
    """The best of several batches; each batch repeats the statement until it takes a while.

    What disturbs a process only ever adds time, so the best batch is what the code costs. The
    statement stands inside the loop: a call of a function around it would cost as much as a small
    operator. The garbage collector stays on, as it is in a program.
    """
    timer = timeit.Timer(statement, setup="import gc; gc.enable()", globals=names)
    repeats = 1
    while timer.timeit(repeats) < batch_seconds and repeats < 10**7:
        repeats *= 2
    return min(timer.repeat(batches, repeats)) / repeats


def report(seconds):
    """The result of a program: seconds by the name of the case, as the last line of JSON."""
    print(json.dumps(seconds), flush=True)
