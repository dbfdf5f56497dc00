"""Spectral normalisation by a hook that makes the weight before each call (the older way)."""

from __future__ import annotations

from typing import Any

from ... import functional as ops
from ... import linalg
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...base import absent
from ...core.layouts import contiguous_format
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "spectral_norm",
    "remove_spectral_norm",
]

_TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


class SpectralNorm:
    """The hook: `module.<name>` is `<name>_orig` over its largest singular value.

    The value is that of the singular vectors `<name>_u` and `<name>_v`, which follow the weight.
    """

    # 1: the weight itself is not saved, and v is.
    _version: int = 1
    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(
        self,
        name: str = "weight",
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are its parts along `dim`."""
        moved = weight.movedim(self.dim, 0) if self.dim != 0 else weight
        return moved.reshape(moved.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight, after steps of the power method if so wanted."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):  # in place: the buffers stay the same
                    F.normalize(ops.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    F.normalize(ops.mv(matrix, v), dim=0, eps=self.eps, out=u)
                # Copies: the next call changes the buffers, and backward wants these.
                u = u.clone(memory_format=contiguous_format)
                v = v.clone(memory_format=contiguous_format)
        return weight / ops.dot(u, ops.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight an ordinary parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, target_sigma: Any) -> Tensor:
        """The v of a file that has none: W v = u as nearly as can be, and u W v as told."""
        inverse = matrix.t().mm(matrix).pinverse()
        v = linalg.multi_dot([inverse, matrix.t(), u.unsqueeze(1)]).squeeze(1)
        return v.mul_(target_sigma / ops.dot(u, ops.mv(matrix, v)))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Take `module.<name>` over, and hang the hooks on the module."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            sizes = made.reshape_weight_to_matrix(weight).size()
            drawn = [weight.new_empty(size).normal_(0, 1) for size in sizes]
            u, v = (F.normalize(vector, dim=0, eps=eps) for vector in drawn)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # An attribute that is no parameter; the hook puts another there before each call.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Reads files of the time before version 1: they have the weight, and lack v."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict,
        prefix,
        local_metadata,
        strict,
        missing_keys,
        unexpected_keys,
        error_msgs,
    ) -> None:
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + fn.name
        newer = all(key + end in state_dict for end in ("_orig", "_u", "_v"))
        if version is None and newer and key not in state_dict:
            return  # a plain dictionary of a new state
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            u = state_dict[key + "_u"]
            state_dict[key + "_v"] = fn._solve_v_and_rescale(matrix, u, sigma)


class SpectralNormStateDictHook:
    """Writes the version beside the state."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict, prefix, local_metadata) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Keep a weight's largest singular value near 1, by dividing by it; returns the module.

    `parametrizations.spectral_norm` is the newer way. The weight is seen as a matrix whose rows
    are its parts along `dim` (0 by default; 1 for transposed convolutions). The value is
    followed by `n_power_iterations` steps of the power method at each call in training.

    Raises RuntimeError if it is normalised already, ValueError if it is None or not made yet.

    >>> import yesca as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = 1 if isinstance(module, _TRANSPOSED) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo `spectral_norm`; returns the module. Raises ValueError if there was none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hung = (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    )
    for hooks, kind in hung:
        for key, hook in list(hooks.items()):
            inner = getattr(hook, "hook", hook)
            if isinstance(inner, kind) and inner.fn.name == name:
                del hooks[key]
    return module


__getattr__ = absent.names_of(__name__)
