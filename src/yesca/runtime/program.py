"""The builder that operator programs talk to: results, temporaries, stages; it makes a Plan."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..base import settings
from ..core import dtypes
from ..core.devices import CPU, META, Device
from ..core.dtypes import DType, int64
from ..core.spec import Spec, conjugated, negated, spec
from ..core.views import expand_strides, refuse_stretched
from ..loops import ir
from ..loops.ir import Buffer, Expr, Stage, Store
from ..operators.filling import does_not_fit
from ..targets.llvm import GENERAL
from . import folding, geometry, kernels, tables, variants
from .inspection import verify_order
from .plan import HostStep, Launch, Plan, number_word
from .references import ERROR, NO_ERROR, RESULT, TEMPORARY, Put, Ref, raise_first


class Program:
    """One call's plan in the making."""

    def __init__(self, record: Any, values: tuple[Any, ...], specs: list[Spec],
                 device: Device) -> None:
        self.record = record
        self.values = values
        self.operands = len(specs)
        self.device = META if device is META else CPU
        self.results: list[Spec] = []
        self.temporaries: list[int] = []
        self._pending: list[tuple[Launch, Any]] = []  # slots not numbered yet; stage or cost
        self.written: list[int] = []
        self.views: list[tuple[Spec, int]] = []
        self._host: list[HostStep] = []
        self._slots: list[tuple[Any, ...]] = []
        self._checks: list[tuple[Expr, Expr, Callable[[int], None]]] = []
        self.raisers: list[Callable[[int], None]] = []
        self.inplace_target: Ref | None = None
        self.exact_target = False  # it must be just what the result would be
        runtime = [k for k, mode in enumerate(record.modes)
                   if mode in "TS" and self.is_number(values[k])]
        self._ordinals = {position: k for k, position in enumerate(runtime)}

    # ---- questions -----------------------------------------------------------------------

    @staticmethod
    def is_ref(value: Any) -> bool:
        return isinstance(value, Ref)

    @staticmethod
    def is_number(value: Any) -> bool:
        return isinstance(value, (int, float, complex)) and not isinstance(value, DType)

    @staticmethod
    def scalar_name(dtype: DType) -> str:
        return dtypes.SCALAR_NAMES[dtype]

    @staticmethod
    def promote(tensors: Sequence[Ref], numbers: Sequence[Any]) -> DType:
        """PyTorch's result dtype of these operands."""
        dimmed = [t.spec.dtype for t in tensors if t.spec.ndim]
        zero = [t.spec.dtype for t in tensors if not t.spec.ndim]
        return dtypes.combine(dimmed, zero, [dtypes.number_category(n) for n in numbers])

    @staticmethod
    def gradient_dtypes(record: Any, values: tuple[Any, ...]) -> list[DType]:
        """A derived backward record's results: the dtypes of the inputs that want gradients."""
        return [dtype for _, dtype in values[-1]]

    # ---- tensors -------------------------------------------------------------------------

    def result(self, made: Spec) -> Ref:
        """A new result. In an in-place call it is the target instead."""
        target = self.inplace_target
        if target is not None and not self.results:
            self.results.append(target.spec)
            self._check_inplace(target, made)
            return target
        made = conjugated(made, False)
        self.results.append(made)
        return Ref(RESULT + len(self.results) - 1, made)

    def _check_inplace(self, target: Ref, made: Spec) -> None:
        if self.exact_target and (made.dtype is not target.spec.dtype
                                  or made.strides != target.spec.strides):
            raise RuntimeError("[out] kernels cannot write to a tensor of this dtype and layout")
        if not dtypes.can_cast(made.dtype, target.spec.dtype):
            raise RuntimeError(
                f"result type {self.scalar_name(made.dtype)} can't be cast to the desired output "
                f"type {self.scalar_name(target.spec.dtype)}")
        if tuple(made.shape) != tuple(target.spec.shape):
            raise RuntimeError(
                f"output with shape {list(target.spec.shape)} doesn't match the broadcast shape "
                f"{list(made.shape)}")

    def temporary(self, shape: Sequence[int], dtype: DType) -> Ref:
        """Memory for the time of the call."""
        made = spec(dtype, tuple(shape), None, self.device)
        self.temporaries.append(made.nbytes)
        return Ref(TEMPORARY + len(self.temporaries) - 1, made)

    def writes(self, operand: Ref) -> Ref:
        """An operand that stages write as well: counts as an in-place write of it."""
        self.written.append(operand.slot)
        return operand

    def alias(self, base: Ref, made: Spec, offset: int, keep: bool = True) -> None:
        """A result is operand 0's storage, `offset` elements further on, seen as `made`.

        A view of conjugated or negated values is one as well, unless `keep` is false.
        """
        if keep and base.spec.conj and made.dtype is base.spec.dtype:
            made = conjugated(made, True)
        if keep and base.spec.neg:
            made = negated(made, True)
        self.views.append((made, offset))
        self.results.append(made)

    # ---- numbers, inside a body ----------------------------------------------------------

    def argument(self, position: int, dtype: DType) -> Expr:
        """The call's number at this position of its arguments, given at run time."""
        if isinstance(self.values[position], complex) and not dtype.is_complex:
            raise does_not_fit(dtype)
        if isinstance(self.values[position], float) and dtype.category < dtypes.FLOATING:
            return ir.cast(self._slot(("call", self.ordinal(position)), dtypes.float64), dtype)
        return self._slot(("call", self.ordinal(position)), dtype)

    def ordinal(self, position: int) -> int:
        """Which of the call's run-time numbers stands at this position of its arguments."""
        return self._ordinals[position]

    def fixed(self, value: Any, dtype: DType) -> Expr:
        """A number that this plan fixes but the kernel does not (a count, a stride)."""
        return self._slot(("fixed", value), dtype)

    def _slot(self, what: tuple[Any, ...], dtype: DType) -> Expr:
        if dtype.is_complex:
            return self._complex_slot(what, dtype)
        if dtype in dtypes.NARROW_FLOATS:
            return ir.cast(self._slot(what, dtypes.float32), dtype)
        key = (*what, dtype)
        if key not in self._slots:
            self._slots.append(key)
        return ir.argument(self._slots.index(key), dtype)

    def _complex_slot(self, what: tuple[Any, ...], dtype: DType) -> Any:
        """A number as a complex one: two words if it is complex, an exact real if it is fixed."""
        from ..loops.complexes import Complex

        kind, value = what
        part = dtype.to_real()
        number = value if kind == "fixed" else self.values[
            next(k for k, n in self._ordinals.items() if n == value)]
        if not isinstance(number, complex):
            re = self._slot(what, part)
            return re if kind == "fixed" else Complex(re, ir.const(0, part), dtype)
        if kind == "fixed":
            return ir.const(value, dtype)
        return Complex(self._slot(("real", value), part), self._slot(("imag", value), part), dtype)

    def joined(self, x: Ref, count: int) -> tuple[Ref, int]:
        """x with its last `count` dimensions as one; copied first if they cannot be joined."""
        shape = tuple(x.spec.shape)
        size = math.prod(shape[len(shape) - count:])
        wanted = (*shape[:len(shape) - count], size)
        from ..core.views import view_strides

        steps = view_strides(shape, x.spec.strides, wanted)
        if steps is None:
            dense = self.temporary(shape, x.spec.dtype)
            self.flat(lambda v: v, [x], [dense])
            x, steps = dense, view_strides(shape, dense.spec.strides, wanted)
        return x.seen((wanted, steps, 0)), size  # type: ignore[arg-type]

    def ordered_add(self, source: Ref, target: Ref) -> None:
        """target += source, one element after the other (the target may overlap itself)."""
        self.flat(lambda v: Put(v, accumulate="sum"), [source], [target])

    @staticmethod
    def store(value: Expr, offset: Expr | None = None, guard: Expr | None = None,
              accumulate: str = "") -> Put:
        """What a body gives for an output that it stores to elsewhere, not always, or on top."""
        return Put(value, offset, guard, accumulate)

    def check(self, holds: Expr, value: Expr, fail: Callable[[int], None]) -> None:
        """Where `holds` is false the call fails: `fail(value)` raises afterwards."""
        self._checks.append((holds, value, fail))

    def failing(self, fail: Callable[[int], None]) -> Ref:
        """The word in which machine code that is no stage says that the call fails."""
        cell = Ref(ERROR + len(self.raisers), spec(int64, (), None, CPU), row=True)
        self.raisers.append(fail)
        return cell

    # ---- stages --------------------------------------------------------------------------

    def flat(self, body: Callable[..., Any], inputs: Sequence[Ref], outputs: Sequence[Ref],
             apart: bool = False) -> None:
        """Every point by itself. Operands broadcast to the first output's shape.

        `apart`: stores at offsets never meet, so that threads may share the work.
        """
        shape = tuple(outputs[0].spec.shape)
        stage, refs = self._stage("flat", body, inputs, outputs)
        if math.prod(shape) == 0 or self.device is META:
            return
        strides = [expand_strides(r.spec.shape, r.spec.strides, shape) for r in refs]
        self._launch(stage, refs, geometry.flat(stage, shape, strides, len(inputs), apart))

    def rows(self, body: Callable[..., Any], inputs: Sequence[Ref], outputs: Sequence[Ref],
             outer: Sequence[int], size: int) -> None:
        """One row per point of `outer`, each with an inner axis of `size`.

        References end in the inner axis, except those marked by `as_rows()`.
        """
        stage, refs = self._stage("rows", body, inputs, outputs)
        rows = math.prod(outer)
        if rows == 0 or self.device is META:
            return
        inner, strides = [], []
        for ref in refs:
            full = tuple(outer) if ref.row else (*outer, size)
            own = expand_strides(ref.spec.shape, ref.spec.strides, full)
            inner.append(0 if ref.row else own[-1])
            strides.append(own if ref.row else own[:-1])
        main = next((k for k, r in enumerate(refs) if not r.row), 0)
        self._launch(stage, refs, geometry.rows(stage, outer, strides, main, size, inner))

    def table(self, body: Callable[..., Any], lists: Sequence[Sequence[Ref]],
              written: Sequence[int]) -> None:
        """Many tensors in one launch: `body` gets one element of each list and gives the new
        elements of the lists in `written`. Lists of 0-dim tensors beside larger ones give one
        value a tensor. Tensors whose strides differ within an index get a launch of their own.
        """
        for k in written:
            for ref in lists[k]:
                refuse_stretched(ref.spec.shape, ref.spec.strides)
        for together, entries in tables.grouped(lists, written[0]):
            if together:
                self._table(body, entries, written)
                continue
            for entry in entries:
                self.flat(body, entry, [entry[k] for k in written])
        self.written += [r.slot for k in written for r in lists[k]]

    def _table(self, body: Callable[..., Any], entries: list[tuple[Ref, ...]],
               written: Sequence[int]) -> None:
        first = entries[0]
        stage, refs = self._stage("table", body, first, [first[k] for k in written])
        words, numbers = self._argument_words(0)
        chunk = variants.grain(stage)
        cells = refs[len(first) + len(written):]  # of the checks
        pointers = []
        rows = 0
        for entry in entries:
            every = [*entry, *(entry[k] for k in written), *cells]
            count = entry[written[0]].spec.numel
            for start in range(0, count, chunk):
                for ref in every:
                    shift = 0 if ref.row else start * ref.spec.dtype.itemsize
                    pointers.append((len(words), ref.slot, shift))
                    words.append(0)
                words.append(min(chunk, count - start))
                rows += 1
        if rows and self.device is not META:
            address = kernels.address(stage, GENERAL, self.record.name)
            self._pending.append((Launch(address, array("q", words), tuple(pointers),
                                         tuple(numbers), rows, 1, self.record.name), stage))

    def _argument_words(self, first: int) -> tuple[list[int], list[tuple[int, int, str]]]:
        """The stage's numbers: their words, and which of them come with each call."""
        words: list[int] = []
        numbers = []
        for what, value, dtype in self._slots:
            kind = "f" if dtype.is_floating_point else "i"
            if what in ("real", "imag"):
                numbers.append((first + len(words), value, what))
                words.append(0)
            elif what == "call":
                numbers.append((first + len(words), value, kind))
                words.append(0)
            else:
                words.append(number_word(value, kind))
        return words, numbers

    def _stage(self, kind: str, body: Callable[..., Any], inputs: Sequence[Ref],
               outputs: Sequence[Ref]) -> tuple[Stage, list[Ref]]:
        self._slots, self._checks = [], []
        refs, stores, placed = self._stored(body, inputs, outputs)
        for holds, value, fail in self._checks:
            refs.append(self.failing(fail))
            stores.append(placed(
                Store(len(refs) - 1, ir.cast(value, int64) ^ NO_ERROR, None, ~holds)))
        written = {s.buffer for s in stores}
        buffers = tuple(Buffer(r.spec.dtype, k in written, not r.row)
                        for k, r in enumerate(refs))
        arguments = tuple(slot[-1] for slot in self._slots)
        return Stage(kind, buffers, arguments, tuple(stores)), refs

    def _stored(self, body: Callable[..., Any], inputs: Sequence[Ref], outputs: Sequence[Ref]
                ) -> tuple[list[Ref], list[Store], Callable[[Store], Store]]:
        """Run the body on loads of the inputs: real operands, what is stored to them, and how
        further stores of what it computed are made real."""
        refs = [*inputs, *outputs]
        found = next((r.spec.dtype for r in refs if r.spec.dtype.is_complex), None)
        try:
            made = body(*(ir.load(k, r.spec.dtype) for k, r in enumerate(inputs)))
            values = made if isinstance(made, tuple) else (made,)
            puts = [v if isinstance(v, Put) else Put(v) for v in values]
            if found is not None:
                from .parts import split

                checked = [e for holds, value, _ in self._checks for e in (holds, value)]
                apart = split(inputs, outputs, puts, checked)
                return apart.refs, apart.stores, apart.placed
            stores = [Store(k, ir.cast(put.value, refs[k].spec.dtype), put.offset, put.guard,
                            put.accumulate) for k, put in enumerate(puts, len(inputs))]
            return refs, stores, lambda store: store
        except TypeError as error:
            if type(error).__name__ != "Unsupported":
                raise
            raise self.record.lacks(self.scalar_name(found or dtypes.complex64)) from None

    def _launch(self, stage: Stage, refs: Sequence[Ref], over: geometry.Geometry) -> None:
        items = [r.spec.dtype.itemsize for r in refs]
        given, numbers = self._argument_words(len(refs))
        pointers = [(k, r.slot, r.beyond * i) for k, (r, i) in
                    enumerate(zip(refs, items, strict=True))]
        name = "".join(c if c.isalnum() else "_" for c in self.record.name)
        self._pending.append((Launch(
            kernels.address(stage, over.variant, name), over.words(items, given), tuple(pointers),
            tuple(numbers), over.total, over.grain, name), stage))

    # ---- reductions ----------------------------------------------------------------------

    def reduce(self, fold: str | Sequence[str], before: Callable[..., Any],
               final: Callable[..., Any], x: Ref | Sequence[Ref], dims: Sequence[int],
               out: Ref | Sequence[Ref]) -> None:
        """out = final(fold of before(x) over dims), in steps where one pass cannot do it.

        Several operands x broadcast; several folds each take a value of `before`, and `final`
        takes them all.
        """
        kinds = (fold,) if isinstance(fold, str) else tuple(fold)
        folding.reduce(self, folding.Folding(kinds, before, final),
                       (x,) if isinstance(x, Ref) else x, tuple(dims),
                       (out,) if isinstance(out, Ref) else out)

    def moments(self, x: Ref, dims: Sequence[int], wide: DType, final: Callable[..., Any],
                inputs: Sequence[Ref], outs: Sequence[Ref]) -> None:
        """outs = final(mean, sum of squared differences, *inputs); see `runtime.moments`."""
        from .moments import moments

        moments(self, x, tuple(dims), wide, final, inputs, outs)

    # ---- products ------------------------------------------------------------------------

    def product(self, a: Ref, b: Ref, c: Ref, **options: Any) -> None:
        """c = alpha * a @ b + beta * initial; see `runtime.products.product`."""
        from .products import product

        product(self, a, b, c, **options)

    def gathered(self, a: Ref, b: Ref, c: Ref, **pieces: Sequence[int]) -> None:
        """c = a @ b, an operand lying in pieces; see `runtime.products.gathered`."""
        from .products import gathered

        gathered(self, a, b, c, **pieces)

    def product_int8(self, *operands: Any) -> None:
        """A product of bytes and packed weights; see `runtime.products_int8.product`."""
        from .products_int8 import product

        product(self, *operands)

    def factor(self, position: int) -> Any:
        """The call's number at this position as alpha or beta of a product."""
        from .products import Factor

        return Factor(self.values[position], position)

    # ---- the plan ------------------------------------------------------------------------

    def raw(self, address: int, words: Sequence[int], pointers: Sequence[tuple[int, Ref]],
            total: int, grain: int, name: str,
            numbers: tuple[tuple[int, int, str], ...] = (), cost: Any = None,
            written: tuple[int, ...] | None = None, blocks: Any = None) -> None:
        """A launch of a machine function that is not a stage (products), and what it costs.

        written, blocks: see `Launch`.
        """
        places = tuple((word, r.slot, r.beyond * r.spec.dtype.itemsize) for word, r in pointers)
        self._pending.append((Launch(address, array("q", words), places, numbers, total, grain,
                                     name, written, blocks=blocks), cost))

    def native(self, name: str, refs: Sequence[Ref], numbers: Sequence[int], total: int,
               grain: int, arguments: Sequence[tuple[int, str]] = ()) -> None:
        """A launch of a function of `runtime.library`; its words: addresses, numbers, arguments.

        arguments: (position, kind) of numbers that are given at run time.
        """
        from . import library

        if total and self.device is not META:
            words = [*(0 for _ in refs), *numbers]
            given = tuple((len(words) + k, self.ordinal(position), kind)
                          for k, (position, kind) in enumerate(arguments))
            self.raw(library.address(name), words + [0] * len(given), list(enumerate(refs)),
                     total, grain, name, given)

    def host(self, name: str, refs: Sequence[Ref], numbers: Sequence[int] = (),
             **options: Any) -> None:
        """A function of `runtime.library` on arrays over `refs`, after all launches.

        numbers: positions of the call's run-time numbers that follow the arrays.
        """
        if self.device is not META:
            from . import library

            function = partial(library.host_function(name), **options)
            places = tuple((r.slot, r.beyond * r.spec.dtype.itemsize, r.spec) for r in refs)
            self._host.append(HostStep(function, places, tuple(self.ordinal(k) for k in numbers),
                                       name))

    def finish(self) -> Plan:
        """Number the slots: operands, results, temporaries, error cell."""
        results = 1 if self.inplace_target is not None else len(self.results)
        errors = self.operands + results + len(self.temporaries)
        base = (0, self.operands, self.operands + results)

        def slot(s: int) -> int:  # all errors share the last slot
            return errors if s >= ERROR else base[s // RESULT] + s % RESULT

        launches = tuple(
            replace(one, pointers=tuple(
                (w, slot(s), b + (8 * (s - ERROR) if s >= ERROR else 0))
                for w, s, b in one.pointers))
            for one, _ in self._pending)
        plan = Plan(self.record, self.values, self.operands, tuple(self.results),
                    tuple(self.temporaries), launches, self.views[0] if self.views else None,
                    tuple(self.views), self.inplace_target is not None)
        plan.stages = tuple(stage for _, stage in self._pending)
        plan.host = tuple(HostStep(h.function, tuple((slot(s), b, v) for s, b, v in h.operands),
                                   h.numbers, h.name) for h in self._host)
        plan.writes = tuple(dict.fromkeys(self.written))
        if settings.VERIFY.get():
            verify_order(plan)
        if self.raisers:
            raisers = list(self.raisers)
            plan.checks = len(raisers)
            plan.on_check = lambda cells: raise_first(raisers, cells)
        return plan
