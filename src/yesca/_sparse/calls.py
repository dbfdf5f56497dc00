"""What functions and methods do with sparse tensors; all that is not here is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .._rare_methods import SPARSE
from .._tensor import Tensor
from ..core.dtypes import BY_NAME, bool_
from ..dispatch.call import OPERATORS as ops
from ..dispatch.protocol import DisableSubclasses, name_of, through_mode
from ..dispatch.state import STATE
from . import arithmetic, coo, moving, products, reductions
from .coo import SparseTensor, like, refused

Arguments = tuple[Any, ...]

#: What asks for no values: the slots of the tensor give the answer.
_ABOUT = frozenset("""
    shape dtype ndim itemsize dim ndimension size numel nelement element_size is_conj is_neg
    is_inference is_floating_point is_complex is_signed get_device name __len__ is_same_size
    storage_offset is_cuda is_distributed output_nr _version is_tensor is_pinned""".split())


def handle(func: Callable[..., Any], args: Arguments, kwargs: dict[str, Any]) -> Any:
    """The `__torch_function__` of sparse tensors."""
    name = name_of(func, Tensor)
    if STATE.levels and STATE.levels[-1].takes(name):
        return through_mode(func, args, kwargs)
    if "input" in kwargs:
        args = (kwargs.pop("input"), *args)
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    if name in SPARSE:
        return func(*args, **kwargs)
    special = _table().get(name)
    if special is None and name in BY_NAME_OF_CAST:
        special = _cast(name)
    if special is None and name.rstrip("_") in arithmetic.ENTRYWISE | arithmetic.LINEAR:
        special = _table()[name] = arithmetic.entrywise(name)
    if special is not None:
        return special(*args, **kwargs)
    if name in _ABOUT:
        with DisableSubclasses():
            return func(*args, **kwargs)
    if name.endswith("_step"):  # a gradient that an optimizer has met later than dense ones
        raise RuntimeError(f"{name.strip('_').removesuffix('_step')}: sparse gradients are not "
                           "supported by this optimizer, or not with these options and states")
    raise refused(name.strip("_") if name.startswith("__") else name)


#: `x.double()` and its like -> the dtype's name.
BY_NAME_OF_CAST = {"float": "float32", "double": "float64", "half": "float16", "long": "int64",
                   "bfloat16": "bfloat16", "int": "int32", "short": "int16", "char": "int8",
                   "byte": "uint8", "cfloat": "complex64", "cdouble": "complex128"}


def _cast(name: str) -> Callable[..., Any]:
    dtype = BY_NAME[BY_NAME_OF_CAST[name]]
    return lambda x, *args, **kwargs: moving.to_dtype(x, dtype)


def _raising(kind: type[Exception], text: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise kind(text)

    return function


def _item(x: SparseTensor) -> Any:
    if x._spec.numel != 1:
        raise RuntimeError(f"a Tensor with {x._spec.numel} elements cannot be converted to Scalar")
    return coo.dense(x).item()


def _truth(x: SparseTensor) -> bool:
    return bool(Tensor.__bool__(x) if x._spec.numel != 1 else _item(x))


def _contiguous(x: SparseTensor, memory_format: Any = None) -> Any:
    raise RuntimeError("unsupported memory format option Contiguous: a sparse tensor's values are "
                       "contiguous after coalesce()")


def _unscaled(grads: Any, found_inf: Any, inv_scale: Any) -> Any:
    """Gradients without the scale of a `GradScaler`, in place."""
    parts = [g._entries if isinstance(g, SparseTensor) else g for g in grads]
    return ops._amp_foreach_non_finite_check_and_unscale_(parts, found_inf, inv_scale)


def _sum_to_size(x: SparseTensor, *size: Any) -> Any:
    shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if tuple(shape) == tuple(x._spec.shape):
        return x
    return ops.sum_to_size(coo.dense(x), shape)


def _dropout(x: SparseTensor, p: Any = 0.5, train: bool = True) -> SparseTensor:
    x = coo.coalesced(x)
    return like(x, ops.dropout(x._entries, p, train))


def _same(x: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    return x


@cache
def _table() -> dict[str, Callable[..., Any]]:
    """Function's name -> what it does."""
    numpy = _raising(TypeError, "can't convert Sparse layout tensor to numpy. Use "
                                "Tensor.to_dense() first.")
    pointer = _raising(RuntimeError, "Cannot access data pointer of Tensor that doesn't have "
                                     "storage")
    storage = _raising(NotImplementedError, "Cannot access storage of SparseTensorImpl")
    reshape = _raising(RuntimeError, "reshape is not implemented for sparse tensors")
    written = _raising(TypeError, "Cannot assign to a sparse tensor")
    expand = _raising(RuntimeError, "expand is unsupported for Sparse tensors")
    named: dict[str, Callable[..., Any]] = {
        "multiply": arithmetic.mul, "divide": arithmetic.div, "true_divide": arithmetic.div,
        "subtract": arithmetic.sub, "__rsub__": arithmetic.rsub, "__pow__": arithmetic.pow,
        "__floordiv__": arithmetic.floor_divide, "__imul__": arithmetic.mul_,
        "__iadd__": arithmetic.add_, "__isub__": arithmetic.sub_, "__itruediv__": arithmetic.div_,
        "multiply_": arithmetic.mul_, "__rmatmul__": lambda b, a: products.matmul(a, b),
        "__matmul__": products.matmul, "__rpow__": lambda x, base: arithmetic.pow(base, x),
        "__truediv__": arithmetic.div, "__rtruediv__": lambda x, a: arithmetic.div(a, x),
        "swapaxes": moving.transpose, "swapdims": moving.transpose, "T": moving.reversed_dims,
        "mT": moving.last_two, "__getitem__": moving.getitem, "getitem": moving.getitem,
        "copy_like": lambda x, *more: moving.clone(x), "alias": lambda x: coo.sibling(
            x, x._places, x._spec.shape, x._unique), "type": moving.as_type,
        "type_as": lambda x, other: moving.to_dtype(x, other.dtype),
        "bool": lambda x: moving.to_dtype(x, bool_), "cpu": _same, "empty_like": moving.zeros_like,
        "new_empty": moving.new_zeros, "concat": moving.cat, "concatenate": moving.cat,
        "item": _item, "__bool__": _truth, "is_nonzero": _truth,
        "__float__": lambda x: float(_item(x)), "__int__": lambda x: int(_item(x)),
        "numpy": numpy, "__array__": numpy, "tolist": pointer, "data_ptr": pointer,
        "untyped_storage": storage, "storage": storage, "share_memory_": storage,
        "contiguous": _contiguous, "is_contiguous": lambda *args, **kwargs: False,
        "stride": lambda x, dim=None: 0 if dim is not None else (0,) * x._spec.ndim,
        "is_shared": lambda x: False, "detach": SparseTensor.detach,
        "detach_": SparseTensor.detach_, "to_dense": to_dense, "linear": products.linear,
        "sum_to_size": _sum_to_size, "dropout": _dropout,
        "_amp_foreach_non_finite_check_and_unscale_": _unscaled,
        "reshape": reshape, "flatten": reshape, "ravel": reshape,
        "expand": expand, "expand_as": expand, "broadcast_to": expand, "repeat": expand,
        "__setitem__": written, "setitem": written, "__repr__": SparseTensor.__repr__,
        "__format__": object.__format__,
        "softmax": _softmax("softmax"), "log_softmax": _softmax("log_softmax"),
        "requires_grad_": SparseTensor.requires_grad_, "retain_grad": SparseTensor.retain_grad,
        "dsmm": products.mm, "spmm": products.mm,
        **{name: moving.dense_like(name) for name in ("ones_like", "full_like", "rand_like",
                                                      "randn_like", "randint_like")},
    }
    for room, names in (
            (arithmetic, "add add_ sub sub_ mul mul_ div div_ floor_divide pow rsub"),
            (products, "mm mv matmul bmm addmm addmm_ hspmm smm sspaddmm"),
            (moving, "permute transpose transpose_ t t_ unsqueeze select unbind index_select cat "
                     "stack clone to_dtype to copy_ zero_ zeros_like new_zeros"),
            (reductions, "sum norm any")):
        named.update({name: getattr(room, name) for name in names.split()})
    return named


def _softmax(name: str) -> Callable[..., Any]:
    """PyTorch has it in `torch.sparse` only."""
    def function(x: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        raise refused(f"_{name}", f"torch.sparse.{name} is there.")

    return function


def to_dense(x: SparseTensor, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    """All elements, as a dense tensor."""
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense; cast the result")
    return coo.dense(x)
