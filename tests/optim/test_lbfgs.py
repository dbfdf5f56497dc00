"""L-BFGS on Rosenbrock's valley."""

import pytest

import yesca as torch
from yesca.optim import LBFGS


def valley(point):
    x, y = point[0], point[1]
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def minimise(steps, dtype=torch.float64, **options):
    point = torch.tensor([-1.2, 1.0], dtype=dtype, requires_grad=True)
    optimizer, losses = LBFGS([point], **options), []

    def closure():
        optimizer.zero_grad()
        loss = valley(point)
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
    return point, losses, optimizer.state[point]


def test_with_line_search_it_finds_the_minimum():
    point, losses, state = minimise(3, line_search_fn="strong_wolfe")
    assert point.tolist() == pytest.approx([1.0, 1.0], abs=1e-4)
    assert losses[0] == pytest.approx(24.2)
    assert losses[2] < losses[1] < losses[0]
    assert state["n_iter"] <= 60


def test_without_line_search_it_makes_full_steps():
    _, losses, state = minimise(2, lr=0.1, max_iter=5, history_size=2)
    assert losses[1] < losses[0]
    assert state["n_iter"] == 10
    assert state["func_evals"] == 10  # the last iteration of a step evaluates nothing
    assert len(state["old_dirs"]) <= 2


def test_max_eval_bounds_the_calls():
    _, _, state = minimise(1, max_iter=50, max_eval=7, line_search_fn="strong_wolfe")
    assert state["func_evals"] <= 8


def test_at_the_minimum_nothing_moves():
    point = torch.tensor([1.0, 1.0], requires_grad=True)
    optimizer = LBFGS([point])

    def closure():
        optimizer.zero_grad()
        loss = valley(point)
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0.0
    assert point.tolist() == [1.0, 1.0]


def test_several_tensors_are_one_vector():
    parts = [torch.tensor([-1.2], requires_grad=True), torch.tensor(1.0, requires_grad=True)]
    idle = torch.zeros(2, requires_grad=True)
    optimizer = LBFGS([*parts, idle], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = valley(torch.cat([part.reshape(1) for part in parts]))
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    assert [part.item() for part in parts] == pytest.approx([1.0, 1.0], abs=1e-2)
    assert idle.tolist() == [0.0, 0.0]


def test_errors():
    point = torch.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        LBFGS([{"params": point}, {"params": torch.zeros(1, requires_grad=True)}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        minimise(1, line_search_fn="armijo")
