"""Averages of weights: stochastic weight averaging, and exponential moving averages.

An averaging function takes the averaged values, the model's values and how many models have been
averaged so far. There are two kinds: for one tensor, which returns the new average (`avg_fn`),
and for lists of tensors of one device and dtype, in place (`multi_avg_fn`).
"""

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..core.dtypes import int64
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .optimizer import Optimizer
from .schedulers.base import LRScheduler, per_group

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _can_be_averaged(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """A function that moves a list of averages towards the model's values by `1 - decay`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(averages: list[Tensor], current: list[Tensor], _: Any) -> None:
        if _can_be_averaged(averages[0]):
            ops._foreach_lerp_(averages, current, 1 - decay)
            return
        for average, value in zip(averages, current, strict=True):
            average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """A function that lets the model's values count as one of `num_averaged + 1` models."""

    @no_grad()
    def swa_update(
        averages: list[Tensor], current: list[Tensor], num_averaged: Tensor | int
    ) -> None:
        share = 1 / (int(num_averaged) + 1)
        if _can_be_averaged(averages[0]):
            ops._foreach_lerp_(averages, current, share)
            return
        for average, value in zip(averages, current, strict=True):
            average.copy_(average + (value - average) * share)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """A function that returns `decay` of the average plus `1 - decay` of the model's value."""
    _check_decay(decay)

    @no_grad()
    def ema_update(average: Tensor, current: Tensor, num_averaged: Tensor | int) -> Tensor:
        return decay * average + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> Callable:
    """A function that returns the mean over one more model."""

    @no_grad()
    def swa_update(average: Tensor, current: Tensor, num_averaged: Tensor | int) -> Tensor:
        return average + (current - average) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model, `module`, whose parameters are averages over time.

    Args:
        model: the model to copy; it stays as it is.
        device: where to keep the averages.
        avg_fn, multi_avg_fn: how to average, one of them (see above); by default the mean.
        use_buffers: average buffers too; otherwise they are copied.

    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged.item()
    1
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", ops.tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of `model` into the average."""
        averages, current = self._pairs(model)
        if self.n_averaged == 0:
            for average, value in zip(averages, current):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, current):
                count = self.n_averaged.to(average.device)
                average.copy_(self.avg_fn(average, value, count))
        else:
            average_list = self.multi_avg_fn or get_swa_multi_avg_fn()
            for (device, _), alike in _by_kind(averages, current).items():
                average_list(*alike, self.n_averaged.to(device))
        if not self.use_buffers:
            for average, value in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(value.detach().to(average.device))
        self.n_averaged += 1

    def _pairs(self, model: Module) -> tuple[list[Tensor], list[Tensor]]:
        """The tensors to average here and in `model`, detached, on this side's device."""
        if self.use_buffers:
            here = chain(self.module.parameters(), self.module.buffers())
            there = chain(model.parameters(), model.buffers())
        else:
            here, there = self.parameters(), model.parameters()
        pairs = list(zip(here, there))
        averages = [average.detach() for average, _ in pairs]
        return averages, [value.detach().to(average.device) for average, value in pairs]


def _by_kind(
    averages: list[Tensor], current: list[Tensor]
) -> dict[Any, tuple[list[Tensor], list[Tensor]]]:
    """Lists of tensors of one device and dtype."""
    kinds: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
    for average, value in zip(averages, current):
        alike = kinds.setdefault((average.device, average.dtype), ([], []))
        alike[0].append(average)
        alike[1].append(value)
    return kinds


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch norms of a model anew, in one pass over data.

    Args:
        loader: batches; of a list or tuple, the first entry is the model's input.
        model: whose mode, training or not, is the same afterwards.
        device: where to move the batches.
    """
    layers = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # a mean over all batches instead of a moving one
    for batch in loader:
        batch = batch[0] if isinstance(batch, list | tuple) else batch
        model(batch if device is None else batch.to(device))
    for layer, momentum in zip(layers, momenta):
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the current rate to `swa_lr` in `anneal_epochs` steps, and stay there.

    Args:
        optimizer: the optimizer.
        swa_lr: the last rate, for all groups or a list.
        anneal_epochs: steps of the way.
        anneal_strategy: `"cos"` or `"linear"`.
        last_epoch: the step to resume at.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}"
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, part: float) -> float:
        """How much of the way in rates is done after `part` of the way in steps."""
        if self._anneal_strategy == "cos":
            return (1 - math.cos(math.pi * part)) / 2
        return part

    def _done(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[float | Tensor]:
        """The rates of the next step.

        They go by the current rates: what another scheduler does in between is kept.
        """
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._done(step - 1), self._done(step)
        rates = []
        for group in self.optimizer.param_groups:
            last, rate = group["swa_lr"], group["lr"]
            first = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates


