"""Operators around kernels: eager, on the tape, on meta, compiled."""

import pytest

import yesca as torch
from yesca import kernels
from yesca.kernels import language as tl


@torch.kernel
def square_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * x, mask=offsets < n)


def launch(kernel, x):
    out = torch.empty_like(x)
    kernel[(kernels.cdiv(x.numel(), 16),)](x, out, x.numel(), BLOCK=16)
    return out


@torch.library.triton_op("kernel_tests::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return launch(torch.library.wrap_triton(square_kernel), x)


@torch.library.custom_op("kernel_tests::other_square", mutates_args=())
def other_square(x: torch.Tensor) -> torch.Tensor:
    return launch(square_kernel, x)


@other_square.register_fake
def _(x):
    return torch.empty_like(x)


for op in (square, other_square):
    op.register_autograd(lambda ctx, grad: 2 * grad * ctx.saved_tensors[0],
                         setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
both = pytest.mark.parametrize("op", [square, other_square], ids=["triton_op", "custom_op"])


@both
def test_eager_and_on_the_tape(op):
    x = torch.randn(20, requires_grad=True)
    made = op(x)
    made.sum().backward()
    torch.testing.assert_close(made, x * x)
    torch.testing.assert_close(x.grad, 2 * x.detach())
    assert torch.autograd.gradcheck(op, torch.randn(3, dtype=torch.float64, requires_grad=True))


@both
def test_meta(op):
    made = op(torch.empty(3, 5, device="meta"))
    assert made.is_meta and made.shape == (3, 5)


@both
def test_compiled(op):
    def step(x):
        return (op(x * 3) + 1).sum()

    compiled = torch.compile(step)
    for _ in range(4):
        x = torch.randn(33, requires_grad=True)
        loss = compiled(x)
        loss.backward()
        torch.testing.assert_close(loss, step(x))
        torch.testing.assert_close(x.grad, 18 * x.detach())


@both
def test_opcheck(op):
    torch.library.opcheck(op, (torch.randn(5, requires_grad=True),))


def test_what_is_no_kernel():
    with pytest.raises(RuntimeError, match="annotated with triton.jit"):
        torch.library.wrap_triton(launch)
