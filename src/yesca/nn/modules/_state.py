"""state_dict and load_state_dict of modules."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from collections.abc import Callable
from typing import Any

from ...base.frames import warn
from ... import __future__ as conversions
from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...utils import swap_tensors
from ...utils.hooks import RemovableHandle
from ..parameter import Parameter, is_lazy
from ._hooks import _WrappedHook

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(
    namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])
):
    """What `load_state_dict` returns: the keys without a partner, on either side."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _LoadReport:
    """The keys and messages collected while one `load_state_dict` walks the modules."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def raise_if_failed(self, owner: str, strict: bool) -> None:
        messages = list(self.errors)
        if strict:
            for label, keys in (("Missing", self.missing), ("Unexpected", self.unexpected)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    position = 1 if label == "Unexpected" and self.missing else 0
                    messages.insert(position, f"{label} key(s) in state_dict: {names}. ")
        if messages:
            details = "\n\t".join(messages)
            raise RuntimeError(f"Error(s) in loading state_dict for {owner}:\n\t{details}")


class StateMethods:
    """The part of Module that gives and takes state dictionaries."""

    def get_extra_state(self) -> Any:
        """State besides parameters and buffers; a class that overrides it has it saved."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave; override the two together."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """The old post-hook `hook(module, state_dict, prefix, metadata)`, free to return a dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return _keep(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after this module is saved.

        It changes `state_dict` in place and returns None.
        """
        hook._from_public_api = True
        return _keep(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before this module is saved."""
        return _keep(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False):
        wrapped = _WrappedHook(hook, self if with_module else None)
        return _keep(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call a hook before this module takes its entries.

        `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)` may change `state_dict` in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists."""
        return _keep(self._load_state_dict_post_hooks, hook)

    def _save_to_state_dict(self, destination, prefix: str, keep_vars: bool) -> None:
        """Put this module's own entries (not its children's) into `destination`."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not StateMethods.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix: str = "", keep_vars: bool = False):
        """All parameters and persistent buffers, by dotted name, in order of registration.

        Args:
            destination: a dictionary to fill and return; a new OrderedDict otherwise.
            prefix: put before every key.
            keep_vars: give the parameters themselves; otherwise detached tensors that share
                their memory.

        >>> import yesca as torch
        >>> list(torch.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to the "
                "documentation of torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = result
        return destination

    def _load_from_state_dict(
        self,
        state_dict,
        prefix,
        local_metadata,
        strict,
        missing_keys,
        unexpected_keys,
        error_msgs,
    ) -> None:
        """Take this module's own entries (not its children's) from `state_dict`.

        What does not fit is appended to the three lists rather than raised.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in self._own_state():
            key = prefix + name
            if key in state_dict:
                error = self._load_entry(name, key, current, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            self._find_unexpected(state_dict, prefix, unexpected_keys)

    def _own_state(self) -> list:
        """(name, tensor) of what this module itself saves."""
        entries = list(self._parameters.items())
        for name, buffer in self._buffers.items():
            if name not in self._non_persistent_buffers_set:
                entries.append((name, buffer))
        return [(name, value) for name, value in entries if value is not None]

    def _load_entry(self, name: str, key: str, current, value, assign: bool) -> str | None:
        """Copy (or assign) one entry; the error text if that fails."""
        if not (isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or '
                f"Tensor-like object from checkpoint but received {type(value)}"
            )
        if not is_lazy(current):
            if len(current.shape) == 0 and tuple(value.shape) == (1,):
                value = value[0]  # files of the time before there were 0-dim tensors
            if value.shape != current.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is {current.shape}."
                )
        if current.is_meta and not value.is_meta and not assign:
            warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                "parameter in the current model, which is a no-op. (Did you mean to pass "
                "`assign=True` to assign items in the state dictionary to their corresponding key "
                "in the module instead of copying them in place?)",
            )
        try:
            with no_grad():
                if conversions.get_swap_module_params_on_conversion():
                    _swap_entry(current, value, assign)
                elif assign:
                    self._assign_entry(name, current, value)
                else:
                    current.copy_(value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{current.size()} and whose dimensions in the checkpoint are {value.size()}, "
                f"an exception occurred : {error.args}."
            )
        return None

    def _assign_entry(self, name: str, current, value) -> None:
        if isinstance(current, Parameter):
            if isinstance(value, Parameter):
                value.requires_grad_(current.requires_grad)
            else:
                value = Parameter(value, requires_grad=current.requires_grad)
        setattr(self, name, value)

    def _load_extra_state(self, state_dict, prefix, strict, missing, unexpected) -> None:
        key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateMethods.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)

    def _find_unexpected(self, state_dict, prefix: str, unexpected_keys: list) -> None:
        own = {name for name, _ in self._own_state()}
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        for key in state_dict:
            if not key.startswith(prefix) or key == extra_key:
                continue
            first, _, rest = key[len(prefix) :].partition(".")
            if (first not in self._modules) if rest else (first not in own):
                unexpected_keys.append(key)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ):
        """Take parameters and buffers from `state_dict`, into this module and its children.

        Args:
            state_dict: what `state_dict()` of a module of the same make-up returned.
            strict: raise if the keys differ.
            assign: put the given tensors into the module instead of copying their values.

        Returns a pair `(missing_keys, unexpected_keys)`. Raises RuntimeError, with one line for
        each problem, if shapes or (with `strict`) keys differ.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        report = _LoadReport()
        metadata = getattr(state_dict, "_metadata", None)
        copied: OrderedDict[str, Any] = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            copied._metadata = metadata
        _load(self, copied, "", metadata, assign, report)
        report.raise_if_failed(type(self).__name__, strict)
        return _IncompatibleKeys(report.missing, report.unexpected)


def _swap_entry(current, value, assign: bool) -> None:
    """Let what `module_load` gives take the place of a parameter or buffer."""
    made = current.module_load(value, assign=assign)
    if made is current or made is value:
        raise RuntimeError("module_load returned one of self or other, please .detach() the result "
                           "if returning one of the inputs in module_load")
    if isinstance(current, Parameter):
        made = Parameter(made, requires_grad=current.requires_grad)
    swap_tensors(current, made)


def _keep(hooks: dict, hook: Callable) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _load(module, state_dict, prefix: str, metadata, assign: bool, report: _LoadReport) -> None:
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    # Always strict here: which keys matter is decided once the lists are complete.
    module._load_from_state_dict(
        state_dict,
        prefix,
        local_metadata,
        True,
        report.missing,
        report.unexpected,
        report.errors,
    )
    for name, child in module._modules.items():
        if child is None:
            continue
        child_prefix = f"{prefix}{name}."
        child_state = {k: v for k, v in state_dict.items() if k.startswith(child_prefix)}
        _load(child, child_state, child_prefix, metadata, assign, report)
    incompatible = _IncompatibleKeys(report.missing, report.unexpected)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )
