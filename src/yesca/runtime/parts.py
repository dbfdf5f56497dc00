"""Complex operands of a stage as real ones: the same memory, strides doubled, parts apart.

A body that was written with complex loads becomes stores to real buffers. The imaginary parts
follow all other operands, so that positions of operands stay what the body knows. Values that are
only moved are moved as whole words instead. A reference whose spec is conjugated has the
imaginary part's sign turned, at loads and at stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.dtypes import COMPLEX, DType, complex64, int64
from ..core.spec import spec
from ..loops import ir
from ..loops.complexes import Complex, Unsupported, cast
from ..loops.ir import Expr, Store

Ref = Any  # runtime.program.Ref


@dataclass(frozen=True)
class Split:
    """Real references and stores; the first `len(inputs + outputs)` are the operands.

    places: of the imaginary parts, by operand; turned: those whose sign is to be turned.
    """

    refs: list[Ref]
    stores: list[Store]
    places: dict[int, int] = field(default_factory=dict)
    turned: set[int] = field(default_factory=set)

    def placed(self, store: Store) -> Store:
        """One more store, of what the body computed from its loads."""
        return _placed(store, self.places, self.turned)


def part_of(ref: Ref, which: int) -> Ref:
    """The real (0) or imaginary (1) parts of a complex reference, as a real one."""
    own = ref.spec
    made = spec(own.dtype.to_real(), own.shape, tuple(2 * s for s in own.strides), own.device)
    return replace(ref, spec=made, beyond=2 * ref.beyond + which)


def split(inputs: Sequence[Ref], outputs: Sequence[Ref], puts: Sequence[Any],
          checked: Sequence[Expr] = ()) -> Split:
    """The operands and stored values of a body in real numbers; `checked`: what it checks."""
    moved = _moved(inputs, outputs, puts, checked)
    if moved is not None:
        return moved
    operands = [*inputs, *outputs]
    places = {}  # of the imaginary part, by operand
    refs = []
    extra = []
    for k, ref in enumerate(operands):
        if ref.spec.dtype.category != COMPLEX:
            refs.append(ref)
            continue
        refs.append(part_of(ref, 0))
        places[k] = len(operands) + len(extra)
        extra.append(part_of(ref, 1))
    turned = {places[k] for k in places if operands[k].spec.conj}
    stores: list[Store] = []
    for k, put in enumerate(puts, len(inputs)):
        stores += _stores(k, operands[k].spec.dtype, put, places.get(k))
    return Split([*refs, *extra], [_placed(s, places, turned) for s in stores], places, turned)


def _stores(buffer: int, dtype: DType, put: Any, second: int | None) -> list[Store]:
    if second is None:
        return [Store(buffer, ir.cast(put.value, dtype), put.offset, put.guard, put.accumulate)]
    if put.accumulate not in ("", "sum"):
        raise Unsupported(put.accumulate)
    value = cast(put.value, dtype)
    offset = None if put.offset is None else put.offset * 2
    return [Store(buffer, value.re, offset, put.guard, put.accumulate),
            Store(second, value.im, offset, put.guard, put.accumulate)]


def _placed(store: Store, places: dict[int, int], turned: set[int]) -> Store:
    """Loads of imaginary parts get their buffer, and those of conjugated operands their sign."""
    def rule(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "load" or node.attr >= 0:
            return None
        buffer = places[-1 - node.attr]
        made = ir.make("load", node.dtype, args, buffer)
        return -made if buffer in turned else made

    roots = [e for e in (store.value, store.offset, store.guard) if e is not None]
    made = iter(ir.rewrite(tuple(roots), rule))
    value = next(made)
    offset = None if store.offset is None else next(made)
    guard = None if store.guard is None else next(made)
    if store.buffer in turned:
        value = -value
    return Store(store.buffer, value, offset, guard, store.accumulate)


def _moved(inputs: Sequence[Ref], outputs: Sequence[Ref], puts: Sequence[Any],
           checked: Sequence[Expr]) -> Split | None:
    """complex64 values that no stage computes with, as 64-bit words; None where that is not so."""
    used = {k for k, r in enumerate(inputs) if r.spec.dtype.category == COMPLEX}
    stores = []
    others: list[Expr] = [*checked]
    for k, (put, out) in enumerate(zip(puts, outputs, strict=True), len(inputs)):
        value = put.value
        others += [e for e in (put.offset, put.guard) if e is not None]
        if out.spec.dtype is not complex64:
            if isinstance(value, Complex) or out.spec.dtype.category == COMPLEX:
                return None
            stores.append(Store(k, ir.cast(value, out.spec.dtype), put.offset, put.guard,
                                put.accumulate))
            others.append(value)
            continue
        if not isinstance(value, Complex) or value.whole is None or put.accumulate \
                or value.dtype is not complex64:
            return None
        buffer, offset = value.whole
        if inputs[buffer].spec.conj is not out.spec.conj:
            return None
        others += [] if offset is None else [offset]
        stores.append(Store(k, ir.load(buffer, int64, offset), put.offset, put.guard))
    if any(n.op == "load" and (n.attr < 0 or n.attr in used) for n in ir.walk(*others)):
        return None
    return Split([_as_words(r) for r in (*inputs, *outputs)], stores)


def _as_words(ref: Ref) -> Ref:
    own = ref.spec
    if own.dtype is not complex64:
        return ref
    return replace(ref, spec=spec(int64, own.shape, own.strides, own.device))
