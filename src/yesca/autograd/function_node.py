"""Nodes of custom functions: the `ctx` of their forward and backward is the tape's node."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..base.frames import warn
from ..base.handles import register
from ..core.spec import Spec
from ..core.tensor_base import MOVED, TensorBase
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE
from .inplace import OwnNode, gradient_edge
from .saved import FREED, changed, link, reopen, save


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
        return extra.metadata  # type: ignore[no-any-return]

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
        return self.node._sequence  # type: ignore[no-any-return]


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
        """The tensors given to `save_for_backward`; an error once the graph was freed.

        While `jvp` runs: those given to `save_for_forward`.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._raw is None:
            raise RuntimeError(FREED)
        return tuple([self._open(*kept) for kept in self._raw])

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """The places in which they are kept; hooks may be put on them."""
        from .handle import FunctionTensor

        if self._raw is None:
            raise RuntimeError(FREED)
        return tuple([FunctionTensor(self, k) for k in range(len(self._raw))])

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def _open(self, kind: str, kept: Any, port: int) -> Any:
        if kind == "none":
            return None
        if kind == "tensor":
            version = kept._counter.value if kept._counter is not None else 0
            if version % MOVED != port % MOVED:
                raise changed(kept._spec, version, port, kept._node, kept._output_nr)
            return kept
        edge, output = (self, port) if kind == "result" else (kept[1], port)
        made = reopen(kept if kind == "result" else kept[0], self, edge, output)
        if edge is not None and (kind != "result" or self._carries(port)):
            made._requires_grad = True
            if isinstance(edge, TensorBase):
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

    # ---- backward ------------------------------------------------------------------------

    def apply(self, grads: list[Any]) -> list[Any]:
        """Run the user's backward and check what it gives."""
        if self.materialize_grads:
            grads = [_zeros(spec) if g is None and spec is not None else g
                     for g, spec in zip(grads, self._outputs, strict=True)]
        made = self._forward_cls._derivative()(self, *grads)
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
