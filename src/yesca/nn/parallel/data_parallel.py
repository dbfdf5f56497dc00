"""DataParallel: one part of the batch for each device; without devices the module alone."""

from __future__ import annotations

from typing import Any

from ...autograd.modes import is_grad_enabled
from ...base import absent
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs `module`, split over accelerators; there are none, so it runs as it is.

    All cores work for it in any case. Names of parameters begin with `module.`, as in states
    that were saved elsewhere.

    >>> import yesca as torch
    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 3))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids: list[int] = []  # those asked for are not there

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    def replicate(self, module: Module, device_ids: Any) -> list[Module]:
        """Copies of the module, one for each device."""
        return replicate(module, device_ids, not is_grad_enabled())

    def scatter(self, inputs: tuple, kwargs: dict | None, device_ids: Any) -> Any:
        """The arguments of a call, one part for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Any, inputs: Any, kwargs: Any) -> list[Any]:
        """The results of the copies, each on its part."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The results as one."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Run a module on several accelerators. Raises RuntimeError: there are none."""
    raise RuntimeError("device type could not be determined")


__getattr__ = absent.names_of(__name__)
