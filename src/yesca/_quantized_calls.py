"""What functions and methods do with quantized tensors; all that is not here is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ._quantized import STORED, QuantizedTensor, Quantizer, plain, wrap
from ._rare_methods import QUANTIZED
from ._tensor import Tensor
from .base.errors import refusal
from .core import layouts
from .core.dtypes import SCALAR_NAMES, DType
from .core.views import wrap_dim
from .dispatch.call import OPERATORS as ops
from .dispatch.protocol import DisableSubclasses, name_of

#: What asks for no values: the integers give the answer.
_ABOUT = frozenset("""
    shape device layout ndim itemsize nbytes dim ndimension size stride numel nelement
    storage_offset element_size is_contiguous is_conj is_neg is_inference is_shared is_pinned is_cpu
    is_meta is_floating_point is_complex get_device name untyped_storage data_ptr requires_grad
    is_leaf grad_fn grad output_nr retains_grad dim_order __len__ is_set_to
    is_sparse is_cuda is_distributed""".split())
#: Views and copies of parts, which keep the quantizer where it is one for all elements.
_MOVING = frozenset("""
    view view_as reshape t transpose swapaxes swapdims permute movedim unsqueeze squeeze flatten
    unflatten ravel expand expand_as select narrow split chunk unbind unfold as_strided T mT
    index_select repeat flip __getitem__ max min""".split())
#: The same elements in the same places.
_KEEPING = frozenset("clone contiguous cpu data alias".split())
_COMPARED = frozenset("eq ne lt le gt ge __eq__ __ne__ __lt__ __le__ __gt__ __ge__".split())
_OTHER_DTYPES = frozenset(
    "float double half bfloat16 long int short char byte bool cfloat cdouble type_as".split())
_REPAIR = "Quantized tensors are stored, viewed and compared; dequantize() gives float32."

Arguments = tuple[Any, ...]


def handle(func: Callable[..., Any], args: Arguments, kwargs: dict[str, Any]) -> Any:
    """The `__torch_function__` of quantized tensors."""
    name = name_of(func, Tensor)
    if name in QUANTIZED:
        return func(*args, **kwargs)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(*args, **kwargs)
    if name in _OTHER_DTYPES:
        raise _no_cast()
    if name == "view" and any(isinstance(a, DType) for a in (*args, *kwargs.values())):
        raise refusal("view.dtype", "QuantizedCPU", "int_repr() gives the integers.")
    with DisableSubclasses():
        if name in _ABOUT:
            return func(*_plain(args), **kwargs)
        if name in _COMPARED:
            return func(*_valued(args), **_valued(kwargs))
        if name in _KEEPING or name in _MOVING:
            quantizer = args[0]._quantizer
            if name in _MOVING and not quantizer.uniform:
                return _channel(name, quantizer, *args, **kwargs)
            return _wrapped(func(*_plain(args), **kwargs), quantizer)
    raise refusal(name.strip("_") if name.startswith("__") else name, "QuantizedCPU", _REPAIR)


def _plain(args: Arguments) -> Arguments:
    return tuple(plain(a) for a in args)


def _value(x: Any) -> Any:
    return x._quantizer.dequantize(plain(x)) if isinstance(x, QuantizedTensor) else x


def _valued(given: Any) -> Any:
    """Arguments with the numbers that quantized tensors among them stand for."""
    if isinstance(given, dict):
        return {name: _value(x) for name, x in given.items()}
    return tuple(_value(x) for x in given)


def _wrapped(made: Any, quantizer: Quantizer) -> Any:
    if isinstance(made, (tuple, list)):
        return type(made)([_wrapped(m, quantizer) for m in made])
    if isinstance(made, Tensor) and made.dtype is STORED[quantizer.dtype][0]:
        return wrap(made, quantizer)
    return made


def _channel(name: str, quantizer: Quantizer, q: Any, *rest: Any) -> Any:
    """One index of the dimension whose indices have a scale each; other views are refused."""
    dim, index = rest if name == "select" and len(rest) == 2 else (0, *rest)[:2] \
        if name == "__getitem__" and len(rest) == 1 else (None, None)
    if type(dim) is not int or type(index) is not int \
            or wrap_dim(dim, q._spec.ndim) != quantizer.axis:
        raise RuntimeError("Setting strides is possible only on uniformly quantized tensor")
    part = ops.select(plain(q), dim, index)
    scale, zero = (value[index].item() for value in (quantizer.scale, quantizer.zero_point))
    return wrap(part, replace(quantizer, scheme=layouts.per_tensor_affine, scale=scale,
                              zero_point=int(zero), axis=-1))


def _no_cast() -> RuntimeError:
    return RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8; "
                        "dequantize() gives float32")


def _to(q: Any, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(a, DType) and a is not q.dtype for a in (*args, *kwargs.values())):
        raise _no_cast()
    kept = [a for a in args if not isinstance(a, DType)]
    named = {name: value for name, value in kwargs.items() if not isinstance(value, DType)}
    with DisableSubclasses():
        return wrap(plain(q).to(*kept, **named), q._quantizer) if kept or named else q


def _type(q: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if dtype is not None:
        return _to(q, dtype)
    return f"torch.quantized.{SCALAR_NAMES[q.dtype]}Tensor"


def _item(q: Any) -> float:
    return _value(q).item()  # type: ignore[no-any-return]


def _tolist(q: Any) -> Any:
    raise RuntimeError("load_scalar: invalid type; dequantize().tolist() gives numbers")


def _numpy(q: Any, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(f"Got unsupported ScalarType {SCALAR_NAMES[q.dtype]}; int_repr().numpy() gives "
                    "the integers")


def _equal(a: Any, b: Any) -> bool:
    if not (isinstance(a, QuantizedTensor) and isinstance(b, QuantizedTensor)):
        return False
    same = a._spec.shape == b._spec.shape and a._quantizer.equals(b._quantizer)
    return same and bool(ops.equal(plain(a), plain(b)))


def _copy(q: Any, source: Any, non_blocking: bool = False) -> Any:
    if isinstance(q, QuantizedTensor):
        if isinstance(source, QuantizedTensor):
            if source.dtype is not q.dtype:
                raise RuntimeError("Quantized copy only works with the same dtype: "
                                   f"{q.dtype} is written, {source.dtype} is read")
            q._quantizer = source._quantizer
            values = plain(source)
        else:
            values = q._quantizer.quantize(source)
        ops.copy_(_sharing(q), values)
        return q
    raise RuntimeError("Copying from quantized Tensor to non-quantized Tensor is not allowed, "
                       "please use dequantize to get a float Tensor from a quantized Tensor")


def _sharing(q: Any) -> Tensor:
    """The integers of a quantized tensor, writes to which count as writes to it."""
    made: Tensor = plain(q)
    made._counter = q._counter
    return made


def _fill(q: Any, value: Any) -> Any:
    return _copy(q, ops.full(tuple(q._spec.shape), float(value)))


def _set_item(q: Any, index: Any, value: Any) -> None:
    made = q._quantizer
    if not made.uniform:
        raise RuntimeError("Setting strides is possible only on uniformly quantized tensor")
    if isinstance(value, QuantizedTensor):
        value = _value(value)
    elif not isinstance(value, Tensor):
        value = ops.full((), float(value))
    with DisableSubclasses():
        _sharing(q)[index] = made.quantize(value)


def _shared(q: Any) -> Any:
    with DisableSubclasses():
        plain(q).share_memory_()
    return q


def _signed(q: Any) -> bool:
    raise RuntimeError("isSignedType not supported for quantized types; ask int_repr()")


def _relu(q: Any, inplace: bool = False) -> Any:
    if not q._quantizer.uniform:
        raise refusal("relu", "QuantizedCPU", _REPAIR)
    made = ops.clamp(plain(q), min=q._quantizer.zero_point)
    return _copy(q, wrap(made, q._quantizer)) if inplace else wrap(made, q._quantizer)


def _joining(join: str) -> Callable[..., Any]:
    def joined(tensors: Any, dim: int = 0) -> Any:
        parts = list(tensors)
        if not all(isinstance(q, QuantizedTensor) and q._quantizer.uniform for q in parts):
            raise RuntimeError(f"[{join}] all tensors must be quantized per tensor")
        first = parts[0]._quantizer
        if not all(first.equals(q._quantizer) for q in parts):
            raise RuntimeError(f"[{join}] all tensors must have one scale and zero point")
        return wrap(getattr(ops, join)([plain(q) for q in parts], dim), first)

    return joined


def _repr(q: Any, **kwargs: Any) -> str:
    return QuantizedTensor.__repr__(q)


_SPECIAL: dict[str, Callable[..., Any]] = {
    "to": _to, "type": _type, "item": _item, "__float__": _item, "tolist": _tolist,
    "__bool__": lambda q: bool(_item(q)), "__int__": lambda q: int(_item(q)), "numpy": _numpy,
    "__array__": _numpy, "equal": _equal, "copy_": _copy, "fill_": _fill, "relu": _relu,
    "relu_": lambda q: _relu(q, True), "cat": _joining("cat"), "stack": _joining("stack"),
    "__setitem__": _set_item, "setitem": _set_item, "is_signed": _signed,
    "share_memory_": _shared,
    "__repr__": _repr, "__format__": lambda q, text: object.__format__(q, text),
}
