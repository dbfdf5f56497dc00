"""A program's operator as one node of the tape: `autograd.Function` made for it.

The function's arguments are the call's structure and its tensors, lists opened; what the program
wrote sees the arguments as it knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function import Function
from ..base.frames import warn
from ..core.tensor_base import TensorBase
from ._schemas import opened, tensors_of


class _Call:
    """The arguments of one call without its tensors, and how its results were grouped."""

    def __init__(self, op: Any, values: tuple[Any, ...]) -> None:
        self.op = op
        self.counts: list[int | None] = []  # tensors of a list; 1: a tensor; None: anything else
        self.others: list[Any] = []
        self.results: list[int | None] = []
        self.several = len(op._schema.returns) > 1 or op._schema.returns_list
        for argument, value in zip(op._schema.arguments, values, strict=True):
            if argument.element != "Tensor" or value is None:
                self.counts.append(None)
                self.others.append(value)
            elif isinstance(value, (list, tuple)):
                self.counts.append(len(value))
                self.others.append([None])
            else:
                self.counts.append(1)
                self.others.append(None)

    def grouped(self, items: Sequence[Any], rest: Any = None) -> list[Any]:
        """Something for each tensor, grouped as the arguments are; `rest`: for other arguments,
        by default these themselves."""
        made, at = [], 0
        for count, other in zip(self.counts, self.others, strict=True):
            if count is None:
                made.append(other if rest is None else rest[0])
            elif other is None:
                made.append(items[at])
                at += 1
            else:
                made.append([*items[at:at + count]])
                at += count
        return made

    def flat_results(self, made: Any) -> tuple[Any, ...]:
        """The results one by one; their groups are kept."""
        self.several = self.several and isinstance(made, (list, tuple))
        parts = tuple(made) if self.several else (made,)
        self.results = [len(p) if isinstance(p, (list, tuple)) else None for p in parts]
        return opened(parts)

    def joined(self, flat: Sequence[Any]) -> Any:
        """The results as the operator gives them."""
        made: list[Any] = []
        at = 0
        for count in self.results:
            made.append(flat[at] if count is None else [*flat[at:at + count]])
            at += 1 if count is None else count
        return tuple(made) if self.several else made[0]

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What is given by position, and what by name."""
        arguments = self.op._schema.arguments
        named = {a.name: v for a, v in zip(arguments, values, strict=True) if a.kwarg_only}
        return tuple(values[:len(values) - len(named)]), named


def on_tape(op: Any, values: tuple[Any, ...]) -> Any:
    """Run an operator and record it."""
    if op._function is None:
        name = f"GeneratedBackwardFor_{op.namespace}_{op.__name__.replace('.', '_')}"
        op._function = type(name, (_Recorded,), {})
    call = _Call(op, values)
    flat = op._function.apply(call, *tensors_of(op._schema, values))
    return call.joined(flat)


class _Recorded(Function):
    @staticmethod
    def forward(call: _Call, *tensors: Any) -> Any:  # type: ignore[override]
        """The kernel's results, one by one."""
        made = call.op.compute(call.grouped(tensors), list(tensors))
        return call.flat_results(made)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """What the program keeps for its derivative."""
        call = inputs[0]
        ctx._call = call
        if call.op.setup_context is None:
            return
        given, named = call.split(call.grouped(inputs[1:]))
        options = {"keyword_only_inputs": named} if named else {}
        _as_given(ctx, lambda: call.op.setup_context(
            ctx=ctx, inputs=given, output=call.joined(output), **options))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The program's derivative."""
        call = ctx._call
        if call.op.backward is None and call.op.owner is None:
            warn(f"{call.op.name()}: an autograd kernel was not registered to the Autograd key(s) "
                 "but we are trying to backprop through it. Its arguments get no gradient; "
                 "torch.library.register_autograd gives it a derivative.")
            return (None,) * len(ctx.needs_input_grad)
        if call.op.backward is None:
            raise RuntimeError(f"Trying to backward through {call.op} but no autograd formula was "
                               "registered. Please use register_autograd to add one.")
        joined = call.joined(grads)
        parts = joined if call.several else (joined,)
        made = _as_given(ctx, lambda: call.op.backward(ctx, *parts))
        return (None, *_flat_gradients(call, made))

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: _Call, *tensors: Any) -> Any:  # type: ignore[override]
        """The program's rule for batches, else one call for each item."""
        if call.op.batched is not None:
            given, named = call.split(call.grouped(tensors))
            dims, _ = call.split(call.grouped(in_dims[1:], rest=[None]))
            made, out_dims = call.op.batched(info, dims, *given, **named)
            flat = call.flat_results(made)
            places = out_dims if isinstance(out_dims, (list, tuple)) else [out_dims]
            spread: list[int | None] = []
            for dim, count in zip(places, call.results, strict=False):
                spread += dim if isinstance(dim, (list, tuple)) else [dim] * (count or 1)
            return flat, tuple(spread)
        from .. import functional as ops

        rows = []
        for index in range(info.batch_size):
            chosen = [t if dim is None else t.select(dim, index)
                      for t, dim in zip(tensors, in_dims[1:], strict=True)]
            given, named = call.split(call.grouped(chosen))
            rows.append(call.flat_results(call.op(*given, **named)))
        flat = tuple(ops.stack(column) if isinstance(column[0], TensorBase) else column[0]
                     for column in zip(*rows, strict=True))
        return flat, tuple(0 if isinstance(one, TensorBase) else None for one in flat)


def _as_given(ctx: Any, run: Any) -> Any:
    """Run a program's function with `needs_input_grad` grouped as its arguments are."""
    call, flat = ctx._call, ctx.needs_input_grad
    needs = call.grouped(flat[1:], rest=[False])
    ctx.needs_input_grad, _ = call.split(needs)
    try:
        return run()
    finally:
        ctx.needs_input_grad = flat


def _flat_gradients(call: _Call, made: Any) -> list[Any]:
    """A gradient for each tensor, of what the program gave for each argument."""
    given = made if isinstance(made, tuple) else (made,)
    arguments = call.op._schema.arguments
    count = sum(not a.kwarg_only for a in arguments)
    if len(given) != count:
        raise RuntimeError(f"the backward of {call.op} returned an incorrect number of gradients "
                           f"(expected {count}, got {len(given)}): one, or None, for each argument")
    flat: list[Any] = []
    for place, (argument, size) in enumerate(zip(arguments, call.counts, strict=True)):
        grad = given[place] if place < count else None
        if size is None:
            if grad is not None:
                raise RuntimeError(f"the backward of {call.op} returned a gradient for argument "
                                   f"'{argument.name}', which is no tensor; return None for it")
        elif not argument.is_list:
            flat.append(grad)
        else:
            grads = [None] * size if grad is None else list(grad)
            if len(grads) != size:
                raise RuntimeError(f"the backward of {call.op} returned {len(grads)} gradients "
                                   f"for argument '{argument.name}', a list of {size} tensors")
            flat += grads
    return flat
