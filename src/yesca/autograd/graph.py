"""`torch.autograd.graph`: looking at the tape, and hooks on what it keeps."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..base import absent
from ..base.handles import RemovableHandle
from ..core.tensor_base import TensorBase
from ..dispatch import inplace
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE, pop_saving, push_saving
from .function_node import HandleMethods
from .handle import handle
from .inplace import gradient_edge


class _NodeMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, HandleMethods)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, HandleMethods)


class Node(metaclass=_NodeMeta):
    """What `grad_fn` objects are instances of: one operation of the tape.

    They have `name()`, `next_functions`, `metadata`, `register_hook(hook)` with
    `hook(grad_inputs, grad_outputs)`, and `register_prehook(hook)` with `hook(grad_outputs)`.
    """


class GradientEdge(NamedTuple):
    """A place of the tape that a gradient passes: a node, and which of its results.

    `grad` and `backward` take edges for tensors; an edge keeps no data alive.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge through which the gradient of a tensor flows."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does "
                           "not require gradients")
    return GradientEdge(handle(gradient_edge(tensor)), tensor._output_nr)


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, every tensor that the tape keeps goes through `pack_hook`.

    Args:
        pack_hook: called with the tensor; what it gives is kept in its place.
        unpack_hook: called with that when the derivative runs; gives a tensor of the same values.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _forbidden:
            raise RuntimeError(_forbidden[-1])
        push_saving(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        pop_saving()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keeps saved tensors as copies in main memory until they are needed."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> Any:
            return tensor.device, OPERATORS.clone(tensor)

        def unpack(packed: Any) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


_forbidden: list[str] = []


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, entering `saved_tensors_hooks` raises an error with this message.

    So does entering this where such hooks are on already.
    """
    if STATE.saving:
        raise RuntimeError(error_message)
    _forbidden.append(error_message)
    try:
        yield
    finally:
        _forbidden.pop()


class _Several:
    """State of one multi-tensor hook: counts the tensors' gradients of each backward pass."""

    def __init__(self, count: int, hook: Callable[..., Any]) -> None:
        self.count, self.hook = count, hook
        self.clear()

    def clear(self) -> None:
        self.grads: list[Any] = [None] * self.count
        self.seen = 0

    def take(self, place: int, grad: Any, reached: int) -> None:
        self.grads[place] = grad
        self.seen += 1
        if self.seen == reached:
            grads = list(self.grads)
            self.clear()
            self.hook(grads)


class _Handle(RemovableHandle):
    def __init__(self, handles: Iterable[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for one in self.handles:
            one.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all"
                             ) -> RemovableHandle:
    """Call `fn` when the gradients of several tensors are known.

    mode "all": `fn(grads)` once all of them that the pass reaches have come, None for the others;
    "any": `fn(grad)` with the first of each pass.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    for tensor in tensors:
        if not tensor.requires_grad:
            raise AssertionError("Expected gradient function to be set")
    hook = _all_hook(tensors, fn) if mode == "all" else _any_hook(fn)
    return _Handle([t.register_hook(hook(k)) for k, t in enumerate(tensors)])


def _all_hook(tensors: Sequence[Any], fn: Callable[..., Any]) -> Any:
    from .engine import current_run

    places = [gradient_edge(t) for t in tensors]
    places = [p if isinstance(p, TensorBase) else weakref.ref(p) for p in places]
    state: dict[str, Any] = {"run": None}
    several = _Several(len(tensors), fn)

    def hook(k: int) -> Callable[[Any], None]:
        def inner(grad: Any) -> None:
            run = current_run()
            if state["run"] is None or state["run"]() is not run:
                several.clear()
                state["run"] = weakref.ref(run)
                nodes = [p if isinstance(p, TensorBase) else p() for p in places]
                state["reached"] = run.reached(nodes)
            several.take(k, grad, state["reached"])

        return inner

    return hook


def _any_hook(fn: Callable[..., Any]) -> Any:
    from .engine import current_run

    state: dict[str, Any] = {"run": None}

    def hook(k: int) -> Callable[[Any], None]:
        def inner(grad: Any) -> None:
            run = current_run()
            if state["run"] is None or state["run"]() is not run:
                state["run"] = weakref.ref(run)
                fn(grad)

        return inner

    return hook


def increment_version(tensor: Any) -> None:
    """Count a write to a tensor (or to each of several) that the engine does not see.

    Derivatives that have kept the tensor are then refused, as after any other write.

    >>> import yesca as torch
    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for one in (tensor,) if isinstance(tensor, TensorBase) else tensor:
        inplace.bump(one)


class _AllowMutationOnSavedContext:
    """What `allow_mutation_on_saved_tensors` gives; `clear()` drops the copies it holds."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}
        self.open = True

    def clear(self) -> None:
        """Drop the copies: derivatives that need them fail from now on."""
        self.kept.clear()


_mutating: list[_AllowMutationOnSavedContext] = []


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Inside, saved tensors may be written in place: the tape keeps copies of them.

    The pass backward belongs inside as well.
    """
    if _mutating:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    numbers = itertools.count()

    def pack(tensor: Any) -> int:
        key = next(numbers)
        context.kept[key] = OPERATORS.clone(tensor)
        return key

    def unpack(key: int) -> Any:
        if not context.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded.")
        return context.kept[key]

    with saved_tensors_hooks(pack, unpack):
        _mutating.append(context)
        try:
            yield context
        finally:
            _mutating.pop()
            context.open = False
            context.clear()


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted for PyTorch's sake: there are no streams to differ."""


__all__ = [
    "saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks",
    "register_multi_grad_hook", "allow_mutation_on_saved_tensors", "Node", "GradientEdge",
    "get_gradient_edge", "increment_version", "set_warn_on_accumulate_grad_stream_mismatch",
]

__getattr__ = absent.names_of(__name__)
