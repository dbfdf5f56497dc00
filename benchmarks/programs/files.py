"""A checkpoint of 500 MB: written, read, mapped; and the memory that reading it takes.

Another process has written the file, so that the first load takes its memory from the system, as
in a program that starts from a checkpoint; a small file has been loaded before, as what a program
needs to compute at all is the suite `first_step`.
"""

import os
import sys

PART = sys.argv[1]
FILE = "checkpoint.pt"
TENSORS = 100
SIDE = 1118  # of each square tensor: 100 x 1118 x 1118 float32 are 500 MB


def state(torch):
    return {f"layer.{k}.weight": torch.ones(SIDE, SIDE) for k in range(TENSORS)}


def write_elsewhere():
    child = os.fork()
    if child == 0:
        import torch

        torch.save(state(torch), FILE)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError("the checkpoint could not be written")


def resident():
    """(bytes in memory now, the most so far); `getrusage` would count those of who started us."""
    with open("/proc/self/status") as file:
        told = dict(line.split(":", 1) for line in file)
    return tuple(int(told[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))


if PART != "save":
    write_elsewhere()

import time  # noqa: E402

import torch  # noqa: E402
from timing import report, use_two_threads  # noqa: E402

use_two_threads()


def seconds(action, repeats=1):
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = action()
        best = min(best, time.perf_counter() - start)
        del result
    return best


torch.save([torch.ones(3) + 1], "small.pt")
torch.load("small.pt")

if PART == "save":
    saved = state(torch)
    first = seconds(lambda: torch.save(saved, FILE))
    report({"save": seconds(lambda: torch.save(saved, FILE), 5), "save, first": first})
elif PART == "load":
    first = seconds(lambda: torch.load(FILE))
    report({"load": first, "load, later": seconds(lambda: torch.load(FILE), 5)})
elif PART == "mapped load":
    report({"mapped load": seconds(lambda: torch.load(FILE, mmap=True), 5)})
else:
    before, _ = resident()
    loaded = torch.load(FILE)
    report({"load": resident()[1] - before})
