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
from ...core.layouts import MemoryFormat
from ...dispatch.handlers import takes_over
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
    # What a wrapper has besides memory of its own, `.data` does not hand over.
    if conversions.get_swap_module_params_on_conversion() or takes_over(type(converted)):
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


_TO_FORMS = (
    "(torch.device device = None, torch.dtype dtype = None, ",
    "(torch.dtype dtype, ",
    "(Tensor tensor, ",
)


def _parse_to(args: tuple, kwargs: dict) -> tuple:
    """(device, dtype, non_blocking, memory_format) from the argument forms of `to`."""
    names = ["non_blocking", "copy"]
    first = as_dtype(args[0]) if args else None
    if "tensor" in kwargs or isinstance(first, Tensor):
        names.insert(0, "tensor")
    elif isinstance(first, DType):
        names.insert(0, "dtype")
    else:
        names[:0] = ["device", "dtype"]
    given = dict(zip(names, args))
    options = {"memory_format": None, **dict.fromkeys(("device", "dtype", *names)), **given}
    options |= {name: as_dtype(value) for name, value in kwargs.items()}
    repeated = given.keys() & kwargs.keys()
    unknown = kwargs.keys() - {"device", "dtype", "tensor", "memory_format", *names}
    if len(args) > len(names) or repeated or unknown or not _fit(options):
        shown = [_shown(value) for value in args]
        shown += [f"{name}={_shown(value)}" for name, value in kwargs.items()]
        comma = ", " if kwargs else ""
        rest = "bool non_blocking = False, bool copy = False, *, torch.memory_format "
        forms = "".join(f" * {form}{rest}memory_format = None)\n" for form in _TO_FORMS)
        raise TypeError(
            "to() received an invalid combination of arguments - got "
            f"({', '.join(shown)}{comma}), but expected one of:\n{forms}"
        )
    device, dtype, other = options["device"], as_dtype(options["dtype"]), options.get("tensor")
    if other is not None:
        device, dtype = other.device, other.dtype
    if device is not None and not isinstance(device, Device):
        device = Device(device)
    return device, dtype, bool(options["non_blocking"]), options["memory_format"]


def _fit(options: dict) -> bool:
    """Whether each argument of `to` is of its kind."""
    kinds = {
        "device": (Device, str, int),
        "dtype": DType,
        "tensor": Tensor,
        "memory_format": MemoryFormat,
        "non_blocking": bool,
        "copy": bool,
    }
    return all(
        value is None or isinstance(as_dtype(value) if name == "dtype" else value, kinds[name])
        for name, value in options.items()
    )


def _shown(value: Any) -> str:
    kind = type(as_dtype(value))
    known = {DType: "torch.dtype", Device: "torch.device", MemoryFormat: "torch.memory_format"}
    return known.get(kind, kind.__name__)
