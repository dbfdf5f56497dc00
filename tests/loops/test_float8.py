"""Floats of 8 bits in kernels: the arithmetic agrees with the tables of numbers."""

import numpy as np
import pytest

import yesca as torch
from yesca.core import dtypes
from yesca.core.small_floats import code_of, values

EIGHTS = dtypes.SMALL_FLOATS[:-1]


@pytest.mark.parametrize("dtype", EIGHTS, ids=lambda d: d.name)
def test_every_byte_and_many_bits_of_float32(dtype):
    wide = torch.arange(256).to(torch.uint8).view(dtype).float().numpy()
    assert np.array_equal(wide, np.float32(values(dtype)), equal_nan=True)
    high = np.arange(0, 1 << 16, 13, dtype=np.uint32) << 16  # every exponent, both signs
    bits = np.concatenate([high | np.uint32(low) for low in (0, 1, 0x7FFF, 0x8000, 0xFFFF)])
    numbers = bits.view(np.float32).copy()
    made = torch.from_numpy(numbers).to(dtype).view(torch.uint8).tolist()
    assert made == [code_of(number, dtype) for number in numbers.tolist()]


def test_powers_of_two_are_rounded_up_half_way():
    middles = np.float32(1.5 * 2.0 ** np.arange(-126, 127))
    numbers = np.concatenate([middles, np.nextafter(middles, np.float32(0))])
    made = torch.from_numpy(numbers).to(torch.float8_e8m0fnu).view(torch.uint8).tolist()
    assert made == [*range(2, 255), *range(1, 254)]


def test_no_subnormal_of_float32_comes_up():
    """So that a CPU that flushes them to zero rounds alike."""
    small = torch.float8_e5m2fnuz
    x = torch.arange(1, 4).to(torch.uint8).view(small)
    assert x.float().tolist() == [2.0**-17, 2.0**-16, 3 * 2.0**-17]
    assert x.float().to(small).view(torch.uint8).tolist() == [1, 2, 3]


def test_operators_compute_in_float32_and_round_once():
    x = torch.tensor([1.0, 1.125, -3.5, 448.0], dtype=torch.float8_e4m3fn)
    assert (x * x).tolist() == [1.0, 1.25, 12.0, 448.0] and x.abs().tolist() == [1, 1.125, 3.5, 448]
    assert (x == x.clone()).all() and (x != 1.0).tolist() == [False, True, True, True]
    compiled = torch.compile(lambda v: (v * v).abs() == v)
    assert compiled(x).tolist() == [True, False, False, True]
