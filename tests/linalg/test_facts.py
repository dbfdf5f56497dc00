"""Strides and saved tensors of torch.linalg are those that PyTorch was recorded with."""

import json
from pathlib import Path

import linalg_samples
import operator_cases
import operator_facts
import pytest

import yesca
from yesca.dispatch.call import OPERATORS

RECORDED = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "operators.json").read_text())


def recorded(name, fact):
    number = RECORDED["operators"][name].get(fact)
    return None if number is None else RECORDED["patterns"][number]


def found(name, fact):
    return fact(yesca, operator_cases.records()[name], getattr(OPERATORS, name))


@pytest.mark.parametrize("name", linalg_samples.CASES)
def test_strides(name):
    got = found(name, operator_facts.strides)
    assert got == recorded(name, "strides")


@pytest.mark.parametrize("name", linalg_samples.CASES)
def test_saved(name):
    """A write between forward and backward is refused only where PyTorch refuses it."""
    got = found(name, operator_facts.saved)
    wanted = recorded(name, "saved") or [""] * len(got)
    for mine, other in zip(got or [""] * len(wanted), wanted, strict=True):
        if mine[:1] in "-!" or other[:1] in ("-", "!"):
            assert not mine or mine == other
        else:
            assert set(mine.split()) <= set(other.split())


@pytest.mark.parametrize("name", linalg_samples.CASES)
def test_bytes(name):
    """The tape keeps at most as much memory as PyTorch's does."""
    got = found(name, operator_facts.kept_bytes)
    for mine, other in zip(got, recorded(name, "bytes"), strict=True):
        assert other == "!" or mine <= other


def test_norms_of_extremes_keep_the_operand_and_the_result():
    x = yesca.tensor([[1.0, -3.0, 3.0], [0.0, 0.0, 0.0]], requires_grad=True)
    made = yesca.linalg.vector_norm(x, float("inf"), 1)
    assert type(made.grad_fn).__name__ == "LinalgVectorNormBackward0"
    made.sum().backward()
    assert x.grad.tolist() == [[0.0, -0.5, 0.5], [0.0, 0.0, 0.0]]
    with pytest.raises(IndexError):
        yesca.linalg.vector_norm(yesca.tensor(1.0), 3, (0, 1))


def test_power_zero_keeps_nothing():
    made = yesca.linalg.matrix_power(yesca.ones(3, 3, requires_grad=True), 0)
    assert type(made.grad_fn).__name__ == "CopyBackwards"
    assert made.tolist() == yesca.eye(3).tolist()


def test_the_condition_of_nothing_is_zero():
    assert yesca.linalg.cond(yesca.zeros(0, 3), 1).item() == 0


@pytest.mark.parametrize("left,adjoint", [(True, False), (True, True), (False, False),
                                          (False, True)])
@pytest.mark.parametrize("dtype", [yesca.float64, yesca.complex128])
def test_lu_solve_is_one_node(left, adjoint, dtype):
    yesca.manual_seed(0)
    packed, pivots = yesca.linalg.lu_factor(yesca.randn(2, 3, 3, dtype=dtype))
    right = yesca.randn(3, 2, dtype=dtype) if left else yesca.randn(2, 3, dtype=dtype)

    def solve(packed, right):
        return yesca.linalg.lu_solve(packed, pivots, right, left=left, adjoint=adjoint)

    given = packed.requires_grad_(), right.requires_grad_()
    if left:
        assert type(solve(*given).grad_fn).__name__ == "LinalgLuSolveBackward0"
    assert yesca.autograd.gradcheck(solve, given)
    assert yesca.autograd.gradgradcheck(solve, given)
