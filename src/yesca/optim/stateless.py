"""Running an optimizer on other parameters and another state, for a while."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._tensor import Tensor
from .optimizer import Optimizer, StateDict

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, Tensor],
    swapin_optim_state: StateDict,
) -> Iterator[None]:
    """Let `optimizer` act on these parameters, with this state, inside the `with` block.

    Args:
        optimizer: its own state must have been made, by a step.
        swapin_parameters: in the order of the optimizer's groups; the names are not looked at.
        swapin_optim_state: of the form `optimizer.state_dict()` has. Its tensors are changed in
            place by steps; the dicts in it are not.

    Raises:
        RuntimeError: no state yet, or arguments that do not fit the optimizer's groups.
    """
    _check_form(optimizer, swapin_optim_state)
    state, groups = swapin_optim_state["state"], swapin_optim_state["param_groups"]
    for index, (own, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _check_group(index, own, group)
    positions = [position for group in groups for position in group["params"]]
    extra = [key for key in state if key not in positions]
    if extra:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter "
            f"ids from param_groups[*]['params']; got extra keys {extra!r}."
        )
    tensors = list(swapin_parameters.values())
    if len(tensors) < len(positions):
        raise RuntimeError(
            f"{_NAME} requires the explicit parameter state to match optimizer.param_groups "
            f"ordering: {len(tensors)} parameters for {len(positions)} places."
        )
    own_state = optimizer.state
    own_groups = [dict(group) for group in optimizer.param_groups]
    try:
        optimizer.state = defaultdict(dict)
        for position, tensor in zip(positions, tensors):
            optimizer.state[tensor] = dict(state.get(position, {}))
        start = 0
        for own, group in zip(optimizer.param_groups, groups):
            end = start + len(group["params"])
            own.update({**group, "params": tensors[start:end]})
            start = end
        yield
    finally:
        optimizer.state = own_state
        for group, saved in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(saved)


def _check_form(optimizer: Optimizer, saved: Any) -> None:
    """Raise unless `saved` looks like a state dict of as many groups as the optimizer has."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state; make a step first.")
    if not isinstance(saved, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = saved.get("state"), saved.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed "
            f"parameter ids to per-param state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids."
        )
    if not all(isinstance(value, dict) for key, value in state.items() if isinstance(key, int)):
        raise RuntimeError(
            f"{_NAME} requires per-parameter optimizer state entries to be dictionaries."
        )
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group "
            f"dicts, got {type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live "
            f"optimizer ({len(groups)}, not {len(optimizer.param_groups)})."
        )


def _check_group(index: int, own: dict[str, Any], group: Any) -> None:
    if not isinstance(group, dict):
        raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
    positions = group.get("params")
    if not isinstance(positions, list) or not all(isinstance(at, int) for at in positions):
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries "
            "keyed by packed parameter ids."
        )
    if len(own["params"]) != len(positions):
        raise RuntimeError(
            f"swapin_optim_state param group {index} has a different number of params than the "
            "live optimizer param group."
        )
    if own.keys() != group.keys():
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match "
            f"the live optimizer group keys for group {index}. Keys only in swap-in: "
            f"{[key for key in group if key not in own]}. Keys only in live: "
            f"{[key for key in own if key not in group]}."
        )
