"""How sparse tensors are made, and the checks of what they are made of."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from ..base.errors import type_name
from ..core import layouts
from ..core.dtypes import get_default_dtype, int64
from ..core.layouts import Layout
from ..dispatch.call import OPERATORS as ops
from . import coo
from .coo import SparseTensor, make

_INVALID = (
    "sparse_coo_tensor() received an invalid combination of arguments - got ({}), but expected one "
    "of:\n * (object indices, object values, *, torch.dtype dtype = None, torch.device device = "
    "None, bool pin_memory = False, bool requires_grad = False, bool check_invariants = None, bool "
    "is_coalesced = None)\n * (object indices, object values, tuple of ints size, *, torch.dtype "
    "dtype = None, torch.device device = None, bool pin_memory = False, bool requires_grad = "
    "False, bool check_invariants = None, bool is_coalesced = None)\n * (tuple of ints size, *, "
    "torch.dtype dtype = None, torch.device device = None, bool requires_grad = False, bool "
    "check_invariants = None)\n")


class check_sparse_tensor_invariants:  # noqa: N801 - PyTorch's name
    """Whether places are checked when a sparse tensor of given size is made; off by default.

    A context, a decorator, and a switch: `enable()`, `disable()`, `is_enabled()`. What is never
    left out: without a size, places must not be negative.

    >>> import yesca as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[5]], [1.0], (2,))
    Traceback (most recent call last):
    RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
    """

    _on = False

    @staticmethod
    def is_enabled() -> bool:
        """Whether places are checked."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Check places from now on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """Do not check places from now on."""
        check_sparse_tensor_invariants._on = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a "
                               "different context manager instance for context nesting.")
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._on = self.state

    def __exit__(self, *exc: object) -> None:
        check_sparse_tensor_invariants._on = bool(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Any) -> Any:
        from functools import wraps

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def sparse_coo_tensor(*args: Any, dtype: Any = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, is_coalesced: bool | None = None,
                      **named: Any) -> SparseTensor:
    """A sparse tensor with values at some places, and zero everywhere else.

    Args:
        indices: (sparse dimensions, nnz), the places, whole numbers.
        values: (nnz, *dense dimensions); what stands twice at one place is added up.
        size: the shape; as small as the places allow where it is left out. A size alone gives
            zeros.
        dtype, device: by default those of `values`.
        check_invariants: whether places are compared with the size; None asks
            `torch.sparse.check_sparse_tensor_invariants`.
        is_coalesced: True promises that places are sorted and there once.

    Raises RuntimeError for parts whose numbers or sizes do not fit, and for places outside.

    >>> import yesca as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    given = dict(zip(("indices", "values", "size"), args, strict=False), **named)
    if len(args) == 1 and not named:
        given = {"size": args[0]}
    checked = check_sparse_tensor_invariants.is_enabled() if check_invariants is None \
        else check_invariants
    if set(given) == {"size"}:
        return _zeros(_sizes(given["size"]), dtype, device, requires_grad)
    if len(args) > 3 or len(given) < len(args) + len(named) \
            or not {"indices", "values"} <= set(given) <= {"indices", "values", "size"}:
        raise TypeError(_INVALID.format(", ".join(map(type_name, (*args, *named.values())))))
    places = ops.as_tensor(given["indices"], device=device)
    places = coo.cast(places.detach(), int64)
    values = ops.as_tensor(given["values"], dtype=dtype, device=device)
    size = given.get("size")
    made = _from_parts(places, values, None if size is None else _sizes(size), checked)
    if is_coalesced is not None:
        if checked and is_coalesced and not _sorted(made):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to "
                               "uncoalesced COO tensor")
        made._unique = bool(is_coalesced)
    return _leaf(made, requires_grad)


def _leaf(made: SparseTensor, requires_grad: bool) -> SparseTensor:
    if not requires_grad:
        return made
    if not (made.dtype.is_floating_point or made.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.detach().requires_grad_()


def sparse_zeros(size: tuple[int, ...], kind: Any) -> SparseTensor:
    """No places at all, all dimensions sparse; `kind`: a tensor of the dtype and device."""
    return coo.empty(size, len(size), kind)


def _sizes(size: Any) -> tuple[int, ...]:
    sizes = tuple(int(n) for n in size)
    if any(n < 0 for n in sizes):
        raise RuntimeError("Trying to create tensor with negative dimension "
                           f"{min(sizes)}: {list(sizes)}")
    return sizes


def _zeros(size: tuple[int, ...], dtype: Any, device: Any, requires_grad: bool) -> SparseTensor:
    kind = ops.empty((0,), dtype=dtype or get_default_dtype(), device=device)
    return _leaf(sparse_zeros(size, kind), requires_grad)


def _from_parts(places: Any, values: Any, size: tuple[int, ...] | None, checked: bool
                ) -> SparseTensor:
    if places.dim() != 2:
        if places.dim() != 1 or size is None:
            raise RuntimeError("indices must be sparse_dim x nnz, but got: "
                               f"{list(places.shape)}")
        places = ops.unsqueeze(places, 1)  # one place
    if not values.dim():
        values = ops.unsqueeze(values, 0)
    sparse, count = places.shape
    inner = tuple(values.shape[1:])
    if size is None:
        size = (*_smallest(places, checked), *inner)
    if len(size) != sparse + len(inner):
        raise RuntimeError("'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
                           f"{len(size)}, sparse_dim = {sparse}, dense_dim = {len(inner)}")
    if values.shape[0] != count:
        raise RuntimeError("indices and values must have same nnz, but got nnz from indices: "
                           f"{count}, nnz from values: {values.shape[0]}")
    if inner != size[sparse:]:
        raise RuntimeError(f"values has incorrect size, expected {[count, *size[sparse:]]}, got "
                           f"{list(values.shape)}")
    if checked:
        _check_places(places, size)
    entries = values.detach()
    if values.requires_grad:
        entries = coo.labelled(ops.alias(values), "SparseCooTensorWithDimsAndTensorsBackward0")
    return make(places, entries, size, False)


def _smallest(places: Any, checked: bool) -> tuple[int, ...]:
    """The sizes of the sparse dimensions that the places need."""
    if not places.shape[1]:
        return (0,) * places.shape[0]
    _check_negative(places)
    return tuple(int(n) + 1 for n in ops.amax(places, (1,)).tolist())


def _check_negative(places: Any) -> None:
    for dim, least in enumerate(ops.amin(places, (1,)).tolist()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")


def _check_places(places: Any, size: tuple[int, ...]) -> None:
    """Refuse places outside of a size."""
    if not places.shape[1] or not places.shape[0]:
        return
    _check_negative(places)
    for dim, most in enumerate(ops.amax(places, (1,)).tolist()):
        if most >= size[dim]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is "
                               f"{size[dim]} but found index {most}")


def _sorted(x: SparseTensor) -> bool:
    """Whether the places are in order, and none is there twice."""
    numbers = coo.numbered(x._places, coo.parameters(x))
    return coo.nnz(x) < 2 or bool(ops.all(ops.gt(ops.narrow(numbers, 0, 1, coo.nnz(x) - 1),
                                                 ops.narrow(numbers, 0, 0, coo.nnz(x) - 1))))


# ---- from dense tensors ------------------------------------------------------------------------

def to_sparse(x: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: Any = None) -> Tensor:
    """The elements that are not zero, as a sparse tensor.

    sparse_dim: how many dimensions, the first ones, are sparse; by default all. Of the others a
        whole part is kept where one of its elements is not zero.

    Raises RuntimeError for a number of dimensions that there is not, NotImplementedError for
    other layouts than `torch.sparse_coo`.
    """
    if isinstance(sparse_dim, Layout):
        sparse_dim, layout = None, sparse_dim
    if layout is not None and layout is not layouts.sparse_coo:
        raise coo.refused(f"to_sparse, layout={layout}", "Only torch.sparse_coo is there.")
    if isinstance(x, SparseTensor):
        if sparse_dim not in (None, coo.sparse_dim(x)):
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim "
                               "argument !=self.sparse_dim() is not supported")
        return x
    ndim = x.dim()
    sparse = ndim if sparse_dim is None else int(sparse_dim)
    if ndim and not sparse:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= sparse <= ndim:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but "
                           f"{sparse} is given")
    there = ops.ne(x.detach(), 0)
    if sparse < ndim:
        there = ops.any(ops.flatten(there, sparse), -1)
    places = ops.contiguous(ops.t(ops.nonzero(there)))
    return make(places, coo.gathered(x, places), x.shape, True)


def rows_of(grad: Tensor, indices: Tensor, count: int, skipped: int) -> SparseTensor:
    """The gradient of a table (count, D) whose rows `indices` were looked up.

    Args:
        grad: (*indices.shape, D); each index gives a row of its own.
        skipped: an index whose rows are left out; -1 if there is none.
    """
    width = grad.shape[-1]
    numbers, entries = ops.reshape(indices, (-1,)), ops.reshape(grad, (-1, width))
    if skipped >= 0:
        kept = ops.reshape(ops.nonzero(ops.ne(numbers, skipped)), (-1,))
        numbers, entries = (ops.index_select(part, 0, kept) for part in (numbers, entries))
    else:  # the gradient of another tensor may lie in the same memory
        numbers, entries = (ops.clone(part, memory_format=layouts.contiguous_format)
                            for part in (numbers, entries))
    places = ops.unsqueeze(coo.cast(numbers, int64), 0)
    return make(places, entries, (count, width), False)


def legacy_new(dtype: Any, args: tuple[Any, ...]) -> Any:
    """A sparse tensor from the arguments of `torch.sparse.FloatTensor` and its like."""
    if not args:
        return _zeros((0,), dtype, None, False)
    if isinstance(args[0], int) and not isinstance(args[0], bool):
        return _zeros(_sizes(args), dtype, None, False)
    if len(args) == 1 and type(args[0]).__name__ == "Size":
        return _zeros(_sizes(args[0]), dtype, None, False)
    if len(args) in (2, 3):
        return sparse_coo_tensor(*args)
    raise TypeError("new() received an invalid combination of arguments - got "
                    f"({', '.join(map(type_name, args))}), but expected nothing, sizes, or "
                    "(Tensor indices, Tensor values[, tuple of ints size])")

