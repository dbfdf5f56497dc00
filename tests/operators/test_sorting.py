"""Order and sets: every dtype, NaN, ties, long and short rows."""

import numpy as np
import pytest

import yesca as torch

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int8,
          torch.uint8, torch.int32]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [1, 5, 47, 300])
def test_sort_is_stable(dtype, size):
    values = np.random.RandomState(size).randint(0 if dtype is torch.uint8 else -20, 20, (3, size))
    x = torch.tensor(values).to(dtype)
    for descending in (False, True):
        made, places = torch.sort(x, 1, descending)
        order = np.argsort(-values if descending else values, 1, kind="stable")
        assert places.tolist() == order.tolist()
        assert made.tolist() == x.gather(1, places).tolist()


def test_nan_and_zeros():
    nan = float("nan")
    x = torch.tensor([nan, 1.0, 0.0, -0.0, -float("inf"), nan])
    assert x.sort().indices.tolist() == [4, 2, 3, 1, 0, 5]
    assert x.sort(descending=True).indices.tolist() == [0, 5, 1, 2, 3, 4]
    assert torch.median(x).isnan().item()
    assert torch.nanmedian(x).item() == 0
    assert x.cummax(0).indices.tolist() == [0, 0, 0, 0, 0, 5]


@pytest.mark.parametrize("size", [3, 60, 400, 3000])
def test_selection_agrees_with_sort(size):
    x = torch.tensor(np.random.RandomState(1).randint(0, 50, (2, size))).float()
    for k in {1, 2, size // 2 or 1, size}:
        for largest in (True, False):
            values, places = x.topk(k, largest=largest)
            want = x.sort(1, descending=largest)
            assert values.tolist() == want.values[:, :k].tolist()
            assert places.tolist() == want.indices[:, :k].tolist()
        assert x.kthvalue(k).values.tolist() == x.sort(1).values[:, k - 1].tolist()
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(size + 1)


def test_order_statistics():
    x = torch.tensor([[3, 1, 2, 2], [5, 5, 1, 1]])
    assert x.median(1).values.tolist() == [2, 1]
    assert x.mode(1).values.tolist() == [2, 1]
    assert x.t().sort(0).values.t().tolist() == [[1, 2, 2, 3], [1, 1, 5, 5]]
    assert torch.quantile(x.double(), 0.5, 1).tolist() == [2, 3]
    assert repr(x.mode(1)).startswith("torch.return_types.mode(\nvalues=")


def test_unique():
    x = torch.tensor([3, 1, 3, 2, 1])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 2, 3], [2, 0, 2, 1, 0], [2, 1, 2])
    rows = torch.tensor([[1, 2, 0], [0, 9, 9], [1, 2, 0], [1, 1, 5]])
    made, inverse = torch.unique(rows, dim=0, return_inverse=True)
    assert made.tolist() == [[0, 9, 9], [1, 1, 5], [1, 2, 0]]
    assert inverse.tolist() == [2, 0, 2, 1]
    values, counts = torch.unique_consecutive(torch.tensor([1, 1, 2, 1]), return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 2, 1], [2, 1, 1])


def test_searches_and_counts():
    line = torch.tensor([1.0, 3.0, 3.0, 5.0])
    assert torch.searchsorted(line, torch.tensor([0.0, 3.0, 6.0])).tolist() == [0, 1, 4]
    assert torch.bucketize(torch.tensor([3.0, 4.0]), line, right=True).tolist() == [3, 3]
    assert torch.bincount(torch.tensor([1, 3, 1]), minlength=5).tolist() == [0, 2, 0, 1, 0]
    assert torch.histc(torch.tensor([0.0, 1.0, 1.0, 4.0]), 4).tolist() == [1, 2, 0, 1]
    assert torch.isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1])).tolist() == [True, False,
                                                                                True]
    assert torch.equal(line, line.clone()) is True
    assert torch.allclose(line, line + 1e-9) is True


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_running_extremes_are_the_values_at_their_indices(kind, dtype):
    nan = float("nan")
    rows = torch.tensor([[0.0, -0.0, 1.0, 0.0, -0.0], [-0.0, 0.0, -0.0, -1.0, -0.0],
                         [nan, 1.0, nan, -0.0, 0.0], [3.0, 3.0, 2.0, 3.0, 3.0]], dtype=dtype)
    for x, dim in ((rows, 1), (rows.t().contiguous(), 0)):
        values, indices = getattr(torch, f"cum{kind}")(x, dim)
        there = x.gather(dim, indices)
        assert torch.equal(values.signbit(), there.signbit())
        torch.testing.assert_close(values, there, rtol=0, atol=0, equal_nan=True)
    zeros = getattr(torch, f"cum{kind}")(torch.tensor([0.0, -0.0, 0.0], dtype=dtype), 0)
    assert zeros.indices.tolist() == [0, 1, 2]
    assert zeros.values.signbit().tolist() == [False, True, False]
