"""Which modules run now, forward or backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..autograd.engine import queue_callback, running
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Within it, `parents` holds the names of the modules that are being run, and "Global".

    A module is called by its class where it is called by a program, and by its path from there
    inside of it. `is_bw` says whether it is a pass backward that runs them.

    >>> import yesca as torch
    >>> tracker = ModuleTracker()
    >>> class Shows(torch.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    >>> with tracker:
    ...     torch.nn.Sequential(Shows())(torch.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._waits = False
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether a pass backward runs."""
        return running()

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._before),
                         register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _name(self, module: Any) -> str:
        name = self._names.get(module)
        if name is None:
            name = type(module).__name__
            for path, part in module.named_modules():  # also what is inside of a ModuleList
                self._names.setdefault(part, f"{name}.{path}" if path else name)
        return name

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._on_gradients(args, lambda *_: self.parents.discard(name))

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._on_gradients(output, lambda *_: self._enter_backward(name))

    def _on_gradients(self, values: Any, hook: Callable[..., None]) -> None:
        tensors = [v for v in tree_leaves(values) if isinstance(v, Tensor) and v.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, hook))

    def _enter_backward(self, name: str) -> None:
        if not self._waits:
            self._waits = True
            queue_callback(self._pass_ended)
        self.parents.add(name)

    def _pass_ended(self) -> None:
        self.parents, self._waits = {"Global"}, False
