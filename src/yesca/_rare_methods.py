"""Methods that few programs call, and questions whose answer is always no."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from . import _access
from .core.dtypes import DType
from .core.layouts import MemoryFormat
from .core.memory_formats import is_in
from .core.views import sorted_order


def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from outermost to innermost in memory.

    Args:
        ambiguity_check: True refuses tensors that several orders fit; a list of memory formats
            those which, of these, not exactly one fits.

    >>> import yesca as torch
    >>> torch.ones(2, 3, 5, 7).to(memory_format=torch.channels_last).dim_order()
    (0, 2, 3, 1)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) \
            or not all(isinstance(f, MemoryFormat) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    spec = self._spec
    several = any(a == b for a, b in pairwise(spec.strides)) or 1 in spec.shape
    if ambiguity_check is not False and several \
            and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one "
                           "of the given memory formats.")
    if spec.contiguous and not is_in(spec, "channels_last"):
        return tuple(range(spec.ndim))
    return tuple(sorted_order([spec.strides], tuple(spec.shape))[::-1])


def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What takes this tensor's place when `other` is loaded in it, by swapping.

    `Module.load_state_dict` asks for it under
    `torch.__future__.set_swap_module_params_on_conversion(True)`.
    """
    return other.detach() if assign else self.copy_(other).detach()


def _grad_dtype(self: Any) -> DType | None:
    """The dtype of the gradient of this leaf: its own unless it was set; None for any."""
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return _access.grad_dtype(self)


def _set_grad_dtype(self: Any, value: DType | None) -> None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    _access.set_grad_dtype(self, value)


def const_data_ptr(self: Any) -> int:
    """The address of the first element, to read from."""
    return self.data_ptr()  # type: ignore[no-any-return]


def is_distributed(self: Any) -> bool:
    """False: a tensor lies on one machine."""
    return False


def _of_quantized(name: str) -> Any:
    """A method of quantized tensors, whose module is imported by the first call."""
    def method(self: Any) -> Any:
        from . import _quantized

        return getattr(_quantized, name)(self)

    method.__name__ = name
    return method


def _of_sparse(name: str) -> Any:
    """A method that is about sparse tensors, whose module is imported by the first call."""
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from ._sparse import methods

        return getattr(methods, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


#: Methods that only quantized tensors answer.
QUANTIZED = ("dequantize", "int_repr", "q_scale", "q_zero_point", "q_per_channel_scales",
             "q_per_channel_zero_points", "q_per_channel_axis", "qscheme")
#: Methods that are about sparse tensors.
SPARSE = ("coalesce", "is_coalesced", "indices", "values", "sparse_dim", "dense_dim", "to_sparse",
          "to_sparse_coo", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_",
          "resize_as_sparse_", "smm", "sspaddmm", "_indices", "_values", "_nnz", "_coalesced_",
          "_sparse_rows", "_sparse_zeros")


def install(cls: Any) -> None:
    """Put the methods on the tensor's class."""
    for function in (dim_order, module_load, const_data_ptr, is_distributed,
                     *map(_of_quantized, QUANTIZED), *map(_of_sparse, SPARSE)):
        function.__qualname__ = f"{cls.__name__}.{function.__name__}"
        function.__module__ = cls.__module__
        setattr(cls, function.__name__, function)
    cls.grad_dtype = property(_grad_dtype, _set_grad_dtype)
    for device in ("ipu", "maia", "mtia", "vulkan", "xla"):
        setattr(cls, f"is_{device}", False)


__all__ = ["install"]
