"""Arguments that records refuse, and results for which PyTorch has a rule of its own."""

import math

import pytest

import yesca as torch
from yesca.nn import functional as F


@pytest.mark.parametrize("start", [torch.tensor([1]), torch.tensor([1, 2]), torch.tensor(1.0),
                                   torch.tensor(True)])
def test_a_start_is_an_integer_of_no_dimension(start: torch.Tensor) -> None:
    x = torch.arange(20).reshape(4, 5)
    for narrow in (lambda: torch.narrow(x, 1, start, 2), lambda: x.narrow(1, start, 2)):
        with pytest.raises(RuntimeError, match="start must be an 0-dim integral Tensor"):
            narrow()
    assert x.narrow(1, torch.tensor(1), 2).tolist() == x[:, 1:3].tolist()


def test_narrow_copy_knows_no_dimension_beyond() -> None:
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match="Expected dim < "):
        torch.narrow_copy(x, 2, 0, 1)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.narrow_copy(x, -3, 0, 1)
    with pytest.raises(IndexError, match="start out of range"):
        torch.narrow(x, 0, 5, 1)


def test_a_power_of_two_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"pow\(\) received an invalid combination of arguments"):
        torch.pow(2, 3)


def test_phases_of_running_logarithms() -> None:
    """From left to right, the phase of the larger number is kept."""
    x = torch.tensor([-1.4590 - 7.8209j, -1.8878 + 3.9578j, -1.3596 + 8.6006j, 2.1889 - 0.81716j,
                      -2.0948 - 1.28e-3j])
    expected = [-7.8209, -8.1272, -8.9065, -0.8513, -0.8410]
    for given in (x, x.to(torch.complex128), torch.stack((x, x), 1)):
        made = torch.logcumsumexp(given, 0)
        phases = made.imag.reshape(5, -1)
        assert torch.allclose(phases.float(), torch.tensor(expected)[:, None], atol=2e-4)
        assert torch.allclose(made.exp(), given.exp().cumsum(0), rtol=1e-4)
    assert torch.logcumsumexp(x[:1], 0).tolist() == x[:1].tolist()
    assert torch.logcumsumexp(x[:0], 0).shape == (0,)


@pytest.mark.parametrize("dtype,most,name", [
    (torch.float32, "3.40282e+38", "Float"), (torch.float64, "1.79769e+308", "Double"),
    (torch.float16, "65504", "Half"), (torch.bfloat16, "3.38953e+38", "BFloat16")])
def test_a_shrinkage_is_a_number_of_the_dtype_that_is_not_negative(
        dtype: torch.dtype, most: str, name: str) -> None:
    x = torch.tensor([-2.0, 0.25, 1.0], dtype=dtype)
    for lambd in (-0.5, -2, math.inf, math.nan):
        with pytest.raises(RuntimeError) as raised:
            F.softshrink(x, lambd)
        assert str(raised.value) == (f"lambda must be in range [0, {most}] for input dtype {name}, "
                                     f"but found {lambd}")
    assert F.softshrink(x, 0.5).tolist() == [-1.5, 0, 0.5]
    with pytest.raises(NotImplementedError, match="\"softshrink_check\" not implemented for"):
        F.softshrink(torch.ones(2, dtype=torch.int64), -1)


@pytest.mark.parametrize("lower,upper,message", [
    (0.3, 0.1, "Lower bound should be less than or equal to the upper bound"),
    (math.nan, 1.0, "rrelu: lower bound must be finite, got nan"),
    (0.0, math.inf, "rrelu: upper bound must be finite, got inf")])
def test_slopes_lie_between_bounds(lower: float, upper: float, message: str) -> None:
    for function in (torch.rrelu, torch.rrelu_):
        for training in (False, True):
            with pytest.raises(RuntimeError, match=message):
                function(torch.ones(2), lower, upper, training)


def test_weights_of_channels_are_a_row() -> None:
    for shape in ((2, 4), (1, 8), (1, 1)):
        with pytest.raises(RuntimeError, match="a scalar or 1D tensor, but got: ndim = 2"):
            F.prelu(torch.ones(2, 8, 3), torch.ones(shape))
    assert F.prelu(-torch.ones(2, 8), torch.tensor(0.5)).sum().item() == -8


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0), (2, 3, 4)])
def test_listed_classes_are_some(shape: tuple[int, ...]) -> None:
    x = torch.ones(shape)
    with pytest.raises(RuntimeError, match="Expected non-empty vector or matrix"):
        F.multilabel_margin_loss(x, x.long())
    with pytest.raises(RuntimeError, match=r"inconsistent target size: \[4\] for input of size"):
        F.multilabel_margin_loss(torch.ones(5, 4), torch.ones(4).long())


def test_what_is_picked_is_not_written_over_its_source() -> None:
    x = torch.arange(6.0)
    index = torch.tensor([2, 1, 0])
    mask = torch.tensor([True, False, True])
    for call in (lambda: torch.take(x, torch.arange(6), out=x),
                 lambda: torch.take(index, index, out=index),
                 lambda: torch.masked_select(x, x > 1, out=x),
                 lambda: torch.masked_select(mask.clone(), mask, out=mask)):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            call()


def test_hashes_of_bits() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    bits = x.double().view(torch.int64).tolist()
    both = [a ^ b for a, b in bits]
    assert torch.hash_tensor(x).item() == both[0] ^ both[1]
    assert torch.hash_tensor(x).dtype is torch.uint64
    assert x.hash_tensor(1).tolist() == both
    assert x.bfloat16().hash_tensor((0, 1), keepdim=True).tolist() == [[both[0] ^ both[1]]]
    assert torch.hash_tensor(torch.tensor([-1, 3, 5], dtype=torch.int8)).item() == 2**64 - 1 ^ 6
    assert torch.hash_tensor(torch.tensor([True, False, True])).item() == 0
    assert torch.hash_tensor(torch.empty(0, 2), 1).shape == (0,)
    for call, error, message in (
            (lambda: torch.hash_tensor(x, mode=1), RuntimeError, "Unknown hash_tensor mode: 1"),
            (lambda: torch.hash_tensor(x[:0]), RuntimeError, "Expected reduction dim to be"),
            (lambda: torch.hash_tensor(x[:0], 0), IndexError, "to have non-zero size"),
            (lambda: torch.hash_tensor(x * 1j), NotImplementedError, "xor_sum_cpu"),
            (lambda: torch.hash_tensor(x.to(torch.uint64)), NotImplementedError, "'UInt64'"),
            (lambda: torch.hash_tensor(x, out=torch.empty(0)), RuntimeError, "dtype uint64")):
        with pytest.raises(error, match=message):
            call()


def test_a_fixed_number_of_places() -> None:
    x = torch.tensor([[0, 1], [1, 1]])
    assert torch.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert x.nonzero_static(size=4, fill_value=7).tolist() == [[0, 1], [1, 0], [1, 1], [7, 7]]
    assert torch.nonzero_static(torch.tensor(1), size=3).shape == (3, 0)
    assert torch.nonzero_static(x.to("meta"), size=3).shape == (3, 2)
    assert torch.nonzero_static(x, size=2).stride() == (2, 1)
    with pytest.raises(RuntimeError, match="'size' must be an non-negative integer"):
        torch.nonzero_static(x, size=-1)
    with pytest.raises(RuntimeError, match="Expected out tensor to have scalar type Long"):
        torch.nonzero_static(x, size=1, out=torch.empty(0))


def test_dimensions_in_an_order_of_their_own() -> None:
    assert torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    assert torch.empty_permuted([2, 0, 3], (1, 0, 2), dtype=torch.int64).stride() == (3, 6, 1)
    assert torch.empty_permuted((2, 3), (1, 0), requires_grad=True).requires_grad
    for size, order, message in (
            ((2,), (0, 1), "does not match the length of the physical_layout"),
            ((2,), (-1,), "negative dims not currently supported"),
            ((2, 3), (0, 0), "Duplicate dim not allowed"),
            ((-2, 3), (0, 1), "negative dimension -2")):
        with pytest.raises(RuntimeError, match=message):
            torch.empty_permuted(size, order)
    with pytest.raises(TypeError, match="must be tuple of ints, not int"):
        torch.empty_permuted(2, (0,))


def test_norms_of_order_0_are_on_the_tape_without_a_gradient() -> None:
    for norm in (lambda x: torch.linalg.vector_norm(x, 0), lambda x: x.norm(0),
                 lambda x: torch.linalg.norm(x, 0), lambda x: torch.norm(x[None], 0, dim=1)):
        x = torch.tensor([1.0, 0.0, -2.0], requires_grad=True)
        made = norm(x)
        assert made.sum().item() == 2 and made.grad_fn.name() == "LinalgVectorNormBackward0"
        (made.sum() + (3 * x).sum()).backward()
        assert x.grad.tolist() == [3, 3, 3]


def test_no_differences_at_all_are_a_copy() -> None:
    x = torch.arange(4.0, requires_grad=True)
    made = torch.diff(x, 0, prepend=torch.ones(2), append=torch.ones(1))
    assert made.tolist() == [0, 1, 2, 3] and made.data_ptr() != x.data_ptr()
    assert made.grad_fn.name().endswith("CopyBackwards")
    with pytest.raises(RuntimeError, match="prepend or append to be the same dimension"):
        torch.diff(x, 0, prepend=torch.ones(2, 2))


def test_equal_steps_are_rounded_in_their_own_type():
    tenths = torch.linspace(0.0, 0.9, 10)
    assert tenths[1].item() == 0.09999999403953552 and tenths[8].item() == 0.7999999523162842
    assert torch.linspace(0.0, 0.3, 10)[7].item() == 0.23333334922790527
    half = torch.linspace(0.0, 0.9, 10, dtype=torch.float16)
    assert half.tolist() == [
        0.0, 0.0999755859375, 0.199951171875, 0.2998046875, 0.39990234375, 0.5, 0.60009765625,
        0.7001953125, 0.7998046875, 0.89990234375]


def test_lines_of_whole_numbers_have_whole_ends() -> None:
    assert torch.linspace(4.3, 9.9, 5, dtype=torch.int32).tolist() == [4, 5, 6, 7, 9]
    assert torch.linspace(4.3, 0, 9, dtype=torch.uint8).tolist() == [4, 3, 3, 2, 2, 1, 1, 0, 0]
    assert torch.linspace(-3, 0, 3, dtype=torch.uint8).tolist() == [253, 126, 0]
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t without overflow"):
        torch.linspace(0, 300, 5, dtype=torch.uint8)


def test_contractions_keep_small_integers() -> None:
    a, b = torch.ones(1, 1, 1, dtype=torch.int32), torch.ones(2, 1, 2, dtype=torch.int32)
    made = torch.tensordot(a, b, ((0, 1), (2, 0)))
    assert made.dtype is torch.int32 and made.tolist() == [[4]]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_numbers_are_added_where_they_are_scattered(dtype: torch.dtype) -> None:
    x, index = torch.ones(3, dtype=dtype), torch.tensor([0, 0])
    assert x.scatter(0, index, 2.5j, reduce="add").tolist() == [1 + 5j, 1, 1]
    assert torch.tensor(1j, dtype=dtype).scatter(0, torch.tensor(0), 2.5, reduce="add").item() == \
        2.5 + 1j
    wide = torch.zeros(2, 2, dtype=dtype).scatter_(1, torch.tensor([[0], [1]]), 1j, reduce="add")
    assert wide.tolist() == [[1j, 0], [0, 1j]]


def test_nearest_bytes() -> None:
    for rank in (1, 2, 3):
        x = torch.arange(2**rank, dtype=torch.uint8).reshape(1, 1, *(2,) * rank)
        for mode in ("nearest", "nearest-exact"):
            made = F.interpolate(x, scale_factor=2, mode=mode)
            assert made.dtype is torch.uint8
            assert made.sum().item() == 2**rank * x.sum().item()
    x = torch.ones(1, 1, 2, 2, 2, dtype=torch.int8)
    for shape, mode, kernel in (((1, 1, 8), "nearest", "compute_indices_weights_nearest"),
                                ((1, 1, 8), "linear", "compute_indices_weights_linear"),
                                ((1, 1, 2, 4), "nearest-exact", "upsample_nearest2d_channels_last"),
                                ((1, 1, 2, 4), "bilinear", "upsample_bilinear2d_channels_last"),
                                ((1, 1, 2, 4), "bicubic", "compute_indices_weights_cubic"),
                                ((1, 1, 2, 2, 2), "trilinear", "compute_indices_weights_linear")):
        with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Char'"):
            F.interpolate(x.reshape(shape), scale_factor=2, mode=mode)


#: Mode, align_corners, sizes -> what PyTorch makes of the bytes below.
RESAMPLED = {
    ("bilinear", False, (3, 4)): [[36, 66, 85, 131], [155, 153, 119, 53], [60, 106, 152, 161]],
    ("bilinear", True, (3, 4)): [[0, 49, 99, 148], [150, 156, 121, 42], [43, 92, 142, 191]],
    ("bicubic", False, (3, 4)): [[31, 65, 79, 136], [178, 171, 124, 30], [55, 106, 157, 164]],
    ("bicubic", True, (5, 3)): [[0, 74, 148], [151, 0, 101], [174, 96, 18], [90, 191, 40],
                                [43, 117, 191]]}


@pytest.mark.parametrize("mode,corners,size", RESAMPLED)
def test_bytes_are_resampled_one_dimension_after_the_other(
        mode: str, corners: bool, size: tuple[int, int]) -> None:
    x = (torch.arange(20) * 37 % 256).to(torch.uint8).reshape(1, 1, 4, 5)
    for given in (x, x.to(memory_format=torch.channels_last), x.expand(2, 3, 4, 5)):
        made = F.interpolate(given, size, mode=mode, align_corners=corners)
        assert made.dtype is torch.uint8
        assert made[0, 0].tolist() == RESAMPLED[mode, corners, size]
    assert torch.equal(F.interpolate(x, (4, 5), mode=mode, align_corners=corners), x)


X = torch.ones(2)


@pytest.mark.parametrize(("args", "named"), [
    ((X, X), {}), ((0, False, 3), {}), ((0.5,), {}), ((0, 1), {}), (("a",), {}), ((None,), {}),
    (([0],), {}), ((True,), {}), ((0,), {"dim": 0}), ((), {"dim": 0, "other": X}),
    ((), {"other": 3}), ((), {"keepdim": True}), ((X,), {"keepdim": True}), ((), {"foo": 1}),
])
@pytest.mark.parametrize("name", ["max", "min"])
def test_forms_of_extremes(name, args, named):
    for call in (getattr(torch, name), lambda x, *a, **k: getattr(x, name)(*a, **k)):
        for _ in range(2):
            with pytest.raises(TypeError, match="received an invalid combination of arguments"):
                call(X, *args, **named)
