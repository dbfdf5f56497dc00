"""What operands of different dtypes give, and how they are rounded on the way."""

import numpy as np
import pytest

import yesca as torch


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("other", ["bool", "uint8", "int64"])
def test_large_unsigned_integers_are_not_promoted(dtype, other):
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not"):
        torch.promote_types(getattr(torch, dtype), getattr(torch, other))


def test_numbers_of_more_than_64_bits_are_refused():
    for call in (lambda: torch.ones(3) + 2**70, lambda: torch.ones(3) * 2**64,
                 lambda: torch.ones(3, dtype=torch.int64) == -(2**63) - 1,
                 lambda: torch.ones(3).copy_(2**64)):
        with pytest.raises(OverflowError, match="int too big to convert|negative int to unsigned"):
            call()
    assert (torch.ones(1) + 2**63).item() == 2.0**63


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "floor_divide", "xlogy"])
def test_numbers_on_the_left(name):
    x = torch.tensor([2.0, 5.0])
    function = getattr(torch, name)
    assert function(7, x).tolist() == function(torch.tensor(7.0), x).tolist()


def test_a_number_divided_by_integers_is_not_one_of_them():
    assert (-3 / torch.tensor([3, 255], dtype=torch.uint8)).tolist() == pytest.approx(
        [-1.0, -3 / 255])
    x = torch.tensor([3.0, 7.0], requires_grad=True)
    made = 3 / x
    assert made.grad_fn.name() == "MulBackward0"
    assert made.tolist() == (x.reciprocal() * 3).tolist()


def test_half_types_round_what_they_meet():
    """Operands take the half type first; factors and divisors without dimensions do not."""
    x = torch.tensor([0.3], dtype=torch.bfloat16)
    number = torch.tensor(0.3, dtype=torch.float64)
    assert (x - number).item() == 0.0 and torch.eq(x, 0.3).item()
    assert (x * 65537).item() == (x.float() * 65537).bfloat16().item()
    large = torch.tensor([65535], dtype=torch.uint16)
    assert torch.div(large, torch.tensor([7.0], dtype=torch.float16)).item() == float("inf")
    assert torch.sum(torch.tensor([-32768, 3, 32767], dtype=torch.int16),
                     dtype=torch.float16).item() == 3.0


def test_half_steps_are_rounded():
    x = torch.tensor([0.3], dtype=torch.bfloat16)
    assert torch.rsqrt(x).item() == 1.828125
    assert torch.xlogy(torch.tensor(-2.5, dtype=torch.bfloat16), 2).item() == -1.7265625


def test_shifts_out_of_unsigned_integers_leave_nothing():
    x = torch.tensor([255], dtype=torch.uint8)
    assert (x >> 8).item() == (x >> 300).item() == (x << 8).item() == 0
    assert (torch.tensor([-7]) >> 64).item() == -1


def test_complex_sums_multiply_by_a_complex_alpha():
    made = torch.tensor([1 + 2j]) + float("inf")
    assert made.real.item() == float("inf") and made.imag.isnan().item()


def test_complex_numbers_keep_the_width_of_tensors():
    low = torch.ones(2, dtype=torch.bfloat16)
    assert (low + torch.tensor(1j, dtype=torch.complex128)).dtype is torch.complex64
    assert torch.result_type(torch.ones(2, dtype=torch.float64), torch.tensor(1j)) \
        is torch.complex128


def test_copies_of_numbers():
    x = torch.zeros(2, dtype=torch.uint64)
    assert x.copy_(2**64 - 1).tolist() == [2**64 - 1] * 2
    assert torch.zeros(2, dtype=torch.int8).copy_(300).tolist() == [44, 44]
    with pytest.raises(TypeError, match=r"argument 'other' \(position 1\) must be Tensor, not str"):
        x.copy_("3")


def test_truth_values_to_a_power():
    x = torch.tensor([True, False])
    assert (x ** True).tolist() == [True, False] and (x ** False).tolist() == [True, True]
    assert np.asarray(x.sum(dtype=torch.bool)).item() is True


# ---- data --------------------------------------------------------------------------------------

@pytest.mark.parametrize(("value", "dtype", "kind", "message"), [
    (2**63, None, ValueError, "Overflow when unpacking long long"),
    ([2**70], None, ValueError, "Overflow when unpacking long long"),
    (-(2**63) - 1, "int64", ValueError, "Overflow when unpacking long long"),
    (2**63, "int16", ValueError, "Overflow when unpacking long long"),
    (2**64, "uint64", OverflowError, "int too big to convert"),
    (-1, "uint64", OverflowError, "can't convert negative int to unsigned"),
    (2.5, "uint64", TypeError, "an integer is required"),
    (1j, "int32", TypeError, "'complex' object cannot be interpreted as an integer"),
    (70000, "uint16", RuntimeError, "value cannot be converted to type uint16"),
])  # fmt: skip
def test_numbers_that_no_element_holds(value, dtype, kind, message):
    with pytest.raises(kind, match=message):
        torch.tensor(value, dtype=dtype and getattr(torch, dtype))


def test_negative_numbers_wrap_around_in_unsigned_dtypes():
    for name, largest in (("uint8", 255), ("uint16", 65535), ("uint32", 2**32 - 1)):
        assert torch.tensor([-1, 3], dtype=getattr(torch, name)).tolist() == [largest, 3]


def test_tensors_in_lists_have_one_element():
    assert torch.tensor([torch.ones(1), torch.tensor(2.0)]).tolist() == [1.0, 2.0]
    for nested in ([torch.ones(2)], [[torch.ones(2)]], [torch.ones(2), torch.ones(2)]):
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            torch.tensor(nested)


# ---- conversions -------------------------------------------------------------------------------

@pytest.mark.parametrize("count", [1, 67])
@pytest.mark.parametrize(("value", "dtype", "held"), [
    (1e10, "int16", 0), (-1e10, "uint16", 0), (300.7, "uint8", 44), (-1.5, "uint8", 255),
    (1e10, "int32", -(2**31)), (float("nan"), "int64", -(2**63)), (1e30, "uint64", 0),
    (float("inf"), "uint64", 0), (float("nan"), "uint64", 2**63), (2.0**63, "uint64", 2**63),
    (-2.0, "uint64", 2**64 - 2), (float("nan"), "bool", True), (-0.0, "bool", False),
])  # fmt: skip
def test_floats_as_integers(value, dtype, held, count):
    for kind in (torch.float32, torch.float64):
        made = torch.tensor([value] * count, dtype=kind).to(getattr(torch, dtype))
        assert set(made.tolist()) == {held}


# ---- truth values and integers are different arguments -----------------------------------------

@pytest.mark.parametrize("call", [
    lambda x: torch.sum(x, 0, keepdim=1), lambda x: x.mean(0, keepdim="yes"),
    lambda x: x.argmax(0, keepdim=1.5), lambda x: torch.topk(x, 1, largest=1),
    lambda x: x.unsqueeze(True), lambda x: x.transpose(True, False), lambda x: x.view(True, 6)])
def test_arguments_of_the_wrong_kind(call):
    with pytest.raises(TypeError, match="must be (bool|int), not|invalid combination of arg"):
        call(torch.ones(2, 3))


def test_truth_values_of_numpy():
    assert (torch.ones(2, dtype=torch.int64) * np.bool_(True)).dtype is torch.float32
    assert (np.bool_(True) * torch.tensor([True, False])).tolist() == [1.0, 0.0]


def test_reversed():
    assert reversed(torch.tensor([1, 2, 3])).tolist() == [3, 2, 1]
    assert reversed(torch.tensor(4)).item() == 4


def test_isin_of_a_number_compares():
    assert torch.isin(torch.tensor([0, 44], dtype=torch.uint8), 5).tolist() == [False, False]
    for call in (lambda: torch.isin(torch.tensor([True]), 1),
                 lambda: torch.isin(torch.ones(2), 1j)):
        with pytest.raises(RuntimeError, match=r"Unsupported input type encountered for isin\(\)"):
            call()


def test_sequences_have_no_truth_values():
    for dtype in (torch.bool, torch.complex64, torch.uint16):
        with pytest.raises(NotImplementedError, match='"arange_cpu" not implemented'):
            torch.arange(3, dtype=dtype)


def test_out_for_several_results():
    with pytest.raises(TypeError, match="argument 'out' must be tuple of Tensors, not Tensor"):
        torch.mode(torch.ones(3), out=torch.empty(0))
