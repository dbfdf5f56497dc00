"""Operators that have nothing to do: writes of what is there, differences of order 0."""

import pytest

import yesca as torch


def test_copies_of_an_expanded_tensor_to_itself():
    x = torch.ones(1).expand(3)
    assert x.copy_(x) is x and x._version == 1
    assert x.copy_(x.view(3)) is x and x._version == 2
    for other in (torch.ones(3), torch.ones(1).expand(3)):  # of the same layout even
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            x.copy_(other)
    assert x.copy_(x) is x and x.tolist() == [1.0, 1.0, 1.0]


def test_conjugates_of_real_numbers_in_place():
    x = torch.ones(2)
    assert x.conj_physical_() is x and x._version == 1
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        torch.ones(2, requires_grad=True).conj_physical_()
    y = torch.ones(2, requires_grad=True) * 3
    assert y.conj_physical_().grad_fn.name() == "ConjPhysicalBackward1"
    assert torch.ones(2, dtype=torch.int64).conj_physical_().tolist() == [1, 1]
    assert x.conj_physical() is x
    assert torch.ones(1).expand(2).conj_physical_().tolist() == [1.0, 1.0]


def test_no_differences():
    x = torch.tensor([1.0, 3.0, 6.0], requires_grad=True)
    assert torch.diff(x, n=0, dim=3).tolist() == [1.0, 3.0, 6.0]
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.diff(x, n=0, dim=3, prepend=torch.zeros(1))
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.diff(x, dim=3)
