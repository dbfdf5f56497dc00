"""Python's operators, conversions, and the methods that are not plain operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from . import _legacy_methods, _rare_methods, _restrided, _view_writes
from .base.errors import too_big, type_name
from .base.frames import warn, warn_once
from .core.devices import CPU, resolve
from .core.dtypes import (
    BY_NAME, FLOATING, INTEGRAL, DType, as_dtype, default_for, get_default_dtype,
    number_category,
)  # fmt: skip
from .core.layouts import preserve_format
from .core.memory_formats import suggested
from .core.spec import spec
from .core.tensor_base import TensorBase
from .core.views import stretched
from .dispatch import creation, from_data, handlers, inplace
from .dispatch.call import OPERATORS, call, call_inplace, number_of
from .dispatch.functions import record
from .dispatch.levels import beside
from .dispatch.protocol import offer, participants
from .dispatch.state import STATE

_NUMBERS = (TensorBase, int, float, complex)


def _accepts(value: Any) -> bool:
    """Whether a value may be an operand on the right; arrays take the operation over."""
    return isinstance(value, _NUMBERS) or type(value).__module__ == "numpy" and getattr(
        value, "__setitem__", None) is None


def _accepts_arrays(value: Any) -> bool:
    return isinstance(value, _NUMBERS) or type(value).__module__ == "numpy"


def _plain(value: Any) -> Any:
    if isinstance(value, _NUMBERS):
        return value
    return number_of(value) if getattr(value, "ndim", 1) == 0 else from_data.as_tensor(value)


def _binary(name: str, *rest: Any, swap: bool = False, accepts: Any = _accepts_arrays
            ) -> Callable[[Any, Any], Any]:
    """`a + b` from a record; `rest` are the remaining arguments."""
    found: list[Any] = []

    def method(self: Any, other: Any) -> Any:
        if not accepts(other):
            return NotImplemented
        if not found:
            found.append(record(name))
        other = _plain(other)
        if swap:
            self, other = _swapped(self, other)
        return call(found[0], (self, other, *rest))

    return method


def _swapped(self: Any, other: Any) -> tuple[Any, Any]:
    return other, self


def _inplace(name: str, *rest: Any) -> Callable[[Any, Any], Any]:
    found: list[Any] = []

    def method(self: Any, other: Any) -> Any:
        if not _accepts(other):
            return NotImplemented
        if not found:
            found.append(record(name))
        classes = participants((self, other))
        if classes:
            return offer(getattr(OPERATORS, f"{name}_"), classes, (self, other), {})
        return call_inplace(found[0], (self, _plain(other), *rest))

    return method


def _reciprocal_times(self: Any, other: Any) -> Any:
    """`2 / x`, computed as PyTorch does: the reciprocal is rounded first."""
    if not _accepts_arrays(other):
        return NotImplemented
    inverse = OPERATORS.reciprocal(self)
    return OPERATORS.mul(inverse, _plain(other)) if _accepts(other) else inverse * other


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return getattr(OPERATORS, name)(self)

    return method


def _compare(name: str) -> Callable[[Any, Any], Any]:
    compared = _binary(name)

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, (list, tuple)) and name in ("eq", "ne"):
            return NotImplemented
        return compared(self, other)

    return method


def _power(self: Any, other: Any) -> Any:
    return OPERATORS.pow(self, _plain(other)) if _accepts(other) else NotImplemented


def _reversed_power(self: Any, other: Any) -> Any:
    if not _accepts_arrays(other):
        return NotImplemented
    return OPERATORS.pow(_plain(other), self)


def _matmul(self: Any, other: Any) -> Any:
    return OPERATORS.matmul(self, other) if isinstance(other, TensorBase) else NotImplemented


def _reversed_matmul(self: Any, other: Any) -> Any:
    return OPERATORS.matmul(other, self) if isinstance(other, TensorBase) else NotImplemented


def _bitwise(name: str, **options: Any) -> Callable[[Any, Any], Any]:
    return _binary(f"bitwise_{name}", **options)


def _to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Another dtype or device; self where nothing changes."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    copy, memory_format = kwargs.pop("copy", False), kwargs.pop("memory_format", None)
    kwargs.pop("non_blocking", None)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
    rest, dtype = list(map(as_dtype, args)), as_dtype(dtype)
    if rest and isinstance(rest[0], TensorBase):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], DType):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], DType)):
            dtype = rest.pop(0)
    if len(rest) > 1:
        copy = rest[1]
    if other is not None:
        dtype, device = other._spec.dtype, other._spec.device
    mine = self._spec
    place = mine.device if device is None else resolve(device)
    wanted = mine.dtype if dtype is None else dtype
    if not isinstance(wanted, DType):
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not "
                        f"{type(wanted).__name__}")
    if place is not mine.device:
        return _move(self, place, wanted)
    if wanted is not mine.dtype:
        return OPERATORS.to_dtype(self, wanted, memory_format)
    if copy:
        return OPERATORS.clone(self, memory_format=memory_format)
    if memory_format in (None, preserve_format) or suggested(mine) is memory_format:
        return self
    return OPERATORS.clone(self, memory_format=memory_format)


def _move(self: Any, place: Any, dtype: DType) -> Any:
    if place is CPU:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    made = creation.make(spec(dtype, self._spec.shape, self._spec.strides, place))
    if STATE.tape and self._requires_grad and (dtype.is_floating_point or dtype.is_complex):
        from .autograd.inplace import departed

        return departed(made, self)
    return made


def _conversion(name: str) -> Callable[..., Any]:
    dtype = BY_NAME[name]

    def method(self: Any, memory_format: Any = None) -> Any:
        return self if self._spec.dtype is dtype and memory_format is None \
            else _to(self, dtype, memory_format=memory_format)

    return method


def _type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    from .core.dtypes import SCALAR_NAMES

    if dtype is None:
        return f"torch.{SCALAR_NAMES[self._spec.dtype]}Tensor"
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removesuffix("Tensor")
        matches = [d for d, n in SCALAR_NAMES.items() if n == name]
        if not matches:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = matches[0]
    return _to(self, dtype if isinstance(dtype, DType) else dtype.dtype)


def _new_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """`x.new_zeros(...)`: as the free function, with x's dtype and device."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and "size" not in kwargs:
            raise TypeError(f'new_{function.__name__}() missing 1 required positional arguments: '
                            '"size"')
        kwargs["dtype"] = kwargs.get("dtype") or self._spec.dtype
        kwargs["device"] = kwargs.get("device") or self._spec.device
        return beside(self, function(*args, **kwargs))

    return method


def _new_full(self: Any, *args: Any, **kwargs: Any) -> Any:
    return beside(self, creation.new_full(self, *args, **kwargs))


def _new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None,
                requires_grad: bool = False) -> Any:
    if isinstance(data, TensorBase):
        warn(from_data.COPIED)
    made = from_data.from_data(data, dtype or self._spec.dtype, device or self._spec.device, True)
    return creation.finished(made, requires_grad)


def _number_tensor(self: Any, number: Any) -> Any:
    """What `copy_` copies when it is given a number."""
    if not isinstance(number, (int, float, complex)):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not "
                        f"{type_name(number)}")
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 64:
        raise too_big(number)
    category = number_category(number)
    wide = BY_NAME["float64"] if category == FLOATING else BY_NAME["complex128"]
    dtype = default_for(category) if category < FLOATING else wide
    if category == INTEGRAL and number >= 1 << 63:  # type: ignore[operator]
        dtype = BY_NAME["uint64"]
    return creation.full((), number, dtype=dtype, device=self._spec.device)


def _copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    found = participants((src,))
    if found:  # one of `self` has been asked before
        return offer(type(self).copy_, found, (self, src), {"non_blocking": True}
                     if non_blocking else {})
    if not isinstance(src, TensorBase):
        src = _number_tensor(self, src)
    elif src._spec.device is not self._spec.device:
        if self._spec.device is CPU:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        src = _to(src, self._spec.device)
    elif src._storage is self._storage and src._spec is self._spec \
            and src._offset == self._offset and stretched(self._spec.shape, self._spec.strides):
        inplace.check_tape(self, STATE.tape, False)
        inplace.bump(self)  # there is nothing to write, where nothing else could be written
        return self
    return call_inplace(record("copy"), (self, src, False))  # type: ignore[arg-type]


def _cuda(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise AssertionError("Torch not compiled with CUDA enabled")


def _xpu(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise AssertionError("Torch not compiled with XPU enabled")


def _warn_of_number(self: Any, name: str, instead: str) -> None:
    """0-dim tensors are their own transposes; to ask for these is likely an error."""
    if self.dim() == 0:
        warn_once(f"Tensor.{name} is deprecated on 0-D tensors. {instead}")


_SAME = "This function is the identity in these cases."
_CONJUGATE = "Consider using x.conj()."


def _transposed_all(self: Any) -> Any:
    _warn_of_number(self, "T", _SAME)
    if self.dim() not in (0, 2):
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.")
    dims = range(self.dim() - 1, -1, -1)
    return OPERATORS.permute(self, tuple(dims))


def _last_two(self: Any) -> Any:
    _warn_of_number(self, "mT", _SAME)
    if self.dim() < 2:
        if self.dim() == 0:
            return self
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got "
                           f"{self.dim()}-D tensor.")
    return OPERATORS.transpose(self, -2, -1)


def _adjoint(self: Any) -> Any:
    _warn_of_number(self, "mH", _CONJUGATE)
    if self.dim() == 1:
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got "
                           "1-D tensor.")
    return OPERATORS.adjoint(self)


def _part(name: str, doc: str) -> property:
    """`z.real` and `z.imag`: views, to which numbers and tensors can be assigned."""
    def get(self: Any) -> Any:
        return getattr(OPERATORS, name)(self)

    def put(self: Any, value: Any) -> None:
        part = get(self)
        part.copy_(value if isinstance(value, TensorBase)
                   else from_data.tensor(value, dtype=part._spec.dtype))

    return property(get, put, None, doc)


def _hermitian(self: Any) -> Any:
    _warn_of_number(self, "H", _CONJUGATE)
    if self.dim() not in (0, 2):
        raise RuntimeError("tensor.H is only supported on matrices (2-D tensors). Got "
                           f"{self.dim()}-D tensor."
                           + (" For batches of matrices, consider using tensor.mH"
                              if self.dim() > 2 else ""))
    return OPERATORS.conj(OPERATORS.transpose(self, -2, -1) if self.dim() else self)


def _overload(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(OPERATORS, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _inverted(self: Any) -> Any:
    """`~x`; the operator refuses what the function has merely no kernel for."""
    if self._spec.dtype.category > INTEGRAL:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type "
                        "tensors")
    return OPERATORS.bitwise_not(self)


def _install_operators(cls: Any) -> None:
    for name, rest in (("add", (1,)), ("sub", (1,)), ("mul", ()), ("div", (None,)),
                       ("floor_divide", ()), ("remainder", ())):
        python = {"div": "truediv", "floor_divide": "floordiv", "remainder": "mod"}.get(name, name)
        setattr(cls, f"__{python}__", _binary(name, *rest, accepts=_accepts))
        setattr(cls, f"__i{python}__", _inplace(name, *rest))
        if name in ("add", "mul"):
            setattr(cls, f"__r{python}__", _binary(name, *rest))
        elif name == "sub":
            cls.__rsub__ = _binary("rsub", 1)
        elif name == "div":
            cls.__rtruediv__ = _reciprocal_times
        else:
            setattr(cls, f"__r{python}__", _binary(name, *rest, swap=True))
    for name in ("and", "or", "xor"):
        setattr(cls, f"__{name}__", _bitwise(name, accepts=_accepts))
        setattr(cls, f"__r{name}__", _bitwise(name))
        setattr(cls, f"__i{name}__", _inplace(f"bitwise_{name}"))
    for name, record_name in (("lshift", "left_shift"), ("rshift", "right_shift")):
        setattr(cls, f"__{name}__", _bitwise(record_name, accepts=_accepts))
        setattr(cls, f"__r{name}__", _bitwise(record_name, swap=True))
        setattr(cls, f"__i{name}__", _inplace(f"bitwise_{record_name}"))
    cls.__rdiv__ = cls.__rtruediv__
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(cls, f"__{name}__", _compare(name))
    cls.__neg__, cls.__pos__, cls.__abs__ = _unary("neg"), _unary("positive"), _unary("abs")
    cls.__invert__ = _inverted
    cls.__pow__, cls.__rpow__ = _power, _reversed_power
    cls.__ipow__ = lambda self, other: self.pow_(other) if _accepts(other) else NotImplemented
    cls.__matmul__, cls.__rmatmul__ = _matmul, _reversed_matmul


def install(cls: Any) -> None:
    """Put the methods on the class."""
    _install_operators(cls)
    cls.to, cls.type, cls.copy_, cls.cuda, cls.xpu = _to, _type, _copy_, _cuda, _xpu
    cls.cpu = lambda self, memory_format=None: _to(self, CPU)
    cls.type_as = lambda self, other: _to(self, other._spec.dtype)
    for method, name in (("float", "float32"), ("double", "float64"), ("half", "float16"),
                         ("bfloat16", "bfloat16"), ("long", "int64"), ("int", "int32"),
                         ("short", "int16"), ("char", "int8"), ("byte", "uint8"),
                         ("bool", "bool"), ("cfloat", "complex64"),
                         ("cdouble", "complex128")):
        setattr(cls, method, _conversion(name))
    for name in ("empty", "zeros", "ones"):
        setattr(cls, f"new_{name}", _new_of(getattr(creation, name)))
    cls.new_empty_strided = _new_of(creation.empty_strided)
    cls.new_full = _new_full
    cls.new_tensor = _new_tensor
    cls.T = property(_transposed_all)
    cls.mT = property(_last_two)
    cls.real = _part("real", "The real part: a view, or a real tensor itself.")
    cls.imag = _part("imag", "The imaginary part of a complex tensor, as a view.")
    cls.H, cls.mH = property(_hermitian), property(_adjoint)
    for name in ("max", "min"):
        setattr(cls, name, _overload(name))
    _restrided.install(cls)
    cls.where = lambda self, condition, other: OPERATORS.where(condition, self, other)
    cls.__hash__ = lambda self: id(self)
    _view_writes.install(cls)
    _legacy_methods.install(cls)
    _rare_methods.install(cls)
    cls.__torch_dispatch__ = handlers.disabled
    cls._make_wrapper_subclass = staticmethod(handlers.wrapper)
    for name, made in vars(cls).items():
        if isinstance(made, FunctionType) and made.__module__ == __name__ \
                and not made.__name__.startswith("__"):  # shown under the name it is found by
            made.__name__, made.__qualname__ = name, f"{cls.__name__}.{name}"
            made.__module__ = cls.__module__  # where a pickle looks for it


#: Python operators, and methods, whose builtins are made at start-up: (attribute, record).
_BUILTINS = (
    ("__add__", "add"), ("__radd__", "add"), ("__sub__", "sub"), ("__rsub__", "rsub"),
    ("__mul__", "mul"), ("__rmul__", "mul"), ("__truediv__", "div"), ("__eq__", "eq"),
    ("__ne__", "ne"), ("__lt__", "lt"), ("__le__", "le"), ("__gt__", "gt"), ("__ge__", "ge"),
    ("__neg__", "neg"), ("__and__", "bitwise_and"), ("__or__", "bitwise_or"),
    ("__invert__", "bitwise_not"), ("__getitem__", "getitem"), ("__matmul__", "matmul"),
    ("__mod__", "remainder"), ("__floordiv__", "floor_divide"), ("__xor__", "bitwise_xor"),
)
#: Methods that are no records: their parameters after self.
_NEW = (*[""] * 8, "size", "dtype", "device", "requires_grad")
_WATCHED = {"max": ("dim", "keepdim", "other"), "min": ("dim", "keepdim", "other"),
            "new_zeros": _NEW, "new_ones": _NEW, "new_empty": _NEW,
            "new_full": ("size", "fill_value", *_NEW[-3:])}
_METHODS = (
    "add", "sub", "mul", "div", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh",
    "sigmoid", "relu", "square", "reciprocal", "maximum", "minimum", "eq", "ne", "lt", "le", "gt",
    "ge", "sum", "mean", "amax", "amin", "prod", "any", "all", "view", "transpose", "permute",
    "t", "unsqueeze", "squeeze", "expand", "select", "narrow", "clone", "clamp", "matmul", "mm",
    "bmm", "reshape", "flatten", "unflatten", "view_as", "expand_as", "softmax",
    "log_softmax", "gather", "index_select", "cumsum",
)


def install_builtins(cls: Any, node: type) -> None:
    """Put builtins of machine code in front of the commonest methods and operators."""
    from .dispatch import bridges, fast, functions, readers

    if fast.setup({"tensor": cls, "node": node}) is None:
        return
    wanted = []
    for attribute, name in _BUILTINS:
        found = record(name)
        twin = cls.__dict__.get(attribute)
        if found is not None and found.composite is None and twin is not None:
            wanted.append((attribute, found, twin))
    for python in ("add", "sub", "mul", "truediv"):
        found = record({"truediv": "div"}.get(python, python))
        wanted.append((f"__i{python}__", found, cls.__dict__[f"__i{python}__"]))
    for name in ("add", "sub", "mul", "div", "fill", "relu", "clamp", "copy"):
        found = record(name)
        twin = cls.__dict__.get(f"{name}_") or functions.method(f"{name}_")
        wanted.append((f"{name}_", found, twin))
    for name in _METHODS:
        found = record(name)
        if found is not None and found.method:
            wanted.append((name, found, functions.method(name)))
    fast.FAST.methods(cls, wanted)  # type: ignore[union-attr]
    readers.install(cls)
    bridges.install(cls)
    for name, parameters in _WATCHED.items():
        setattr(cls, name, fast.FAST.watched_method(  # type: ignore[union-attr]
            cls.__dict__[name], name, ("self", *parameters)))
    cls.__hash__ = lambda self: id(self)


__all__ = ["get_default_dtype", "install", "operator"]
