"""What registering a hook returns."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any


class RemovableHandle:
    """What registering a hook returns: `handle.remove()` takes the hook away again.

    Args:
        hooks_dict: the dictionary (one that takes weak references) holding the hook under `id`.
        extra_dict: a dictionary, or a list of them, from which the same `id` is removed too.

    The handle keeps nothing alive; removing twice is allowed. As a context manager it removes the
    hook on leaving the block.
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras: tuple[Any, ...]
        if extra_dict is None:
            extras = ()
        elif isinstance(extra_dict, dict):
            extras = (extra_dict,)
        else:
            extras = tuple(extra_dict)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self) -> None:
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        extras = tuple(reference() for reference in self.extra_dict_ref)
        return (self.hooks_dict_ref(), self.id, extras)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks_dict = state[0]
        # A handle whose dictionary is gone comes back dead: its reference leads nowhere.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks_dict is None else hooks_dict)
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extras = state[2] if len(state) > 2 and state[2] is not None else ()
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras if extra is not None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, exception_type: Any, value: Any, traceback: Any) -> None:
        self.remove()


def register(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    """Enter a hook into a dictionary that takes weak references."""
    made = RemovableHandle(hooks)
    hooks[made.id] = hook
    return made
