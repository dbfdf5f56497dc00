"""The base class of all optimizers: groups, state, checkpoints, hooks.

An optimizer owns `param_groups`, a list of dicts (`"params"` and one entry for each option), and
`state`, a dict from a parameter to what the algorithm remembers about it. `state_dict` replaces
parameters by their position, so a checkpoint does not depend on object identity.
"""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from ..base.frames import warn
from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import enable_grad, is_grad_enabled
from ..core.dtypes import float32, float64, get_default_dtype
from ..dispatch import observing
from ..dispatch.state import set_grad
from ..utils.hooks import RemovableHandle

ParamsT: TypeAlias = (
    Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
)
StateDict: TypeAlias = dict[str, Any]
Closure: TypeAlias = Callable[[], Any]  # computes the loss anew, and its gradients

_global_optimizer_pre_hooks: dict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Callable] = OrderedDict()

_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    """The default of an option that every parameter group must give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _register(table: dict, hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every `step` of every optimizer.

    The hook may return `(args, kwargs)` to replace the arguments of `step`.
    """
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every `step` of every optimizer."""
    return _register(_global_optimizer_post_hooks, hook)


def _use_grad_for_differentiable(step: Callable) -> Callable:
    """Run `step` without recording gradients, unless the optimizer is differentiable."""

    @functools.wraps(step)
    def with_grad_mode(self, *args, **kwargs):
        before = is_grad_enabled()
        set_grad(bool(self.defaults.get("differentiable", False)))
        try:
            return step(self, *args, **kwargs)
        finally:
            set_grad(before)

    return with_grad_mode


def _evaluate(closure: Callable | None):
    """The loss of `closure`, computed with gradients on; None without a closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def _get_value(x):
    """A number for a one-element tensor; anything else unchanged."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x):
    """A 0-dim tensor for a one-element tensor; a number unchanged."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _scalar_state(value: float) -> Tensor:
    """A 0-dim state tensor: float32, or float64 where that is the default dtype."""
    dtype = float64 if get_default_dtype() is float64 else float32
    return ops.tensor(float(value), dtype=dtype, device="cpu")


def _run_pre_hooks(optimizer: "Optimizer", step: Callable, args: tuple, kwargs: dict):
    hooks = (_global_optimizer_pre_hooks, optimizer._optimizer_step_pre_hooks)
    for hook in chain.from_iterable(table.values() for table in hooks):
        result = hook(optimizer, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"{step} must return None or a tuple of (new_args, new_kwargs), "
                f"but got {result}."
            )
        args, kwargs = result
    return args, kwargs


class Optimizer:
    """Base class of optimizers.

    Args:
        params: an iterable of tensors, of `(name, tensor)` pairs, or of dicts that are parameter
            groups. Its order must not change between runs.
        defaults: the value of each option for groups that do not give it.

    A subclass writes `__init__`, which calls this one, and `step`.
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._complete_instance()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {params.type()}; put the tensor into a list"
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _complete_instance(self) -> None:
        """Add what is never pickled: the hook tables, and hooks around the class's `step`."""
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        step = type(self).step
        if not getattr(step, "hooked", False):
            type(self).step = self.profile_hook_step(step)

    @staticmethod
    def profile_hook_step(step: Callable) -> Callable:
        """Wrap a `step` method so that it calls the step hooks."""

        @functools.wraps(step)
        def hooked_step(self, *args, **kwargs):
            if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
                # Hooks see, and may replace, the whole argument list, `self` included.
                whole, kwargs = _run_pre_hooks(self, step, (self, *args), kwargs)
                self, *args = whole
            run = step if observing.current is None else observing.observed(
                f"Optimizer.step#{type(self).__name__}.step", step)
            result = run(self, *args, **kwargs)
            if _global_optimizer_post_hooks or self._optimizer_step_post_hooks:
                tables = (self._optimizer_step_post_hooks, _global_optimizer_post_hooks)
                for hook in chain.from_iterable(table.values() for table in tables):
                    hook(self, (self, *args), kwargs)
            return result

        hooked_step.hooked = True
        return hooked_step

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._complete_instance()
        self.defaults.setdefault("differentiable", False)

    def _restore(self, scalars: tuple[str, ...] = ("step",), **options: Any) -> None:
        """Bring groups and state of an older checkpoint up to date.

        `options` are entries that old groups lack; state named in `scalars` was once a number.
        """
        for group in self.param_groups:
            for name, value in options.items():
                group.setdefault(name, value)
            for param in group["params"]:
                state = self.state.get(param) or {}
                for name in scalars:
                    if name in state and not isinstance(state[name], Tensor):
                        state[name] = _scalar_state(state[name])

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines += [""] * bool(index) + [f"Parameter Group {index}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before `step`; it may return new arguments."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after `step`."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`; with `prepend`, before all others."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another dict."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another dict."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> StateDict:
        """The state and the groups, with each parameter replaced by its position.

        Returns:
            `{"state": {position: {...}}, "param_groups": [{"params": [position, ...], ...}]}`.
            The tensors in it are the optimizer's own, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        positions: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for index, param in enumerate(group["params"], start):
                positions.setdefault(id(param), index)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [positions[id(param)] for param in group["params"]]
            groups.append(packed)
            start += len(packed["params"])
        state = {
            positions[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            result = result if replaced is None else replaced
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what `state_dict` of such an optimizer returned.

        State of a floating-point parameter is cast to that parameter's dtype and device (its
        `step` is not); options of the groups are replaced by the saved ones.

        Raises:
            ValueError: another number of groups, or of parameters in one of them.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        saved_groups = deepcopy(state_dict["param_groups"])
        self._check_saved_groups(saved_groups)
        owners = {
            position: (param, saved)
            for group, saved in zip(self.param_groups, saved_groups)
            for position, param in zip(saved["params"], group["params"])
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                param, saved = owners[key]
                state[param] = _cast_state(param, value, saved, None)
            else:
                state[key] = value
        for group, saved in zip(self.param_groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _check_saved_groups(self, saved_groups: list[dict[str, Any]]) -> None:
        if len(saved_groups) != len(self.param_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups "
                f"({len(saved_groups)}, this optimizer has {len(self.param_groups)})"
            )
        for index, (group, saved) in enumerate(zip(self.param_groups, saved_groups)):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size "
                    f"of optimizer's group (group {index}: {len(saved['params'])} saved, "
                    f"{len(group['params'])} here)"
                )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients; with `set_to_none=False`, fill them with zeros instead."""
        run = self._zero_grad if observing.current is None else observing.observed(
            f"Optimizer.zero_grad#{type(self).__name__}.zero_grad", self._zero_grad)
        run(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        if set_to_none:
            for group in self.param_groups:
                for param in group["params"]:
                    param.grad = None
            return
        grads = [
            param.grad
            for group in self.param_groups
            for param in group["params"]
            if param.grad is not None
        ]
        for grad in grads:
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad = False
            grad.zero_()

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once.

        Args:
            closure: computes the loss anew (and calls `backward`); its result is returned.
        """
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, a dict with `"params"` and options that differ from the defaults.

        Raises:
            TypeError: not a dict, parameters in a set, or a parameter that is no tensor.
            ValueError: a tensor that is the result of an operation, a missing option, names for
                only some of the parameters, or a parameter that another group has.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _unpack_params(param_group)
        for param in param_group["params"]:
            self._check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization "
                    f"parameter {name}"
                )
            param_group.setdefault(name, default)
        self._check_disjoint(param_group)
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                f"{type(param).__qualname__}"
            )
        if self.defaults.get("differentiable"):
            return
        if not (param.is_leaf or param.retains_grad):
            raise ValueError(
                "can't optimize a non-leaf Tensor (shape "
                f"{tuple(param.shape)}); optimize the tensor it was computed from, or detach it"
            )

    def _check_disjoint(self, new: dict[str, Any]) -> None:
        identities = set(map(id, new["params"]))
        if len(identities) != len(new["params"]):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, "
                "this will cause an error; see github.com/pytorch/pytorch/issues/40967 for "
                "more information",
            )
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                naming = "with names" if "param_names" in new else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {naming} to the optimizer"
                )
            if not identities.isdisjoint(map(id, group["params"])):
                raise ValueError("some parameters appear in more than one parameter group")


def _unpack_params(group: dict[str, Any]) -> None:
    """Make `group["params"]` a list of tensors, and `"param_names"` a list if there are names."""
    params = group["params"]
    if isinstance(params, Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering "
            "of tensors in sets will change between runs. Please use a list instead."
        )
    params = list(params)
    names = [entry[0] for entry in params if isinstance(entry, tuple)]
    group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in params]
    if not names:
        return
    if len(names) != len(params):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing "
            f"({len(names)} names for {len(params)} parameters)"
        )
    group["param_names"] = names


def _cast_state(param: Tensor, value: Any, group: dict[str, Any], key: Any) -> Any:
    """A copy of a saved state value whose tensors suit `param`."""
    if isinstance(value, Tensor):
        if key == "step":
            if group.get("capturable") or group.get("fused"):
                return value.to(device=param.device, dtype=float32)
            return value
        if param.is_floating_point():
            return value.to(device=param.device, dtype=param.dtype)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _cast_state(param, entry, group, name) for name, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_cast_state(param, entry, group, None) for entry in value)
    return value
