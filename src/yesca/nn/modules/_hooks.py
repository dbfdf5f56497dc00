"""Hooks of modules: the global registries, and the slow path of a call that has hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...base.frames import warn
from ..._tensor import Tensor
from ...utils.hooks import BackwardHook, RemovableHandle

_global_buffer_registration_hooks: dict[int, Callable] = OrderedDict()
_global_module_registration_hooks: dict[int, Callable] = OrderedDict()
_global_parameter_registration_hooks: dict[int, Callable] = OrderedDict()
_global_backward_pre_hooks: dict[int, Callable] = OrderedDict()
_global_backward_hooks: dict[int, Callable] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: dict[int, Callable] = OrderedDict()
_global_forward_hooks: dict[int, Callable] = OrderedDict()
_global_forward_hooks_always_called: dict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()


def _register(hooks: dict[int, Callable], hook: Callable, *flags, prepend: bool = False):
    """Store `hook`; each of `flags` is a (dictionary, set or not) pair marking its id."""
    handle = RemovableHandle(hooks, extra_dict=[marks for marks, _ in flags])
    hooks[handle.id] = hook
    for marks, wanted in flags:
        if wanted:
            marks[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, name, buffer)` at every `register_buffer`; it may return a new buffer."""
    return _register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a submodule is set; it may replace it."""
    return _register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, name, parameter)` at every parameter registration; it may replace it."""
    return _register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module; it may return new args."""
    return _register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module.

    `with_kwargs` adds the keyword arguments before `output`; `always_call` runs the hook even if
    the forward raised. A result that is not None replaces the output.
    """
    return _register(
        _global_forward_hooks,
        hook,
        (_global_forward_hooks_with_kwargs, with_kwargs),
        (_global_forward_hooks_always_called, always_call),
    )


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the gradients of every module's inputs."""
    return _register(_global_backward_pre_hooks, hook)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """The old global backward hook; `register_module_full_backward_hook` replaces it."""
    return _register_global_backward(hook, full=False)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when a module's gradients are computed."""
    return _register_global_backward(hook, full=True)


def _register_global_backward(hook: Callable, full: bool) -> RemovableHandle:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    _global_is_full_backward_hook = full
    return _register(_global_backward_hooks, hook)


class _WrappedHook:
    """A hook that gets its module as first argument, without keeping the module alive."""

    def __init__(self, hook: Callable, module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class HookMethods:
    """The part of Module that registers hooks and runs a call that has some."""

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; it may return new arguments.

        With `with_kwargs` the hook is `hook(module, args, kwargs)` and returns None or
        `(new_args, new_kwargs)`. `prepend` puts it before the hooks registered so far.
        """
        flag = (self._forward_pre_hooks_with_kwargs, with_kwargs)
        return _register(self._forward_pre_hooks, hook, flag, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; a result replaces the output.

        With `with_kwargs` the hook is `hook(module, args, kwargs, output)`; with `always_call` it
        runs even when `forward` raises.

        >>> import yesca as torch
        >>> seen = []
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, out: seen.append(out.shape))
        >>> _ = layer(torch.ones(2, 3))
        >>> seen
        [torch.Size([2, 3])]
        """
        flags = (
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        )
        return _register(self._forward_hooks, hook, *flags, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward; it may replace them."""
        return _register(self._backward_pre_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """The old backward hook: it watches the last node of `forward` only."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = False
        return _register(self._backward_hooks, hook)

    def register_full_backward_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once both are known.

        The hook may return gradients that replace `grad_input`. Inputs and outputs of the module
        must not be changed in place while such a hook is registered.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = True
        return _register(self._backward_hooks, hook, prepend=prepend)

    def _get_backward_pre_hooks(self) -> list[Callable]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _get_backward_hooks(self) -> tuple[list[Callable], list[Callable]]:
        """The full hooks and the old-style ones, global ones first."""
        full: list[Callable] = []
        old: list[Callable] = []
        if _global_is_full_backward_hook is not None:
            chosen = full if _global_is_full_backward_hook else old
            chosen.extend(_global_backward_hooks.values())
        if self._is_full_backward_hook is not None:
            chosen = full if self._is_full_backward_hook else old
            chosen.extend(self._backward_hooks.values())
        return full, old

    def _call_with_hooks(self, args: tuple, kwargs: dict):
        call = _HookedCall(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.run_always_called()
            raise


class _HookedCall:
    """One call of a module through all its hooks."""

    def __init__(self, module, args: tuple, kwargs: dict) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self):
        module = self.module
        pre_hooks = module._get_backward_pre_hooks()
        full_hooks, old_hooks = module._get_backward_hooks()
        self._run_forward_pre_hooks()
        bracket = None
        if full_hooks or pre_hooks:
            bracket = BackwardHook(module, full_hooks, pre_hooks)
            self.args = bracket.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self._run_forward_hooks()
        if bracket is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}",
                )
            self.result = bracket.setup_output_hook(self.result)
        if old_hooks:
            self._attach_old_backward_hooks(old_hooks)
        return self.result

    def _run_forward_pre_hooks(self) -> None:
        module = self.module
        hooks = (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items())
        for identity, hook in hooks:
            if identity in module._forward_pre_hooks_with_kwargs:
                replaced = hook(module, self.args, self.kwargs)
                if replaced is None:
                    continue
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {replaced}."
                    )
                self.args, self.kwargs = replaced
            else:
                replaced = hook(module, self.args)
                if replaced is not None:
                    self.args = replaced if isinstance(replaced, tuple) else (replaced,)

    def _run_forward_hooks(self) -> None:
        module = self.module
        for identity, hook in (*_global_forward_hooks.items(), *module._forward_hooks.items()):
            self.called.add(identity)
            replaced = self._call_forward_hook(identity, hook)
            if replaced is not None:
                self.result = replaced

    def _call_forward_hook(self, identity: int, hook: Callable):
        module = self.module
        if (
            identity in module._forward_hooks_with_kwargs
            or identity in _global_forward_hooks_with_kwargs
        ):
            return hook(module, self.args, self.kwargs, self.result)
        return hook(module, self.args, self.result)

    def run_always_called(self) -> None:
        """After an error: the hooks that asked to be called in any case and were not yet."""
        module = self.module
        registries = (
            ("global module", _global_forward_hooks, _global_forward_hooks_always_called),
            ("module", module._forward_hooks, module._forward_hooks_always_called),
        )
        for owner, hooks, always in registries:
            for identity, hook in tuple(hooks.items()):
                if identity not in always or identity in self.called:
                    continue
                try:
                    replaced = self._call_forward_hook(identity, hook)
                    if replaced is not None:
                        self.result = replaced
                except Exception as error:
                    warn(
                        f"{owner} forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}",
                    )

    def _attach_old_backward_hooks(self, hooks: list[Callable]) -> None:
        output = self.result
        while not isinstance(output, Tensor):
            if isinstance(output, dict):
                output = next(value for value in output.values() if isinstance(value, Tensor))
            else:
                output = output[0]
        node = output.grad_fn
        if node is None:
            return
        for hook in hooks:
            node.register_hook(_WrappedHook(hook, self.module))
        self._warn_about_old_hooks(node)

    def _warn_about_old_hooks(self, node) -> None:
        """Say what an old-style hook will not see, as it watches a single node."""
        results = self.result if isinstance(self.result, tuple) else (self.result,)
        nodes = {each.grad_fn for each in results if isinstance(each, Tensor)} - {None}
        sources = {each.grad_fn for each in self.args if isinstance(each, Tensor)} - {None}
        repair = " Please use register_full_backward_hook to get the documented behavior."
        one = "a non-full backward hook"
        hooks, missing = "non-full backward hooks", "some of the grad_output"
        if not all(isinstance(each, Tensor) for each in results):
            reason = "on a Module that does not return a single Tensor or a tuple of Tensors"
        elif not all(isinstance(each, Tensor) for each in self.args):
            reason = "on a Module that does not take as input a single Tensor or a tuple of Tensors"
            missing = "some of the grad_input"
        elif not nodes or (len(nodes) == 1 and node not in nodes):
            hooks, missing, repair = one, "some grad_output", ""
            reason = "when outputs are nested in python data structure"
        elif len(nodes) > 1:
            hooks, missing = one, "some grad_output"
            reason = "when outputs are generated by different autograd Nodes"
        elif sources != {entry[0] for entry in node.next_functions}:
            hooks, missing = one, "some grad_input"
            reason = "when the forward contains multiple autograd Nodes"
        else:
            return
        warn(
            f"Using {hooks} {reason} is deprecated and will be removed in future versions. This "
            f"hook will be missing {missing}.{repair}",
            FutureWarning,
        )
