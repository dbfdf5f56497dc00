"""Operators under former names, folds of segments: values, gradients, refusals."""

import math

import pytest

import yesca as torch

NAN, INF = math.nan, math.inf


def test_frobenius_norm():
    x = torch.tensor([[3.0, 4.0], [0.0, 2.0]], requires_grad=True)
    made = torch.frobenius_norm(x, 1, True)
    assert made.tolist() == [[5.0], [2.0]]
    made.sum().backward()
    assert torch.allclose(x.grad, torch.tensor([[0.6, 0.8], [0.0, 1.0]]))
    out = torch.empty(())
    assert torch.frobenius_norm(x.detach(), (), out=out) is out
    assert out.item() == pytest.approx(math.sqrt(29))
    with pytest.raises(RuntimeError, match="Expected at most 2 dimensions, but got 3 dimensions"):
        torch.frobenius_norm(torch.ones(1, 1, 1), (0, 1, 2))
    with pytest.raises(RuntimeError, match="either floating point or complex. Got Long instead"):
        torch.frobenius_norm(torch.ones(2).long(), 0)


def test_nuclear_norm():
    x = torch.tensor([[[3.0, 0.0], [0.0, -4.0]]])
    assert torch.nuclear_norm(x).tolist() == [7.0]
    assert torch.nuclear_norm(x[0], True).tolist() == [[7.0]]
    assert torch.nuclear_norm(x, (1, 2), keepdim=True).shape == (1, 1, 1)
    out = torch.empty(1)
    assert torch.nuclear_norm(x, out=out) is out and out.item() == 7.0
    with pytest.raises(RuntimeError, match="dims must be different"):
        torch.nuclear_norm(x, 0)


@pytest.mark.parametrize("dim", [0, 1, 2, -2, -3])
@pytest.mark.parametrize("power", [1, 2])
def test_norm_except_a_dimension(dim, power):
    x = torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4).cos()
    others = [d for d in range(3) if d != dim % 3]
    expected = (x.abs() ** power).sum(others, keepdim=True) ** (1 / power)
    assert torch.allclose(torch.norm_except_dim(x, power, dim), expected)


def test_norm_of_all():
    assert torch.norm_except_dim(torch.tensor([3.0, 4.0]), 2, -1).item() == 5.0
    assert torch.norm_except_dim(torch.tensor([3.0, -4.0])).tolist() == [3.0, 4.0]
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.norm_except_dim(torch.ones(2, 2), 2, 5)


def test_native_group_norm():
    x = torch.arange(16.0).reshape(2, 4, 2).requires_grad_()
    made, mean, deviation = torch.native_group_norm(x, torch.ones(4), None, 2, 4, 2, 2, 1e-5)
    assert torch.equal(made, torch.nn.functional.group_norm(x, 2, torch.ones(4)))
    assert mean.tolist() == [[1.5, 5.5], [9.5, 13.5]] and deviation.shape == (2, 2)


def test_copies():
    x = torch.ones(2, requires_grad=True)
    made = torch.detach_copy(x)
    assert not made.requires_grad and made.data_ptr() != x.data_ptr()
    out = torch.empty(2)
    assert torch.detach_copy(x.detach(), out=out) is out and out.tolist() == [1.0, 1.0]
    pairs = torch.ones(3, 2)
    assert torch.view_as_complex_copy(pairs).tolist() == [1 + 1j] * 3
    numbers = torch.view_as_complex(pairs)
    assert torch.view_as_real_copy(numbers).data_ptr() != pairs.data_ptr()


def test_rows_are_shortened():
    x = torch.full((3, 1), 4.0)
    assert torch.embedding_renorm_(x, torch.tensor([[1], [1]]), 2.0, 2.0) is x
    assert torch.allclose(x, torch.tensor([[4.0], [2.0], [4.0]]))
    with pytest.raises(RuntimeError, match="scalar types: Long, Int; but got torch.FloatTensor"):
        torch.embedding_renorm_(x, torch.ones(1), 2.0, 2.0)


@pytest.mark.parametrize(("reduce", "expected", "slopes"), [
    ("sum", [3.0, 0.0, 9.0], [1.0, 1.0, 3.0, 3.0]),
    ("mean", [1.5, NAN, 4.5], [0.5, 0.5, 1.5, 1.5]),
    ("prod", [2.0, 1.0, 20.0], [2.0, 1.0, 15.0, 12.0]),
    ("max", [2.0, -INF, 5.0], [0.0, 1.0, 0.0, 3.0]),
    ("min", [1.0, INF, 4.0], [1.0, 0.0, 3.0, 0.0]),
])
def test_segments(reduce, expected, slopes):
    x = torch.tensor([1.0, 2.0, 4.0, 5.0], requires_grad=True)
    made = torch.segment_reduce(x, reduce, lengths=torch.tensor([2, 0, 2]))
    assert torch.equal(made.nan_to_num(), torch.tensor(expected).nan_to_num())
    (made * torch.tensor([1.0, 0.0, 3.0])).nansum().backward()
    assert x.grad.tolist() == slopes
    offsets = torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 2, 2, 4]))
    assert torch.equal(offsets.nan_to_num(), made.nan_to_num())


def test_segments_with_a_start():
    x = torch.tensor([1.0, 5.0], requires_grad=True)
    lengths = torch.tensor([1, 0, 1])
    for reduce, expected in (("max", [2.0, 2.0, 5.0]), ("min", [1.0, 2.0, 2.0]),
                             ("sum", [3.0, 2.0, 7.0]), ("mean", [3.0, 2.0, 7.0]),
                             ("prod", [2.0, 2.0, 10.0])):
        assert torch.segment_reduce(x, reduce, lengths=lengths, initial=2).tolist() == expected
    torch.segment_reduce(x, "max", lengths=lengths, initial=5).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_segments_of_rows():
    x = torch.arange(12.0).reshape(2, 3, 2)
    made = torch.segment_reduce(x, "sum", lengths=torch.tensor([[1, 2], [3, 0]]), axis=1)
    assert made.tolist() == [[[0.0, 1.0], [6.0, 8.0]], [[24.0, 27.0], [0.0, 0.0]]]
    part = torch.segment_reduce(x, "sum", offsets=torch.tensor([1, 2]))
    assert torch.equal(part, x[1:])


@pytest.mark.parametrize(("arguments", "error", "text"), [
    ({"reduce": "foo"}, RuntimeError, "must be either sum, prod, mean, amax or amin, got foo"),
    ({"lengths": None}, RuntimeError, "Either lengths or offsets must be defined"),
    ({"lengths": torch.tensor([1, 1])}, RuntimeError, "Expected all rows of lengths along axis"),
    ({"lengths": torch.tensor([-1, 4])}, RuntimeError, "lengths contains negative value!"),
    ({"lengths": torch.tensor([1.0, 2.0])}, NotImplementedError, "_lengths_cpu_kernel1. not impl"),
    ({"indices": torch.tensor([1])}, RuntimeError, "indices based reduction is not supported"),
    ({"axis": 1}, RuntimeError, "Expected axis to be the last dimension of lengths but got 1"),
    ({"axis": 4}, IndexError, "Dimension out of range"),
    ({"data": torch.ones(3).long()}, NotImplementedError, "_segment_reduce_cpu. not implemented"),
    ({"lengths": torch.tensor([[3], [3]]), "axis": 1}, RuntimeError, "of the same sizes before"),
])
def test_segments_that_do_not_fit(arguments, error, text):
    given = {"data": torch.ones(3, 4), "reduce": "sum", "lengths": torch.tensor([1, 2])}
    given |= arguments
    with pytest.raises(error, match=text):
        torch.segment_reduce(given.pop("data"), given.pop("reduce"), **given)
