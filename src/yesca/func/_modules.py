"""Modules as functions: parameters from outside, and several modules as one batch."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .._tensor import Tensor
from ..dispatch.call import OPERATORS as ops

_ABSENT = object()


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:
    """Call a module with other parameters and buffers in the place of its own.

    Args:
        parameter_and_buffer_dicts: a dictionary from names to tensors, or a tuple of them. A
            name may also be that of a plain attribute that holds a tensor; one that the module
            has not got is there during the call.
        args: the arguments: a tuple, or a single one.
        tie_weights: parameters that are one object are replaced together.
        strict: the names must be all those of the module's parameters and buffers.

    Raises TypeError where a value, or the attribute of that name, is no tensor; ValueError for a
    name in several dictionaries.

    >>> import yesca as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([3.0, 4.0]))
    tensor([7.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        given = _united(parameter_and_buffer_dicts)
    else:
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of "
                         f"dicts, but got {type(parameter_and_buffer_dicts)}")
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, given, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def _united(dicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    counts = Counter(name for d in dicts for name in d)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional "
                         "call is ambiguous")
    return {name: value for d in dicts for name, value in d.items()}


@contextlib.contextmanager
def replaced(module: Any, given: dict[str, Any], tie_weights: bool = True, strict: bool = False
             ) -> Iterator[None]:
    """The module with other tensors under these names; its own come back at the end."""
    if not given and not strict:
        yield
        return
    wanted = _tied(module, given) if tie_weights else dict(given)
    if strict:
        _check_names(module, wanted)
    before: list[tuple[str, dict[str, Any], str, Any]] = []
    try:
        for path, value in wanted.items():
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            table, name = _table(module, path)
            before.append((path, table, name, table.get(name, _ABSENT)))
            table[name] = value
        yield
        for path, table, name, _ in before:
            if path in given and name in table:
                given[path] = table[name]  # a buffer that the call has set anew
    finally:
        for _, table, name, value in reversed(before):
            if value is _ABSENT:
                table.pop(name, None)
            else:
                table[name] = value


def _check_names(module: Any, wanted: dict[str, Any]) -> None:
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    missing, unexpected = sorted(own - set(wanted)), sorted(set(wanted) - own)
    text = ""
    if unexpected:
        text += "\n\tUnexpected key(s): " + ", ".join(map(repr, unexpected)) + "."
    if missing:
        text += "\n\tMissing key(s): " + ", ".join(map(repr, missing)) + "."
    if text:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{text}")


def _tied(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The given names, and the other names of parameters that are the same object."""
    groups: dict[int, list[str]] = {}
    for found in (module.named_parameters(remove_duplicate=False),
                  module.named_buffers(remove_duplicate=False)):
        for name, tensor in found:
            groups.setdefault(id(tensor), []).append(name)
    wanted = dict(given)
    for names in groups.values():
        if len(names) < 2:
            continue
        values = [given[n] for n in names if n in given]
        if any(v is not values[0] for v in values):
            raise ValueError(f"functional_call got multiple values for keys {sorted(names)}, which "
                             "are tied. Consider using tie_weights=False")
        if values:
            wanted.update(dict.fromkeys(names, values[0]))
    return wanted


def _table(module: Any, path: str) -> tuple[dict[str, Any], str]:
    """The dictionary that holds a name: of parameters, of buffers, or of plain attributes."""
    prefix, _, name = path.rpartition(".")
    if not name:
        raise KeyError(f'tensor name can\'t be empty string "{path}"')
    owner = module.get_submodule(prefix) if prefix else module
    for table in (owner._parameters, owner._buffers):
        if name in table:
            return table, name
    held = getattr(owner, name, None)
    if held is not None and not isinstance(held, Tensor):
        raise TypeError(f"attribute `{name}`: {held} is not an instance of torch.Tensor")
    return owner.__dict__, name


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of modules of one architecture, stacked along a new first dimension.

    With `functional_call` and `vmap` the modules run as one batch.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same "
                           "training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return ({name: _stacked([p[name] for p in parameters]) for name in parameters[0]},
            {name: _stacked([b[name] for b in buffers]) for name in buffers[0]})


def _stacked(tensors: list[Any]) -> Any:
    wants = [t.requires_grad for t in tensors]
    if any(wants) and not all(wants):
        raise RuntimeError("Expected gradient of all or none of the parameters to be required, as "
                           "they are stacked.")
    return ops.stack([t.detach() for t in tensors]).requires_grad_(all(wants))


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let batch normalisations work without running statistics, so that vmap can use them."""
    for module in root.modules():
        if getattr(module, "running_mean", None) is not None:
            module.running_mean = module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root


__all__ = ["functional_call", "replace_all_batch_norm_modules_", "replaced",
           "stack_module_state"]
