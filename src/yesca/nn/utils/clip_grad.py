"""Limiting gradients by their norm or their values."""

from __future__ import annotations

import types
from collections.abc import Iterable

from ...base.frames import warn
from ... import functional as ops
from ..._tensor import Tensor
from ...autograd.modes import no_grad

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [each.grad for each in parameters if each.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all entries of all tensors together, as a 0-dim tensor.

    Raises RuntimeError if `error_if_nonfinite` and the norm is NaN or infinite. `foreach` only
    chooses how PyTorch computes it; the result is the same.
    """
    tensors = _as_list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return ops.tensor(0.0)
    device = tensors[0].device
    norms = [each.norm(norm_type).to(device) for each in tensors]
    total = ops.stack(norms).norm(norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale the gradients by `max_norm / total_norm` where that is below 1, in place."""
    gradients = _gradients(_as_list(parameters))
    # Multiplying by 1 as well is cheaper than reading the norm to decide.
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(gradient.device))


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients together, in place, so that their norm is at most `max_norm`.

    Returns the norm they had. `norm_type` may be `inf`.

    >>> import yesca as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(5.)
    """
    is_generator = isinstance(parameters, types.GeneratorType)
    parameters = _as_list(parameters)
    if is_generator and not parameters:
        warn(
            "`parameters` is an empty generator, no gradient clipping will occur.",
        )
    gradients = _gradients(parameters)
    total_norm = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp every entry of every gradient to [-clip_value, clip_value], in place."""
    bound = float(clip_value)
    for gradient in _gradients(_as_list(parameters)):
        gradient.clamp_(min=-bound, max=bound)
