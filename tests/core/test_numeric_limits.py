"""Limits of element types, against the values that IEEE 754 gives."""

import pytest

import yesca as torch


def test_finfo():
    f = torch.finfo(torch.float32)
    assert (f.bits, f.dtype, f.eps, f.tiny) == (32, "float32", 2.0**-23, 2.0**-126)
    assert f.max == -f.min == float.fromhex("0x1.fffffep+127")
    assert torch.finfo(torch.float64).max == 1.7976931348623157e308
    assert torch.finfo() == f == torch.finfo(torch.complex64)
    assert repr(torch.finfo(torch.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert torch.finfo(torch.float16).max == 65504


def test_iinfo():
    assert (torch.iinfo(torch.uint8).min, torch.iinfo(torch.uint8).max) == (0, 255)
    assert torch.iinfo(torch.int64).min == -(2**63)
    assert repr(torch.iinfo(torch.int64)) == (
        "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"
    )


def test_errors():
    for call, text in (
        (lambda: torch.finfo(torch.int8), "requires a floating point input type"),
        (lambda: torch.iinfo(torch.float32), "requires an integer input type"),
        (lambda: torch.iinfo(torch.bool), "torch.bool is not supported by torch.iinfo"),
        (lambda: torch.finfo("x"), r"finfo\(\): argument 'type' \(position 1\) must be"),
    ):
        with pytest.raises(TypeError, match=text):
            call()


def test_layouts_and_formats_are_single_objects():
    import copy
    import pickle

    for value in (torch.strided, torch.channels_last):
        assert copy.deepcopy(value) is value
        assert pickle.loads(pickle.dumps(value)) is value
    assert repr(torch.channels_last) == "torch.channels_last"
    assert isinstance(torch.strided, torch.layout)


def test_floats_of_8_bits():
    assert repr(torch.finfo(torch.float8_e4m3fn)) == (
        "finfo(resolution=1, min=-448, max=448, eps=0.125, smallest_normal=0.015625, "
        "tiny=0.015625, dtype=float8_e4m3fn)"
    )
    assert torch.finfo(torch.float8_e5m2fnuz).smallest_normal == 2.0**-15
    assert torch.finfo(torch.float8_e8m0fnu).min == 2.0**-127
    assert torch.finfo(torch.float8_e5m2).bits == 8
    with pytest.raises(TypeError, match="two numbers share a byte"):
        torch.finfo(torch.float4_e2m1fn_x2)
