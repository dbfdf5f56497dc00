"""torch.masked: shapes and dtypes of masks, results' dtypes, errors, derivatives, transforms."""

import math

import pytest
from finite_differences import check_gradients

import yesca as torch
from yesca import masked

NAN, INF = math.nan, math.inf
X = torch.tensor([[1.5, -2.0, 3.0], [4.0, NAN, -6.0]])
FOLDS = ["sum", "prod", "amax", "amin", "mean", "var", "std", "norm", "logsumexp"]
LINEAR = {"sum", "mean", "amax", "amin", "median", "cumsum"}
ALONG = ["softmax", "log_softmax", "softmin", "cumsum", "cumprod", "median"]


def test_names():
    assert sorted(masked.__all__) == sorted(set(masked.__all__)) and torch.masked is masked
    assert {*FOLDS, *ALONG, "argmax", "argmin", "normalize", "logaddexp"} == set(masked.__all__)
    with pytest.raises(AttributeError, match="'MaskedTensor' .PyTorch has it; yesca does not"):
        masked.MaskedTensor
    with pytest.raises(AttributeError, match="'nothing'$"):
        masked.nothing


def test_masks_stretch_and_may_be_numbers():
    row, column = torch.tensor([True, False, True]), torch.tensor([[1], [0]])
    assert masked.sum(X, 1, mask=row).tolist() == [4.5, -2.0]
    assert masked.mean(X, 1, mask=row).tolist() == [2.25, -1.0]
    assert masked.sum(X, mask=column).item() == 2.5
    assert masked.amax(X, 1, mask=torch.tensor([[0.5, 0.0, 0.0]])).tolist() == [1.5, 4.0]
    assert masked.sum(X, 0, mask=torch.tensor(False)).tolist() == [0.0, 0.0, 0.0]
    assert masked.var(torch.tensor(2.5), correction=0, mask=torch.tensor(True)).item() == 0.0


@pytest.mark.parametrize("name", FOLDS + ALONG + ["argmax", "argmin", "normalize"])
def test_masks_that_do_not_fit(name):
    function = getattr(masked, name)
    more = {"ord": 2.0} if name == "normalize" else {}
    with pytest.raises(IndexError, match="mask dimensionality higher than of the input"):
        function(X, dim=1, mask=torch.ones(1, 2, 3, dtype=torch.bool), **more)
    with pytest.raises(RuntimeError, match="The expanded size of the tensor"):
        function(X, dim=1, mask=torch.ones(2, dtype=torch.bool), **more)
    with pytest.raises(RuntimeError, match="The expanded size of the tensor"):
        function(X[:1], dim=1, mask=torch.ones(2, 3, dtype=torch.bool), **more)
    with pytest.raises(IndexError, match="expected to be in range of .-2, 1., but got 2"):
        function(X, dim=2, mask=torch.ones(2, 3, dtype=torch.bool), **more)


@pytest.mark.parametrize("name", FOLDS)
def test_dimensions_count_once(name):
    with pytest.raises(RuntimeError, match="appears multiple times in the list of dims"):
        getattr(masked, name)(X, dim=(0, -2))


def test_dtypes_of_results():
    whole, mask = torch.tensor([[3, -4], [7, 2]]), torch.tensor([True, False])
    for name in ("sum", "prod"):
        function = getattr(masked, name)
        assert function(whole.to(torch.uint8), 1, mask=mask).dtype is torch.int64
        assert function(whole > 0, 1, mask=mask).tolist() == [1, 1]
        assert function(X, 1, dtype=torch.int32).dtype is torch.int32
    assert masked.amax(whole, 1, mask=~mask).tolist() == [-4, 2]
    nothing = torch.tensor([False])
    assert masked.amax(whole.int(), 1, mask=nothing).tolist() == [-(2**31)] * 2
    assert masked.amin(whole.to(torch.uint8), 1, mask=nothing).tolist() == [255] * 2
    assert masked.amax(whole, 1, dtype=torch.float16, mask=nothing).tolist() == [-INF] * 2
    for name in ("cumsum", "cumprod"):
        made = getattr(masked, name)(whole.int(), 1, mask=mask)
        assert made.dtype is torch.int32 and made.tolist() == [[3, 3], [7, 7]]
    assert masked.var(whole, 1).tolist() == [24.5, 12.5]
    assert masked.std(whole, 1, dtype=torch.float64).dtype is torch.float64
    assert masked.logsumexp(whole, 1, mask=mask).tolist() == [3, 7]
    assert masked.mean(whole, 1, dtype=torch.float16, mask=mask).tolist() == [3.0, 7.0]
    assert masked.median(X, dtype=torch.float64).dtype is torch.float64
    assert masked.softmax(whole, 1, dtype=torch.float32, mask=mask).tolist() == [[1, 0], [1, 0]]


def test_half_types_are_summed_wide():
    x = torch.tensor([60000.0, 60000.0, 1.0], dtype=torch.float16)
    mask = torch.tensor([True, True, False])
    assert masked.mean(x, mask=mask).item() == 60000.0
    assert masked.std(x, mask=mask).item() == 0.0
    assert masked.mean(x.to(torch.bfloat16), mask=mask).dtype is torch.bfloat16


def test_complex_numbers():
    z, mask = torch.tensor([1 + 1j, 2.0, 3.0]), torch.tensor([True, False, True])
    assert masked.mean(z, mask=mask).item() == 2 + 0.5j
    assert masked.var(z, mask=mask).item() == 2.5 and masked.var(z).dtype is torch.complex64
    assert masked.norm(z, mask=mask).item() == pytest.approx(math.sqrt(11))
    assert masked.norm(z, -INF, mask=mask).item() == pytest.approx(math.sqrt(2))
    assert masked.prod(z, mask=mask).item() == 3 + 3j
    made = masked.normalize(z, 1, 0, mask=mask)
    assert made.abs().sum().item() == pytest.approx(1.0) and made[1].item() == 0


def test_what_is_refused():
    flags, whole = X > 0, torch.tensor([[1, 2, 3]])
    for name in ("amax", "amin", "argmax", "argmin"):
        with pytest.raises(NotImplementedError, match=f"identity of {name} on torch.bool input"):
            getattr(masked, name)(flags, 1, mask=flags)
    for name in ("softmax", "log_softmax", "softmin"):
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            getattr(masked, name)(whole, 1, mask=torch.tensor([True, False, True]))
    with pytest.raises(ValueError, match="Input dtype must be either.*Got: torch.int64"):
        masked.mean(whole)
    with pytest.raises(ValueError, match="Optional dtype must be either.*Got: torch.int32"):
        masked.mean(X, dtype=torch.int32)
    for given in (whole, whole > 1):
        kind = "Long" if given is whole else "Bool"
        with pytest.raises(RuntimeError, match=f"floating point or complex.*Got {kind}"):
            masked.norm(given, mask=torch.tensor(True))
    with pytest.raises(AssertionError, match="Only one of unbiased and correction"):
        masked.var(X, 1, True, correction=1)
    with pytest.raises(TypeError, match="must be Number, not str"):
        masked.norm(X, "fro")
    with pytest.raises(IndexError, match="non-zero size"):
        masked.amax(torch.ones(2, 0), 1)


def test_nothing_to_fold():
    empty = torch.ones(2, 0)
    assert masked.sum(empty, 1).tolist() == [0.0, 0.0] and masked.prod(empty, 1).tolist() == [1, 1]
    assert all(map(math.isnan, masked.mean(empty, 1).tolist()))
    assert masked.softmax(empty, 0, mask=torch.tensor([[True], [False]])).shape == (2, 0)


@pytest.mark.parametrize("name", FOLDS + ALONG + ["normalize"])
def test_derivatives(name):
    mask = torch.tensor([[True, False, True, True], [True, True, True, False],
                         [False, True, False, True]])
    more = {"ord": 3} if name in ("normalize", "norm") else {}

    def function(x):
        made = getattr(masked, name)(x, dim=1, mask=mask, **more)
        return torch.where(mask, made, 0) if made.shape == mask.shape else made

    check_gradients(function, [(3, 4)], second=name not in LINEAR)


def test_derivatives_of_logaddexp():
    mask = torch.tensor([True, False, True])
    # The second derivative at -inf is NaN, as that of `torch.logaddexp` is.
    check_gradients(lambda x, y: masked.logaddexp(x, y, input_mask=mask), [(3,), (3,)],
                    second=False)


@pytest.mark.parametrize("name", FOLDS + ["median"])
def test_gradients_ignore_what_does_not_count(name):
    """NaN behind the mask is neither seen nor differentiated."""
    x = torch.tensor([[1.5, NAN, 3.0]], requires_grad=True)
    made = getattr(masked, name)(x, dim=1, mask=torch.tensor([True, False, True]))
    made.sum().backward()
    assert math.isfinite(made.item()) and x.grad.isfinite().all() and x.grad[0, 1] == 0


@pytest.mark.parametrize("name", FOLDS + ALONG + ["argmax"])
def test_under_transforms(name):
    x, mask = torch.arange(12.0).reshape(3, 4) % 5, torch.arange(12).reshape(3, 4) % 3 > 0

    def function(x, mask):
        return getattr(masked, name)(x, dim=-1, mask=mask)

    expected = function(x, mask)
    assert torch.equal(torch.vmap(function)(x, mask), expected)
    compiled = torch.compile(function)
    for _ in range(2):
        assert torch.equal(compiled(x, mask), expected)
    meta = function(x.to("meta"), mask.to("meta"))
    assert meta.shape == expected.shape and meta.dtype is expected.dtype
