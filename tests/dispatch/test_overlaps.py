"""Writes whose operands lie in the memory that is written."""

import pytest

import yesca as torch


def numbers():
    return torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("repeat", range(2))  # the second call takes the plan of the first
def test_operands_beside_the_target(repeat):
    x = numbers()
    x[:, :1].copy_(x[:, -1:])
    assert x.tolist() == [[2.0, 1.0, 2.0], [5.0, 4.0, 5.0]]
    x = numbers()
    x[:, :1].add_(x[:, -1:])
    assert x.tolist() == [[2.0, 1.0, 2.0], [8.0, 4.0, 5.0]]
    x = numbers()
    x.T[:1] = x.T[-1:]
    assert x.tolist() == [[2.0, 1.0, 2.0], [5.0, 4.0, 5.0]]
    x = numbers()
    x[:, 1:].mul_(x[:, :-1])
    assert x.tolist() == [[0.0, 0.0, 2.0], [3.0, 12.0, 20.0]]


def test_conjugates_beside_the_target():
    x = torch.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]])
    x[:, :1].add_(x[:, 1:].conj())
    assert x[:, 0].tolist() == [4 - 2j, 12 - 2j]


def test_elements_that_share_memory():
    x = torch.ones(1, 3).expand(2, 3)
    x.zero_()
    assert x.tolist() == [[0.0] * 3] * 2
    x.fill_(2)
    assert x.tolist() == [[2.0] * 3] * 2
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.add_(1)
