"""`Function`: operators of one's own, with a forward and a backward in Python."""

from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..base.handles import register
from ..core.spec import Spec
from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE, set_grad
from .inplace import OwnNode, gradient_edge, rebase
from .once import once_differentiable
from .saved import FREED, changed, reopen, save


class FunctionCtx:
    """What `forward` leaves for `backward`: the argument `ctx` of both."""

    __slots__ = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, which reads them as `ctx.saved_tensors`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `jvp`, which reads them as `ctx.saved_tensors`."""
        for tensor in tensors:
            if not (tensor is None or isinstance(tensor, TensorBase)):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs `forward` wrote in place; each must be among its results."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which results have no gradient; `backward` gets zeros for them."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for results without gradient."""
        self.materialize_grads = value


class HandleMethods:
    """What every `grad_fn` offers; `node` is the tape's node."""

    __slots__ = ()
    node: Any

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Per tensor argument: the node that computed it and which of its results it was."""
        from .handle import handle

        edges, ports = self.node._edges, self.node._ports
        return tuple([(None, 0) if k is None or edges[k] is None else (handle(edges[k]), ports[k])
                      for k in self.node.shown()])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary of the user's, kept with the node."""
        extra = self.node.extra
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after this node's derivative ran."""
        return self._register("hooks", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before this node's derivative runs."""
        return self._register("pre_hooks", hook)

    def _register(self, kind: str, hook: Callable[..., Any]) -> Any:
        extra = self.node.extra
        if getattr(extra, kind) is None:
            setattr(extra, kind, OrderedDict())
        return register(getattr(extra, kind), hook)

    def _sequence_nr(self) -> int:
        return self.node._sequence


class FunctionNode(FunctionCtx, HandleMethods, OwnNode):
    """The tape's node of one `Function.apply`; it is the `ctx` as well.

    _specs     per edge: spec of the tensor argument
    _tensors   per argument of `apply`: whether it was a tensor
    _outputs   per result: its spec, or None where it is no tensor
    """

    _forward_cls: Any = None
    to_save: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    materialize_grads = True
    needs_input_grad: tuple[bool, ...] = ()
    _tensors: tuple[bool, ...] = ()
    _specs: tuple[Spec, ...] = ()
    _outputs: tuple[Spec | None, ...] = ()
    _raw: tuple[tuple[Any, ...], ...] | None = ()

    @property
    def node(self) -> FunctionNode:  # type: ignore[override]
        return self

    def name(self) -> str:
        """The name of the function with `Backward` behind it."""
        return type(self).__name__

    def results(self) -> int:
        return len(self._outputs)

    def result_spec(self, port: int) -> Any:
        return self._outputs[port]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`; an error once the graph was freed."""
        if self._raw is None:
            raise RuntimeError(FREED)
        return tuple([self._open(*kept) for kept in self._raw])

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning,
                      stacklevel=2)
        return self.saved_tensors

    def _open(self, kind: str, kept: Any, port: int) -> Any:
        if kind == "none":
            return None
        if kind == "tensor":
            version = kept._counter.value if kept._counter is not None else 0
            if version != port:
                raise changed(kept._spec, version, port, kept._node, kept._output_nr)
            return kept
        edge, output = (self, port) if kind == "result" else (kept[1], port)
        made = reopen(kept if kind == "result" else kept[0], self, edge, output)
        if edge is not None and (kind != "result" or self._carries(port)):
            made._requires_grad = True
            if isinstance(edge, TensorBase):
                from .saved import link

                return link(made, edge)
            made._node, made._output_nr = edge, output
        return made

    def _carries(self, port: int) -> bool:
        return port not in self._constant

    _constant: tuple[int, ...] = ()

    def keep(self, outputs: tuple[Any, ...]) -> None:
        """Put what `save_for_backward` got away; results by memory, so that no cycle arises."""
        kept: list[tuple[Any, ...]] = []
        for k, tensor in enumerate(self.to_save or ()):
            if tensor is None:
                kept.append(("none", None, 0))
            elif not isinstance(tensor, TensorBase):
                raise TypeError(f"save_for_backward can only save variables, but argument {k} is "
                                f"of type {type(tensor).__name__}")
            elif tensor._node is self:
                kept.append(("result", save(tensor), tensor._output_nr))
            elif (port := _place_of(tensor, outputs)) is not None:
                kept.append(("result", save(tensor), port))
            elif STATE.saving:
                edge = gradient_edge(tensor) if tensor._requires_grad else None
                kept.append(("edge", (save(tensor), edge), tensor._output_nr))
            else:
                kept.append(("tensor", tensor, save(tensor).version))
        self._raw = tuple(kept)
        self.to_save = None

    def release(self) -> None:
        if self._raw:
            self._raw = None

    def view_problem(self, port: int) -> str:
        return (f"Output {port} of {self._forward_cls.__name__} is a view and is being modified "
                "inplace. This view was created inside a custom Function (or because an input was "
                "returned as-is) and the autograd logic to handle view+inplace would override the "
                "custom backward associated with the custom Function, leading to incorrect "
                "gradients. This behavior is forbidden. You can fix this by cloning the output of "
                "the custom Function.")

    # ---- backward ------------------------------------------------------------------------

    def apply(self, grads: list[Any]) -> list[Any]:
        """Run the user's backward and check what it gives."""
        if self.materialize_grads:
            grads = [_zeros(spec) if g is None and spec is not None else g
                     for g, spec in zip(grads, self._outputs, strict=True)]
        made = _user_backward(self._forward_cls)(self, *grads)
        given = list(made) if isinstance(made, tuple) else [made]
        expected = len(self._tensors)
        if len(given) > expected and all(g is None for g in given[expected:]):
            del given[expected:]
        if len(given) != expected:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients "
                               f"(expected {expected}, got {len(given)})")
        return self._checked(given)

    def _checked(self, given: list[Any]) -> list[Any]:
        kept = []
        for k, (grad, is_tensor) in enumerate(zip(given, self._tensors, strict=True)):
            if not is_tensor:
                if grad is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at "
                        f"position {k + 1}, but the corresponding forward input was not a "
                        "Variable")
                continue
            if not (grad is None or isinstance(grad, TensorBase)):
                raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
            at = len(kept)
            kept.append(None if grad is None or self._edges[at] is None
                        else fitted(self, at, grad, self._specs[at]))
        return kept


def fitted(node: Any, index: int, grad: Any, spec: Spec) -> Any:
    """A gradient summed and cast to what the argument was; refuses shapes that do not fit."""
    shape, wanted = tuple(grad._spec.shape), tuple(spec.shape)
    if shape != wanted:
        extra = len(shape) - len(wanted)
        if extra < 0 or any(w not in (1, n) for w, n in zip(wanted, shape[extra:], strict=True)):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - got "
                f"{list(shape)} but expected shape compatible with {list(wanted)}")
        grad = OPERATORS.sum_to_size(grad, wanted)
    if grad._spec.dtype is not spec.dtype:
        grad = OPERATORS.to_dtype(grad, spec.dtype)
    return grad


def _zeros(spec: Spec) -> Any:
    return OPERATORS.zeros(tuple(spec.shape), dtype=spec.dtype, device=spec.device)


def _place_of(tensor: Any, outputs: tuple[Any, ...]) -> int | None:
    for k, output in enumerate(outputs):
        if output is tensor:
            return k
    return None


def _user_backward(function: Any) -> Callable[..., Any]:
    backward, vjp = function.backward, function.vjp
    if backward is not Function.backward and vjp is not Function.vjp:
        raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not "
                           "allowed. You should only implement one of them.")
    return backward if vjp is Function.vjp else vjp


# ---- forward ---------------------------------------------------------------------------------

def _run(function: Any, args: tuple[Any, ...], separate: bool) -> Any:
    """Run forward off the tape, then put the call on it."""
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
    return wrapped if isinstance(made, tuple) else wrapped[0]


def _new_node(function: Any, args: tuple[Any, ...]) -> FunctionNode:
    tensors = [a for a in args if isinstance(a, TensorBase)]
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
        if records and given is not None:
            rebase(output, node, port, sum(node._tensors[:given]))
        return output
    if given is not None:
        output = _alias(output)
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
        warnings.warn("Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not "
                      "an input, there is no need to pass it to mark_dirty().", stacklevel=5)
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
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.", DeprecationWarning,
            stacklevel=2)

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
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and put it on the tape as one node."""
        separate = cls.setup_context is not Function.setup_context
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        elif kwargs:
            raise TypeError("forward() got an unexpected keyword argument "
                            f"{next(iter(kwargs))!r}")
        if STATE.levels:
            for level in reversed(STATE.levels):
                handled, made = level.custom_function(cls, args)
                if handled:
                    return made
        return _run(cls, args, separate)


class InplaceFunction(Function):
    """A Function with a flag that says whether it writes in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def traceable(fn_cls: Any) -> Any:
    """Deprecated; gives the class back."""
    warnings.warn("torch.autograd.function.traceable is deprecated and will be removed in a "
                  "future PyTorch release.", FutureWarning, stacklevel=2)
    return fn_cls


__all__ = [
    "FunctionCtx", "BackwardCFunction", "FunctionMeta", "Function", "once_differentiable",
    "InplaceFunction", "traceable",
]
