"""`backward` and gradients asked for: checks of what is given, then a run of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.frames import warn, warn_once
from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from ..dispatch.levels import off_tape
from ..dispatch.state import STATE
from .engine import Edge, Run
from .inplace import gradient_edge



def edge_of(item: Any) -> Edge:
    """Node or leaf, and result number, of a tensor or a `GradientEdge`."""
    if isinstance(item, TensorBase):
        if item.is_sparse:  # type: ignore[attr-defined]
            item = item._entries  # type: ignore[attr-defined] # what the tape knows of it
        return gradient_edge(item), item._output_nr
    return item.node.node, item.output_nr


def _listed(value: Any) -> list[Any]:
    if isinstance(value, TensorBase) or type(value).__name__ == "GradientEdge":
        return [value]
    return list(value)


def _root_gradients(roots: Sequence[Any], grads: Sequence[Any], batched: bool) -> list[Any]:
    """The gradients to begin with, checked; ones for scalars that have none."""
    if len(roots) > len(grads):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    made = []
    for k, (root, grad) in enumerate(zip(roots, grads, strict=False)):
        if isinstance(root, TensorBase):
            if not root.requires_grad:  # type: ignore[attr-defined]
                raise RuntimeError(f"element {k} of tensors does not require grad and does not "
                                   "have a grad_fn")
            spec = root._spec
        else:
            spec = root.node.node.result_spec(root.output_nr)
        grad = _implicit(root, spec) if grad is None else _checked(k, grad, spec, batched)
        if isinstance(root, TensorBase) and root.is_sparse:  # type: ignore[attr-defined]
            grad = root._of_entries(grad)  # type: ignore[attr-defined]
        made.append(grad)
    return made


def _implicit(root: Any, spec: Any) -> Any:
    if spec.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not spec.dtype.is_floating_point:
        raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                           f"{spec.dtype}")
    if isinstance(root, TensorBase):
        return OPERATORS.filled_like(root, None, 1)  # one launch of the builtin call path
    return OPERATORS.ones(tuple(spec.shape), dtype=spec.dtype, device=spec.device)


def _checked(k: int, grad: Any, spec: Any, batched: bool) -> Any:
    if not isinstance(grad, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    shape = _example_shape(grad._spec.shape) if batched else grad._spec.shape
    if tuple(shape) != tuple(spec.shape):
        note = ("If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                if batched else "Mismatch in shape: ")
        advice = (" If you only want some tensors in `grad_output` to be considered batched, "
                  "consider using vmap." if batched else "")
        raise RuntimeError(f"{note}grad_output[{k}] has a shape of {shape} and "
                           f"output[{k}] has a shape of {spec.shape}.{advice}")
    if spec.dtype.is_complex != grad._spec.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{k}] has a dtype of {grad._spec.dtype} and "
            f"output[{k}] has a dtype of {spec.dtype}.")
    return grad


def _example_shape(shape: Any) -> Any:
    """The shape of each row of a batch, which must have one."""
    if not shape:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                         "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")
    if not shape[0]:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
    return shape[1:]


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
             create_graph: bool = False, grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulate into the leaves' `.grad` the gradient of the sum of `tensors`.

    Args:
        tensors: the roots, one or several; those with more than one element need a gradient.
        grad_tensors: their gradients, of the same shapes; None for scalars.
        retain_graph: keep saved values for another pass (default: `create_graph`).
        create_graph: put the derivative itself on the tape, for higher derivatives.
        inputs: accumulate into these tensors only.
    """
    if STATE.transforms:
        raise RuntimeError("backward() called inside a functorch transform. This is not "
                           "supported, please use functorch.grad or functorch.vjp instead or call "
                           "backward() outside of functorch transforms.")
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    wanted = None if inputs is None else _listed(inputs)
    if wanted is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _listed(tensors)
    given = [None] * len(roots) if grad_tensors is None else _listed(grad_tensors)
    grads = _root_gradients(roots, given, False)
    del given, grad_tensors
    retain = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use "
            "to break the cycle and avoid the leak.")
    targets = None if wanted is None else _targets(wanted, accumulate=True)
    Run(retain, create_graph, targets, True).start([edge_of(r) for r in roots], grads)


def _targets(wanted: list[Any], accumulate: bool) -> dict[Edge, list[int]]:
    found: dict[Edge, list[int]] = {}
    for k, item in enumerate(wanted):
        if isinstance(item, TensorBase):
            if accumulate:
                item.retain_grad()  # type: ignore[attr-defined]
            elif not item.requires_grad:  # type: ignore[attr-defined]
                raise RuntimeError("One of the differentiated Tensors does not require grad")
        found.setdefault(edge_of(item), []).append(k)
    return found


#: Runs a pass: roots, their gradients, inputs, retain_graph, create_graph -> gradients or None.
Collect = Callable[[list[Any], list[Any], list[Any], bool, bool], list[Any]]


def gradients(outputs: Any, inputs: Any, grad_outputs: Any = None,
              retain_graph: bool | None = None, create_graph: bool = False,
              allow_unused: bool | None = None, materialize_grads: bool = False,
              batched: Collect | None = None) -> tuple[Any, ...]:
    """Gradients of the sum of `outputs` with respect to `inputs`: see `torch.autograd.grad`.

    batched: what runs the pass, where the gradients have a batch as their first dimension.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when "
                         "materialize_grads=True, but got: allow_unused=False.")
    roots, wanted = _listed(outputs), _listed(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for item in wanted:
        if type(item).__name__ != "GradientEdge" and not isinstance(item, TensorBase):
            raise RuntimeError("all inputs have to be Tensors or GradientEdges, but got "
                               f"{type(item).__name__}")
    given = [None] * len(roots) if grad_outputs is None else _listed(grad_outputs)
    grads = _root_gradients(roots, given, batched is not None)
    del given, grad_outputs
    retain = create_graph if retain_graph is None else retain_graph
    found = (batched or collect)(roots, grads, wanted, retain, create_graph)
    return _finished(found, wanted, bool(allow_unused), materialize_grads)


def _finished(found: list[Any], wanted: list[Any], allow_unused: bool, materialize: bool
              ) -> tuple[Any, ...]:
    for k, item in enumerate(wanted):
        if isinstance(item, TensorBase) and item.is_sparse:  # type: ignore[attr-defined]
            found[k] = item._with(found[k])  # type: ignore[attr-defined]
    if materialize:
        return tuple([_zeros_like(t) if g is None else g
                      for t, g in zip(wanted, found, strict=True)])
    for k, one in enumerate(found):
        if one is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {k} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior.")
    return tuple(found)


def _zeros_like(item: Any) -> Any:
    if item.is_sparse:
        return OPERATORS.zero_(OPERATORS.clone(item.detach()))
    return OPERATORS.zeros_like(item)


def collect(roots: list[Any], grads: list[Any], inputs: list[Any], retain: bool, create: bool
            ) -> list[Any]:
    """Run a pass; `grads` is emptied. None for inputs that it does not come to."""
    if not roots:
        return [None] * len(inputs)
    run = Run(retain, create, _targets(inputs, accumulate=False), False)
    run.start([edge_of(r) for r in roots], grads)
    found = [run.found.get(k) for k in range(len(inputs))]
    if not create:
        found = [off_tape(g) if g is not None and g._requires_grad else g for g in found]
    return found


__all__ = ["STATE", "backward", "collect", "edge_of", "gradients"]
