"""Joining, taking apart and rearranging."""

import pytest

import yesca as torch


def test_cat():
    a, b = torch.ones(2, 1, dtype=torch.int64), torch.zeros(2, 2)
    made = torch.cat([a, torch.empty(0), b], 1)
    assert made.tolist() == [[1, 0, 0]] * 2
    assert made.dtype is torch.float32
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        torch.cat([a, b])
    with pytest.raises(RuntimeError, match="zero-dimensional tensor"):
        torch.cat([torch.tensor(1.0)])


def test_stacks():
    a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
    assert torch.stack([a, b], -1).tolist() == [[1, 3], [2, 4]]
    assert torch.vstack([a, b]).tolist() == [[1, 2], [3, 4]]
    assert torch.hstack([a, b]).tolist() == [1, 2, 3, 4]
    assert torch.dstack([a, b]).tolist() == [[[1, 3], [2, 4]]]
    assert torch.block_diag(a, torch.tensor([[5]])).tolist() == [[1, 2, 0], [0, 0, 5]]
    with pytest.raises(RuntimeError, match="equal size"):
        torch.stack([a, torch.zeros(3)])


def test_parts_are_views():
    x = torch.arange(10)
    first, second, third = x.split(4)
    assert [len(p) for p in (first, second, third)] == [4, 4, 2]
    second.fill_(0)
    assert x.tolist() == [0, 1, 2, 3, 0, 0, 0, 0, 8, 9]
    assert [p.tolist() for p in torch.chunk(x, 3)] == [[0, 1, 2, 3], [0, 0, 0, 0], [8, 9]]
    assert [len(p) for p in x.tensor_split(3)] == [4, 3, 3]
    assert [len(p) for p in torch.split(x, [7, 3])] == [7, 3]
    assert len(x.reshape(1, 10).unbind(0)) == 1
    with pytest.raises(RuntimeError, match="split_sizes to sum exactly to 10"):
        x.split([4, 4])


def test_what_has_the_common_shape_is_not_touched():
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    same, wide = torch.broadcast_tensors(x, y)
    assert same is x and wide.shape == (2, 3) and wide.grad_fn is not None


def test_backward_of_parts_is_one_node():
    x = torch.ones(4, requires_grad=True)
    a, b = x.split(2)
    assert type(a.grad_fn).__name__ == "SplitBackward0"
    b.sum().backward()
    assert x.grad.tolist() == [0, 0, 1, 1]


def test_turns():
    x = torch.arange(6).reshape(2, 3)
    assert x.flip(0, 1).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert torch.rot90(x).tolist() == [[2, 5], [1, 4], [0, 3]]
    assert x.roll(1).tolist() == [[5, 0, 1], [2, 3, 4]]
    assert x.roll(-1, 1).tolist() == [[1, 2, 0], [4, 5, 3]]
    assert x.t().flip(0).tolist() == [[2, 5], [1, 4], [0, 3]]


def test_repetitions():
    x = torch.tensor([[1, 2]])
    assert x.repeat(2, 2).tolist() == [[1, 2, 1, 2]] * 2
    assert torch.tile(x, (2,)).tolist() == [[1, 2, 1, 2]]
    assert x.repeat_interleave(2).tolist() == [1, 1, 2, 2]
    assert x.repeat_interleave(torch.tensor([0, 3]), 1).tolist() == [[2, 2, 2]]


def test_triangles_and_diagonals():
    x = torch.arange(1, 10).reshape(3, 3)
    assert x.tril(-1).tolist() == [[0, 0, 0], [4, 0, 0], [7, 8, 0]]
    assert x.t().triu().tolist() == [[1, 4, 7], [0, 5, 8], [0, 0, 9]]
    assert x.clone().t().tril_().tolist() == [[1, 0, 0], [2, 5, 0], [3, 6, 9]]
    assert torch.diag(torch.tensor([1, 2]), 1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert torch.trace(x).item() == 15
    assert torch.tril_indices(2, 3).tolist() == [[0, 1, 1], [0, 0, 1]]


def test_grids():
    a, b = torch.tensor([1, 2, 3]), torch.tensor([4, 5])
    one, two = torch.meshgrid(a, b, indexing="xy")
    assert one.tolist() == [[1, 2, 3]] * 2
    assert two.tolist() == [[4] * 3, [5] * 3]
    assert torch.cartesian_prod(b, b).tolist() == [[4, 4], [4, 5], [5, 4], [5, 5]]
    assert torch.combinations(a).tolist() == [[1, 2], [1, 3], [2, 3]]
    assert torch.atleast_2d(torch.tensor(1)).shape == (1, 1)
