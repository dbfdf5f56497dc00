"""`Function`: operators of one's own, with a forward and a backward in Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..base import absent
from ..base.frames import warn
from ..core.tensor_base import CustomView, OneOfSeveral, TensorBase
from ..dispatch import observing
from ..dispatch.call import OPERATORS
from ..dispatch.inplace import bump, settle
from ..dispatch.state import STATE, set_grad
from .function_node import FunctionCtx, FunctionNode
from .inplace import OwnNode, gradient_edge, rebase


# ---- forward ---------------------------------------------------------------------------------

def run_function(function: Any, args: tuple[Any, ...]) -> tuple[Any, FunctionNode]:
    """Run forward off the tape, then put the call on it; gives the results and the node."""
    separate = function.setup_context is not Function.setup_context
    node = _new_node(function, args)
    records = STATE.grad and any(e is not None for e in node._edges)
    before = STATE.grad
    set_grad(False)
    try:
        if separate:
            made = function.forward(*args)
            function.setup_context(node, args, made)
        else:
            made = function.forward(node, *args)
    finally:
        set_grad(before)
    outputs = made if isinstance(made, tuple) else (made,)
    wrapped = _finish(node, args, outputs, records)
    return (wrapped if isinstance(made, tuple) else wrapped[0]), node


def _new_node(function: Any, args: tuple[Any, ...]) -> FunctionNode:
    tensors = [a for a in args if isinstance(a, TensorBase)]
    for tensor in tensors:
        if tensor._extra is not None:
            settle(tensor)
    edges = tuple([gradient_edge(t) if t._requires_grad else None for t in tensors])
    node: FunctionNode = function._backward_cls(edges, tuple([t._output_nr for t in tensors]))
    node._tensors = tuple([isinstance(a, TensorBase) for a in args])
    node.needs_input_grad = tuple([t and a._requires_grad
                                   for t, a in zip(node._tensors, args, strict=True)])
    node._specs = tuple([t._spec for t in tensors])
    return node


def _finish(node: FunctionNode, args: tuple[Any, ...], outputs: tuple[Any, ...], records: bool
            ) -> tuple[Any, ...]:
    dirty = _tensors_of(node.dirty_tensors, "mark_dirty can only accept variables, but argument "
                        "{k} is of type {kind}")
    constant = _tensors_of(node.non_differentiable, "mark_non_differentiable only accepts "
                           "variable arguments, but got {kind}")
    node._outputs = tuple([o._spec if isinstance(o, TensorBase) else None for o in outputs])
    node._constant = tuple([k for k, o in enumerate(outputs)
                            if not isinstance(o, TensorBase) or not _differentiable(o, constant)])
    if any(not any(d is o for o in outputs) for d in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function.")
    wrapped = tuple([
        _wrap(node, args, k, output, len(outputs), records, any(output is d for d in dirty))
        if isinstance(output, TensorBase) else output for k, output in enumerate(outputs)])
    if records:
        node.keep(wrapped)
        if STATE.anomaly:
            from .anomaly_mode import remember

            remember(node)
    node.to_save = node.non_differentiable = node.dirty_tensors = None
    return wrapped


def _tensors_of(values: tuple[Any, ...] | None, message: str) -> tuple[Any, ...]:
    for k, value in enumerate(values or ()):
        if not isinstance(value, TensorBase):
            raise RuntimeError(message.format(k=k, kind=type(value).__name__))
    return values or ()


def _differentiable(output: Any, constant: tuple[Any, ...]) -> bool:
    dtype = output._spec.dtype
    return (dtype.is_floating_point or dtype.is_complex) \
        and not any(output is c for c in constant)


def _wrap(node: FunctionNode, args: tuple[Any, ...], port: int, output: Any, count: int,
          records: bool, dirty: bool) -> Any:
    """One result: on the tape, or off it; an input handed back becomes a view of itself."""
    given = next((k for k, a in enumerate(args) if a is output), None)
    if dirty:
        _check_dirty(node, output, given, count)
        bump(output)  # also where forward has written past the engine
        if records and given is not None:
            rebase(output, node, port, sum(node._tensors[:given]))
        return output
    if given is not None:
        output = _alias(output)
    extra = output._extra
    if extra is not None and extra.base is not None:
        several = len(node._outputs) - len(node._constant) > 1
        extra.__class__ = OneOfSeveral if several else CustomView
    if records and port not in node._constant:
        output._node, output._output_nr, output._requires_grad = node, port, True
    elif output._requires_grad:
        output = output.detach()
    return output


def _alias(tensor: Any) -> Any:
    before = STATE.grad
    set_grad(False)
    try:
        return OPERATORS.alias(tensor)
    finally:
        set_grad(before)


def _check_dirty(node: FunctionNode, output: Any, given: int | None, count: int) -> None:
    if output._requires_grad and output._node is None:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place "
                           "operation.")
    if given is None:
        warn("Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not "
             "an input, there is no need to pass it to mark_dirty().")
    if count > 1 and output._extra is not None and output._extra.base is not None:
        raise RuntimeError("Functions which modify views in-place must return a single Variable")


# ---- the public class ------------------------------------------------------------------------

class FunctionMeta(type):
    """Gives each Function its class of nodes, named after it: `Exp` gets `ExpBackward`."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, attributes)


class BackwardCFunction(FunctionNode):
    """The base of the nodes of custom functions."""


class Function(metaclass=FunctionMeta):
    """An operator of one's own: subclass it, write `forward` and `backward`, call `apply`.

    `forward(ctx, *args)` computes off the tape. With a second static method
    `setup_context(ctx, inputs, output)`, `forward` takes no `ctx`. `backward(ctx, *grads)` gets a
    gradient for each result and gives one (or None) for each argument.

    >>> import yesca as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return grad * 3 * x * x
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.", DeprecationWarning)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result: `forward(ctx, *args)`, or `forward(*args)` with `setup_context`."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep on `ctx` what `backward` needs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradient of each argument (None where there is none)."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The directional derivative of each result."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The function over a batch: gives the results and their batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True.")

    @classmethod
    def _derivative(cls) -> Callable[..., Any]:
        """The user's backward, under either name."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is "
                               "not allowed. You should only implement one of them.")
        return cls.vjp

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and put it on the tape as one node."""
        separate = cls.setup_context is not Function.setup_context
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        elif kwargs:  # they are positional for the gradients that backward gives
            args = inspect.signature(cls.forward).bind(None, *args, **kwargs).args[1:]
        if STATE.levels:
            for level in reversed(STATE.levels):
                handled, made = level.custom_function(cls, args)
                if handled:
                    return made
        observer = observing.current
        if observer is None:
            return run_function(cls, args)[0]
        with observer.range(cls.__name__, annotation=False):
            return run_function(cls, args)[0]


class InplaceFunction(Function):
    """A Function with a flag that says whether it writes in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a `backward` that is itself no differentiable code.

    It runs off the tape; differentiating through its results raises an error.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        before = STATE.grad
        set_grad(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            set_grad(before)
        if not before or not any(isinstance(a, TensorBase) and a._requires_grad for a in args):
            return outputs
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        sources = [a for a in args if isinstance(a, TensorBase) and a._requires_grad]
        made = tuple([_barred(o, sources) if isinstance(o, TensorBase) else o for o in many])
        return made if isinstance(outputs, tuple) else made[0]

    return wrapper


class _Error(OwnNode):
    """Stands where a second derivative would begin."""

    __slots__ = ()
    _label = "Error"

    def apply(self, grads: list[Any]) -> list[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with "
                           "@once_differentiable")


def _barred(tensor: Any, sources: list[Any]) -> Any:
    made = tensor.detach()
    made._node = _Error(tuple([gradient_edge(s) for s in sources]),
                        tuple([s._output_nr for s in sources]))
    made._requires_grad = True
    return made


def traceable(fn_cls: Any) -> Any:
    """Deprecated; gives the class back."""
    warn("torch.autograd.function.traceable is deprecated and will be removed in a "
         "future PyTorch release.", FutureWarning)
    return fn_cls


__all__ = [
    "FunctionCtx", "BackwardCFunction", "FunctionMeta", "Function", "once_differentiable",
    "InplaceFunction", "traceable",
]

__getattr__ = absent.names_of(__name__)
