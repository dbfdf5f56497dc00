"""`torch.library`: operators of a program's own, with kernels, derivatives and batching rules.

>>> import yesca as torch
>>> @torch.library.custom_op("demo::scale", mutates_args=())
... def scale(x: torch.Tensor, by: float) -> torch.Tensor:
...     return torch.from_numpy(x.numpy() * by)
>>> scale.register_autograd(lambda ctx, grad: (grad * ctx.by, None),
...                         setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))
>>> x = torch.ones(2, requires_grad=True)
>>> scale(x, 3.0).sum().backward()
>>> x.grad
tensor([3., 3.])
"""

from .._lazy import lazily

_HOMES = {
    "_registering": (
        "Library impl define fallthrough_kernel register_autocast register_fake register_autograd "
        "register_kernel register_torch_dispatch register_vmap impl_abstract get_ctx OpOverload"
    ),
    "_custom": "custom_op CustomOpDef",
    "_schemas": "infer_schema",
    "_checks": "opcheck",
    "_triton": "triton_op wrap_triton",
}

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
