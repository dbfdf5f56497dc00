"""Weight normalisation by a hook that makes the weight before each call (the older way)."""

from __future__ import annotations

from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...base import absent
from ...base.frames import warn
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "weight_norm", "remove_weight_norm"]


class WeightNorm:
    """The hook: `module.<name>` from `module.<name>_g`, its lengths, and `<name>_v`."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight, from lengths and directions."""
        lengths = getattr(module, self.name + "_g")
        directions = getattr(module, self.name + "_v")
        return ops._weight_norm(directions, lengths, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Split `module.<name>`, and hang the hook on the module."""
        warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of "
            "`torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two weight_norm hooks on the same parameter {name}"
                )
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        lengths = ops.norm_except_dim(weight, 2, made.dim)
        module.register_parameter(name + "_g", Parameter(lengths.data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        made(module, None)
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Make the weight one parameter again."""
        weight = self.compute_weight(module)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its length and its direction, `<name>_g` and `<name>_v`.

    Deprecated: `parametrizations.weight_norm` does the same, and loads what this saved. Lengths
    are those of the parts along `dim`, or, where it is None, the whole weight's. Returns the
    module. Raises RuntimeError if the weight is split already.
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo `weight_norm`; returns the module. Raises ValueError if there was none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")


__getattr__ = absent.names_of(__name__)
