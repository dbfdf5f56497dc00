"""Parameter and Buffer: the tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict

from ..base import absent
from .._tensor import Tensor
from ..dispatch import fast
from ..dispatch.protocol import disabled

__all__ = ["Parameter", "Buffer"]


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
