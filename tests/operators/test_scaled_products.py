"""Products of 8-bit floats with scales, as PyTorch's CPU gives them."""

import pytest

import yesca as torch

E4, E5 = torch.float8_e4m3fn, torch.float8_e5m2
ONE = torch.tensor(1.0)


def matrix(dtype, rows, columns):
    codes = (torch.arange(rows * columns) * 7 + 0x30) % 0x60
    return codes.to(torch.uint8).reshape(rows, columns).view(dtype)


@pytest.mark.parametrize("left", [E4, E5, torch.float8_e5m2fnuz])
def test_values_are_those_of_the_scaled_product(left):
    a, b = matrix(left, 16, 32), matrix(E5, 16, 32).t()
    wide = a.float() @ b.float()
    for out, made in ((torch.float32, wide), (torch.bfloat16, wide), (torch.float16, wide)):
        given = torch._scaled_mm(a, b, torch.tensor(0.5), torch.tensor([0.25]), out_dtype=out)
        assert given.dtype is out and torch.equal(given, (made * 0.125).to(out))
    assert torch._scaled_mm(a, b, ONE, ONE).dtype is left
    rows, columns = torch.arange(1.0, 17).view(16, 1), torch.arange(1.0, 17).view(1, 16) / 16
    bias = torch.ones(16, dtype=torch.bfloat16)
    given = torch._scaled_mm(a, b, rows, columns, bias=bias, out_dtype=torch.float32)
    assert torch.equal(given, wide * rows * columns + 1)


def test_recorded_values():
    a, b = matrix(E4, 16, 32), matrix(E4, 16, 32).t()
    made = torch._scaled_mm(a, b, ONE, ONE, out_dtype=torch.float32)
    assert made[0, :3].tolist() == [1414.82568359375, 144.6610107421875, 97.06201171875]
    made = torch._scaled_mm(a[:3, :16], b[:16], ONE, ONE, out_dtype=E5)
    assert made.dtype is E5 and made[0, :3].tolist() == [512.0, 96.0, 40.0]


@pytest.mark.parametrize("call, error, message", [
    (lambda a, b: torch._scaled_mm(a[None], b, ONE, ONE), RuntimeError, "mat1 must be a matrix"),
    (lambda a, b: torch._scaled_mm(a, a, ONE, ONE), RuntimeError, r"multiplied \(16x32 and 16x32"),
    (lambda a, b: torch._scaled_mm(a, b, torch.ones(2), ONE), ValueError, "Invalid scaling"),
    (lambda a, b: torch._scaled_mm(a.half(), b, ONE, ONE), ValueError, "Invalid scaling"),
    (lambda a, b: torch._scaled_mm(a, b, ONE, ONE, out_dtype=torch.int32), RuntimeError,
     "out_dtype is torch.int32"),
    (lambda a, b: torch._scaled_mm(a.view(torch.float4_e2m1fn_x2), b, ONE, ONE), RuntimeError,
     "Expected mat1 to be Float8 matrix got Float4_e2m1fn_x2"),
])
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(matrix(E4, 16, 32), matrix(E4, 16, 32).t())
