"""Schedulers that cycle the rate, and with it the momentum the other way."""

import math
import types
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from ..._tensor import Tensor
from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, per_group, set_group_value

Rates = list[float | Tensor]


def _uses_beta1(optimizer: Optimizer) -> bool:
    """Whether the momentum is `betas[0]` rather than `momentum`."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled; "
            f"{type(optimizer).__name__} has neither: give cycle_momentum=False"
        )
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], use_beta1: bool, momentum: float) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _start_momentum(
    optimizer: Optimizer, use_beta1: bool, base_momentums: list, max_momentums: list
) -> None:
    rows = zip(optimizer.param_groups, base_momentums, max_momentums, strict=True)
    for group, base_momentum, max_momentum in rows:
        _set_momentum(group, use_beta1, max_momentum)
        group["max_momentum"] = max_momentum
        group["base_momentum"] = base_momentum


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` along a line, down again, and so on.

    Args:
        optimizer: the optimizer.
        base_lr, max_lr: the bounds, for all groups or a list.
        step_size_up, step_size_down: steps of the two halves of a cycle.
        mode: `"triangular"`; `"triangular2"`, each cycle half as high as the one before;
            `"exp_range"`, the height times `gamma ** step`.
        gamma: see `mode`.
        scale_fn, scale_mode: instead of `mode`: the height is multiplied by `scale_fn(x)`, with
            `x` the number of the cycle (`"cycle"`) or of the step (`"iterations"`).
        cycle_momentum: move the momentum from `max_momentum` to `base_momentum` and back.
        base_momentum, max_momentum: bounds of the momentum, for all groups or a list.
        last_epoch: the step to resume at.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_group_value(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: mode={mode!r}")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                _start_momentum(
                    optimizer, self.use_beta1, self.base_momentums, self.max_momentums
                )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        if self.mode == "triangular":
            self._scale_fn_ref, self.scale_mode = _constant_height, "cycle"
        elif self.mode == "triangular2":
            self._scale_fn_ref, self.scale_mode = _halved_height, "cycle"
        elif self.mode == "exp_range":
            self._scale_fn_ref = partial(_exponential_height, self.gamma)
            self.scale_mode = "iterations"

    def scale_fn(self, x: float) -> float:
        """The factor of the height in cycle, or at step, `x`."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    def get_lr(self) -> Rates:
        """The rates of step `last_epoch`; moves the momentum as well."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        if x <= self.step_ratio:
            height = x / self.step_ratio
        else:
            height = (x - 1) / (self.step_ratio - 1)

        def scaled(low: Any, high: Any) -> Any:
            at = cycle if self.scale_mode == "cycle" else self.last_epoch
            return (high - low) * height * self.scale_fn(at)

        rates = [
            low + scaled(low, high)
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
        if self.cycle_momentum:
            rows = zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            )
            for group, low, high in rows:
                _set_momentum(group, self.use_beta1, high - scaled(low, high))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """The state; of `scale_fn`, only the attributes of a callable object are saved."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        function = state.pop("_scale_fn_custom")
        is_object = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state; a custom `scale_fn` itself stays."""
        attributes = state_dict["_scale_fn_custom"]
        super().load_state_dict(
            {key: value for key, value in state_dict.items() if key != "_scale_fn_custom"}
        )
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self._init_scale_fn()


def _constant_height(cycle: float) -> float:
    return 1.0


def _halved_height(cycle: float) -> float:
    return 1 / (2.0 ** (cycle - 1))


def _exponential_height(gamma: float, step: float) -> float:
    return gamma**step


class OneCycleLR(LRScheduler):
    """One cycle over the whole training: up to `max_lr`, then down to almost nothing.

    Args:
        optimizer: the optimizer.
        max_lr: the greatest rate, for all groups or a list.
        total_steps: steps of the training; or give `epochs` and `steps_per_epoch`.
        pct_start: part of the steps that the rise takes, a float.
        anneal_strategy: `"cos"` or `"linear"`.
        cycle_momentum: move the momentum from `max_momentum` to `base_momentum` and back.
        base_momentum, max_momentum: bounds of the momentum, for all groups or a list.
        div_factor: the first rate is `max_lr / div_factor`.
        final_div_factor: the last rate is the first divided by this.
        three_phase: go down to the first rate as slowly as up, and then on to the last.
        last_epoch: the step to resume at.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            max_momentums = per_group("max_momentum", optimizer, max_momentum)
            base_momentums = per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                _start_momentum(optimizer, self.use_beta1, base_momentums, max_momentums)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, part: float) -> Any:
        """The value after `part` of the way from `start` to `end`."""
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> Rates:
        """The rates of step `last_epoch`; moves the momentum as well."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps "
                f"is {self.total_steps}"
            )
        start_step = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start_step = phase["end_step"]
        part = (self.last_epoch - start_step) / (phase["end_step"] - start_step)
        rates = []
        for group in self.optimizer.param_groups:
            ends = (group[phase["start_lr"]], group[phase["end_lr"]])
            rates.append(self._anneal_func(*ends, part))
            if self.cycle_momentum:
                ends = (group[phase["start_momentum"]], group[phase["end_momentum"]])
                _set_momentum(group, self.use_beta1, self._anneal_func(*ends, part))
        return rates


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is not None and steps_per_epoch is not None:
        return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)
    raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """Where each phase ends, and which options of a group it goes from and to."""

    def phase(end_step: float, rates: str, momentums: str) -> dict[str, Any]:
        (start_lr, end_lr), (start_momentum, end_momentum) = rates.split(), momentums.split()
        return {
            "end_step": end_step,
            "start_lr": start_lr,
            "end_lr": end_lr,
            "start_momentum": start_momentum,
            "end_momentum": end_momentum,
        }

    up = float(pct_start * total_steps) - 1
    rise = phase(up, "initial_lr max_lr", "max_momentum base_momentum")
    last = total_steps - 1
    if not three_phase:
        return [rise, phase(last, "max_lr min_lr", "base_momentum max_momentum")]
    down = float(2 * pct_start * total_steps) - 2
    return [
        rise,
        phase(down, "max_lr initial_lr", "base_momentum max_momentum"),
        phase(last, "initial_lr min_lr", "max_momentum max_momentum"),
    ]
