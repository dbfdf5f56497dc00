"""Parameter and Buffer: the tensors that a module registers when they are assigned to it.

The uninitialised ones stand in for them until a lazy module has seen its input.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..base import absent
from .._tensor import Tensor
from ..dispatch import fast
from ..dispatch.protocol import DisableSubclasses, disabled

__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]


class _FlaggedMeta(type(Tensor)):
    """Lets a tensor of another class count as an instance, by the flag it carries.

    A subclass of Tensor made into a parameter keeps its own class, so that its own behaviour
    stays; the flag on the instance is what `isinstance(value, Parameter)` then sees.
    """

    def __instancecheck__(cls, instance) -> bool:
        if super().__instancecheck__(instance):
            return True
        flag = cls.__dict__.get("_instance_flag")
        return (
            flag is not None and isinstance(instance, Tensor) and getattr(instance, flag, False)
        )


class Parameter(Tensor, metaclass=_FlaggedMeta):
    """A tensor that is a module's parameter.

    Assigned to an attribute of a `Module` it is registered: `parameters()` yields it and
    `state_dict()` saves it.

    Args:
        data: the values; the parameter shares their memory. An empty tensor if left out.
        requires_grad: whether gradients are wanted, also inside `no_grad()`.

    >>> import yesca as torch
    >>> torch.nn.Parameter(torch.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    _instance_flag = "_is_param"
    __torch_function__ = disabled

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            from .. import functional as ops

            data = ops.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        parameter = data.detach().requires_grad_(requires_grad)
        if type(parameter) is not type(data):
            name = type(data).__name__
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {name} requires that detach() "
                "returns an instance of the same type, but return type "
                f"{type(parameter).__name__} was found instead. To use the type as a Parameter, "
                "please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        parameter._is_param = True
        return parameter

    def __deepcopy__(self, memo):
        copied = memo.get(id(self))
        if copied is None:
            copied = type(self)(self.data.clone(), self.requires_grad)
            memo[id(self)] = copied
        return copied

    def __repr__(self, *, tensor_contents=None) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        attributes = dict(getattr(self, "__dict__", ()))
        arguments = (self.data, self.requires_grad, OrderedDict())
        if not attributes:
            return _rebuild_parameter, arguments
        return _rebuild_parameter_with_state, (*arguments, attributes)


fast.plain_class(Parameter)


class Buffer(Tensor, metaclass=_FlaggedMeta):
    """A tensor that is a module's state but not a parameter, such as a running mean.

    Assigned to an attribute of a `Module` it is registered as by `register_buffer`.

    Args:
        data: the values; the buffer shares their memory.
        persistent: whether `state_dict()` saves it.
    """

    _instance_flag = "_is_buffer"

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            from .. import functional as ops

            data = ops.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


_WITHOUT_SHAPE = frozenset(
    "__hash__ size copy_ is_complex is_floating_point half float double char short int long cuda "
    "cpu to get_device _has_compatible_shallow_copy_type".split()
)


class UninitializedTensorMixin:
    """A tensor of no shape yet: it can be moved and cast, and it refuses everything else."""

    cls_to_become: type
    _what = "uninitialized parameter or buffer"

    def materialize(self, shape, device=None, dtype=None) -> None:
        """Become an ordinary tensor of `shape` in place, its values not set.

        Device and dtype stay what they are where they are not given.
        """
        from .. import functional as ops

        data = self.data
        device = data.device if device is None else device
        dtype = data.dtype if dtype is None else dtype
        self.data = ops.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        """There is none yet: RuntimeError."""
        raise RuntimeError(
            f"Can't access the shape of an {self._what}. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized "
            "one. Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self):
        """There is no memory yet: RuntimeError."""
        raise RuntimeError(
            f"Can't share memory on an {self._what}. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        # Reading an attribute is a call of its descriptor's `__get__`.
        name = getattr(func, "__name__", "")
        if name in _WITHOUT_SHAPE or name in ("__get__", "__set__", "__delete__"):
            with DisableSubclasses():
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` "
            "with a dummy batch to initialize the parameters before calling torch functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether `param` is an uninitialised parameter or buffer.

    >>> import yesca as torch
    >>> torch.nn.parameter.is_lazy(torch.nn.LazyLinear(3).weight)
    True
    """
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize(shape)` makes a `Parameter` of it.

    It has a device and a dtype. It can be moved, cast, copied and saved; every other function
    raises ValueError.

    >>> import yesca as torch
    >>> weight = torch.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        from .. import functional as ops

        data = ops.empty(0, device=device, dtype=dtype)
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo):
        copied = memo.get(id(self))
        if copied is None:
            copied = type(self)(self.requires_grad, self.data.device, self.data.dtype)
            memo[id(self)] = copied
        return copied


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize(shape)` makes a tensor of it."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        from .. import functional as ops

        data = ops.empty(0, device=device, dtype=dtype)
        buffer = Tensor._make_subclass(cls, data, requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


# Checkpoints call the two functions below, by these names; the third argument is always empty.


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    parameter = Parameter(data, requires_grad)
    # PyTorch writes a pair where the object has slots as well.
    parts = state if isinstance(state, tuple) else (state,)
    for attributes in parts:
        for name, value in (attributes or {}).items():
            setattr(parameter, name, value)
    return parameter


__getattr__ = absent.names_of(__name__)
