"""Runs the function of a kernel, statement by statement, on blocks of a `Recorder`.

What is known while compiling (`constexpr` parameters, Python numbers, shapes) is computed by Python
itself. `if`, `for` and `while` over numbers of the launch become statements of the program; names
that they assign live on in slots and places.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..core.dtypes import int32, int64
from ..loops import blocks as program
from ..loops import ir
from ..loops.blocks import Keep, Let, Nest
from . import blocks, types
from .blocks import Block
from .carries import Carry, kind_of
from .errors import CompilationError, NeedsInterpreter
from .expressions import OPERATORS, PYTHON_ONLY, Expressions, source_of, truth_of
from .language.windows import BlockPointer
from .recording import Counted, Recorder, dear
from .sources import Function, function_of

RETURN = "return"  # no name of a program's
_MISSING = object()
_REPAIRS: dict[type, str] = {
    ast.Break: "let a `while` ask for the end of the loop",
    ast.Continue: "put what follows it under an `if`",
    ast.FunctionDef: "a helper is a function of its own, outside of the kernel, with @triton.jit",
}


class Finished(Exception):
    """A function has returned."""

    def __init__(self, value: Any) -> None:
        self.value = value


def trace(function: Function, arguments: dict[str, Any], recorder: Recorder) -> None:
    """Record the program of a kernel. Raises CompilationError with the line that is wrong."""
    walker = Walker(function, dict(arguments), recorder, None)
    blocks.run(recorder, walker.run)


class Walker(Expressions):
    """One call of a function: its names, and what is still to run."""

    def __init__(self, function: Function, names: dict[str, Any], recorder: Recorder,
                 caller: Walker | None) -> None:
        self.function, self.names, self.recorder, self.caller = function, names, recorder, caller
        self.ahead: list[set[str]] = []  # names that later statements read
        self.line: Any = function.tree
        self.depth = 0 if caller is None else caller.depth + 1

    def run(self) -> Any:
        recorder = self.recorder
        before = recorder.live, recorder.call
        recorder.live, recorder.call = self.live, self.call
        try:
            self.block(self.function.tree.body)
        except Finished as done:
            return done.value
        except (CompilationError, NeedsInterpreter):
            raise
        except RecursionError:
            raise
        except Exception as error:
            raise self.wrong(error) from error
        finally:
            recorder.live, recorder.call = before
        return None

    def wrong(self, error: Exception) -> CompilationError:
        where, text = self.function.line(self.line)
        return CompilationError(where, text, getattr(self.line, "col_offset", 0),
                                f"{type(error).__name__}: {error}")

    def live(self) -> list[tuple[Any, Any]]:
        """(names, name) of all blocks that are still to be read, callers' included."""
        wanted = set().union(*self.ahead) if self.ahead else set()
        found = [(self.names, name) for name, value in self.names.items()
                 if name in wanted and isinstance(value, Block)]
        return found + (self.caller.live() if self.caller is not None else [])

    # ---- statements --------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> None:
        for k, item in enumerate(body):
            self.ahead.append(read_names(body[k + 1:]))
            self.line = item
            try:
                if isinstance(item, ast.If):
                    if self.if_statement(item, body[k + 1:]):
                        return
                    continue
                method = getattr(self, f"do_{type(item).__name__}", None)
                if method is None:
                    raise SyntaxError(f"unsupported statement in a kernel: {source_of(item)}; "
                                      f"{_REPAIRS.get(type(item), PYTHON_ONLY)}")
                method(item)
            finally:
                self.ahead.pop()

    def do_Pass(self, item: ast.Pass) -> None:  # noqa: N802 - names of the syntax tree
        pass

    def do_Expr(self, item: ast.Expr) -> None:  # noqa: N802
        if not isinstance(item.value, ast.Constant):
            self.value(item.value)

    def do_Assert(self, item: ast.Assert) -> None:  # noqa: N802
        condition = self.value(item.test)
        message = self.value(item.msg) if item.msg is not None else source_of(item.test)
        if isinstance(condition, Block) and condition.value.op != "const":
            from . import language

            language.device_assert(condition, message)
        elif not condition:
            raise AssertionError(message)

    def do_Return(self, item: ast.Return) -> None:  # noqa: N802
        raise Finished(None if item.value is None else self.value(item.value))

    def do_Assign(self, item: ast.Assign) -> None:  # noqa: N802
        value = self.value(item.value)
        for target in item.targets:
            self.assign(target, value)

    def do_AnnAssign(self, item: ast.AnnAssign) -> None:  # noqa: N802
        if item.value is not None:
            self.assign(item.target, self.value(item.value))

    def do_AugAssign(self, item: ast.AugAssign) -> None:  # noqa: N802
        if not isinstance(item.target, ast.Name):
            raise SyntaxError(f"unsupported target of an assignment: {source_of(item.target)}")
        old = self.value(ast.Name(item.target.id, ast.Load()))
        self.assign(item.target, OPERATORS[type(item.op)](old, self.value(item.value)))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = tuple(value)
            if len(parts) != len(target.elts):
                raise ValueError(f"{len(parts)} values for {len(target.elts)} names")
            for one, part in zip(target.elts, parts, strict=True):
                self.assign(one, part)
        else:
            raise SyntaxError("a block cannot be written to in parts: "
                              f"{source_of(target)} = ...; build it with tl.where, or use tl.store")

    # ---- if ----------------------------------------------------------------------------------

    def if_statement(self, item: ast.If, rest: list[ast.stmt]) -> bool:
        """Run an `if`; true if it has run the statements after it too."""
        condition = self.value(item.test)
        if not isinstance(condition, Block) or condition.value.op == "const":
            self.block(item.body if truth_of(condition) else item.orelse)
            return False
        returns = any(isinstance(n, ast.Return) for part in (item.body, item.orelse)
                      for one in part for n in ast.walk(one))
        after = rest if returns else []
        self.either(condition, lambda: self.block([*item.body, *after]),
                    lambda: self.block([*item.orelse, *after]))
        if RETURN in self.names:
            raise Finished(self.names.pop(RETURN))
        return returns

    def either(self, condition: Block, then: Callable[[], Any], otherwise: Callable[[], Any]
               ) -> None:
        """Record both ways, and join the names that differ after them."""
        if condition.shape:
            raise ValueError("the condition of an `if` is one truth value, got a block of shape "
                             f"{list(condition.shape)}; use tl.where")
        recorder, epochs = self.recorder, dict(self.recorder.epochs)
        if self.caller is not None:
            self._settle_loads(self.caller.live())
        before = dict(self.names)
        ways, latest = [], dict(epochs)
        for run in (then, otherwise):
            self.names, outer, recorder.statements = dict(before), recorder.statements, []
            recorder.epochs = dict(epochs)
            try:
                run()
            except Finished as done:
                self.names[RETURN] = done.value
            ways.append((self.names, recorder.statements))
            latest = {k: max(v, latest[k]) for k, v in recorder.epochs.items()}
            recorder.statements = outer
        joined = self._joined(*ways)
        recorder.statements.append(program.Branch(
            blocks.cast(condition, types.int1).value if condition.type is types.int1 else
            blocks.binary("ne", condition, 0).value, *(tuple(s) for _, s in ways)))
        self.names, recorder.epochs = joined, latest

    def _joined(self, a: Any, b: Any) -> dict[str, Any]:
        made = {}
        for name, x in a[0].items():
            y = b[0].get(name, _MISSING)
            if y is _MISSING:
                continue
            made[name] = x if x is y else self._join(name, (x, a[1]), (y, b[1]))
        if RETURN in {*a[0], *b[0]} and RETURN not in made:
            made[RETURN] = None
        return made

    def _join(self, name: str, a: Any, b: Any) -> Any:
        """One value of two, each computed at the end of its own statements."""
        (x, first), (y, second) = a, b
        if isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y):
            return tuple(self._join(name, (p, first), (q, second))
                         for p, q in zip(x, y, strict=True))
        if isinstance(x, BlockPointer) and x.follows(y):
            return x.at([self._join(name, (p, first), (q, second))
                         for p, q in zip(x.offsets, y.offsets, strict=True)])
        if not isinstance(x, Block) and not isinstance(y, Block) and x == y:
            return x
        kinds = [v.type for v in (x, y) if isinstance(v, Block)]
        if not all(isinstance(v, (Block, bool, int, float)) for v in (x, y)):
            return None
        x, y = (v if isinstance(v, Block) else blocks.block(v, kinds[0] if kinds else None)
                for v in (x, y))
        if x.type != y.type or x.shape != y.shape or x.base is not y.base:
            raise TypeError(f"Mismatched type for {name} between then block ({kind_of(x)}) and "
                            f"else block ({kind_of(y)}); cast one of them")
        into = self.recorder._result(x.value.dtype, x.shape)
        for v, statements in ((x, first), (y, second)):
            if x.shape:
                statements.append(Nest(x.shape, (Keep(into, v.value),)))
            else:
                statements.append(Let(into, v.value))
        return Block(self.recorder._read(into, x.value.dtype), x.type, x.shape, x.base)

    # ---- loops -------------------------------------------------------------------------------

    def do_For(self, item: ast.For) -> None:  # noqa: N802
        if item.orelse:
            raise SyntaxError("a loop of a kernel has no `else`")
        over = self.value(item.iter)
        if not isinstance(over, Counted):
            for value in over:
                self.ahead.append(read_names([*item.body, item]))
                self.assign(item.target, value)
                self.block(item.body)
                self.ahead.pop()
            return
        bounds = [blocks.block(b) for b in over.bounds]
        if any(b.shape or b.type.is_floating() for b in bounds):
            raise TypeError("the bounds of a loop are whole numbers")
        kind = int64 if any(b.type.itemsize == 8 for b in bounds) else int32
        start, stop, step = (ir.cast(b.value, kind) for b in bounds)
        slot = self.recorder.slot(kind)
        number = Block(ir.argument(slot, kind), types.of(kind))

        def begin() -> None:
            self.assign(item.target, number)

        self.looped(item.body, begin, lambda before, body: program.Loop(
            slot, start, stop, step, body), [item.target, *item.body])

    def do_While(self, item: ast.While) -> None:  # noqa: N802
        found: list[Any] = []

        def begin() -> None:
            condition = self.value(item.test)
            if not isinstance(condition, Block):
                condition = blocks.block(bool(condition))
            if condition.shape:
                raise ValueError("the condition of a `while` is one truth value")
            if condition.type is not types.int1:
                condition = blocks.binary("ne", condition, 0)
            self.recorder.current(condition.value)
            found[:] = [condition.value, len(self.recorder.statements)]

        self.looped(item.body, begin, lambda before, body: program.While(
            body[:found[1]], found[0], body[found[1]:]), [item.test, *item.body])

    def looped(self, body: list[ast.stmt], begin: Callable[[], None],
               make: Callable[..., Any], parts: list[Any]) -> None:
        """Record a loop; names that it assigns and that existed before are carried."""
        recorder = self.recorder
        self._settle_read(read_names(parts))
        self._settle_loads(self.live())
        assigned = assigned_names(parts)
        windows = {n: v for n, v in self.names.items()
                   if n in assigned and isinstance(v, BlockPointer)}
        assigned.update(self._spread(windows))
        carried = [n for n in self.names if n in assigned and
                   isinstance(self.names[n], (Block, bool, int, float))]
        straight = {n for n in carried if isinstance(self.names[n], Block) and self.names[n].shape
                    and (self.names[n].type.is_ptr() or self.names[n].type.is_int())}
        while True:
            saved = dict(self.names), list(recorder.statements), dict(recorder.epochs)
            carries = {n: Carry(recorder, n, blocks.block(self.names[n]), n in straight)
                       for n in carried}
            outer, recorder.statements = recorder.statements, []
            for name, carry in carries.items():
                self.names[name] = carry.block
            self.ahead.append(read_names(parts) | set(carried))
            self._gather(windows)
            begin()
            self._turn(body)
            self._spread({n: self._moved(n, v) for n, v in windows.items()})
            self.ahead.pop()
            crooked = [n for n, c in carries.items() if not c.accepts(self.names[n])]
            if crooked:
                straight -= set(crooked)
                self.names, recorder.statements, recorder.epochs = saved
                continue
            self._carry(carries)
            inside, recorder.statements = tuple(recorder.statements), outer
            for carry in carries.values():
                carry.begin()
            recorder.statements.append(make(None, inside))
            break
        known = set(saved[0])
        self.names = {n: carries[n].block if n in carries else v
                      for n, v in self.names.items() if n in known}
        self._gather(windows)

    def _spread(self, windows: dict[str, BlockPointer]) -> set[str]:
        """Give the offsets of block pointers names of their own, by which loops carry them."""
        made = {f"{n} {k}": v for n, window in windows.items()
                for k, v in enumerate(window.offsets)}
        self.names.update(made)
        return set(made)

    def _gather(self, windows: dict[str, BlockPointer]) -> None:
        """Make block pointers of their offsets."""
        for name, window in windows.items():
            self.names[name] = window.at([self.names[f"{name} {k}"]
                                          for k in range(len(window.offsets))])

    def _moved(self, name: str, window: BlockPointer) -> BlockPointer:
        value = self.names[name]
        if not window.follows(value):
            raise TypeError(f"Loop-carried variable {name} is a block pointer that is re-assigned "
                            "to something else in loop! Only its offsets may change: tl.advance")
        return value  # type: ignore[no-any-return]

    def _turn(self, body: list[ast.stmt]) -> None:
        try:
            self.block(body)
        except Finished:
            raise SyntaxError("Cannot return from inside a loop; put what follows the loop under "
                              "an `if`") from None

    def _settle_read(self, names: set[str]) -> None:
        """What a loop reads in each turn is made once, before it."""
        for name in names:
            value = self.names.get(name)
            if isinstance(value, Block) and dear(value.value):
                self.names[name] = self.recorder.kept(value)

    def _settle_loads(self, found: list[tuple[Any, Any]]) -> None:
        """What was loaded, and is wanted after statements that may run any number of times."""
        for keeper, name in found:
            if any(n.op == "load" for n in ir.walk(keeper[name].value)):
                keeper[name] = self.recorder.kept(keeper[name])

    def _carry(self, carries: dict[str, Carry]) -> None:
        """At the end of a turn: all new values first, where one reads another's old one."""
        waiting = {n: c.next for n, c in carries.items() if c.next is not None}
        while waiting:
            free = next((n for n, v in waiting.items() if carries[n].in_place(v) and not any(
                carries[n].read_by(w) for m, w in waiting.items() if m != n)), None)
            if free is not None:
                carries[free].set(waiting.pop(free))
                continue
            for name in waiting:
                waiting[name] = carries[name].apart(waiting[name])

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the language, a helper (whose body is walked too), or Python's."""
        helper = function_of(function)
        if helper is None:
            return function(*args, **kwargs)
        if self.depth > 50:
            raise RecursionError("helpers of a kernel call each other without an end")
        return Walker(helper, helper.bind(args, kwargs), self.recorder, self).run()


def read_names(parts: Any) -> set[str]:
    """The names that statements read (an augmented assignment reads its target)."""
    return {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}


def assigned_names(parts: Any) -> set[str]:
    """The names that statements assign."""
    return {n.id for part in parts for n in ast.walk(part)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
