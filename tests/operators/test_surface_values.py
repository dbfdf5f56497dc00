"""Differences, statistics, parts of floats, running log-sums: values, errors, gradients."""

import math

import numpy as np
import pytest

import yesca as torch
from yesca.autograd.gradcheck import gradcheck


def doubles(*shape, seed=0):
    made = np.random.default_rng(seed).normal(size=shape)
    return torch.from_numpy(made)


def test_neighbours_are_numpys():
    for dtype in (np.float16, np.float32, np.float64):
        tiny = np.finfo(dtype).smallest_subnormal
        x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, tiny, np.nan, 2.0], dtype)
        y = np.array([1.0, -1.0, 2.0, 0.0, 0.0, -1.0, 1.0, 2.0], dtype)
        made = torch.nextafter(torch.from_numpy(x), torch.from_numpy(y)).numpy()
        assert made.tobytes() == np.nextafter(x, y).tobytes()


def test_neighbour_of_bfloat16():
    one = torch.ones(1, dtype=torch.bfloat16)
    assert torch.nextafter(one, one * 2).item() == 1.0078125
    with pytest.raises(NotImplementedError, match="nextafter_cpu"):
        torch.nextafter(torch.ones(1).long(), torch.ones(1).long())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_mantissa_and_exponent(dtype):
    x = np.array([0.0, -0.0, 1.0, -3.0, 1e-7, 6e-8, np.inf, 0.5], dtype)
    mantissa, exponent = torch.frexp(torch.from_numpy(x))
    wanted = np.frexp(x)
    assert mantissa.numpy().tobytes() == wanted[0].tobytes()
    assert exponent.tolist() == wanted[1].tolist()
    assert exponent.dtype == torch.int32


def test_ldexp_does_not_overflow_on_the_way():
    made = torch.ldexp(torch.tensor([1e-30, 0.0, 1.5]), torch.tensor([140, 1000, -149]))
    assert made.tolist() == np.ldexp(np.array([1e-30, 0.0, 1.5], np.float32),
                                     [140, 1000, -149]).tolist()
    assert torch.ldexp(torch.ones(1).half(), torch.tensor([2])).dtype == torch.float16


def test_differences():
    x = np.arange(12.0).reshape(3, 4) ** 2
    assert np.array_equal(torch.diff(torch.from_numpy(x), n=2, dim=0).numpy(), np.diff(x, 2, 0))
    made = torch.from_numpy(x).diff(prepend=torch.zeros(3, 1).double())
    assert np.array_equal(made.numpy(), np.diff(x, prepend=0.0))
    assert torch.tensor([True, False]).diff().tolist() == [True]
    with pytest.raises(RuntimeError, match="at least one-dimensional"):
        torch.diff(torch.tensor(1.0))


def test_trapezoids():
    y, x = np.array([1.0, 3.0, 2.0, 5.0]), np.array([0.0, 1.0, 4.0, 5.0])
    made = torch.trapz(torch.from_numpy(y), torch.from_numpy(x))
    assert made.item() == pytest.approx(np.trapezoid(y, x))
    steps = torch.cumulative_trapezoid(torch.from_numpy(y), dx=0.5)
    assert steps.tolist() == [1.0, 2.25, 4.0]
    with pytest.raises(RuntimeError, match="one `x` value"):
        torch.trapezoid(torch.ones(3), torch.ones(4))


def test_gradient_of_samples():
    y, x = np.array([1.0, 2.0, 4.0, 7.0, 3.0]), np.array([0.0, 1.0, 1.5, 3.5, 4.0])
    for order in (1, 2):
        made, = torch.gradient(torch.from_numpy(y), spacing=(torch.from_numpy(x),),
                               edge_order=order)
        assert np.allclose(made.numpy(), np.gradient(y, x, edge_order=order))
    rows, columns = torch.gradient(doubles(3, 4), spacing=2.0)
    wanted = np.gradient(doubles(3, 4).numpy(), 2.0)
    assert np.allclose(rows.numpy(), wanted[0]) and np.allclose(columns.numpy(), wanted[1])


def test_without_nan():
    x = torch.tensor([[1.0, float("nan")], [3.0, 4.0]], requires_grad=True)
    assert x.nansum().item() == 8.0
    assert x.nansum(1, keepdim=True).tolist() == [[1.0], [7.0]]
    assert torch.nanmean(x, 0).tolist() == [2.0, 4.0]
    x.nansum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [1.0, 1.0]]


def test_smallest_and_largest():
    x = torch.tensor([[1.0, 5.0, 5.0], [2.0, -1.0, 0.0]], requires_grad=True)
    low, high = torch.aminmax(x)
    assert (low.item(), high.item()) == (-1.0, 5.0)
    found = x.aminmax(dim=1)
    assert found.min.tolist() == [1.0, -1.0] and found.max.tolist() == [5.0, 2.0]
    high.backward()
    assert x.grad.tolist() == [[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]]
    with pytest.raises(RuntimeError, match="no identity"):
        torch.aminmax(torch.ones(0))


def test_covariances():
    x = doubles(3, 6)
    assert np.allclose(torch.cov(x).numpy(), np.cov(x.numpy()))
    assert np.allclose(torch.corrcoef(x).numpy(), np.corrcoef(x.numpy()))
    repeats, weights = np.array([1, 2, 3, 1, 1, 2]), np.linspace(0.5, 1.5, 6)
    made = torch.cov(x, fweights=torch.from_numpy(repeats), aweights=torch.from_numpy(weights))
    assert np.allclose(made.numpy(), np.cov(x.numpy(), fweights=repeats, aweights=weights))
    with pytest.raises(RuntimeError, match="two or fewer dimensions"):
        torch.cov(torch.ones(2, 2, 2))


def test_running_log_sum():
    inf = math.inf
    x = torch.tensor([-inf, -inf, 2.0, -inf, 1000.0, 999.0])
    wanted = np.logaddexp.accumulate(x.double().numpy())
    assert np.allclose(torch.logcumsumexp(x, 0).numpy(), wanted)
    small = torch.tensor([-1000.0, 0.0]).logcumsumexp(0)
    assert small.tolist() == [-1000.0, 0.0]


def test_norms():
    x = doubles(3, 4)
    made = torch.renorm(x, 2, 0, 1.0)
    assert np.allclose(np.linalg.norm(made.numpy(), axis=1).max(), 1.0)
    assert torch.dist(x, x + 3, 1).item() == pytest.approx(36.0)


def test_whole_numbers():
    x, y = torch.tensor([12, 0, -4, 2 ** 62]), torch.tensor([18, 0, 6, 2 ** 40])
    assert torch.gcd(x, y).tolist() == [6, 0, 2, 2 ** 40]
    assert torch.lcm(x[:3], y[:3]).tolist() == [36, 0, 12]
    rows, columns = torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 2]


@pytest.mark.parametrize("function", [
    lambda x: torch.logcumsumexp(x, 1), lambda x: torch.diff(x, n=2),
    lambda x: torch.trapezoid(x, dx=0.3), lambda x: torch.cov(x), lambda x: torch.corrcoef(x),
    lambda x: torch.renorm(x, 2, 0, 0.5), lambda x: torch.dist(x, doubles(3, 4, seed=9), 3),
    lambda x: torch.gradient(x, edge_order=2)[0], lambda x: torch.aminmax(x, dim=0).max,
    lambda x: torch.frexp(x)[0], lambda x: torch.ldexp(x, torch.tensor([2])),
    lambda x: torch.float_power(x, 2),
])
def test_gradients(function):
    assert gradcheck(function, (doubles(3, 4, seed=3).requires_grad_(True),))


class TestWhere:
    """Its forms: a condition alone, or with both of what it chooses from."""

    CONDITION, VALUES = torch.tensor([True, False]), torch.ones(2)

    @pytest.mark.parametrize(("rest", "named", "shown"), [
        ((VALUES,), {}, "(Tensor, Tensor)"), ((1,), {}, "(Tensor, int)"),
        ((), {"other": VALUES}, "(Tensor, other=Tensor)"), (("a", 2), {}, "(Tensor, str, int)")])
    def test_other_forms(self, rest, named, shown):
        with pytest.raises(TypeError) as caught:
            torch.where(self.CONDITION, *rest, **named)
        assert str(caught.value) == (
            f"where() received an invalid combination of arguments - got {shown}, but expected "
            "one of:\n * (Tensor condition)\n * (Tensor condition, Tensor input, Tensor other, *, "
            "Tensor out = None)\n * (Tensor condition, Number self, Tensor other)\n * (Tensor "
            "condition, Tensor input, Number other)\n * (Tensor condition, Number self, Number "
            "other)\n")

    def test_conditions(self):
        with pytest.raises(RuntimeError) as caught:
            torch.where(self.VALUES, 1, 2)
        assert str(caught.value) == ("where expected condition to be a boolean tensor, but got a "
                                     "tensor with dtype Float")
        with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
            made = torch.where(self.CONDITION.to(torch.uint8), self.VALUES, 0.0)
        assert made.tolist() == [1.0, 0.0]
        with pytest.raises(TypeError, match="invalid combination of arguments - got .int, "):
            torch.where(1, self.VALUES, self.VALUES)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64])
def test_inverting_what_has_no_bits(dtype):
    x = torch.ones(2, dtype=dtype)
    for _ in range(2):
        with pytest.raises(TypeError) as caught:
            ~x
        assert str(caught.value) == (
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    with pytest.raises(NotImplementedError, match="\"bitwise_not_cpu\" not implemented for"):
        torch.bitwise_not(x)
    assert (~torch.tensor([0, 5])).tolist() == [-1, -6]
    assert (~torch.tensor([True])).tolist() == [False]


def test_truth_values_are_bounded_by_tensors_only():
    flags, low = torch.tensor([True, False, True]), torch.tensor([False, True, True])
    assert torch.clamp_min(flags, low).tolist() == [True, True, True]
    assert torch.clamp_max(flags, low).tolist() == [False, False, True]
    with pytest.raises(NotImplementedError, match="clamp_max_scalar_cpu"):
        torch.clamp_max(flags, True)
    assert torch.clamp_max(flags, 1).tolist() == [1, 0, 1]


IMAGE = torch.ones(2, 3, 6)


@pytest.mark.parametrize(("call", "why"), [
    (lambda: torch.nn.functional.adaptive_avg_pool1d(IMAGE, -9), "adaptive_avg_pool2d: elements of "
     "output_size must be greater than or equal to 0 but received {1, -9}"),
    (lambda: torch.nn.functional.adaptive_avg_pool2d(IMAGE, (2, -1)), "adaptive_avg_pool2d: "
     "elements of output_size must be greater than or equal to 0 but received {2, -1}"),
    (lambda: torch.nn.functional.adaptive_avg_pool3d(IMAGE[:, :, None, None], -9),
     "adaptive_avg_pool3d: elements of output_size must be greater than or equal to 0 but received "
     "{-9, -9,-9}"),
    (lambda: torch.nn.functional.adaptive_max_pool1d(IMAGE, -9),
     "Trying to create tensor with negative dimension -9: [2, 3, 1, -9]"),
    (lambda: torch.nn.functional.adaptive_max_pool2d(IMAGE, -1),
     "Trying to create tensor with negative dimension -1: [2, -1, -1]"),
    (lambda: IMAGE.unfold(2, -9, 1), "size is -9 but must be >= 0"),
    (lambda: torch.unfold_copy(IMAGE, 2, -1, 0), "size is -1 but must be >= 0"),
    (lambda: IMAGE.masked_scatter(IMAGE > 0, IMAGE.double()),
     "masked_scatter: expected self and source to have same dtypes but gotFloat and Double"),
    (lambda: torch.triangular_solve(IMAGE[0].cfloat(), torch.eye(3)), "Expected b and A to have "
     "the same dtype, but found b of type ComplexFloat and A of type Float instead."),
])
def test_sizes_and_dtypes_that_are_refused(call, why):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == why


@pytest.mark.filterwarnings("error")
def test_determinants_of_nothing_known_say_nothing():
    unknown = torch.full((3, 3), math.nan)
    assert torch.det(unknown).isnan() and torch.slogdet(unknown).logabsdet.isnan()
