"""`cond`, `while_loop`, and functions of numbers that are symbols elsewhere."""

import pytest

import yesca as torch


def test_branches():
    x = torch.ones(2, requires_grad=True)
    for pred, slope in ((True, 2.0), (torch.tensor([False]), 3.0), (0, 3.0)):
        made = torch.cond(pred, lambda x: 2 * x, lambda x: 3 * x, (x,))
        assert torch.autograd.grad(made.sum(), x)[0].tolist() == [slope, slope]
    assert torch.cond(True, lambda: 1, lambda: 2) == 1


@pytest.mark.parametrize(("arguments", "text"), [
    (("x", abs, abs, ()), "Expected pred to be bool or tensor, but got x"),
    ((torch.ones(2), abs, abs, ()), "bool or single-element tensor"),
    ((torch.ones(1), abs, 3, ()), "Expect both branches to be callable"),
    ((torch.ones(1), abs, abs, (1,)), "only consists of tensor leaves, but got"),
])
def test_what_is_no_branch(arguments, text):
    with pytest.raises(RuntimeError, match=text):
        torch.cond(*arguments)


def test_loops():
    start = torch.ones(1, requires_grad=True)
    count, x = torch.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (0, start))
    assert count == 3 and torch.autograd.grad(x, start)[0].item() == 8.0
    with pytest.raises(RuntimeError, match="Expect cond_fn and body_fn to be callable"):
        torch.while_loop(1, abs, ())
    with pytest.raises(RuntimeError, match="tensor or int leaves"):
        torch.while_loop(bool, abs, ("x",))
    with pytest.raises(RuntimeError, match="boolean scalar tensor"):
        torch.while_loop(lambda x: x > 0, lambda x: x, (torch.ones(2),))
    with pytest.raises(RuntimeError, match="the same number of elements"):
        torch.while_loop(lambda n: n < 1, lambda n: (n, n), (0,))


def test_numbers():
    assert torch.sym_int(2.7) == 2 and torch.sym_float(3) == 3.0 and torch.sym_not(0) is True
    assert torch.sym_sqrt(9) == 3.0 and torch.sym_sum([1, 2]) == torch.sym_sum(1, 2) == 3
    assert repr(torch.sym_max(3, 1.0)) == "3.0" and repr(torch.sym_min(3, 4)) == "3"
    assert torch.sym_ite(True, 1, 2) == 1
    assert not isinstance(3, (torch.SymInt, torch.SymFloat, torch.SymBool))
    with pytest.raises(AssertionError, match="type mismatch"):
        torch.sym_ite(True, 1, 2.0)
    with pytest.raises(AssertionError, match="expected"):
        torch.sym_max("a", 1)
    with pytest.raises(TypeError, match="there is no SymInt"):
        torch.SymInt(1)
