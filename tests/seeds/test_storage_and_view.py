"""The lesson on PyTorch as plumbing: tensors are views of storages, modules are registries."""

import warnings

import numpy as np
import pytest

import yesca as torch
from yesca import nn
from yesca.nn import functional as F

# --- tensors --------------------------------------------------------------------------------------


def test_a_transpose_shares_the_bytes_and_swaps_the_strides():
    x = torch.arange(12).reshape(3, 4)
    y = x.t()
    assert (x.stride(), y.stride()) == ((4, 1), (1, 4))
    assert (x.shape, y.shape) == ((3, 4), (4, 3))
    assert x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    y[0, 1] = 100
    assert x[1, 0].item() == 100


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.view(4, 3),
        lambda x: x.transpose(0, 1),
        lambda x: x.narrow(1, 1, 2),
        lambda x: x.permute(1, 0),
        lambda x: x[1:, ::2],
        lambda x: x.unsqueeze(0),
        lambda x: x.diagonal(),
    ],
)
def test_views_share_their_storage(view):
    x = torch.arange(12).reshape(3, 4)
    shared = view(x)
    assert shared.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    shared.zero_()
    assert x.eq(0).sum().item() >= shared.numel()


def test_an_offset_says_where_a_view_starts():
    x = torch.arange(12).reshape(3, 4)
    part = x[1:, 2:]
    assert part.storage_offset() == 6
    assert part.data_ptr() == x.data_ptr() + 6 * x.element_size()


def test_contiguous_copies_a_transpose_and_nothing_else():
    x = torch.arange(12).reshape(3, 4)
    ordered = x.t().contiguous()
    assert ordered.stride() == (3, 1)
    assert ordered.data_ptr() != x.data_ptr()
    assert ordered.equal(x.t())
    assert x.contiguous().data_ptr() == x.data_ptr()


def test_numpy_has_the_same_model_and_the_same_memory():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = torch.from_numpy(array)
    array[0, 0] = 9
    assert x[0, 0].item() == 9
    assert tuple(step // 4 for step in array.T.strides) == x.t().stride()
    assert np.shares_memory(x.t().numpy(), array)


def test_half_and_float_promote_to_float():
    total = torch.ones(2, dtype=torch.float16) + torch.ones(2, dtype=torch.float32)
    assert total.dtype == torch.float32


# --- modules --------------------------------------------------------------------------------------


class TinyMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 256)
        self.fc2 = nn.Linear(256, 600)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))  # (B, 64) -> (B, 600)


def test_a_module_is_a_registry_of_parameters():
    model = TinyMLP()
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    assert shapes == {
        "fc1.weight": (256, 64),
        "fc1.bias": (256,),
        "fc2.weight": (600, 256),
        "fc2.bias": (600,),
    }
    assert all(isinstance(p, torch.Tensor) and p.requires_grad for p in model.parameters())
    assert list(model.state_dict()) == list(shapes)
    assert model.train(False).fc1.training is False
    assert model.train().fc2.training is True


def test_the_address_of_the_weights():
    model = TinyMLP()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that typed storages are on their way out
        address = model.fc1.weight.storage().data_ptr()
    assert isinstance(address, int)
    assert address == model.fc1.weight.data_ptr() != 0


def test_moving_a_module_replaces_what_its_parameters_hold():
    model = TinyMLP()
    first = model.fc1.weight
    model.to(torch.float64)
    assert model.fc1.weight is first
    assert first.dtype == torch.float64
    assert model.to(device="meta") is model
    assert all(p.is_meta for p in model.parameters())


def test_forward_is_a_sequence_of_operators():
    model, x = TinyMLP(), torch.randn(3, 64)
    hidden = (x @ model.fc1.weight.T + model.fc1.bias).clamp(min=0)
    expected = hidden @ model.fc2.weight.T + model.fc2.bias
    assert model(x).shape == (3, 600)
    assert torch.allclose(model(x), expected, atol=1e-5)


# --- a NumPy model, ported ------------------------------------------------------------------------


class Block(nn.Module):
    """A pre-norm transformer block with causal attention."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time, width = x.shape
        split = (batch, time, self.heads, width // self.heads)
        parts = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (part.view(split).transpose(1, 2) for part in parts)  # (B, H, T, D)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).contiguous().view(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class MiniGPT(nn.Module):
    def __init__(self, width=64, heads=4, layers=2, vocab=600):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocab)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.norm(x)).softmax(dim=-1)  # (B, T, V)


def numpy_softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def numpy_minigpt(weights, x, heads=4, layers=2):
    """The same model over a dictionary of NumPy arrays."""

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    batch, time, width = x.shape
    future = np.triu(np.ones((time, time), dtype=bool), 1)
    for number in range(layers):
        here = f"blocks.{number}"
        qkv = linear(f"{here}.qkv", norm(f"{here}.norm1", x))
        qkv = qkv.reshape(batch, time, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        scores = qkv[0] @ qkv[1].swapaxes(-2, -1) / np.sqrt(width // heads)
        mixed = numpy_softmax(np.where(future, -np.inf, scores)) @ qkv[2]  # (B, H, T, D)
        x = x + linear(f"{here}.out", mixed.swapaxes(1, 2).reshape(batch, time, width))
        up = linear(f"{here}.up", norm(f"{here}.norm2", x))
        gelu = 0.5 * up * (1 + np.tanh(np.sqrt(2 / np.pi) * (up + 0.044715 * up**3)))
        x = x + linear(f"{here}.down", gelu)
    return numpy_softmax(linear("lm_head", norm("norm", x)))


@pytest.fixture(scope="module")
def ported():
    torch.manual_seed(0)
    model = MiniGPT().eval()
    x = np.random.default_rng(0).standard_normal((2, 32, 64)).astype(np.float32)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    return model, x, numpy_minigpt(weights, x)


def test_the_port_agrees_with_numpy(ported):
    model, x, expected = ported
    with torch.no_grad():
        result = model(torch.tensor(x)).numpy()
    assert result.shape == (2, 32, 600)
    assert np.allclose(result, expected, atol=1e-5, rtol=1e-5)


def test_the_port_agrees_more_loosely_in_half_precision(ported):
    model, x, expected = ported
    half = MiniGPT().eval()
    half.load_state_dict(model.state_dict())
    with torch.no_grad():
        result = half.to(torch.float16)(torch.tensor(x, dtype=torch.float16)).float().numpy()
    assert np.allclose(result, expected, atol=1e-2)


def test_a_custom_softmax_takes_the_place_of_the_built_in_one(ported):
    model, x, expected = ported

    class OwnSoftmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, logits):
            result = torch.from_numpy(numpy_softmax(logits.detach().numpy()))
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, gradient):
            (result,) = ctx.saved_tensors
            return result * (gradient - (gradient * result).sum(-1, keepdim=True))

    class Swapped(MiniGPT):
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return OwnSoftmax.apply(self.lm_head(self.norm(x)))

    swapped = Swapped()
    swapped.load_state_dict(model.state_dict())
    result = swapped(torch.tensor(x))
    assert np.allclose(result.detach().numpy(), expected, atol=1e-5, rtol=1e-5)
    for owner in (swapped, model):
        owner.zero_grad()
        owner(torch.tensor(x))[..., 0].square().sum().backward()
    assert torch.allclose(swapped.lm_head.weight.grad, model.lm_head.weight.grad, atol=1e-6)
