"""Forks while other threads import, compile and compute."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

BUSY = """
import os, threading
import yesca as torch

stop = False

def work():
    while not stop:
        a = torch.randn(200, 200)
        (a @ a).sum()
        (a + 1).exp()

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
ends = []
for n in range(6):
    child = os.fork()
    if child == 0:
        x = torch.ones(5, n + 2, requires_grad=True)
        (x * 3).sum().backward()
        a = torch.randn(100, 100)
        (a @ a).sum().item()
        os._exit(0 if x.grad.sum().item() == 15 * (n + 2) else 1)
    ends.append(os.waitpid(child, 0)[1])
stop = True
for thread in threads:
    thread.join()
print(ends)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_of_a_process_with_busy_threads(run_python):
    done = run_python("-W", "ignore", "-c", BUSY)
    assert done.stdout == "[0, 0, 0, 0, 0, 0]\n", done.stderr
