"""Forward mode: a level whose tensors carry tangents beside their values.

A tensor with a tangent is an ordinary tensor that a `DualLevel` knows by identity. The level gets
every operator call first: it runs the call as usual, then gives the results the Jacobian's
product with the operands' tangents. A view's tangent is the same view of the tangent; any other
product comes from the operator's own derivative, transposed (`products.forward_product`), so
that every record has it. What the tape keeps of such tensors keeps its tangent as well: a pass
backward inside the level is then differentiated too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..base.errors import in_forward_mode
from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS, call, call_inplace, run
from ..dispatch.levels import Level, off_tape
from ..dispatch.state import STATE, pop_level, push_level, set_grad, set_levels, unwatched
from ..operators.record import Record
from .inplace import placed
from .node import PackedNode
from .products import forward_product
from .saved import Accompanied

Values = tuple[Any, ...]


class DualLevel(Level):
    """A forward mode level: which tensors have a tangent, and how operators pass it on."""

    transforms = True

    def __init__(self) -> None:
        self.alive = True
        self._tangents: dict[int, tuple[Any, Any]] = {}  # by identity: the tensor, its tangent

    def close(self) -> None:
        """Forget all tangents."""
        self.alive = False
        self._tangents.clear()

    # ---- who has a tangent ---------------------------------------------------------------

    def tangent(self, tensor: Any) -> Any:
        """A tensor's tangent, None where there is none; a view has a part of its base's."""
        found = self._tangents.get(id(tensor))
        if found is not None:
            return found[1]
        base = tensor._extra.base if tensor._extra is not None else None
        whole = self._tangents.get(id(base)) if base is not None else None
        if whole is None or base._spec.dtype is not tensor._spec.dtype:
            return None
        made = OPERATORS.as_strided(
            whole[1], tuple(tensor._spec.shape), tuple(tensor._spec.strides),
            whole[1]._offset + tensor._offset - base._offset)
        if tensor._spec.neg is not base._spec.neg:
            made = OPERATORS._neg_view(made)
        return OPERATORS.conj(made) if tensor._spec.conj is not base._spec.conj else made

    def attach(self, tensor: Any, tangent: Any) -> None:
        """Give a tensor a tangent, laid out as the tensor is."""
        if not self.alive:
            return
        spec = tensor._spec
        if tuple(tangent.shape) != tuple(spec.shape):
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                "original Tensor, this is not supported. Tensor is of size "
                f"{list(spec.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}.")
        if spec.dense and tangent._spec.strides != spec.strides:
            tangent = OPERATORS.copy_like(tangent, tuple(spec.shape), tuple(spec.strides))
        key, table = id(tensor), self._tangents
        table[key] = (weakref.ref(tensor, lambda _: table.pop(key, None)), tangent)

    def drop(self, tensor: Any) -> None:
        """Let a tensor have no tangent, even if it is a view of one that has."""
        table, key = self._tangents, id(tensor)
        table[key] = (weakref.ref(tensor, lambda _: table.pop(key, None)), None)

    def became(self, target: Any, made: Any) -> None:
        """An in-place view: the target is from now on what `made` was."""
        tangent = self.tangent(made)
        if tangent is not None:
            self.attach(target, tangent)

    # ---- operator calls ------------------------------------------------------------------

    def call(self, record: Record, values: Values, target: Any) -> Any:
        """Run a record; the level itself is off the stack."""
        if record.composite is not None:
            return self.inside(lambda: run(record, values, target))
        operands = _operands(record, values)
        given = [self.tangent(t) for t in operands]
        if STATE.inference or all(t is None for t in given):
            return super().call(record, values, target)
        if record.kind == "view" and target is None:
            return self._view(record, values, given[0])
        tangents = self._pushed(record, values, target, given)
        if target is not None and given[0] is not None:
            given[0] = OPERATORS.clone(given[0])  # as it was before the write
        made = super().call(record, values, target)
        results = [target] if target is not None else list(made) if isinstance(made, tuple) \
            else [made]
        self._attach_all(results, tangents, target)
        if STATE.tape:
            self._accompany(operands, given, results)
        return made

    def inside(self, function: Callable[[], Any]) -> Any:
        """Run code that calls operators at this level."""
        push_level(self)
        try:
            return function()
        finally:
            pop_level()

    def _view(self, record: Record, values: Values, tangent: Any) -> Any:
        made = call(record, values)
        moved = call(record, (tangent, *values[1:]))
        several = isinstance(made, tuple)
        for one, own in zip(made if several else (made,), moved if several else (moved,),
                            strict=True):
            if _has_tangents(one):
                self.attach(one, own)
        return made

    def _pushed(self, record: Record, values: Values, target: Any, given: list[Any]
                ) -> list[Any] | None:
        """The tangents of the results: None where there are none."""
        operands = _operands(record, values)
        before = STATE.grad
        keep = before and any(x is not None and x.requires_grad for x in (*operands, *given))
        set_grad(True)
        try:
            own = {}  # position among the operands -> its new place on the tape
            for k, (x, tangent) in enumerate(zip(operands, given, strict=True)):
                if tangent is not None:
                    own[k] = OPERATORS.alias(x) if keep and x.requires_grad \
                        else placed(off_tape(x))
            arguments = _replaced(record, values, own)
            if target is None:
                made = call(record, arguments)
            else:
                made = call_inplace(record, (OPERATORS.clone(arguments[0]), *arguments[1:]))
            results = made if isinstance(made, tuple) else (made,)
            # Formulas do not expect gradients of what was not asked for, which has no elements.
            chosen = [k for k, r in enumerate(results) if r.requires_grad and r._spec.numel]
            if not chosen:
                return None
            with in_forward_mode():
                found = forward_product(tuple([results[k] for k in chosen]), tuple(own.values()),
                                        tuple([given[k] for k in own]), keep)
        finally:
            set_grad(before)
        tangents: list[Any] = [None] * len(results)
        for k, one in zip(chosen, found, strict=True):
            shared = any(t is not None and t._storage is one._storage for t in given)
            tangents[k] = OPERATORS.clone(one) if shared else one
        return tangents

    def _attach_all(self, results: list[Any], tangents: list[Any] | None, target: Any) -> None:
        if tangents is None:
            return
        for result, tangent in zip(results, tangents, strict=True):
            if tangent is None:
                continue
            if target is None:
                self.attach(result, tangent)
            else:
                self.write(result, tangent)

    def write(self, target: Any, tangent: Any) -> None:
        """The tangent of a tensor that was written: its views and its base see it too."""
        own = self.tangent(target)
        base = target._extra.base if target._extra is not None else None
        if own is None and base is not None:
            self.attach(base, OPERATORS.zeros_like(base.detach()))
            own = self.tangent(target)
        if own is None:
            self.attach(target, OPERATORS.clone(tangent))
            return
        if own.requires_grad and own.is_leaf:  # the user's own tensor
            own = OPERATORS.clone(own)
            self.attach(target, own)
        with unwatched():
            OPERATORS.copy_(own, tangent)

    def _accompany(self, operands: list[Any], given: list[Any], results: list[Any]) -> None:
        """Let what the tape has just kept carry its tangent."""
        node = next((r._node for r in results if r._node is not None), None)
        base = results[0]._extra.base if results[0]._extra is not None else None
        if base is not None and base._node is not None:
            node = getattr(base._node, "_inner", node)
        if node is None or node._plan is None or not node._saved:
            return
        made = [self.tangent(r) for r in results]
        kept = []
        for (is_result, k), one in zip(node._plan.saves(node._mask), node._saved, strict=True):
            tangent = made[k] if is_result else given[k]
            kept.append(one if tangent is None else Accompanied(one, self, tangent))
        node._saved = tuple(kept)
        node.__class__ = PackedNode

    # ---- what is no record ---------------------------------------------------------------

    def fill(self, function: Callable[..., Any], tensor: Any, args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> Any:
        """Random numbers hang on nothing: the tangent becomes zero."""
        made = function(tensor, *args, **kwargs)
        tangent = self.tangent(tensor)
        if tangent is not None:
            OPERATORS.zero_(tangent)
        return made

    def refuse_out(self, name: str, tensors: list[Any]) -> None:
        """Results that are written over other tensors have no tangents."""
        if any(self.tangent(t) is not None for t in tensors):
            raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not "
                                      "support it because it is an out= function")

    def custom_function(self, function: Any, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """A `Function`: its `jvp` gives the tangents."""
        from .function import run_function

        given = [self.tangent(a) if isinstance(a, TensorBase) else None for a in args]
        if all(t is None for t in given):
            return False, None
        STATE.levels.remove(self)
        try:
            made, node = run_function(function, args)
            if node.materialize_grads:
                given = [OPERATORS.zeros_like(a.detach()) if t is None and _is_dual_kind(a) else t
                         for a, t in zip(args, given, strict=True)]
            pushed = function.jvp(node, *given)
            node.saved_for_forward = None
        finally:
            push_level(self)
        results = made if isinstance(made, tuple) else (made,)
        tangents = pushed if isinstance(pushed, tuple) else (pushed,)
        if len(tangents) != len(results):
            raise RuntimeError(f"{function.__name__}.jvp returned {len(tangents)} tangents for "
                               f"{len(results)} results; it must give one (or None) for each")
        for result, tangent in zip(results, tangents, strict=True):
            if tangent is not None and isinstance(result, TensorBase):
                dirty = any(result is a for a in args)
                (self.write if dirty else self.attach)(result, tangent)
        return True, made


def along(function: Callable[..., Any], inputs: list[Any], vectors: list[Any]
          ) -> tuple[Any, list[Any]]:
    """What a function gives, and the tangents of its tensors, with vectors as the inputs'."""
    level = DualLevel()
    duals = [OPERATORS.alias(x) for x in inputs]
    for dual, vector in zip(duals, vectors, strict=True):
        level.attach(dual, vector)
    push_level(level)
    try:
        made = function(*duals)
    finally:
        set_levels([one for one in STATE.levels if one is not level])
    outputs = made if isinstance(made, (tuple, list)) else (made,)
    found = [level.tangent(o) if isinstance(o, TensorBase) else None for o in outputs]
    level.close()
    return made, [OPERATORS.zeros_like(o) if t is None and isinstance(o, TensorBase) else t
                  for o, t in zip(outputs, found, strict=True)]


def _has_tangents(tensor: Any) -> bool:
    dtype = tensor._spec.dtype
    return bool(dtype.is_floating_point or dtype.is_complex)


def _is_dual_kind(value: Any) -> bool:
    return isinstance(value, TensorBase) and _has_tangents(value)


def _operands(record: Record, values: Values) -> list[Any]:
    """The tensors of a call in the order of a plan's operands."""
    found: list[Any] = []
    for mode, value in zip(record.modes, values, strict=True):
        if mode == "T" and isinstance(value, TensorBase):
            found.append(value)
        elif mode == "L" and value is not None:
            found += value
    return found


def _replaced(record: Record, values: Values, own: dict[int, Any]) -> Values:
    """The arguments with some of the operands replaced."""
    given, k = [], 0
    for mode, value in zip(record.modes, values, strict=True):
        if mode == "T" and isinstance(value, TensorBase):
            value, k = own.get(k, value), k + 1
        elif mode == "L" and value is not None:
            value, k = [own.get(k + j, v) for j, v in enumerate(value)], k + len(value)
        given.append(value)
    return tuple(given)


__all__ = ["DualLevel", "along"]
