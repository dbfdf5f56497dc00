"""unsafe_split and its kin: pieces share memory, but are no views for the tape."""

import pytest

import yesca as torch

CASES = {
    "UnsafeSplitBackward0": [lambda x: torch.unsafe_split(x, 2), lambda x: x.unsafe_split(2, -1),
                             lambda x: torch.unsafe_chunk(x, 2)],
    "UnsafeSplitWithSizesBackward0": [lambda x: x.unsafe_split_with_sizes([2, 2])],
}
EVERY = [(name, function) for name, functions in CASES.items() for function in functions]


@pytest.mark.parametrize("name,function", EVERY)
def test_pieces_may_be_written(name, function):
    leaf = torch.arange(4.0).requires_grad_()
    x = leaf * 1
    first, second = function(x)
    assert first.grad_fn.name() == second.grad_fn.name() == name
    assert not first._is_view() and first._base is None
    assert first.data_ptr() == x.data_ptr()
    first.mul_(3)
    assert x.tolist() == [0.0, 3.0, 2.0, 3.0]
    assert (x._version, first._version, second._version) == (0, 1, 0)
    (first.sum() + 2 * second.sum()).backward()
    assert leaf.grad.tolist() == [3.0, 3.0, 2.0, 2.0]


@pytest.mark.parametrize("name,function", EVERY)
def test_derivatives(name, function):
    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    if function is not CASES["UnsafeSplitBackward0"][1]:
        assert torch.autograd.gradcheck(function, (x,))
        assert torch.autograd.gradgradcheck(function, (x,))
    batch = torch.randn(3, 4)
    assert torch.equal(torch.func.vmap(function)(batch)[1], batch[:, 2:])


def test_off_the_tape_pieces_count_by_themselves():
    x = torch.zeros(4)
    first, second = torch.unsafe_split(x, 2)
    second.fill_(1)
    assert (x._version, first._version, second._version) == (0, 0, 1)
    assert x.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert [len(p) for p in torch.unsafe_chunk(torch.zeros(0), 2)] == [0, 0]


def test_a_single_piece_is_still_a_list_of_pieces():
    x = torch.ones(3, requires_grad=True)
    piece, = torch.unsafe_split(x, 3)
    piece.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
