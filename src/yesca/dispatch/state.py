"""What a call sees of its thread: grad mode, inference mode, and the levels above autograd."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _State(threading.local):
    """Per thread. `levels`: active modes and transforms, innermost last.

    `grad`: the mode that users see; `tape`: whether calls are recorded, which inference mode bars.
    `recorder`: takes the launches of this thread instead of the machine, or None (`yesca.graph`).
    """

    def __init__(self) -> None:
        self.grad = self.tape = True
        self.below = False  # inside a handler of operators below the tape: nothing is recorded
        self.inference = False
        self.anomaly = False
        self.check_nan = True
        self.saving: list[Any] = []  # pairs of hooks that pack and unpack what the tape keeps
        self.run: Any = None  # the backward pass in progress
        self.evaluating: Any = None  # under anomaly mode: the node whose derivative runs
        self.levels: list[Any] = []
        self.transforms: list[Any] = []  # those of `func` that are active, innermost last
        self.derivative: Any = None  # the innermost of them that takes a derivative
        self.birth = 0  # what the version counters of new tensors start with: see `core`
        self.forward: Any = None  # the level of `autograd.forward_ad` that is open
        self.subclasses = True  # whether subclasses of tensors take functions over
        self.recorder: Any = None
        self.last_plan: Any = None  # of the call that ran last: what a profile reads
        self.seen: list[Any] | None = None  # the plans that run while a call is watched
        self.classes = True  # whether classes with a `__torch_dispatch__` take operators over
        self.python = False  # every call takes the Python path
        self.autocast: Any = None  # the lower precision while the CPU's autocast is on


STATE = _State()
#: Called after a flag changed: the builtin call path keeps its own copy of them.
listeners: list[Callable[[], None]] = []
#: Called instead with what `tape` is now, where nothing but it changed: grad modes change often.
tape_listeners: list[Callable[[bool], None]] = []


#: Not empty once a leaf got a hook: only then backward counts what leaves wait for.
HOOKED_LEAVES: list[bool] = []


def set_grad(enabled: bool) -> None:
    """Switch recording of the tape on this thread."""
    if STATE.grad is enabled:
        return
    STATE.grad = enabled
    STATE.tape = tape = enabled and not STATE.inference and not STATE.below
    for listener in tape_listeners:
        listener(tape)


def set_inference(enabled: bool) -> None:
    """Switch inference mode on this thread."""
    STATE.inference = enabled
    STATE.tape = STATE.grad and not enabled and not STATE.below
    for listener in listeners:
        listener()


def set_below(below: bool) -> None:
    """Say whether what runs now runs below the tape, whatever the grad mode is."""
    if STATE.below is not below:
        STATE.below = below
        STATE.tape = STATE.grad and not STATE.inference and not below
        for listener in listeners:
            listener()


def set_anomaly(enabled: bool, check_nan: bool) -> None:
    """Switch anomaly mode on this thread."""
    STATE.anomaly, STATE.check_nan = enabled, check_nan
    for listener in listeners:
        listener()


def set_autocast(dtype: Any) -> None:
    """Switch autocast of CPU tensors on, with its lower precision, or off (None)."""
    if STATE.autocast is not dtype:
        STATE.autocast = dtype
        for listener in listeners:
            listener()


def push_saving(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    """From now on, what the tape keeps goes through these two functions."""
    STATE.saving.append((pack, unpack))
    for listener in listeners:
        listener()


def pop_saving() -> None:
    """Take the innermost pair of hooks away."""
    STATE.saving.pop()
    for listener in listeners:
        listener()


def refuse_in_transforms(method: str, aside: str = "") -> None:
    """Refuse a method that changes the tape by hand in functions that `func` transforms."""
    if STATE.transforms:
        raise RuntimeError(
            f"You are attempting to call Tensor.{method}(){aside} inside of a function being "
            "transformed by a functorch transform. This is unsupported, please attempt to use the "
            "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
            f"{method}() outside of a function being transformed instead.")


def push_transform(transform: Any) -> None:
    """Begin a transform of `func`; `transform.birth` is not 0 if it takes a derivative."""
    STATE.transforms.append(transform)
    _settle_derivative()


def pop_transform() -> None:
    """End the innermost transform."""
    STATE.transforms.pop()
    _settle_derivative()


def _settle_derivative() -> None:
    taken = [one for one in STATE.transforms if one.birth]
    set_derivative(taken[-1] if taken else None)


@contextmanager
def unwatched() -> Iterator[None]:
    """Inside, the engine writes for itself: no derivative of `func` looks at what."""
    before = STATE.derivative
    set_derivative(None)
    try:
        yield
    finally:
        set_derivative(before)


def set_derivative(derivative: Any) -> None:
    """Let a derivative see what is written, or (None) nobody."""
    if STATE.derivative is not derivative:
        STATE.derivative = derivative
        STATE.birth = 0 if derivative is None else derivative.birth
        for listener in listeners:
            listener()


def set_recorder(recorder: Any) -> None:
    """Let a recorder take this thread's launches, or (None) run them again."""
    STATE.recorder = recorder
    for listener in listeners:
        listener()


def push_level(level: Any) -> None:
    """Put a mode above autograd: it gets every call first."""
    STATE.levels.append(level)
    for listener in listeners:
        listener()


def set_levels(levels: list[Any]) -> None:
    """Use other levels from now on."""
    if levels or STATE.levels:
        STATE.levels = levels
        for listener in listeners:
            listener()


@contextmanager
def set_aside(levels: list[Any]) -> Iterator[None]:
    """Inside, other levels are on."""
    before = STATE.levels
    set_levels(levels)
    try:
        yield
    finally:
        set_levels(before)


def pop_level() -> Any:
    """Take the innermost mode away."""
    level = STATE.levels.pop()
    for listener in listeners:
        listener()
    return level
