"""Training without the garbage collector: what a step allocates is free when it ends."""

import gc
import json
from pathlib import Path

import pytest

import yesca as torch
from yesca.runtime import memory

pytestmark = pytest.mark.every_cpu

#: What PyTorch allocates at most in one step, above what lived before (record_memory.py).
RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "memory.json").read_text())


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def classifier():
    """The two halves of a training step of examples/mnist.py, and what goes before."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Dropout(0.2),
        torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Dropout(0.2),
        torch.nn.Linear(128, 10))  # fmt: skip
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = torch.rand(64, 784), torch.randint(0, 10, (64,))

    def backward():
        criterion(model(images), labels).backward()

    return backward, optimizer.step, optimizer.zero_grad


def peak_of(*work):
    """The most bytes that were alive at once, above what had been allocated before."""
    before = torch.memory_stats()["allocated_bytes"]
    torch.reset_peak_memory_stats()
    for one in work:
        one()
    return torch.memory_stats()["peak_allocated_bytes"] - before


def test_a_step_needs_no_more_than_in_pytorch(no_collector):
    backward, update, clear = classifier()
    for _ in range(3):
        backward()
        update()
        clear()
    assert 0 < peak_of(backward) <= 1.05 * RECORDED["backward_peak_bytes"]
    clear()
    assert 0 < peak_of(backward, update) <= 1.05 * RECORDED["step_peak_bytes"]


def test_allocated_bytes_stay_flat_over_300_steps(no_collector):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Dropout(0.2),
        torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Dropout(0.2),
        torch.nn.Linear(128, 10))  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = torch.nn.CrossEntropyLoss()
    images, labels = torch.rand(64, 784), torch.randint(0, 10, (64,))

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(3):  # states and gradients come into being
        step()
    before = memory.memory_stats()
    losses = [step() for _ in range(300)]
    after = memory.memory_stats()
    assert losses[-1] < losses[0]
    assert after["allocated_bytes"] == before["allocated_bytes"]
    assert after["live_blocks"] == before["live_blocks"]
    assert after["reserved_bytes"] == before["reserved_bytes"]


def test_a_graph_that_never_ran_backward_is_freed(no_collector):
    x = torch.ones(1000, requires_grad=True)
    before = memory.memory_stats()["allocated_bytes"]
    for _ in range(10):
        y = ((x * 2).exp() + x).sum()
        del y
    assert memory.memory_stats()["allocated_bytes"] == before
