"""A transformer in NumPy, its twin in torch, and the twin with a softmax kernel of one's own.

    python -m yesca examples/custom_softmax.py            # the three agree; the kernel's gradient
    python -m yesca examples/custom_softmax.py --source   # and what the kernel becomes
    python -m yesca examples/custom_softmax.py --time     # and what it takes, by the built-in

The model is small: two blocks of causal attention, 64 numbers a token, 600 words. The twin gets the
weights of the NumPy model and must give its probabilities: to 1e-5 in float32, to 1e-2 in float16.
Then one line of the twin changes: its probabilities come from a kernel instead of `torch.softmax`.
"""

import sys
import time

import numpy as np
import torch
import triton
import triton.language as tl
from torch import nn

BATCH, LENGTH, WIDTH, HEADS, BLOCKS, WORDS = 2, 32, 64, 4, 2, 600


# ---- NumPy -----------------------------------------------------------------------------------

def numpy_softmax(x):
    top = np.exp(x - x.max(-1, keepdims=True))
    return top / top.sum(-1, keepdims=True)


def numpy_norm(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


class NumpyMiniGPT:
    """Weights by name; `model(x)` takes (B, T, WIDTH) and gives probabilities (B, T, WORDS)."""

    def __init__(self, seed=0):
        random = np.random.default_rng(seed)

        def matrix(rows, columns):
            return (random.standard_normal((rows, columns)) / columns**0.5).astype(np.float32)

        self.weights = {}
        for k in range(BLOCKS):
            for name in ("norm1", "norm2"):
                self.weights[f"blocks.{k}.{name}.weight"] = np.ones(WIDTH, np.float32)
                self.weights[f"blocks.{k}.{name}.bias"] = np.zeros(WIDTH, np.float32)
            for name, rows, columns in (("qkv", 3 * WIDTH, WIDTH), ("out", WIDTH, WIDTH),
                                        ("up", 4 * WIDTH, WIDTH), ("down", WIDTH, 4 * WIDTH)):
                self.weights[f"blocks.{k}.{name}.weight"] = matrix(rows, columns)
                self.weights[f"blocks.{k}.{name}.bias"] = np.zeros(rows, np.float32)
        self.weights["lm_head.weight"] = matrix(WORDS, WIDTH)
        self.weights["lm_head.bias"] = np.zeros(WORDS, np.float32)

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name, x):
        return numpy_norm(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def attention(self, name, x):
        batch, length, _ = x.shape
        q, k, v = np.split(self.linear(f"{name}.qkv", x), 3, -1)
        q, k, v = (part.reshape(batch, length, HEADS, -1).swapaxes(1, 2) for part in (q, k, v))
        scores = q @ k.swapaxes(-1, -2) / (WIDTH // HEADS) ** 0.5  # (B, H, T, T)
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        mixed = (numpy_softmax(scores) @ v).swapaxes(1, 2).reshape(batch, length, WIDTH)
        return self.linear(f"{name}.out", mixed)

    def __call__(self, x):
        for k in range(BLOCKS):
            name = f"blocks.{k}"
            x = x + self.attention(name, self.norm(f"{name}.norm1", x))
            hidden = np.maximum(self.linear(f"{name}.up", self.norm(f"{name}.norm2", x)), 0)
            x = x + self.linear(f"{name}.down", hidden)
        return numpy_softmax(self.linear("lm_head", x))


# ---- torch -----------------------------------------------------------------------------------

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in (q, k, v))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class MiniGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.lm_head = nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        logits = self.lm_head(self.blocks(x))  # (B, T, WORDS)
        return torch.softmax(logits, dim=-1)


class CustomMiniGPT(MiniGPT):
    def forward(self, x):
        logits = self.lm_head(self.blocks(x))  # (B, T, WORDS)
        return custom_softmax(logits)  # the line that changed


# ---- the kernel ------------------------------------------------------------------------------

@triton.jit
def softmax_kernel(out_ptr, x_ptr, columns, BLOCK: tl.constexpr):
    """One program for each row, which is one block."""
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=-float("inf"))
    x = x.to(tl.float32)
    top = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row + offsets, top / tl.sum(top, axis=0), mask=offsets < columns)


@triton.jit
def softmax_backward_kernel(grad_x_ptr, grad_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    """out * (grad - sum(out * grad)): the derivative of the loss by the logits."""
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    row = tl.program_id(0) * columns
    out = tl.load(out_ptr + row + offsets, mask=mask, other=0.0).to(tl.float32)
    grad = tl.load(grad_ptr + row + offsets, mask=mask, other=0.0).to(tl.float32)
    made = out * (grad - tl.sum(out * grad, axis=0))
    tl.store(grad_x_ptr + row + offsets, made, mask=mask)


@triton.jit
def careless_kernel(out_ptr, x_ptr, columns, BLOCK: tl.constexpr):
    """The kernel without the mask of its load: it reads what lies behind the row."""
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    x = tl.load(x_ptr + row + offsets)
    top = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row + offsets, top / tl.sum(top, axis=0), mask=offsets < columns)


def launch(kernel, *tensors):
    """Run a kernel on the rows of contiguous tensors."""
    columns = tensors[0].shape[-1]
    rows = tensors[0].numel() // columns
    kernel[(rows,)](*tensors, columns, BLOCK=triton.next_power_of_2(columns))
    return tensors[0]


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        out = launch(softmax_kernel, torch.empty_like(x), x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return launch(softmax_backward_kernel, torch.empty_like(out), grad.contiguous(), out)


custom_softmax = Softmax.apply


# ---- what is to be seen ----------------------------------------------------------------------

def agree(name, found, expected, tolerance):
    close = np.allclose(found.float().numpy(), expected, atol=tolerance, rtol=tolerance)
    print(f"{name}: within {tolerance:.0e} {close}")


def milliseconds(function, x, turns=50):
    taken = []
    for _ in range(turns):
        start = time.perf_counter()
        function(x)
        taken.append(time.perf_counter() - start)
    return 1000 * min(taken)


def main(options):
    numpy_model = NumpyMiniGPT()
    weights = {name: torch.from_numpy(w) for name, w in numpy_model.weights.items()}
    x = np.random.default_rng(1).standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
    expected = numpy_model(x)
    for kind in (MiniGPT, CustomMiniGPT):
        model = kind().eval()
        model.load_state_dict(weights)
        with torch.no_grad():
            agree(f"{kind.__name__} in float32", model(torch.tensor(x)), expected, 1e-5)
            agree(f"{kind.__name__} in float16", model.half()(torch.tensor(x).half()), expected,
                  1e-2)

    logits = torch.randn(BATCH * LENGTH, WORDS, requires_grad=True)
    weight = torch.randn(BATCH * LENGTH, WORDS)
    grads = [torch.autograd.grad((softmax(logits) * weight).sum(), logits)[0]
             for softmax in (custom_softmax, lambda z: torch.softmax(z, -1))]
    print("gradient: within 1e-06", torch.allclose(*grads, atol=1e-6))

    with torch.no_grad():
        try:
            launch(careless_kernel.interpret, torch.empty_like(logits), logits.detach())
        except IndexError as error:
            print("the interpreter found:", str(error).splitlines()[1].strip())
            print(str(error).splitlines()[2])
    if "--source" in options:
        launch(softmax_kernel, torch.empty(1, WORDS), torch.zeros(1, WORDS))
        print(softmax_kernel.asm["ttir"])
        print(softmax_kernel.asm["llir"])
    if "--time" in options:
        for rows, columns in ((4096, 1024), (64, 50257)):
            z = torch.randn(rows, columns)
            own, theirs = (milliseconds(f, z) for f in (
                custom_softmax, lambda z: torch.softmax(z, -1)))
            print(f"{rows} x {columns}: {own:.2f} ms, {own / theirs:.2f} of the built-in")


if __name__ == "__main__":
    main(sys.argv[1:])
