"""What all schedulers share: the count of steps, and writing rates into the groups.

A scheduler computes the rates of step `last_epoch`. Most do so from the current rates (so that
several schedulers can act on one optimizer); those with `_get_closed_form_lr` can also compute
them from the initial rates, which is what `step(epoch)` uses.
"""

import weakref
from functools import wraps
from typing import Any

from ...base.frames import warn
from ..._tensor import Tensor
from ..optimizer import Optimizer, _get_value

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER_HELP = (
    "See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def check_optimizer(optimizer: Any) -> None:
    """Raise unless this is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """A tensor's own copy, since rates that are tensors are changed in place."""
    return value.clone() if isinstance(value, Tensor) else value


def group_values(optimizer: Optimizer, key: str) -> list[Any]:
    """The values of one option, one for each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_group_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; a tensor keeps its identity, because compiled steps may hold it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(_get_value(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument that is one value for all groups, or a list of one for each."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        value = [value] * count
    elif len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {count}."
        )
    return [copied(entry) for entry in value]


class LRScheduler:
    """Base class of schedulers.

    Args:
        optimizer: whose `param_groups[...]["lr"]` is changed.
        last_epoch: the step to resume at; -1 starts, and stores the rates as `"initial_lr"`.

    A subclass writes `get_lr`, which returns one rate for each group. It may use `last_epoch`,
    `base_lrs` (the initial rates) and the groups' current rates.

    Raises:
        TypeError: `optimizer` is not one.
        KeyError: resuming, and a group has no `"initial_lr"`.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when "
                    "resuming scheduler with last_epoch >= 0; load the optimizer's state "
                    "first, or start with last_epoch=-1"
                )
        self.base_lrs: list[float | Tensor] = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps_of(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Write the rates of the first step; chainable forms must not move them yet."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything the scheduler remembers, apart from the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` of such a scheduler returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """The rates of the last step, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The rates of step `last_epoch`; for subclasses. Users want `get_last_lr`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next step, after `optimizer.step()`, and write its rates into the groups.

        Args:
            epoch: deprecated: go to this step instead.
        """
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _warn_of_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            message = (
                "Seems like `optimizer.step()` has been overridden after learning rate "
                "scheduler initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`. "
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            message = (
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will "
                "result in PyTorch skipping the first value of the learning rate schedule. "
            )
        else:
            return
        warn(message + _ORDER_HELP, UserWarning)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed_form = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._write_rates(closed_form)

    def _write_rates(self, compute=None) -> None:
        self._get_lr_called_within_step = True
        try:
            rates = (compute or self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_group_value(group, "lr", rate)
        self._last_lr: list[float | Tensor] = group_values(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[float | Tensor]:
        """The current rates times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _unchanged(self) -> list[float | Tensor]:
        return group_values(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        """Chainable forms are only right inside `step`."""
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
            )


class _LRScheduler(LRScheduler):
    """The older name of the base class."""


def _note_steps_of(optimizer: Optimizer) -> None:
    """Make `optimizer.step` note that it was called, for the warning about the order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function = optimizer.step.__func__
    # A strong reference would make a cycle, and keep the parameters alive with it.
    reference = weakref.ref(optimizer)

    @wraps(function)
    def step(*args, **kwargs):
        owner = reference()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    step._wrapped_by_lr_sched = True
    optimizer.step = step
