"""`make_tensor` gives PyTorch's numbers for the same seed."""

import pytest

import yesca as torch
from yesca.testing import make_tensor


def made(*shape, dtype=torch.float32, **options):
    torch.manual_seed(0)
    return make_tensor(*shape, dtype=dtype, device="cpu", **options)


FLOATS = [-0.06738138198852539, 4.8279924392700195, -7.407406330108643, -6.623451232910156,
          -3.4663891792297363]


@pytest.mark.parametrize(("dtype", "values"), [
    (torch.float32, FLOATS),
    (torch.float64, [8.460954032517956, 3.740757559196183, -0.7311070237058843,
                     7.573458314195285, 2.610434162209766]),
    (torch.float16, [-0.0673828125, 4.828125, -7.40625, -6.625, -3.466796875]),
    (torch.bfloat16, [-0.0673828125, 4.8125, -7.40625, -6.625, -3.46875]),
    (torch.int64, [6, -5, -9, -9, 2]), (torch.int8, [6, -5, -9, -9, 2]),
    (torch.uint8, [4, 9, 3, 0, 3]), (torch.uint32, [4, 9, 3, 0, 3]),
    (torch.bool, [False, True, True, False, True]),
])
def test_values(dtype, values):
    result = made(5, dtype=dtype)
    assert (result.dtype, result.tolist()) == (dtype, values)


def test_complex_values():
    result = made(2, dtype=torch.complex64)
    assert result.tolist() == [complex(*FLOATS[:2]), complex(*FLOATS[2:4])]


@pytest.mark.parametrize(("dtype", "low", "high", "values"), [
    (torch.float32, -1, None, [3.9625658988952637, 6.682218074798584, -0.11522567272186279]),
    (torch.float32, None, 0, [-4.533690452575684, -2.0860037803649902, -8.203702926635742]),
    (torch.float16, -1e6, 1e6, [-490.5, 35136.0, -53920.0]),
    (torch.int64, -2.5, 2.5, [2, 2, 1]), (torch.int64, 0.5, 1.5, [1, 1, 1]),
    (torch.int8, -1000, 1000, [44, -81, -11]), (torch.uint8, -5, 1, [0, 0, 0]),
    (torch.uint8, 255, 300, [255] * 3), (torch.bool, 1, 2, [True] * 3),
])
def test_bounds(dtype, low, high, values):
    assert made(3, dtype=dtype, low=low, high=high).tolist() == values


def test_the_whole_range():
    infinity = float("inf")
    assert made(2, low=-infinity, high=infinity).tolist() == [
        -2.547632747039154e+36, 1.8254227462274354e+38]
    assert made(2, low=3, high=infinity).tolist() == [
        1.6886735686651669e+38, 2.614123106306362e+38]


def test_layouts():
    assert made(2, 3, noncontiguous=True).stride() == (6, 2)
    assert made(2, 3, noncontiguous=True).flatten()[:2].tolist() == [FLOATS[1], FLOATS[3]]
    assert made(1, noncontiguous=True).stride() == (1,)
    assert made(0, 3, noncontiguous=True).shape == (0, 3)
    assert made((2, 3, 4, 5), memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert made().shape == made(()).shape == ()
    assert made(torch.Size([2, 1])).shape == made([2, 1]).shape == (2, 1)
    assert make_tensor(2, dtype=torch.float32, device="meta").is_meta


def test_zeros_and_gradients():
    for dtype in (torch.int64, torch.bool, torch.uint8):
        assert made(9, dtype=dtype, low=0, high=1, exclude_zero=True).tolist() == [1] * 9
    assert made(3, low=-1, high=1, exclude_zero=True).all()
    assert made(2, requires_grad=True).requires_grad


@pytest.mark.parametrize(("options", "message"), [
    ({"low": 2, "high": 1}, "`low` must be less than `high`, but got 2 >= 1"),
    ({"low": 20}, "`low` must be less than `high`, but got 20 >= 9"),
    ({"low": 1, "high": 1, "dtype": torch.int64}, "`low` must be less than `high`, but got 1 >="),
    ({"low": float("nan")}, "`low` and `high` cannot be NaN, but got low=nan and high=9"),
    ({"low": 300, "high": 400, "dtype": torch.uint8},
     r"specified by `low` and `high` is \[300, 400\), but torch.uint8 only supports \[0, 256\)"),
    ({"low": 2, "high": 3, "dtype": torch.bool}, r"torch.bool only supports \[0, 2\)"),
    ({"low": 2**63, "high": 2**64, "dtype": torch.int64},
     r"only supports \[-9223372036854775808, 9223372036854775807\)"),
    ({"low": 1e39, "high": 1e40}, r"is \[1e\+39, 1e\+40\), but torch.float32 only supports"),
    ({"requires_grad": True, "dtype": torch.int64},
     "`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype="),
    ({"noncontiguous": True, "memory_format": torch.channels_last},
     "`noncontiguous` and `memory_format` are mutually exclusive"),
])
def test_wrong_use(options, message):
    with pytest.raises(ValueError, match=message):
        made(2, **options)


def test_equal_bounds():
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        assert made(2, low=1, high=1).tolist() == [1.0, 1.0]


def test_floats_of_8_bits():
    torch.manual_seed(0)
    made = torch.testing.make_tensor(3, dtype=torch.float8_e5m2, device="cpu", low=-3, high=2)
    assert made.dtype is torch.float8_e5m2 and made.tolist() == [-0.5, 0.875, -2.5]
    with pytest.raises(TypeError, match=r"not supported by torch.testing.make_tensor\(\)"):
        torch.testing.make_tensor(3, dtype=torch.float8_e8m0fnu, device="cpu")
