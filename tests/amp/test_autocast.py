"""Autocast: which dtype each operator runs in, the cache of cast weights, the switches."""

import pytest

import yesca as torch
from yesca.nn import functional as F

half = torch.bfloat16


@pytest.fixture
def weight():
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


@pytest.mark.parametrize("name, arguments", [
    ("mm", 2), ("matmul", 2), ("addmm", 3), ("linalg_vecdot", 2)])
def test_products_run_in_the_lower_precision(name, arguments):
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert getattr(torch.functional, name)(*[x] * arguments).dtype is half
    assert getattr(torch.functional, name)(*[x] * arguments).dtype is torch.float32


def test_layers_run_in_the_lower_precision():
    x = torch.ones(1, 2, 4)
    with torch.autocast("cpu", dtype=torch.float16):
        assert F.linear(x, torch.ones(3, 4)).dtype is torch.float16
        assert F.conv1d(x, torch.ones(3, 2, 1)).dtype is torch.float16
        assert F.prelu(x, torch.ones(1)).dtype is torch.float16
        assert F.scaled_dot_product_attention(x, x, x).dtype is torch.float16
        assert torch.einsum("bij,bkj->bik", x, x).dtype is torch.float16
        assert torch.tensordot(x, x, ((2,), (2,))).dtype is torch.float16
        assert torch.tensordot(x, x, 3).dtype is torch.float32  # a dot product, as in PyTorch


def test_losses_run_in_float32():
    x, target = torch.ones(2, 3, dtype=half), torch.tensor([0, 1])
    with torch.autocast("cpu"):
        assert F.cross_entropy(x, target).dtype is torch.float32
        assert F.nll_loss(x, target).dtype is torch.float32
        assert F.mse_loss(x, x).dtype is torch.float32
        assert x.prod().dtype is torch.float32
        assert torch.trace(x).dtype is torch.float32


def test_the_rest_takes_what_comes():
    x, low = torch.ones(2, 2), torch.ones(2, 2, dtype=half)
    with torch.autocast("cpu"):
        assert (x + x).dtype is torch.float32
        assert (x + low).dtype is torch.float32
        assert low.sum().dtype is half
        assert F.softmax(low, 0).dtype is half
        assert F.layer_norm(low, (2,)).dtype is half
        assert (x.double() @ x.double()).dtype is torch.float64
        assert torch.ones(2, dtype=torch.int64).prod().dtype is torch.int64


def test_joins_take_the_widest_dtype():
    x, low = torch.ones(2), torch.ones(2, dtype=half)
    with torch.autocast("cpu"):
        assert torch.cat([low, x]).dtype is torch.float32
        assert torch.stack([low, low]).dtype is half
        with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
            torch.cat([low, low.half()])


def test_in_place_and_out_forms_are_left_alone():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert torch.mm(x, x, out=torch.empty(2, 2)).dtype is torch.float32
        assert torch.empty(2, 2).addmm_(x, x).dtype is torch.float32


def test_regions_nest():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
            assert not torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", dtype=torch.float16):
            assert torch.get_autocast_dtype("cpu") is torch.float16
        assert torch.get_autocast_dtype("cpu") is half
        assert torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("cpu")


def test_the_state_survives_an_error():
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        raise ZeroDivisionError
    assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype is torch.float32


def test_as_a_decorator():
    @torch.autocast("cpu")
    def square(x):
        """The square of a matrix."""
        return x @ x

    assert square(torch.ones(2, 2)).dtype is half
    assert square.__name__ == "square"
    with pytest.raises(TypeError, match="requires a callable, but got int"):
        torch.autocast("cpu")(3)


# ---- weights -----------------------------------------------------------------------------------

def test_gradients_have_the_dtype_of_the_weights(weight):
    with torch.autocast("cpu"):
        loss = (torch.ones(1, 2) @ weight).sum()
    loss.backward()
    assert weight.grad.dtype is torch.float32
    assert weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_backward_inside_the_region(weight):
    with torch.autocast("cpu"):
        F.mse_loss(torch.ones(1, 2) @ weight, torch.zeros(1, 2)).backward()
    assert weight.grad.dtype is torch.float32


def test_a_weight_is_cast_once(weight):
    with torch.autocast("cpu"):
        product = weight @ weight
        left, right = (node for node, _ in product.grad_fn.next_functions)
        assert left is right
    with torch.autocast("cpu", cache_enabled=False):
        product = weight @ weight
        left, right = (node for node, _ in product.grad_fn.next_functions)
        assert left is not right


def test_a_changed_weight_is_cast_anew(weight):
    x = torch.ones(1, 2)
    with torch.autocast("cpu"):
        assert (x @ weight).tolist() == [[4.0, 6.0]]
        with torch.no_grad():
            weight.add_(1)
        assert (x @ weight).tolist() == [[6.0, 8.0]]


def test_a_cast_off_the_tape_is_not_kept_for_the_tape(weight):
    x = torch.ones(1, 2)
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not (x @ weight).requires_grad
        assert (x @ weight).requires_grad


def test_the_cache_ends_with_the_region(weight):
    from yesca.dispatch.autocast import CACHE

    with torch.autocast("cpu"):
        with torch.autocast("cpu"):
            weight @ weight
        assert any(CACHE.casts)
    assert not any(CACHE.casts)


# ---- switches ----------------------------------------------------------------------------------

def test_what_is_supported():
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.autocast("nosuch")
    with pytest.raises(RuntimeError, match="unsupported scalarType"):
        torch.autocast("meta")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(1)
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        region = torch.autocast("cpu", dtype=torch.float32)
    with region:
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype is torch.float32


def test_cuda_is_disabled_with_a_warning():
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert not torch.is_autocast_enabled()
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype is torch.float32


def test_former_names():
    x = torch.ones(1, 1)
    with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"), torch.cpu.amp.autocast():
        assert (x @ x).dtype is half
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="CUDA is not available"):
        torch.cuda.amp.autocast()
    with pytest.warns(DeprecationWarning, match=r"torch.is_autocast_cpu_enabled\(\) is deprecated"):
        assert not torch.is_autocast_cpu_enabled()


def test_switching_by_hand():
    x = torch.ones(1, 1)
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (x @ x).dtype is half
        torch.set_autocast_dtype("cpu", torch.float16)
        assert (x @ x).dtype is torch.float16
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", half)
    with pytest.raises(TypeError, match="must be bool, not int"):
        torch.set_autocast_enabled("cpu", 1)


def test_custom_functions():
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            seen.append((grad.dtype, torch.is_autocast_enabled("cpu")))
            return grad * 2

    x = torch.ones(2, dtype=half, requires_grad=True)
    with torch.autocast("cpu"):
        Double.apply(x).sum().backward()
    assert seen == [(torch.float32, False), (torch.float32, False)]
    assert x.grad.dtype is half


def test_what_is_learned_of_a_call_holds_for_its_own_precision():
    """The builtin path runs calls that it knows: in regions too, and each precision apart."""
    x, low = torch.ones(2, 2), torch.ones(2, 2, dtype=half)
    wanted = {None: (torch.float32, half, half), half: (half, torch.float32, half),
              torch.float16: (torch.float16, torch.float32, torch.float16)}
    for _ in range(3):
        for lower, dtypes in wanted.items():
            with torch.autocast("cpu", dtype=lower or half, enabled=lower is not None):
                for _ in range(3):
                    made = x @ x, F.mse_loss(low, low), low @ low
                    assert tuple(t.dtype for t in made) == dtypes
                    assert (x + x).dtype is torch.float32
    torch.cat([x.half(), x.half()])  # learned here,
    torch.cat([x.half(), x.half()])
    with torch.autocast("cpu"), pytest.raises(RuntimeError, match="Unexpected floating"):
        torch.cat([x.half(), x.half()])  # and refused there
