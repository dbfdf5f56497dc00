"""Numbers as elements: what a dtype cannot hold is refused, as PyTorch does."""

import math

import pytest

import yesca

FILLS = {
    "full": lambda dtype, value: yesca.full((2,), value, dtype=dtype),
    "fill_": lambda dtype, value: yesca.zeros(2, dtype=dtype).fill_(value),
    "full_like": lambda dtype, value: yesca.full_like(yesca.zeros(2, dtype=dtype), value),
    "masked_fill": lambda dtype, value: yesca.zeros(2, dtype=dtype).masked_fill(
        yesca.tensor([True, True]), value),
    "scatter": lambda dtype, value: yesca.zeros(2, dtype=dtype).scatter(
        0, yesca.tensor([0, 1]), value),
    "fill_diagonal_": lambda dtype, value: yesca.zeros(2, 2, dtype=dtype).fill_diagonal_(value)[
        [0, 1], [0, 1]],
}
NAMES = {"uint8": "uint8_t", "int32": "int", "int64": "int64_t", "float16": "c10::Half",
         "bfloat16": "c10::BFloat16", "float32": "float", "complex64": "c10::complex<float>",
         "float64": "double"}


@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
@pytest.mark.parametrize("name,value", [
    ("uint8", 256), ("uint8", -256), ("uint8", -0.5), ("uint8", 255.5), ("uint8", math.nan),
    ("uint8", 2**64 - 1), ("int32", 2**31), ("int32", 1e20), ("int64", 2**63), ("int64", math.inf),
    ("int64", 2**64 - 1), ("float16", 65520), ("float16", 65519.9), ("float16", -1e9),
    ("bfloat16", 3.4e38), ("float32", 1e39), ("complex64", 1e39), ("complex64", 1e39j),
    ("float32", 1 + 2j), ("int32", 1 + 2j), ("float64", 2j)])
def test_out_of_range(fill, name, value):
    with pytest.raises(RuntimeError) as raised:
        fill(getattr(yesca, name), value)
    assert str(raised.value) == \
        f"value cannot be converted to type {NAMES[name]} without overflow"


@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
@pytest.mark.parametrize("name,value,wanted", [
    ("uint8", -255, 1), ("uint8", 255.0, 255), ("uint8", 2.9, 2), ("int64", 2**63 - 1, 2**63 - 1),
    ("int64", -2**63, -2**63), ("int32", 1 + 0j, 1), ("float16", 65519, 65504.0),
    ("float16", math.inf, math.inf), ("float32", -math.inf, -math.inf), ("float32", 3 + 0j, 3.0),
    ("float64", 1e300, 1e300), ("float64", 2**64 - 1, 2.0**64), ("complex64", 1 + 2j, 1 + 2j),
    ("int32", True, 1)])
def test_in_range(fill, name, value, wanted):
    assert fill(getattr(yesca, name), value).tolist() == [wanted] * 2


def test_a_number_beyond_64_bits():
    x = yesca.zeros(2)
    with pytest.raises(OverflowError, match="int too big to convert"):
        x.fill_(2**64)
    with pytest.raises(OverflowError, match="can't convert negative int to unsigned"):
        x.fill_(-2**63 - 1)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        x[0] = 2**63


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_assigned_numbers_become_infinite_in_halves(name):
    dtype = getattr(yesca, name)
    x = yesca.zeros(4, dtype=dtype)
    x[0], x[1:2], x[x == 0] = 1e300, -1e300, 1.5
    x[yesca.tensor([3])] = 1e300
    assert x.tolist() == [math.inf, -math.inf, 1.5, math.inf]
    assert yesca.scalar_tensor(1e300, dtype=dtype).item() == math.inf
    assert x.new_full((1,), -1e300).item() == -math.inf
    with pytest.raises(RuntimeError, match="type double without overflow"):
        x[0] = 1j


def test_new_tensors_of_numbers():
    for name in ("uint8", "int32", "int64", "uint16"):
        for value in (1e30, math.nan, -1e30):
            with pytest.raises(RuntimeError, match=f"type {name} without overflow"):
                yesca.tensor([value], dtype=getattr(yesca, name))
    with pytest.raises(RuntimeError, match="type uint8 without overflow"):
        yesca.tensor(-0.5, dtype=yesca.uint8)
    assert yesca.tensor(1e39, dtype=yesca.bfloat16).item() == math.inf
    with pytest.raises(TypeError, match="must be real number, not complex"):
        yesca.tensor(1j, dtype=yesca.bfloat16)
    with pytest.raises(TypeError, match="an integer is required"):
        yesca.tensor(1j, dtype=yesca.uint64)


def test_bounds_and_branches_are_in_range():
    x = yesca.ones(2, dtype=yesca.uint8)
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        x.clamp(max=300)
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        x.clamp_min(-300)
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        yesca.where(x > 0, x, 300)
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        yesca.nn.functional.pad(x, (1, 0), value=-1)
    with pytest.raises(TypeError, match=r"pad\(\): argument 'value'"):
        yesca.nn.functional.pad(x, (1, 0), value=1j)
    assert x.clamp(2, 255).tolist() == [2, 2]


@pytest.mark.parametrize("write", [
    lambda x, value: x.masked_fill(yesca.tensor(False), value),
    lambda x, value: x.clone().masked_fill_(yesca.tensor([True, True]), value),
    lambda x, value: x.index_fill(0, yesca.tensor([1]), value)],
    ids=["masked_fill", "masked_fill_", "index_fill"])
@pytest.mark.parametrize("name,value", [
    ("int8", 300), ("int8", 300.0), ("uint8", -256), ("int64", math.nan), ("float16", 1e6),
    ("float32", 1e60)])
def test_tensors_as_values_out_of_range(write, name, value):
    given = yesca.tensor(value, dtype=yesca.float64 if isinstance(value, float) else yesca.int64)
    with pytest.raises(RuntimeError) as raised:
        write(yesca.zeros(2, dtype=getattr(yesca, name)), given)
    assert str(raised.value) == \
        f"value cannot be converted to type {NAMES.get(name, name + '_t')} without overflow"


def test_complex_tensors_as_values():
    mask, x = yesca.tensor([True, False]), yesca.ones(2, dtype=yesca.int64)
    for target in (x, x.float()):
        with pytest.raises(RuntimeError, match="without overflow"):
            target.masked_fill(mask, yesca.tensor(1j))
        with pytest.raises(RuntimeError, match="without overflow"):
            target.masked_fill(mask, yesca.tensor(1j).conj())
        assert target.masked_fill(mask, yesca.tensor(3 + 0j)).tolist() == [3, 1]
        with pytest.raises(RuntimeError, match=r"index_fill_\(\): Converting complex Scalar"):
            target.index_fill(0, yesca.tensor([0]), 1j)
        with pytest.raises(RuntimeError, match=r"index_fill_\(\): Converting complex Scalar"):
            target.index_fill(0, yesca.tensor([0]), yesca.tensor(1j))
    assert x.bool().masked_fill(mask, yesca.tensor(1j)).tolist() == [True, True]
    assert x.bool().masked_fill(mask, yesca.tensor(0j)).tolist() == [False, True]


def test_gradients_of_tensors_as_values():
    value = yesca.tensor(2.0, dtype=yesca.float64, requires_grad=True)
    made = yesca.zeros(3).masked_fill(yesca.tensor([True, False, True]), value)
    made.sum().backward()
    assert made.tolist() == [2, 0, 2]
    assert value.grad.dtype is yesca.float64 and value.grad.item() == 2


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn"])
def test_the_only_element_is_rounded(name):
    """PyTorch looks at the range of a number only where it fills more than one element."""
    dtype = getattr(yesca, name)
    largest = yesca.tensor([1e39], dtype=dtype)
    for made in (yesca.full((1,), 1e39, dtype=dtype), yesca.zeros(2, dtype=dtype)[:1].fill_(1e39),
                 yesca.full_like(largest, 1e39), yesca.scalar_tensor(1e39, dtype=dtype)[None],
                 largest.new_full((1,), 1e39)):
        assert made.tolist() == largest.tolist()
    with pytest.raises(RuntimeError, match="without overflow"):
        yesca.full((2,), 1e39, dtype=dtype)
    x = yesca.zeros(2, dtype=dtype)
    x[0] = 1e39
    assert x.tolist() == [*largest.tolist(), 0]
