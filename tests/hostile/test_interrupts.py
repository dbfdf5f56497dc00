"""Ctrl-C in the middle of imports, planning, compiling, kernels: the process stays usable."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

# A child for each place breaks its first work off there, does it again and prints what came of it.
PLACES = """
import os, pathlib, sys, tempfile
import yesca as torch

CALLS = [int(word) for word in sys.argv[1:]]
filled = tempfile.mkdtemp()

def work():
    x = torch.full((5, 3), 0.5, requires_grad=True)
    y = (x * 2).exp().sum() + x.softmax(1)[0, 0] * 0 + (x @ x.t()).sum()
    y.backward()
    optimizer = torch.optim.SGD([x], lr=1.0)
    optimizer.step()
    return round(y.item(), 3), round(x.sum().item(), 2), torch.arange(10.0).sort()[0].tolist()

class Interrupt:
    def __init__(self, after):
        self.left = after

    def __call__(self, frame, event, argument):
        if event == "call":
            self.left -= 1
            if self.left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

def child(after):
    folder = os.environ["YESCA_CACHE_DIR"] = filled if after < 40000 else tempfile.mkdtemp()
    try:
        sys.setprofile(Interrupt(after))
        try:
            work()
        finally:
            sys.setprofile(None)
        came = "finished"
    except KeyboardInterrupt:
        came = "interrupted"
    left = len(list(pathlib.Path(folder).rglob("*.tmp")))
    print(came, left, *work(), flush=True)

for after in CALLS:
    pid = os.fork()
    if pid == 0:
        child(after)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        print("ended badly", after, flush=True)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_first_work_broken_off_anywhere(run_python):
    """Imports, records, plans, the compiler, the cache of machine code."""
    places = [39999, 40, 400, 1500, 3000, 5664, 8000, 11000, 14000, 18000, 90000]
    done = run_python("-W", "ignore", "-c", PLACES, *places)
    lines = done.stdout.splitlines()
    assert len(lines) == len(places), done.stderr
    results = {line.partition(" ")[2] for line in lines}
    assert results == {"0 59.524 -149.05 " + str([float(k) for k in range(10)])}, lines
    assert sum(line.startswith("interrupted") for line in lines) >= len(places) - 2, lines

# SIGINT comes while machine code runs; Python raises as soon as it has the thread again.
KERNELS = """
import os, signal, threading, time
import yesca as torch

torch.set_num_threads(3)
x = torch.randn(700, 700)
wanted = (x @ x).sum().item()
torch.randn(1000).sort()
caught = 0
for delay in (0.02, 0.1, 0.3):
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            torch.randn(400, 700) @ x
            torch.randn(300_000).sort()
    except KeyboardInterrupt:
        caught += 1
    timer.join()
    again = (x @ x).sum().item() == wanted
print(caught, again, torch.ones(100_000).exp().sum().item() > 271_000)
"""


def test_long_kernels(run_python):
    done = run_python("-c", KERNELS)
    assert done.stdout == "3 True True\n", done.stderr


# Each call compiles kernels that no one has used before.
COMPILING = """
import os, signal, threading, time
import yesca as torch
from yesca.runtime import cache

def compiled(n):
    total = " + ".join(f"(x * {k}.5).sin()" for k in range(n))
    function = torch.compile(eval("lambda x: " + total))
    return function(torch.ones(64)).sum().item()

x = torch.ones(64)
caught = 0
for delay in (0.05, 0.2):
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    n = 2
    try:
        while True:
            for name in ("tan", "sinh", "erfc", "lgamma", "digamma", "asinh", "logit", "expm1"):
                getattr(torch, name)(torch.full((n,), 0.25, dtype=torch.float64)).sum().item()
            compiled(n)
            n += 1
    except KeyboardInterrupt:
        caught += 1
    timer.join()
print(caught, [round(getattr(torch, f)(torch.tensor([0.25])).item(), 4)
               for f in ("tan", "sinh", "erfc", "lgamma", "digamma")], cache.info().damaged)
"""


def test_compilations(run_python, tmp_path):
    done = run_python("-c", COMPILING, YESCA_CACHE_DIR=str(tmp_path / "cold"))
    assert done.stdout == "2 [0.2553, 0.2526, 0.7237, 1.288, -4.2275] 0\n", done.stderr
    left = [f.name for f in (tmp_path / "cold").iterdir() if f.suffix != ".yesca"]
    assert not left, left
