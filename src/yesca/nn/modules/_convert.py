"""Moving a module between devices and dtypes, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.frames import warn
from ... import __future__ as conversions
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...core.devices import Device
from ...core.dtypes import DType, as_dtype
from ...utils import swap_tensors
from ..parameter import Parameter


class ConversionMethods:
    """The part of Module that converts every parameter and buffer, keeping their identity."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True):
        """Replace the values of all parameters, gradients and buffers by `fn` of them.

        Parameters stay the same objects (an optimizer holding them goes on working), unless they
        move to or from the meta device.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = _converted_parameter(parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any):
        """Move or cast all parameters and buffers, in place; returns the module.

        Called as `to(device, dtype)`, `to(dtype)`, `to(tensor)` or with `memory_format=`. Only
        floating point and complex tensors are cast; the rest only moves.
        """
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn(
                "Complex modules are a new feature under active development whose design may "
                "change, and some modules might not work as expected when using complex tensors "
                "as parameters or buffers.",
            )

        def convert(value: Tensor) -> Tensor:
            cast = dtype if value.is_floating_point() or value.is_complex() else None
            options = {"device": device, "dtype": cast, "non_blocking": non_blocking}
            if memory_format is not None and value.dim() in (4, 5):
                options["memory_format"] = memory_format
            try:
                return value.to(**options)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device, recurse: bool = True):
        """Move to `device` with uninitialised memory: the values are not copied."""
        from ... import functional as ops

        return self._apply(lambda value: ops.empty_like(value, device=device), recurse=recurse)

    def cpu(self):
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda value: value.cpu())

    def cuda(self, device=None):
        """Move all parameters and buffers to a CUDA device."""
        return self._apply(lambda value: value.cuda(device))

    def xpu(self, device=None):
        """Move all parameters and buffers to an XPU device."""
        return self._apply(lambda value: value.xpu(device))

    def ipu(self, device=None):
        """Move all parameters and buffers to an IPU device."""
        return self._apply(lambda value: value.ipu(device))

    def mtia(self, device=None):
        """Move all parameters and buffers to an MTIA device."""
        return self._apply(lambda value: value.mtia(device))

    def type(self, dst_type):
        """Cast all parameters and buffers to `dst_type`."""
        return self._apply(lambda value: value.type(dst_type))

    def float(self):
        """Cast all floating point parameters and buffers to float32."""
        return self._apply(lambda value: value.float() if value.is_floating_point() else value)

    def double(self):
        """Cast all floating point parameters and buffers to float64."""
        return self._apply(lambda value: value.double() if value.is_floating_point() else value)

    def half(self):
        """Cast all floating point parameters and buffers to float16."""
        return self._apply(lambda value: value.half() if value.is_floating_point() else value)

    def bfloat16(self):
        """Cast all floating point parameters and buffers to bfloat16."""
        return self._apply(lambda value: value.bfloat16() if value.is_floating_point() else value)

    def share_memory(self):
        """Move all parameters and buffers to memory that other processes can map."""
        return self._apply(lambda value: value.share_memory_())


def _converted_parameter(parameter, fn: Callable):
    # The old gradient is read first: assigning to `.data` may change what it is checked against.
    gradient = parameter.grad
    with no_grad():
        converted = fn(parameter)
        converted_gradient = None if gradient is None else fn(gradient)
    if conversions.get_swap_module_params_on_conversion():
        return _swapped(parameter, converted, gradient, converted_gradient)
    # Meta tensors and real ones cannot stand for each other behind one object.
    overwrite = conversions.get_overwrite_module_params_on_conversion()
    if converted.is_meta == parameter.is_meta and not overwrite:
        parameter.data = converted
        if gradient is not None:
            gradient.data = converted_gradient
        return parameter
    replaced = Parameter(converted, parameter.requires_grad)
    if gradient is not None:
        replaced.grad = converted_gradient.requires_grad_(gradient.requires_grad)
    return replaced


def _swapped(parameter, converted, gradient, converted_gradient):
    """The parameter with the contents of the converted one, and so its gradient."""
    if not isinstance(converted, Parameter):
        converted = Parameter(converted, parameter.requires_grad)
    parameter.grad = None
    swap_tensors(parameter, converted)
    if gradient is not None:
        swap_tensors(gradient, converted_gradient.requires_grad_(gradient.requires_grad))
        parameter.grad = gradient
    return parameter


def _parse_to(args: tuple, kwargs: dict) -> tuple:
    """(device, dtype, non_blocking, memory_format) from the argument forms of `to`."""
    options = dict(kwargs)
    memory_format = options.pop("memory_format", None)
    device, dtype, other = (options.pop(name, None) for name in ("device", "dtype", "tensor"))
    rest, dtype = list(map(as_dtype, args)), as_dtype(dtype)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], DType):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], DType)):
            dtype = rest.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    positional = rest.pop(0) if rest else False
    non_blocking = options.pop("non_blocking", positional)
    options.pop("copy", None)
    if options or len(rest) > 1:  # one more may be the old `copy`
        received = [type(value).__name__ for value in args] + [f"{name}=" for name in kwargs]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(received)}), "
            "but expected one of: (device, dtype), (dtype), (tensor), with non_blocking= and "
            "memory_format="
        )
    if device is not None and not isinstance(device, Device):
        device = Device(device)
    return device, dtype, non_blocking, memory_format
