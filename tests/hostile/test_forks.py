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


def test_lock_of_a_module_held_by_another_thread(run_python):
    """The child has no thread that would give the lock back, so it must not wait for it."""
    done = run_python("-c", """
import importlib, os, signal, threading
import yesca

held, enough = threading.Event(), threading.Event()

def hold():
    lock = importlib._bootstrap._get_module_lock("another_module")
    lock.acquire()
    held.set()
    enough.wait()
    lock.release()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # ends the child if it waits
    importlib._bootstrap._lock_unlock_module("another_module")
    os._exit(0)
print(os.waitpid(child, 0)[1])
enough.set()
thread.join()
""")
    assert done.stdout == "0\n", done.stderr
