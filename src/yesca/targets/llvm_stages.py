"""The four loop shapes: flat, table, rows and columns."""

from __future__ import annotations

from collections.abc import Callable

from ..core.dtypes import int64
from ..loops.folds import LANES, WIDE, neutral, passes
from ..loops.ir import Expr, Store, fold_lanes, walk
from .llvm import TILE, Frame, StageText
from .llvm_folds import Fold, emit_scan
from .llvm_scratch import Scratch
from .llvm_values import Value, literal, memory_type, scalar_type, splat, vector_type


# ---- flat ------------------------------------------------------------------------------------

def write_flat(writer: StageText) -> None:
    """Points [lo, hi): pieces of the innermost dimension, each a simple loop."""
    text = writer.text
    contiguous = _all_contiguous(writer) if not writer.variant.pattern else ""
    no_rank = text.let(f"icmp eq i64 {writer.rank}, 0")

    def piece(position: str) -> str:
        row = text.let(f"udiv i64 {position}, {writer.size}")
        column = text.let(f"sub i64 {position}, {text.let(f'mul i64 {row}, {writer.size}')}")
        bases = writer.bases(row)
        room = text.let(f"sub i64 {writer.size}, {column}")
        left = text.let(f"sub i64 %hi, {position}")
        count = writer.smaller(room, left)
        count = text.let(f"select i1 {no_rank}, i64 {left}, i64 {count}")
        end = text.let(f"add i64 {column}, {count}")
        shift = text.let(f"sub i64 {position}, {column}")
        _flat_piece(writer, bases, column, end, shift, contiguous)
        return count

    writer.loop("%lo", "%hi", "1", piece)


def _all_contiguous(writer: StageText) -> str:
    """Whether the inner axis is contiguous in every buffer that has one."""
    text = writer.text
    flag = "true"
    for stride, buffer in zip(writer.strides, writer.stage.buffers, strict=True):
        if buffer.inner:
            same = text.let(f"icmp eq i64 {stride}, {buffer.dtype.itemsize}")
            flag = text.let(f"and i1 {flag}, {same}")
    return flag


def _flat_piece(writer: StageText, bases: list[str], start: str, end: str, shift: str,
                contiguous: str) -> None:
    if writer.variant.pattern:
        _flat_loop(writer, bases, start, end, shift, writer.variant.pattern)
        return
    count = writer.buffers
    writer.branch(contiguous,
                  lambda: _flat_loop(writer, bases, start, end, shift, "c" * count),
                  lambda: _flat_loop(writer, bases, start, end, shift, "g" * count))


def _flat_loop(writer: StageText, bases: list[str], start: str, end: str, shift: str,
               pattern: str) -> None:
    text, stage = writer.text, writer.stage
    outer = Frame(writer.entry, False)
    outer.address = lambda b: (bases[b], False)
    for node in walk(*stage.roots()):
        fixed = node.op == "load" and not node.args and (
            pattern[node.attr] == "0" or not stage.buffers[node.attr].inner)
        if fixed:
            outer.values[node] = writer.load(outer, node)
    writer.prepare(outer, list(stage.roots()))

    def address(index: str) -> Callable[[int], tuple[str, bool]]:
        def of(b: int) -> tuple[str, bool]:
            if pattern[b] == "0" or not stage.buffers[b].inner:
                return bases[b], False
            if pattern[b] == "c":
                kind = memory_type(stage.buffers[b].dtype)
                return text.let(f"getelementptr {kind}, ptr {bases[b]}, i64 {index}"), False
            step = text.let(f"mul i64 {index}, {writer.strides[b]}")
            return text.let(f"getelementptr i8, ptr {bases[b]}, i64 {step}"), False
        return of

    fixed = tuple(s for s in stage.stores if not (s.accumulate or _is_inner(writer, s)))
    reports = [Report(writer, s) for s in stage.stores if s not in fixed and _reports(writer, s)]
    told = [report.item for report in reports]
    moving = tuple(s for s in stage.stores if s not in fixed and s not in told)

    def body(index: str) -> None:
        frame = Frame(outer, True)
        frame.index = index
        frame.point = text.let(f"add i64 {index}, {shift}")
        frame.address = address(index)
        _evaluate_then_store(writer, frame, moving)
        for report in reports:
            report.enter(frame)

    if fixed:  # such as an error that a number alone decides: in the loop it would cost a branch
        some = text.let(f"icmp slt i64 {start}, {end}")
        writer.branch(some, lambda: _evaluate_then_store(writer, outer, fixed))
    ordered = any(s.accumulate or s.offset is not None for s in moving)
    if moving or reports:
        writer.loop(start, end, "1", body, parallel=not ordered)
    for report in reports:
        report.leave(outer)


def _reports(writer: StageText, item: Store) -> bool:
    """Whether many points may store into one place, of which one value is to stay."""
    return item.guard is not None and item.offset is None and not item.accumulate \
        and item.value.dtype is int64 and not writer.stage.buffers[item.buffer].inner


class Report:
    """A guarded store of many points into one place: the largest value, as an unsigned one, stays.

    It is carried along the loop, which then has no branch in it; 0 stands for no value.
    """

    def __init__(self, writer: StageText, item: Store) -> None:
        self.writer, self.item = writer, item
        self.place = writer.alloca("i64")
        writer.text.line(f"store i64 0, ptr {self.place}")

    def enter(self, frame: Frame) -> None:
        """At a point: keep its value if it is the largest."""
        text, item = self.writer.text, self.item
        assert item.guard is not None
        guard, value = (self.writer.value(frame, e).text for e in (item.guard, item.value))
        here = text.let(f"select i1 {guard}, i64 {value}, i64 0")
        text.declarations.add("declare i64 @llvm.umax.i64(i64, i64)")
        known = text.let(f"load i64, ptr {self.place}")
        largest = text.let(f"call i64 @llvm.umax.i64(i64 {known}, i64 {here})")
        text.line(f"store i64 {largest}, ptr {self.place}")

    def leave(self, outer: Frame) -> None:
        """After the loop: store it if there is one."""
        text = self.writer.text
        found = text.let(f"load i64, ptr {self.place}")
        some = text.let(f"icmp ne i64 {found}, 0")
        pointer, _ = self.writer.place(outer, self.item.buffer, None)
        self.writer.branch(some, lambda: text.line(f"store i64 {found}, ptr {pointer}, align 8"))


def _evaluate_then_store(writer: StageText, frame: Frame, stores: tuple[Store, ...]) -> None:
    """Every value first: an output may be one of the inputs."""
    for item in stores:
        writer.value(frame, item.value)
    for item in stores:
        writer.store(frame, item)


def write_tiled(writer: StageText) -> None:
    """Squares [lo, hi) of the two innermost dimensions: operands that are contiguous along one
    or the other are both read and written in pieces that stay in the first cache."""
    text, count = writer.text, writer.buffers
    across = text.let(f"load i64, ptr {writer.dims}")
    strides = []
    for b in range(count):
        cell = text.let(f"getelementptr i64, ptr {writer.dims}, i64 {b + 1}")
        strides.append(text.let(f"load i64, ptr {cell}"))

    def tiles(size: str) -> str:
        return text.let(f"sdiv i64 {text.let(f'add i64 {size}, {TILE - 1}')}, {TILE}")

    columns, rows = tiles(writer.size), tiles(across)

    def split(number: str, by: str) -> tuple[str, str]:
        quotient = text.let(f"udiv i64 {number}, {by}")
        return quotient, text.let(f"sub i64 {number}, {text.let(f'mul i64 {quotient}, {by}')}")

    def square(unit: str) -> None:
        upper, column = split(unit, columns)
        rest, row = split(upper, rows)
        bases = writer.bases(rest, 1)
        left, top = (text.let(f"mul i64 {v}, {TILE}") for v in (column, row))
        right, bottom = (writer.smaller(text.let(f"add i64 {v}, {TILE}"), bound)
                         for v, bound in ((left, writer.size), (top, across)))

        def line(index: str) -> None:
            moved = []
            for base, stride in zip(bases, strides, strict=True):
                step = text.let(f"mul i64 {index}, {stride}")
                moved.append(text.let(f"getelementptr i8, ptr {base}, i64 {step}"))
            _flat_loop(writer, moved, left, right, "0", writer.variant.pattern)

        writer.loop(top, bottom, "1", line)

    writer.loop("%lo", "%hi", "1", square)


# ---- table -----------------------------------------------------------------------------------

def write_table(writer: StageText) -> None:
    """Rows [lo, hi) of a table of pointers and counts; each row is a contiguous piece."""
    text, count = writer.text, writer.buffers

    def row(index: str) -> None:
        at = text.let(f"mul i64 {index}, {count + 1}")
        cells = text.let(f"getelementptr i64, ptr {writer.table}, i64 {at}")
        bases = []
        for b in range(count):
            cell = text.let(f"getelementptr i64, ptr {cells}, i64 {b}")
            bases.append(text.let(f"load ptr, ptr {cell}", "p"))
        cell = text.let(f"getelementptr i64, ptr {cells}, i64 {count}")
        size = text.let(f"load i64, ptr {cell}")
        pattern = "".join("c" if b.inner else "0" for b in writer.stage.buffers)
        _flat_loop(writer, bases, "0", size, "0", pattern)

    writer.loop("%lo", "%hi", "1", row)


# ---- rows ------------------------------------------------------------------------------------

def write_rows(writer: StageText) -> None:
    """Rows [lo, hi): vector lanes over the inner axis where it is contiguous, else one lane."""
    stage = writer.stage
    ordered = any(n.op == "scan" for n in walk(*stage.roots())) or any(
        _places_vary(writer, s) for s in stage.stores) or any(
        n.op == "load" and n.args and n.args[0] in writer.varying for n in walk(*stage.roots()))
    flag = _all_contiguous(writer)
    writer.scratch = None if ordered else _scratch(writer)

    def row(index: str) -> None:
        bases = writer.bases(index)

        def frame() -> Frame:
            made = Frame(writer.entry, False)
            made.point = index
            made.address = lambda b: (bases[b], False)
            return made

        if ordered:
            _passes(writer, frame(), lambda f, folds, stores: _scalar_pass(
                writer, f, bases, folds, stores))
            return
        writer.branch(
            flag,
            lambda: _passes(writer, frame(), lambda f, folds, stores: _vector_pass(
                writer, f, bases, folds, stores)),
            lambda: _passes(writer, frame(), lambda f, folds, stores: _scalar_pass(
                writer, f, bases, folds, stores)))

    writer.loop("%lo", "%hi", "1", row)


def _places_vary(writer: StageText, item: Store) -> bool:
    """Whether neighbours on the inner axis cannot be stored as one vector."""
    if not _is_inner(writer, item):
        return False
    if not writer.stage.buffers[item.buffer].inner:
        return True
    return bool(item.accumulate) or any(
        e is not None and e in writer.varying for e in (item.offset, item.guard))


Pass = Callable[[Frame, list[Expr], list[Store]], None]


def _passes(writer: StageText, frame: Frame, run: Pass) -> None:
    """One loop over the inner axis per level and width of folds, one for the stores along it."""
    for k, folds in enumerate(passes(writer.stage)):
        writer.prepare(frame, [f.args[0] for f in folds])
        writer.turn(k)
        run(frame, folds, [])
    inner = [s for s in writer.stage.stores if _is_inner(writer, s)]
    if inner:
        writer.prepare(frame, _parts(inner))
        writer.turn(len(passes(writer.stage)))
        run(frame, [], inner)
    rest = tuple(s for s in writer.stage.stores if s not in inner)
    _evaluate_then_store(writer, frame, rest)


def _parts(stores: list[Store]) -> list[Expr]:
    return [e for s in stores for e in (s.value, s.offset, s.guard) if e is not None]


def _scratch(writer: StageText) -> Scratch | None:
    """Rows of scratch memory, where the variant allows them."""
    if not writer.variant.kept:
        return None
    inner = [s for s in writer.stage.stores if _is_inner(writer, s)]
    return Scratch(writer, [*([f.args[0] for f in folds] for folds in passes(writer.stage)),
                            _parts(inner)])


def _is_inner(writer: StageText, item: Store) -> bool:
    exprs = [e for e in (item.value, item.offset, item.guard) if e is not None]
    return writer.stage.buffers[item.buffer].inner or any(e in writer.varying for e in exprs)


def _inner_address(writer: StageText, bases: list[str], index: str, vector: bool
                   ) -> Callable[[int], tuple[str, bool]]:
    text, stage = writer.text, writer.stage

    def of(b: int) -> tuple[str, bool]:
        if not stage.buffers[b].inner:
            return bases[b], False
        if vector:
            kind = memory_type(stage.buffers[b].dtype)
            return text.let(f"getelementptr {kind}, ptr {bases[b]}, i64 {index}"), True
        step = text.let(f"mul i64 {index}, {writer.strides[b]}")
        return text.let(f"getelementptr i8, ptr {bases[b]}, i64 {step}"), False
    return of


def _scalar_pass(writer: StageText, frame: Frame, bases: list[str], folds: list[Expr],
                 stores: list[Store]) -> None:
    states = [Fold(writer, f, frame.lanes) for f in folds]
    scans = _scan_states(writer, frame, stores)

    def body(index: str) -> None:
        inside = Frame(frame, True)
        inside.index, inside.point = index, frame.point
        inside.address = _inner_address(writer, bases, index, vector=False)
        if writer.scratch is not None:
            writer.scratch.enter(inside)
        for state in states:
            state.enter(inside)
        for node, place in scans:
            inside.values[node] = emit_scan(writer, node, inside, place)
        _evaluate_then_store(writer, inside, tuple(stores))
        if writer.scratch is not None:
            writer.scratch.leave(inside)

    writer.loop("0", writer.size, "1", body)
    for fold, state in zip(folds, states, strict=True):
        frame.values[fold] = state.result(state.current())


def _scan_states(writer: StageText, frame: Frame, stores: list[Store]) -> list[tuple[Expr, str]]:
    roots = [e for s in stores for e in (s.value, s.offset, s.guard) if e is not None]
    made = []
    for node in walk(*roots):
        if node.op == "scan":
            kind = vector_type(scalar_type(node.dtype), frame.lanes)
            place = writer.alloca(kind)
            start = Value(literal(neutral(node.attr, node.dtype), node.dtype), node.dtype)
            start = splat(writer.text, start, frame.lanes)
            writer.text.line(f"store {start.typed}, ptr {place}")
            made.append((node, place))
    return made


def _vector_pass(writer: StageText, frame: Frame, bases: list[str], folds: list[Expr],
                 stores: list[Store]) -> None:
    """Full vectors first, as wide as the folds say, then one masked vector."""
    text = writer.text
    main = fold_lanes(folds[0]) if folds else LANES
    tail = [Fold(writer, f, LANES) for f in folds]
    wide = [Fold(writer, f, main) for f in folds] if main != LANES else tail

    def step(index: str, states: list[Fold], lanes: int, mask: str | None) -> None:
        inside = Frame(frame, True, lanes, mask)
        inside.index, inside.point = index, frame.point
        inside.address = _inner_address(writer, bases, index, vector=True)
        if writer.scratch is not None:
            writer.scratch.enter(inside)
        for state in states:
            state.enter(inside)
        _evaluate_then_store(writer, inside, tuple(stores))
        if writer.scratch is not None:
            writer.scratch.leave(inside)

    whole = text.let(f"and i64 {writer.size}, {-main}")
    writer.loop("0", whole, str(main), lambda i: step(i, wide, main, None))

    def last(index: str) -> None:
        step(index, tail, LANES, _mask(writer, index, writer.size, LANES))

    writer.loop(whole, writer.size, str(LANES), last)
    for fold, narrow, broad in zip(folds, tail, wide, strict=True):
        state = narrow.current()
        if broad is not narrow:
            extra = broad.current()
            while extra[0].lanes > LANES:
                extra = broad.halve(extra)
            state = narrow.merge(extra, state)
        frame.values[fold] = narrow.result(state)


def _mask(writer: StageText, index: str, bound: str, lanes: int) -> str:
    """Which lanes lie below the bound."""
    text = writer.text
    left = text.let(f"sub i64 {bound}, {index}")
    limit = splat(text, Value(left, int64), lanes)
    steps = ", ".join(f"i64 {k}" for k in range(lanes))
    return text.let(f"icmp ugt {limit.typed}, <{steps}>")


# ---- columns ---------------------------------------------------------------------------------

def write_columns(writer: StageText) -> None:
    """Rows [lo, hi) with lanes over the innermost outer dimension; the inner axis is a loop."""
    text = writer.text
    size = text.let(f"load i64, ptr {writer.dims}")

    def piece(position: str) -> str:
        column = text.let(f"urem i64 {position}, {size}")
        bases = writer.bases(position)
        count = writer.smaller(text.let(f"sub i64 {size}, {column}"),
                               text.let(f"sub i64 %hi, {position}"))
        whole = text.let(f"and i64 {count}, {-WIDE}")
        writer.loop("0", whole, str(WIDE),
                    lambda c: _column_block(writer, bases, position, c, WIDE, None))
        writer.loop(whole, count, str(LANES), lambda c: _column_block(
            writer, bases, position, c, LANES, _mask(writer, c, count, LANES)))
        return count

    writer.loop("%lo", "%hi", "1", piece)


def _column_block(writer: StageText, bases: list[str], position: str, column: str, lanes: int,
                  mask: str | None) -> None:
    text, stage = writer.text, writer.stage
    pattern = writer.variant.pattern
    moved = []
    for b, base in enumerate(bases):
        if pattern[b] == "0":
            moved.append(base)
            continue
        kind = memory_type(stage.buffers[b].dtype)
        moved.append(text.let(f"getelementptr {kind}, ptr {base}, i64 {column}"))
    frame = Frame(writer.entry, False, lanes, mask)
    frame.point = text.let(f"add i64 {position}, {column}")
    frame.address = lambda b: (moved[b], pattern[b] == "c")

    def run(outer: Frame, folds: list[Expr], stores: list[Store]) -> None:
        states = [Fold(writer, f, lanes) for f in folds]
        scans = _scan_states(writer, outer, stores)

        def body(index: str) -> None:
            inside = Frame(outer, True, lanes, mask)
            inside.index, inside.point = index, outer.point

            def address(b: int) -> tuple[str, bool]:
                if not stage.buffers[b].inner:
                    return moved[b], pattern[b] == "c"
                step = text.let(f"mul i64 {index}, {writer.strides[b]}")
                place = text.let(f"getelementptr i8, ptr {moved[b]}, i64 {step}")
                return place, pattern[b] == "c"

            inside.address = address
            for state in states:
                state.enter(inside)
            for node, place in scans:
                inside.values[node] = emit_scan(writer, node, inside, place)
            _evaluate_then_store(writer, inside, tuple(stores))

        writer.loop("0", writer.size, "1", body)
        for fold, state in zip(folds, states, strict=True):
            outer.values[fold] = state.result(state.current())

    _passes(writer, frame, run)
