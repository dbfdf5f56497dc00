"""`triton_op` and `wrap_triton`: operators whose body launches kernels (`yesca.kernels`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..core.tensor_base import TensorBase
from ._custom import CustomOpDef, custom_op


def triton_op(name: str, fn: Callable[..., Any] | None = None, /, *,
              mutates_args: str | Iterable[str], schema: str | None = None) -> Any:
    """Make an operator of a function that launches kernels through `wrap_triton`.

    Args:
        name: "namespace::name".
        mutates_args: names of the arguments that the function writes to.
        schema: arguments and results; None takes them from the annotations.

    Gives a CustomOpDef. Unlike one of `custom_op` it needs no `register_fake`: on meta tensors the
    function runs as it stands, and its kernels are left out. Raises ValueError where no schema can
    be made.

    >>> import yesca as torch
    >>> from yesca.kernels import language as tl
    >>> @torch.kernel
    ... def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ...     tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)
    >>> @torch.library.triton_op("demo::double", mutates_args=())
    ... def doubled(x: torch.Tensor) -> torch.Tensor:
    ...     out = torch.empty_like(x)
    ...     torch.library.wrap_triton(double)[(1,)](x, out, x.numel(), BLOCK=4)
    ...     return out
    >>> doubled(torch.ones(3)), doubled(torch.ones(3, device="meta")).shape
    (tensor([2., 2., 2.]), torch.Size([3]))
    """
    def made(function: Callable[..., Any]) -> CustomOpDef:
        op: CustomOpDef = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        op.register_fake(function)
        return op

    return made if fn is None else made(fn)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """A kernel that is left out where its tensors are on the meta device, as in `triton_op`.

    Raises RuntimeError for what is no kernel.
    """
    from ..kernels.launching import JITFunction
    from ..kernels.tuning import Wrapper

    if not isinstance(triton_kernel, (JITFunction, Wrapper)):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or "
                           f"triton.autotune, got {type(triton_kernel).__name__}")
    return Wrapped(triton_kernel)


@dataclass(frozen=True)
class Wrapped:
    """What `wrap_triton` gives: launched like the kernel."""

    kernel: Any

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        def launch(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(v, TensorBase) and v.is_meta for v in (*args, *kwargs.values())):
                return None
            return self.kernel[grid](*args, **kwargs)

        return launch
