"""Floats of 8 bits, one number at a time."""

import math

import pytest

from yesca.core import dtypes
from yesca.core.small_floats import code_of, decode, encode, values

EIGHTS = dtypes.SMALL_FLOATS[:-1]


@pytest.mark.parametrize("dtype", EIGHTS, ids=lambda d: d.name)
def test_every_number_is_its_own_code(dtype):
    for code, value in enumerate(values(dtype)):
        again = code_of(value, dtype)
        assert again == code or value != value and math.isnan(values(dtype)[again])


def test_known_numbers():
    known = {"float8_e4m3fn": (448.0, 2.0**-9), "float8_e5m2": (57344.0, 2.0**-16),
             "float8_e4m3fnuz": (240.0, 2.0**-10), "float8_e5m2fnuz": (57344.0, 2.0**-17)}
    for name, (largest, smallest) in known.items():
        finite = [v for v in values(dtypes.BY_NAME[name]) if math.isfinite(v)]
        assert max(finite) == largest == -min(finite)
        assert min(v for v in finite if v > 0) == smallest
    powers = values(dtypes.float8_e8m0fnu)
    assert powers[0] == 2.0**-127 and powers[254] == 2.0**127 and powers[127] == 1.0


@pytest.mark.parametrize("name, number, code", [
    ("float8_e4m3fn", 464.0, 0x7E), ("float8_e4m3fn", math.inf, 0x7E),
    ("float8_e4m3fn", -1e30, 0xFE),
    ("float8_e5m2", 61439.0, 0x7B), ("float8_e5m2", 61440.0, 0x7C), ("float8_e5m2", -1e30, 0xFC),
    ("float8_e4m3fnuz", 247.9, 0x7F), ("float8_e4m3fnuz", 248.0, 0x80),
    ("float8_e5m2fnuz", -math.inf, 0x80), ("float8_e5m2fnuz", -0.0, 0),
    ("float8_e5m2", -0.0, 0x80), ("float8_e8m0fnu", -1.5, 128), ("float8_e8m0fnu", 1.4999, 127),
    ("float8_e8m0fnu", 0.0, 0), ("float8_e8m0fnu", math.inf, 255),
    ("float8_e8m0fnu", 2.0**-127, 0), ("float8_e8m0fnu", 1.01 * 2.0**-127, 1),
])
def test_ends_of_the_formats(name, number, code):
    assert code_of(number, dtypes.BY_NAME[name]) == code


def test_packed_numbers_are_not_taken_apart():
    assert decode(dtypes.float8_e5m2, encode(dtypes.float8_e5m2, [1.0, -2.0])) == [1.0, -2.0]
    with pytest.raises(RuntimeError, match="store_scalar: invalid type"):
        encode(dtypes.float4_e2m1fn_x2, [1.0])
    with pytest.raises(NotImplementedError, match="two numbers share a byte"):
        decode(dtypes.float4_e2m1fn_x2, b"1")
