"""Values of torch.masked against NumPy's computations on the kept elements alone."""

import math

import numpy as np
import pytest
from finite_differences import array, tensor, values

import yesca as torch
from yesca import masked

NAN, INF = math.nan, math.inf
SHAPE = (3, 4, 5)
DATA = values(SHAPE) * 3
MASK = values(SHAPE, 2) > -0.3
MASK[1, 2] = False  # a row of which nothing is kept
DIMS = [None, (), 0, -1, (1,), (0, 2), (0, 1, 2)]


def logsumexp(kept):
    return np.log(np.exp(kept).sum()) if kept.size else -INF


def spread(correction):
    def of(kept):
        apart = ((kept - kept.mean()) ** 2).sum() if kept.size else NAN
        left = max(kept.size - correction, 0)
        return apart / left if left else (NAN if kept.size < 2 else INF)

    return of


def lower_median(kept):
    return np.sort(kept)[(kept.size - 1) // 2] if kept.size else NAN


def power_mean(ord):
    def of(kept):
        if not kept.size:
            return 0.0 if ord >= 0 else INF
        return np.linalg.norm(kept, ord)

    return of


FOLDS = {
    "sum": (np.sum, {}), "prod": (np.prod, {}), "logsumexp": (logsumexp, {}),
    "amax": (lambda kept: kept.max(initial=-INF), {}),
    "amin": (lambda kept: kept.min(initial=INF), {}),
    "mean": (lambda kept: kept.mean() if kept.size else NAN, {}),
    "var": (spread(1), {}), "var 0": (spread(0), {"unbiased": False}),
    "var 2": (spread(2), {"correction": 2}), "var 0.5": (spread(0.5), {"correction": 0.5}),
    "std": (lambda kept: math.sqrt(spread(1)(kept)), {"unbiased": True}),
    **{f"norm {ord}": (power_mean(ord), {"ord": ord})
       for ord in (0, 1, 2, 3.5, INF, -INF, -1, -2)},
}  # fmt: skip


def folded(fold, data, mask, dims, keepdim):
    """The function of each slice's kept elements, in NumPy."""
    dims = tuple(d % data.ndim for d in dims)
    outer = [d for d in range(data.ndim) if d not in dims]
    moved = [a.transpose(*outer, *dims).reshape(*(data.shape[d] for d in outer), -1)
             for a in (data, mask)]
    made = np.empty(moved[0].shape[:-1])
    for at in np.ndindex(made.shape):
        made[at] = fold(moved[0][at][moved[1][at]])
    return made.reshape([1 if d in dims else n for d, n in enumerate(data.shape)]
                        ) if keepdim else made


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", FOLDS)
def test_folds(name, dim, keepdim):
    fold, options = FOLDS[name]
    dims = (dim,) if isinstance(dim, int) else dim or (0, 1, 2)
    function = getattr(masked, name.split()[0])
    for mask in (MASK, np.ones(SHAPE, bool)):
        given = None if mask.all() else torch.tensor(mask.tolist())
        made = function(tensor(DATA), dim=dim, keepdim=keepdim, mask=given, **options)
        expected = folded(fold, DATA, mask, dims, keepdim)
        assert made.shape == expected.shape and made.dtype is torch.float64
        assert np.allclose(array(made), expected, rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int8])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_median(dim, dtype):
    data = np.trunc(DATA * 20)
    mask = MASK.copy()
    if dtype is not torch.float64:
        mask[0], mask[:, 0], mask[..., 0] = True, True, True  # something is kept of each slice
    for keepdim in (False, True):
        made = masked.median(tensor(data, dtype), dim, keepdim=keepdim,
                             mask=torch.tensor(mask.tolist()))
        expected = folded(lower_median, data, mask, (dim,), keepdim)
        assert made.dtype is dtype and np.array_equal(array(made), expected, equal_nan=True)


def test_median_leaves_out_nan_and_needs_numbers():
    x = torch.tensor([[NAN, 3.0, 1.0, 2.0]])
    assert masked.median(x).tolist() == [2.0]
    assert masked.median(torch.tensor([[4, 1, 3, 2]])).tolist() == [2]
    flags, mask = torch.tensor([[True, False, True]]), torch.tensor([True, True, False])
    assert masked.median(flags, 1, mask=mask).tolist() == [False]
    big = torch.tensor([2**62 + 1, 2**62, 0])  # more digits than a float has
    assert masked.median(big, 0, mask=big > 0).tolist() == 2**62
    with pytest.raises(ValueError, match="no fully masked out rows if dtype is not floating"):
        masked.median(torch.tensor([[1, 2], [3, 4]]), 1, mask=torch.tensor([[True], [False]]))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name):
    find = getattr(np, name)
    worst = -INF if name == "argmax" else INF
    for dim in (0, 1, 2, None):
        for keepdim in (False, True):
            made = getattr(masked, name)(tensor(DATA), dim, keepdim=keepdim,
                                         mask=torch.tensor(MASK.tolist()), dtype=torch.int64)
            kept = np.where(MASK, DATA, worst)
            expected = find(kept, axis=dim, keepdims=keepdim)
            assert made.dtype is torch.int64 and np.array_equal(array(made), expected)


def test_positions_are_of_kept_elements():
    """Also where a kept element equals what stands for those that are not."""
    mask = torch.tensor([False, True, True])
    for dtype in (torch.uint8, torch.int64, torch.float16):
        low = torch.tensor([5, 0, 0]).to(dtype)
        if dtype is not torch.uint8:
            low[1:] = -INF if dtype is torch.float16 else torch.iinfo(dtype).min
        made = masked.argmax(low, 0, mask=mask)
        assert made.item() == 1 and made.dtype is dtype
    assert masked.argmin(torch.tensor([0.0, INF, INF]), mask=mask).item() == 1
    assert masked.argmax(torch.tensor([NAN, 3.0, NAN]), 0, mask=mask).item() == 2
    assert masked.argmin(torch.tensor([NAN, 3.0, 2.0]), 0, mask=mask).item() == 2
    assert masked.argmax(torch.tensor([1.0, 2.0]), 0, mask=torch.tensor(False)).item() == 0


def soft(row, sign):
    powers = np.exp(sign * row)
    return powers / powers.sum()


ROWS = {
    "softmax": lambda row: soft(row, 1), "softmin": lambda row: soft(row, -1),
    "log_softmax": lambda row: np.log(soft(row, 1)), "cumsum": np.cumsum, "cumprod": np.cumprod,
    "normalize": lambda row: row / max(np.sqrt((row**2).sum()), 0.9),
}  # fmt: skip


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, dim):
    """What kept elements give; what stands elsewhere is not defined."""
    function = getattr(masked, name)
    options = {"ord": 2, "eps": 0.9} if name == "normalize" else {}
    for mask in (MASK, np.ones(SHAPE, bool)):
        given = None if mask.all() else torch.tensor(mask.tolist())
        made = np.moveaxis(array(function(tensor(DATA), dim=dim, mask=given, **options)), dim, -1)
        data, kept = np.moveaxis(DATA, dim, -1), np.moveaxis(mask, dim, -1)
        for at in np.ndindex(data.shape[:-1]):
            if kept[at].any():
                expected = ROWS[name](data[at][kept[at]])
                assert np.allclose(made[at][kept[at]], expected, rtol=1e-12)


def test_logaddexp():
    x, y = torch.tensor([1.0, NAN, -INF, 0.0]), torch.tensor([2.0, 1.0, 3.0, -1.0])
    of_x, of_y = torch.tensor([True, False, True, False]), torch.tensor([True, True, False, False])
    made = masked.logaddexp(x, y, input_mask=of_x, other_mask=of_y)
    assert made.tolist() == [pytest.approx(2.31326169), 1.0, -INF, -INF]
    assert masked.logaddexp(x, y, other_mask=of_y)[2:].tolist() == [-INF, 0.0]
    assert masked.logaddexp(x, y, input_mask=of_x, dtype=torch.float64).dtype is torch.float64
    assert masked.logaddexp(x, y.double()).dtype is torch.float32
