"""Derivatives of operators that move or select: see `formulas.py`."""

from __future__ import annotations

from typing import Any

from .._ops import ops

a = ops.aten


def stretched(grad: Any, shape: Any) -> Any:
    """Broadcast to a shape."""
    return a.expand.default(grad, list(shape))


def _permuted_back(grad: Any, dims: Any) -> Any:
    back = [0] * len(dims)
    for k, d in enumerate(dims):
        back[d] = k
    return a.permute.default(grad, back)


def _cat(grad: Any, tensors_spec: Any, dim: int) -> Any:
    start, made = 0, []
    for spec in tensors_spec:
        if tuple(spec.shape) == (0,):
            made.append(a.zeros.default([0], dtype=grad.dtype, layout=grad.layout,
                                        device=grad.device))
            continue
        made.append(a.slice.Tensor(grad, dim, start, start + spec.shape[dim]))
        start += spec.shape[dim]
    return made


def _stack(grad: Any, tensors_spec: Any, dim: int) -> Any:
    return [a.select.int(grad, dim, k) for k in range(len(tensors_spec))]


def _zeros(shape: Any, like: Any) -> Any:
    return a.zeros.default(list(shape), dtype=like.dtype, layout=like.layout, device=like.device)


def _split(grads: Any, self_spec: Any, sizes: Any, dim: int) -> Any:
    like = next(g for g in grads if g is not None)
    rank = len(self_spec.shape)
    parts = [g if g is not None else _zeros(
        [size if d == dim % rank else n for d, n in enumerate(self_spec.shape)], like)
        for g, size in zip(grads, sizes, strict=True)]
    return a.cat.default(parts, dim)


def _split_even(grads: Any, self_spec: Any, split_size: int, dim: int) -> Any:
    whole = self_spec.shape[dim]
    sizes = [min(split_size, whole - k * split_size) for k in range(len(grads))]
    return _split(grads, self_spec, sizes, dim)


def _unbind(grads: Any, self_spec: Any, dim: int) -> Any:
    like = next(g for g in grads if g is not None)
    shape = [n for d, n in enumerate(self_spec.shape) if d != dim % len(self_spec.shape)]
    parts = [g if g is not None else a.expand.default(_zeros((), like), shape) for g in grads]
    return a.stack.default(parts, dim)


def _squeeze_all(grad: Any, self_spec: Any) -> Any:
    for d, n in enumerate(self_spec.shape):
        if n == 1:
            grad = a.unsqueeze.default(grad, d)
    return grad


def _squeeze(grad: Any, self_spec: Any, dim: Any) -> Any:
    rank = len(self_spec.shape)
    for d in sorted((d % rank if rank else 0) for d in (dim if isinstance(dim, list) else [dim])):
        if rank and self_spec.shape[d] == 1:
            grad = a.unsqueeze.default(grad, d)
    return grad


def _new_zeros(grad: Any, spec: Any) -> Any:
    return a.new_zeros.default(grad, list(spec.shape), dtype=grad.dtype, layout=grad.layout,
                               device=grad.device)


def _repeat(grad: Any, self_spec: Any, repeats: Any) -> Any:
    shape = (1,) * (len(repeats) - len(self_spec.shape)) + tuple(self_spec.shape)
    parts: list[int] = []
    dims = []
    for times, n in zip(repeats, shape, strict=True):
        if times != 1:
            dims.append(len(parts))
            parts.append(times)
        parts.append(n)
    if not dims:
        return grad
    made = a.sum.dim_IntList(a.view.default(grad, parts) if grad.is_contiguous()
                             else a.reshape.default(grad, parts), dims)
    return made


def _expand(grad: Any, self_spec: Any) -> Any:
    """What is summed is left to the tape, which fits every gradient to its operand."""
    return grad


SHAPES: dict[str, Any] = {
    "view.default": {"self": lambda grad, self_spec: reshaped(grad, self_spec.shape)},
    "_unsafe_view.default": {"self": lambda grad, self_spec: reshaped(grad, self_spec.shape)},
    "t.default": {"self": lambda grad: a.t.default(grad)},
    "transpose.int": {"self": lambda grad, dim0, dim1: a.transpose.int(grad, dim0, dim1)},
    "permute.default": {"self": _permuted_back},
    "expand.default": {"self": _expand},
    "unsqueeze.default": {"self": lambda grad, dim: a.squeeze.dim(grad, dim)},
    "squeeze.default": {"self": _squeeze_all},
    "squeeze.dim": {"self": _squeeze}, "squeeze.dims": {"self": _squeeze},
    "select.int": {"self": lambda grad, self_spec, dim, index: a.select_backward.default(
        grad, list(self_spec.shape), dim, index)},
    "slice.Tensor": {"self": lambda grad, self_spec, dim, start, end, step:
                     a.slice_backward.default(
                         grad, list(self_spec.shape), dim, 0 if start is None else start,
                         self_spec.shape[dim] if end is None else end, step)},
    "cat.default": {"tensors": _cat}, "stack.default": {"tensors": _stack},
    "split.Tensor": {"self": _split_even},
    "split_with_sizes.default": {"self": lambda grads, self_spec, split_sizes, dim: _split(
        grads, self_spec, split_sizes, dim)},
    "unbind.int": {"self": _unbind},
    "index.Tensor": {"self": lambda grad, self_spec, indices: a.index_put.default(
        _new_zeros(grad, self_spec), indices, grad, True)},
    "index_select.default": {"self": lambda grad, self_spec, dim, index: a.index_add.default(
        _new_zeros(grad, self_spec), dim, index, grad)},
    "gather.default": {"self": lambda grad, self_spec, dim, index: a.scatter_add.default(
        a.new_zeros.default(grad, list(self_spec.shape)), dim, index, grad)},
    "tril.default": {"self": lambda grad, diagonal: a.tril.default(grad, diagonal)},
    "triu.default": {"self": lambda grad, diagonal: a.triu.default(grad, diagonal)},
    "flip.default": {"self": lambda grad, dims: a.flip.default(grad, dims)},
    "repeat.default": {"self": _repeat},
}


def reshaped(grad: Any, shape: Any) -> Any:
    """`grad.reshape(shape)` as PyTorch does it: a view where there is one."""
    shape = list(shape)
    try:
        return a.view.default(grad, shape)
    except RuntimeError:
        return a._unsafe_view.default(
            a.clone.default(grad, memory_format=_contiguous()), shape)


def _contiguous() -> Any:
    from ..core.layouts import contiguous_format

    return contiguous_format
