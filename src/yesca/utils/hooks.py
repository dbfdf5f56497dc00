"""Handles of registered hooks, and the machinery of full backward hooks of modules."""

from __future__ import annotations

from collections.abc import Callable

from ..base.frames import warn
from ..base.handles import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


def unserializable_hook(function: Callable) -> Callable:
    """Mark a tensor hook as one that is knowingly lost when the tensor is saved (no warning)."""
    function.__torch_unserializable__ = True
    return function


def warn_if_has_hooks(tensor) -> None:
    """Warn about every backward hook of `tensor` that saving it would silently drop."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
            )


class BackwardHook:
    """Brackets one call of a module so that its full backward hooks see whole gradients.

    An identity node is put before the module's inputs and another behind its outputs. When the
    outer one runs backward, the gradients of all outputs are known; when the inner one does, so
    are those of all inputs, and the user's hooks can be called with both.
    """

    def __init__(self, module, user_hooks, user_pre_hooks) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple | None = None
        self.n_outputs = -1
        self.output_tensors_index: list[int] | None = None
        self.n_inputs = -1
        self.input_tensors_index: list[int] | None = None

    def setup_input_hook(self, args):
        """The module's inputs, passed through the inner identity node."""
        result, self.input_tensors_index = _through_identity(args, self._watch_inputs)
        self.n_inputs = len(args)
        return result

    def setup_output_hook(self, outputs):
        """The module's outputs (a tensor or a tuple), passed through the outer identity node."""
        is_tuple = isinstance(outputs, tuple)
        values = outputs if is_tuple else (outputs,)
        result, self.output_tensors_index = _through_identity(values, self._watch_outputs)
        self.n_outputs = len(values)
        return result if is_tuple else result[0]

    def _watch_inputs(self, node) -> None:
        node.register_hook(lambda grad_inputs, _: self._on_input_gradients(grad_inputs))

    def _watch_outputs(self, node) -> None:
        node.register_hook(lambda _, grad_outputs: self._on_output_gradients(grad_outputs))

    def _on_input_gradients(self, grad_inputs):
        if self.grad_outputs is None:
            # The gradient reached the inputs without passing the outputs (double backward).
            return None
        gradients = _spread(self.input_tensors_index, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            replaced = hook(self.module, gradients, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != len(gradients):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(replaced)}, but expected {len(gradients)}"
                )
            gradients = replaced
        self.grad_outputs = None
        return tuple(gradients[index] for index in self.input_tensors_index)

    def _on_output_gradients(self, grad_outputs):
        gradients = _spread(self.output_tensors_index, grad_outputs, self.n_outputs)
        for hook in self.user_pre_hooks:
            replaced = hook(self.module, gradients)
            if replaced is None:
                continue
            if len(replaced) != len(gradients):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replaced)}, but expected {len(gradients)}"
                )
            gradients = replaced
        if self.input_tensors_index is None:
            self._call_without_input_gradients(gradients)
        else:
            self.grad_outputs = gradients
        return tuple(gradients[index] for index in self.output_tensors_index)

    def _call_without_input_gradients(self, grad_outputs) -> None:
        # No input requires a gradient, so the inner node does not exist: call the hooks here.
        if self.user_hooks:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients. See the documentation of "
                "Module.register_full_backward_hook for more details.",
            )
        grad_inputs = (None,) * self.n_inputs
        for hook in self.user_hooks:
            result = hook(self.module, grad_inputs, grad_outputs)
            all_none = isinstance(result, tuple) and all(entry is None for entry in result)
            if result is not None and not all_none:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )


def _spread(indices, values, size: int) -> tuple:
    """A tuple of `size` entries: `values` at `indices`, None elsewhere."""
    entries: list = [None] * size
    for index, value in zip(indices, values, strict=True):
        entries[index] = value
    return tuple(entries)


def _through_identity(values, watch: Callable):
    """`values` with its tensors passed through one identity node, and their positions.

    The positions are None (and the values untouched) where no gradient will ever flow.
    """
    from .._tensor import Tensor
    from ..autograd.modes import is_grad_enabled
    from ..nn.modules._functions import BackwardHookFunction

    indices = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[index] for index in indices]
    if not (is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
        return values, None
    passed = BackwardHookFunction.apply(*tensors)
    node = next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None)
    watch(node)
    entries = list(values)
    for index, tensor in zip(indices, passed, strict=True):
        entries[index] = tensor
    rebuilt = tuple(entries) if type(values) is tuple else type(values)(*entries)
    return rebuilt, indices
