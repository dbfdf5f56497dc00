"""Checkpoints: run a part of the forward pass again in backward, rather than keep its tensors.

`use_reentrant=False` keeps, in place of each tensor that the part would save, a number; the first
one asked for in a backward pass runs the part again and takes the tensors of all numbers.
`use_reentrant=True` is one node of the tape whose derivative runs the part and a pass of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..base import absent
from ..base.frames import warn
from .._tensor import Tensor
from ..amp.autocast_mode import (
    autocast, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled,
)
from ..autograd import calls
from ..autograd.engine import current_run
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks
from ..autograd.modes import enable_grad, is_grad_enabled, no_grad
from ..dispatch.call import OPERATORS
from ..runtime.generator import default_generator
from ._selective import (
    SAC_IGNORED_OPS, CheckpointPolicy, SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction",
    "check_backward_validity", "detach_variable", "get_device_states", "set_device_states",
    "noop_context_fn", "set_checkpoint_early_stop", "set_checkpoint_debug_enabled",
    "DefaultDeviceType", "CheckpointPolicy", "SelectiveCheckpointContext", "SAC_IGNORED_OPS",
    "create_selective_checkpoint_contexts",
]


class CheckpointError(RuntimeError):
    """Raised where the second run saves other tensors than the first."""


class DefaultDeviceType:
    """The device that is meant where a tensor does not say: there is only the CPU."""

    _type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._type


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts, for the first and the second run, that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: list[bool] = []


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether the second run ends once all tensors that are needed are there (the default)."""
    _early_stop.append(enable)
    try:
        yield
    finally:
        _early_stop.pop()


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Accepted for PyTorch's sake; errors name the tensors that differ in any case."""
    yield


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Generator states of the devices of the arguments, the CPU's left out."""
    return [], []


def set_device_states(devices: Iterable[int], states: Iterable[Any], **options: Any) -> None:
    """Put states back that `get_device_states` gave."""


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with tensors off the tape, that require a gradient where they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: "
                           f"{type(inputs).__name__}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
                  for x in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no argument requires a gradient: the reentrant form then gives none."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class _Surroundings:
    """The generator's state (unless it is not to be kept) and the autocast of the first run."""

    def __init__(self, preserve: bool) -> None:
        self.state = default_generator.get_state() if preserve else None
        self.autocast = {"enabled": is_autocast_enabled("cpu"),
                         "dtype": get_autocast_dtype("cpu"),
                         "cache_enabled": is_autocast_cache_enabled()}

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """As then inside; afterwards as if nothing had been drawn."""
        state = None
        if self.state is not None:
            state = default_generator.get_state()
            default_generator.set_state(self.state)
        try:
            with autocast("cpu", **self.autocast):
                yield
        finally:
            if state is not None:
                default_generator.set_state(state)


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], Any] = noop_context_fn,
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True,
               **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, without keeping what its derivative needs.

    Args:
        use_reentrant: which of the two ways (see the module); name it, False is the better one.
        preserve_rng_state: draw the same random numbers in the second run (default True).
        context_fn: gives two contexts, for the first and the second run.
        determinism_check: "default" compares shapes, dtypes and devices of both runs; "none".
        early_stop: end the second run once all tensors are there.

    >>> import yesca as torch
    >>> from yesca.utils.checkpoint import checkpoint
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: x.exp() * x, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([ 5.4366, 22.1672])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when "
                             "use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of {['default', 'none']} but got "
                         f"{determinism_check}")
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    stop = _early_stop[-1] if _early_stop else early_stop
    frame = _Frame(function, args, kwargs, preserve, second, determinism_check, stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


# ---- use_reentrant=False ---------------------------------------------------------------------

class _SavedInputs(Function):
    """Keeps the tensor arguments on the tape, so that an outer checkpoint can drop them."""

    @staticmethod
    def forward(ctx: Any, anchor: Any, *tensors: Any) -> Any:
        ctx.save_for_backward(*tensors)
        return OPERATORS.empty(0)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise AssertionError("the arguments of a checkpoint have no derivative of their own")


class _Stop(Exception):
    """Ends the second run once it has made all tensors."""


class _Frame:
    """One checkpoint: how to run it again, and the metadata of what its first run saved."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...],
                 kwargs: dict[str, Any], preserve: bool, context: Any, check: str, early_stop: bool
                 ) -> None:
        self.function, self.context = function, context
        self.surroundings = _Surroundings(preserve)
        self.check, self.early_stop = check, early_stop
        names = list(kwargs)
        values = [*args, *kwargs.values()]
        self.places = [k for k, v in enumerate(values) if isinstance(v, Tensor)]
        anchor = OPERATORS.empty(0, requires_grad=True)
        self.saver = _SavedInputs.apply(anchor, *[values[k] for k in self.places])
        self.values = [None if isinstance(v, Tensor) else v for v in values]
        self.names, self.count = names, len(args)
        self.metadata: list[tuple[Any, ...]] = []

    def pack(self, tensor: Any) -> int:
        self.metadata.append((tensor.shape, tensor.dtype, tensor.device))
        return len(self.metadata) - 1

    def unpack(self, number: int) -> Any:
        run = current_run()
        memo = run.memo if run is not None else {}
        made = memo.get(self)
        if made is None:
            made = memo[self] = self.recompute()
        tensor = made[number]
        if tensor is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do "
                "so only once. Otherwise please open an issue with details on your use case.")
        if run is not None and not run.retain:
            made[number] = None
        return tensor

    def recompute(self) -> list[Any]:
        """Run the function again; gives what it saves."""
        values = list(self.values)
        for k, tensor in zip(self.places, self.saver.grad_fn.saved_tensors, strict=True):
            values[k] = tensor
        args = values[:self.count]
        kwargs = dict(zip(self.names, values[self.count:], strict=True))
        made: list[Any] = []

        def pack(tensor: Any) -> None:
            if len(made) < len(self.metadata):
                made.append(tensor.detach())
            if self.early_stop and len(made) == len(self.metadata):
                raise _Stop
            if not self.early_stop:
                extra[0] += 1

        extra = [0]
        with contextlib.suppress(_Stop), self.surroundings.again(), enable_grad(), self.context, \
                saved_tensors_hooks(pack, lambda packed: packed):
            self.function(*args, **kwargs)
        self.compare(made, max(len(made), extra[0]))
        return made

    def compare(self, made: list[Any], count: int) -> None:
        """Refuse a second run that saved something else."""
        if count != len(self.metadata):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.metadata)}\n"
                f"Number of tensors saved during recomputation: {count}.")
        if self.check == "none":
            return
        wrong = ""
        for k, (tensor, (shape, dtype, device)) in enumerate(zip(made, self.metadata,
                                                                 strict=True)):
            if (tensor.shape, tensor.dtype, tensor.device) != (shape, dtype, device):
                again = {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}
                wrong += (f"tensor at position {k}:\nsaved metadata: "
                          f"{dict(shape=shape, dtype=dtype, device=device)}\n"
                          f"recomputed metadata: {again}\n")
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{wrong}")


# ---- use_reentrant=True ----------------------------------------------------------------------

class CheckpointFunction(Function):
    """The reentrant form: `apply(function, preserve_rng_state, *args)`."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any
                ) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[k] for k in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if current_run().targets is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument.")
        inputs = list(ctx.inputs)
        for k, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[k] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*detached)
        many = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(many, grads, strict=True)
                 if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not "
                               "necessary")
        calls.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[x.grad if isinstance(x, Tensor) and x.requires_grad else None
                              for x in detached])


def checkpoint_sequential(functions: Any, segments: int, input: Any,  # noqa: A002
                          use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run modules one after the other, cut into segments that are checkpoints (but the last).

    functions: a Sequential, or a list of modules or functions.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
            "passed. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    chain = list(functions)

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in chain[start:end]:
                value = function(value)
            return value

        return run

    size = len(chain) // segments
    start = 0
    for _ in range(segments - 1):
        input = checkpoint(part(start, start + size), input,  # noqa: A001
                           use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return part(start, len(chain))(input)


__getattr__ = absent.names_of(__name__)
