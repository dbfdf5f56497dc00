"""Division of integers by zero, and at the edges of their ranges."""

import pytest

import yesca as torch

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
DIVISIONS = {
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "fmod": torch.fmod,
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "in place": lambda x, y: x.remainder_(y),
    "reflected": lambda x, y: 7 // (y if isinstance(y, torch.Tensor) else x * y),
    "number first": lambda x, y: torch.remainder(7, x * y),
}


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_an_integer_divided_by_zero(name, dtype):
    divide = DIVISIONS[name]
    for divisor in (0, torch.tensor([1, 0, 2], dtype=dtype), torch.tensor(0, dtype=dtype)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(torch.tensor([1, 2, 3], dtype=dtype), divisor)
    divide(torch.tensor([1, 2, 3], dtype=dtype), 1)


def test_nothing_is_divided_where_there_is_nothing():
    assert (torch.ones(0, dtype=torch.int64) // 0).numel() == 0


def test_floats_divide_by_zero():
    assert (torch.tensor([1.0, -1.0]) // 0).tolist() == [float("inf"), float("-inf")]
    assert (torch.tensor([1.0]) % 0).isnan().all()


@pytest.mark.parametrize("dtype", (torch.int8, torch.int32, torch.int64), ids=str)
def test_the_lowest_integer_divided_by_minus_one(dtype):
    low = torch.tensor([torch.iinfo(dtype).min], dtype=dtype)
    assert torch.equal(low // -1, low)
    assert (low % -1).item() == 0 and torch.fmod(low, -1).item() == 0
