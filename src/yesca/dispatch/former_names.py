"""Operators under names that others have taken over, with signatures of their own."""

from __future__ import annotations

from typing import Any

from ..base.naming import public_module
from ..core.dtypes import FLOATING, SCALAR_NAMES
from ..core.views import wrap_dim
from .call import OPERATORS as ops
from .outputs import write_out


def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The root of the sum of squares over one or two dimensions; () means all.

    >>> import yesca as torch
    >>> torch.frobenius_norm(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), 1)
    tensor([5., 2.])
    """
    if out is not None:
        return write_out("frobenius_norm", frobenius_norm, (input, dim, keepdim), {}, out)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions "
                           "instead.")
    if input.dtype.category < FLOATING:
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{SCALAR_NAMES[input.dtype]} instead.")
    return ops.linalg_vector_norm(input, 2, dims or None, keepdim)


def nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The sum of the singular values of the matrices in two dimensions, by default the last.

    `nuclear_norm(x, True)` means `keepdim=True`.

    >>> import yesca as torch
    >>> torch.nuclear_norm(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor(7.)
    """
    if out is not None:
        return write_out("nuclear_norm", nuclear_norm, (input, dim, keepdim), {}, out)
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    dims = (dim, dim) if isinstance(dim, int) else (-2, -1) if dim is None else tuple(dim)
    return ops.linalg_matrix_norm(input, "nuc", dims, keepdim)


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The `pow`-norm over all dimensions but one (-1: over all of them).

    The others have size 1 in the result.

    >>> import yesca as torch
    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[5.],
            [2.]])
    """
    if dim == -1:
        return ops.norm(v, pow)
    kept, ndim = wrap_dim(dim, v.dim()), v.dim()
    if kept == 0:
        made = ops.norm(ops.reshape(v, (v.shape[0], -1)), pow, 1)
        return ops.view(made, (v.shape[0], *(1,) * (ndim - 1)))
    if kept == ndim - 1:
        made = ops.norm(ops.reshape(v, (-1, v.shape[-1])), pow, 0)
        return ops.view(made, (*(1,) * (ndim - 1), v.shape[-1]))
    return ops.transpose(norm_except_dim(ops.transpose(v, 0, kept), pow, 0), 0, kept)


def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int,  # noqa: N803
                      group: int, eps: float) -> tuple[Any, ...]:
    """`nn.functional.group_norm`, and the mean and reciprocal deviation of each group (N, G)."""
    return ops.group_norm_forward(input, group, weight, bias, eps)  # type: ignore[no-any-return]


def detach_copy(input: Any, *, out: Any = None) -> Any:
    """The values as a tensor of their own, off the tape.

    >>> import yesca as torch
    >>> torch.detach_copy(torch.ones(2, requires_grad=True))
    tensor([1., 1.])
    """
    if out is not None:
        return write_out("detach_copy", detach_copy, (input,), {}, out)
    return ops.clone(input.detach())


FUNCTIONS = {f.__name__: f for f in (frobenius_norm, nuclear_norm, norm_except_dim,
                                     native_group_norm, detach_copy)}
for _function in FUNCTIONS.values():
    _function.__module__ = public_module("torch")
