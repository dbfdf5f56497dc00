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


IN_A_THREAD = """
import os, threading
import yesca as torch

torch.set_num_threads(3)
x = torch.randn(400, 400)
wanted = (x @ x).sum().item()
ends = []

def fork():
    child = os.fork()
    if child == 0:  # this thread is the child's only one
        same = (x @ x).sum().item() == wanted
        inner = threading.Thread(target=lambda: (x @ x).exp())
        inner.start()
        inner.join()
        grand = os.fork()
        if grand == 0:
            os._exit(0 if (x @ x).sum().item() == wanted else 1)
        os._exit(0 if same and os.waitpid(grand, 0)[1] == 0 else 1)
    ends.append(os.waitpid(child, 0)[1])

stop = False

def busy():
    while not stop:
        x @ x

worker = threading.Thread(target=busy)
worker.start()
for _ in range(4):
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
stop = True
worker.join()
print(ends, (x @ x).sum().item() == wanted)
"""


def test_a_fork_in_a_thread_while_another_uses_the_pool(run_python):
    done = run_python("-W", "ignore", "-c", IN_A_THREAD)
    assert done.stdout == "[0, 0, 0, 0] True\n", done.stderr


DAEMONS = """
import threading, time
import yesca as torch

torch.set_num_threads(3)
started = threading.Barrier(4)

def forever():
    started.wait()
    n = 0
    while True:
        n += 1
        x = torch.randn(300, 300, requires_grad=True)
        ((x @ x).relu().sum() * n).backward()
        torch.compile(lambda v: v * n + 1)(x.detach())

for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
started.wait()
time.sleep(0.3)
print("done")
"""


def test_daemon_threads_at_exit(run_python):
    for _ in range(3):
        done = run_python("-c", DAEMONS)
        assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


COLD = """
import threading
import yesca as torch
from yesca.runtime import machine

start, results = threading.Barrier(6), []

def work():
    start.wait()
    x = torch.full((7,), 0.5, requires_grad=True)
    y = (x.tanh() * x.sinh()).logsumexp(0) + torch.linspace(0, 1, 5).cumsum(0)[-1]
    y.backward()
    results.append((y.item(), x.grad.sum().item()))

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(results), len(set(results)), machine.counters.compiles)
"""


def test_threads_that_compile_the_same_kernels_at_once(run_python, tmp_path):
    first = run_python("-c", COLD, YESCA_CACHE_DIR=str(tmp_path / "a"))
    six, same, compiles = first.stdout.split()
    assert (six, same) == ("6", "1"), first.stderr
    one = COLD.replace("Barrier(6)", "Barrier(1)").replace("range(6)", "range(1)")
    alone = run_python("-c", one, YESCA_CACHE_DIR=str(tmp_path / "b"))
    assert alone.stdout.split() == ["1", "1", compiles], alone.stderr
