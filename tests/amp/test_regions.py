"""Where a region reaches: threads, generators, checkpoints, loaders, transforms, other dtypes."""

import threading

import pytest

import yesca as torch
from yesca import nn
from yesca.utils.checkpoint import checkpoint
from yesca.utils.data import DataLoader, Dataset

half = torch.bfloat16
X = torch.ones(2, 2)


def product_dtype():
    return (X @ X).dtype


def test_a_thread_has_its_own_state():
    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(
            target=lambda: seen.append((product_dtype(), torch.is_autocast_enabled("cpu"))))
        thread.start()
        thread.join()
        assert product_dtype() is half
    assert seen == [(torch.float32, False)]


def test_a_generator_takes_its_region_along():
    def steps():
        with torch.autocast("cpu"):
            yield product_dtype()
            yield product_dtype()

    running = steps()
    assert next(running) is half
    assert product_dtype() is half  # as in PyTorch: the region is open until the generator ends
    assert list(running) == [half]
    assert product_dtype() is torch.float32


def test_one_region_entered_again():
    region = torch.autocast("cpu", dtype=torch.float16)
    for _ in range(2):
        with region:
            assert product_dtype() is torch.float16
        assert product_dtype() is torch.float32


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_runs_again_as_it_ran(reentrant):
    weight, seen = torch.ones(2, 2, requires_grad=True), []

    def part(x):
        seen.append((product_dtype(), torch.is_autocast_enabled("cpu"),
                     torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()))
        return x @ weight

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
        made = checkpoint(part, x, use_reentrant=reentrant)
    made.float().sum().backward()
    assert seen == [(torch.float16, True, torch.float16, False)] * 2
    assert (weight.grad.dtype, x.grad.dtype) == (torch.float32, torch.float32)
    assert not torch.is_autocast_enabled("cpu")


def test_backward_runs_in_the_region_that_calls_it():
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(product_dtype())
            return grad

    x = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu"):
        made = Watched.apply(x).sum()
        Watched.apply(x).sum().backward()
    made.backward()
    assert seen == [half, torch.float32]


def test_an_optimizer_step_in_the_region():
    """The cast of a weight holds for the weight's version."""
    weight = torch.ones(2, 2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    sums = []
    with torch.autocast("cpu"):
        for _ in range(3):
            made = (X @ weight).sum()
            sums.append(made.item())
            made.backward()
            optimizer.step()
            optimizer.zero_grad()
    assert sums == [8.0, -8.0, -24.0]


def test_modes_of_gradients_inside_one_region():
    weight = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        with torch.inference_mode():
            assert (X @ weight).is_inference()
        with torch.no_grad():
            assert not (X @ weight).requires_grad
        (X @ weight).sum().backward()
    assert weight.grad.tolist() == [[2.0, 2.0]] * 2


def test_a_tensor_that_requires_a_gradient_later():
    weight = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert not (X @ weight).requires_grad
        weight.requires_grad_()
        assert (X @ weight).requires_grad


def test_transforms():
    with torch.autocast("cpu"):
        assert torch.vmap(lambda a: a @ X)(torch.ones(3, 2, 2)).dtype is half
        assert torch.func.grad(lambda a: (a @ X).sum())(X).dtype is torch.float32
        assert [t.dtype for t in torch.func.jvp(lambda a: a @ X, (X,), (X,))] == [half, half]


def test_subclasses():
    class Own(torch.Tensor):
        pass

    with torch.autocast("cpu"):
        made = X.as_subclass(Own) @ X
        assert (type(made), made.dtype) == (Own, half)
        assert (nn.Parameter(X) @ X).dtype is half


def test_what_is_left_alone():
    with torch.autocast("cpu"):
        assert (X.double() @ X.double()).dtype is torch.float64
        assert (X.long() @ X.long()).dtype is torch.int64
        assert (X.cfloat() @ X.cfloat()).dtype is torch.complex64
        assert (X.half() @ X.bfloat16()).dtype is half
        with pytest.raises(RuntimeError, match="same dtype|but found"):
            X.double() @ X


class Products(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return X @ X, torch.is_autocast_enabled("cpu")


def test_loaders():
    with torch.autocast("cpu"):
        for products, states in DataLoader(Products(), batch_size=2):
            assert products.dtype is half
            assert states.tolist() == [True, True]


MODULES = {
    "bilinear": (lambda: nn.Bilinear(4, 3, 2), [(2, 4), (2, 3)], torch.float32),
    "lstm": (lambda: nn.LSTM(4, 3, 2), [(5, 2, 4)], half),
    "projected lstm": (lambda: nn.LSTM(4, 3, proj_size=2), [(5, 2, 4)], half),
    "gru": (lambda: nn.GRU(4, 3), [(5, 2, 4)], torch.float32),
    "lstm cell": (lambda: nn.LSTMCell(4, 3), [(2, 4)], torch.float32),
    "attention": (lambda: nn.MultiheadAttention(4, 2), [(3, 2, 4)] * 3, half),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), [(3, 2, 4)], torch.float32),
    "batch norm": (lambda: nn.Sequential(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.ReLU()),
                   [(2, 2, 5, 5)], half),
    "layer norm": (lambda: nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)), [(2, 4)], half),
    "rms norm": (lambda: nn.Sequential(nn.Linear(4, 3), nn.RMSNorm(3)), [(2, 4)], half),
    "group norm": (lambda: nn.Sequential(nn.Conv1d(2, 4, 2), nn.GroupNorm(2, 4)), [(2, 2, 5)],
                   half),
    "spectral norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), [(2, 4)],
                      half),
}


def first_of(made):
    return made if isinstance(made, torch.Tensor) else first_of(made[0])


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    """The dtypes that PyTorch gives; gradients have those of what they belong to."""
    make, shapes, wanted = MODULES[name]
    torch.manual_seed(0)
    module, given = make(), [torch.randn(*shape, requires_grad=True) for shape in shapes]
    with torch.autocast("cpu", dtype=half):
        made = first_of(module(*given))
    assert made.dtype is wanted
    made.float().square().sum().backward()
    assert {p.grad.dtype for p in (*module.parameters(), *given)} == {torch.float32}


def test_arguments_of_the_switches():
    for wrong in (lambda: torch.is_autocast_enabled(1), lambda: torch.get_autocast_dtype(1),
                  lambda: torch.set_autocast_enabled("cpu"),
                  lambda: torch.set_autocast_enabled("cpu", 1),
                  lambda: torch.set_autocast_dtype("cpu", None),
                  lambda: torch.set_autocast_dtype("cpu", 1)):
        with pytest.raises(TypeError, match="must be"):
            wrong()
    for unknown in (lambda: torch.is_autocast_enabled("meta"),
                    lambda: torch.set_autocast_enabled("meta", True)):
        with pytest.raises(RuntimeError, match="unknown device type for autocast"):
            unknown()
    with pytest.raises(RuntimeError, match="unsupported scalarType"):
        torch.get_autocast_dtype("meta")
    assert torch.get_autocast_dtype("cpu") is half
