"""Modules that take the sizes of their parameters from their first input."""

from __future__ import annotations

from typing import Any

from ...autograd.modes import no_grad
from ...base import absent
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Put before the class of a layer, holds its parameters open until the first call.

    A subclass sets parameters and buffers that are uninitialised, and defines
    `initialize_parameters(*args, **kwargs)`, which gets the arguments of the first call and
    gives each its shape by `materialize`. Then the module turns into `cls_to_become`, if set.
    Loading a state dictionary also gives shapes. An optimizer wants the parameters after that.

    >>> import yesca as torch
    >>> layer = torch.nn.LazyLinear(3)
    >>> layer
    LazyLinear(in_features=0, out_features=3, bias=True)
    >>> layer(torch.zeros(1, 2)).shape, layer
    (torch.Size([1, 3]), Linear(in_features=2, out_features=3, bias=True))
    """

    cls_to_become: type | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _save_to_state_dict(self: Any, destination, prefix: str, keep_vars: bool) -> None:
        for name, value in self._own_state():
            kept = is_lazy(value) or keep_vars  # what has no shape cannot be detached
            destination[prefix + name] = value if kept else value.detach()

    def _lazy_load_hook(
        self: Any,
        state_dict,
        prefix,
        local_metadata,
        strict,
        missing_keys,
        unexpected_keys,
        error_msgs,
    ) -> None:
        for name, own in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(own) and not is_lazy(given):
                with no_grad():
                    own.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or a buffer has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self: Any, module, args: tuple, kwargs: dict | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self: Any) -> None:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )


__getattr__ = absent.names_of(__name__)
