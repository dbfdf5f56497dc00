"""Schedulers along a cosine."""

import math

from ..._tensor import Tensor
from ..optimizer import Optimizer
from .base import LRScheduler

Rates = list[float | Tensor]


def _along_cosine(base: float | Tensor, least: float, angle: float) -> float | Tensor:
    """From `base` at angle 0 down to `least` at angle pi."""
    return least + (base - least) * (1 + math.cos(angle)) / 2


class CosineAnnealingLR(LRScheduler):
    """From the initial rate to `eta_min` in `T_max` steps along a cosine, then back, and so on.

    Args:
        optimizer: the optimizer.
        T_max: half the period, in steps.
        eta_min: the least rate.
        last_epoch: the step to resume at.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates of step `last_epoch`."""
        self._warn_outside_step()
        if self._is_initial:
            return self._unchanged()
        least, groups = self.eta_min, self.optimizer.param_groups
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The step before was at the bottom, where the ratio below would divide by zero.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self.base_lrs, groups, strict=True)
            return [group["lr"] + (base - least) * rise for base, group in pairs]
        now, before = (
            1 + math.cos(math.pi * step / self.T_max)
            for step in (self.last_epoch, self.last_epoch - 1)
        )
        return [now / before * (group["lr"] - least) + least for group in groups]

    def _get_closed_form_lr(self) -> Rates:
        angle = math.pi * self.last_epoch / self.T_max
        return [_along_cosine(base, self.eta_min, angle) for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the initial rate to `eta_min` along a cosine, again and again.

    Args:
        optimizer: the optimizer.
        T_0: steps of the first descent.
        T_mult: each descent is so many times as long as the one before.
        eta_min: the least rate.
        last_epoch: the step to resume at.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates of step `last_epoch`."""
        self._warn_outside_step()
        angle = math.pi * self.T_cur / self.T_i
        return [_along_cosine(base, self.eta_min, angle) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next step, or to `epoch`, which may be a fraction: `epoch + i / iters`."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._write_rates()

    def _go_to(self, epoch: float) -> None:
        """Find the descent that `epoch` lies in."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            # n descents before this one took T_0 * (T_mult ** n - 1) / (T_mult - 1) steps.
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
