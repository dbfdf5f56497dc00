"""Statements of the native subset to LLVM text: one function at a time.

Locals are stack slots that LLVM's optimiser turns into registers, so this file needs no data
flow of its own.
"""

import ast
from dataclasses import dataclass

from .native_expressions import ExpressionEmitter
from .native_types import Literal, NativeType, Value, i64, void


@dataclass
class _Loop:
    """Where `continue` and `break` of the innermost loop go."""

    again: str
    end: str
    breaks: bool = False


class FunctionEmitter(ExpressionEmitter):
    """Emits the definition of one NativeFunction."""

    def __init__(self, function, unit):
        super().__init__(function, unit)
        self._loops = []

    def emit(self, tree: ast.FunctionDef, head: str, tail: str) -> str:
        """The text `define {head}(...) {tail} { ... }`."""
        signature = []
        for name, type_ in self.function.parameters.items():
            alias = " noalias" if name in self.function.noalias else ""
            signature.append(f"{type_.argument}{alias} %arg.{name}")
            self._store(self._variable(name, type_), Value(type_, f"%arg.{name}"))
        self._suite(tree.body)
        if not self.terminated:
            if self.function.result is not void:
                self.node = tree
                self.fail(f"{tree.name} can reach its end without a return")
            self.line("ret void")
        body = "\n".join([*self.allocas, *self.lines])
        return f"define {head}({', '.join(signature)}) {tail} {{\nentry:\n{body}\n}}\n"

    # Locals.

    def _variable(self, name: str, type_: NativeType) -> Value:
        if type_ is void:
            self.fail(f"{name} would be void")
        place = Value(type_, f"%var.{name}")
        self.variables[name] = place
        self.allocas.append(f"  {place.text} = alloca {type_.llvm}")
        return place

    def _store(self, place: Value, value: Value) -> None:
        self.line(f"store {value.type.llvm} {value.text}, ptr {place.text}")

    def _assign_name(self, target, value) -> None:
        if not isinstance(target, ast.Name):
            self.fail("only local names can be assigned; use store_* for memory")
        place = self.variables.get(target.id)
        if place is None:
            value = self.settle(value)
            place = self._variable(target.id, value.type)
        self._store(place, self.coerce(value, place.type))

    # Statements.

    def _suite(self, statements) -> None:
        for statement in statements:
            if self.terminated:
                return  # dead code after return, break or continue
            self.node = statement
            emit = _STATEMENTS.get(type(statement))
            if emit is None:
                self.fail(f"{type(statement).__name__} is not in the native subset")
            emit(self, statement)

    def _pass(self, node) -> None:
        pass

    def _bare(self, node) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring is one
            self.expression(node.value)

    def _assign(self, node) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            targets, source = node.targets[0].elts, node.value
            if not isinstance(source, ast.Tuple) or len(source.elts) != len(targets):
                self.fail("a tuple assignment needs as many values on the right, spelled out")
            values = [self.expression(element) for element in source.elts]
            for target, value in zip(targets, values, strict=True):
                self._assign_name(target, value)
            return
        value = self.expression(node.value)
        for target in node.targets:
            self._assign_name(target, value)

    def _annotated(self, node) -> None:
        type_ = self.compile_time(node.annotation)
        if not isinstance(type_, NativeType):
            self.fail(f"{ast.unparse(node.annotation)} is not a native type")
        if node.target.id in self.variables:
            self.fail(f"{node.target.id} has a type already")
        value = self.coerce(self.expression(node.value), type_) if node.value else None
        place = self._variable(node.target.id, type_)
        if value is not None:
            self._store(place, value)

    def _augmented(self, node) -> None:
        if not isinstance(node.target, ast.Name) or node.target.id not in self.variables:
            self.fail("only local names that have a value can be updated")
        place = self.variables[node.target.id]
        left = self.op(place.type, f"load {place.type.llvm}, ptr {place.text}")
        value = self.binary(type(node.op), left, self.expression(node.value))
        self._store(place, self.coerce(value, place.type))

    def _return(self, node) -> None:
        result = self.function.result
        if result is void:
            if node.value is not None and self.expression(node.value) is not None:
                self.fail("a void function returns no value")
            self.line("ret void")
        else:
            if node.value is None:
                self.fail(f"return needs a value of type {result}")
            value = self.coerce(self.expression(node.value), result)
            self.line(f"ret {result.llvm} {value.text}")
        self.terminated = True

    def _if(self, node) -> None:
        test = self.expression(node.test)
        if isinstance(test, Literal):  # decided now: the other branch need not even compile
            self._suite(node.body if test.value else node.orelse)
            return
        then, otherwise, end = self.fresh("then"), self.fresh("else"), self.fresh("end")
        self.branch_if(self.truth(test), then, otherwise if node.orelse else end)
        self.start(then)
        self._suite(node.body)
        reachable = not self.terminated or not node.orelse
        self.branch(end)
        if node.orelse:
            self.start(otherwise)
            self._suite(node.orelse)
            reachable = reachable or not self.terminated
            self.branch(end)
        if reachable:
            self.start(end)

    def _while(self, node) -> None:
        if node.orelse:
            self.fail("while-else is not in the native subset")
        head, body, end = self.fresh("while"), self.fresh("body"), self.fresh("end")
        self.branch(head)
        self.start(head)
        test = self.expression(node.test)
        forever = isinstance(test, Literal) and bool(test.value)
        if forever:
            self.branch(body)
        else:
            self.branch_if(self.truth(test), body, end)
        self.start(body)
        loop = self._loop_body(node.body, head, end)
        self.branch(head)
        if not forever or loop.breaks:
            self.start(end)

    def _loop_body(self, statements, again: str, end: str) -> _Loop:
        self._loops.append(_Loop(again, end))
        self._suite(statements)
        return self._loops.pop()

    def _for(self, node) -> None:
        call = node.iter
        if (
            node.orelse
            or not isinstance(node.target, ast.Name)
            or not isinstance(call, ast.Call)
            or self.compile_time(call.func) is not range
        ):
            self.fail("for loops have the form `for name in range(...)`, without else")
        start, stop, step = self._range(call.args, node.target.id)
        type_ = start.type
        counter = self.fresh("%counter")
        self.allocas.append(f"  {counter} = alloca {type_.llvm}")
        self._store(Value(type_, counter), start)
        head, body = self.fresh("for"), self.fresh("body")
        again, end = self.fresh("next"), self.fresh("end")
        self.branch(head)
        self.start(head)
        current = self.op(type_, f"load {type_.llvm}, ptr {counter}")
        inside = self.compare(ast.Lt if step > 0 else ast.Gt, current, stop)
        self.branch_if(inside, body, end)
        self.start(body)
        self._assign_name(node.target, current)
        self._loop_body(node.body, again, end)
        self.branch(again)
        self.start(again)
        # The counter stays in range, so it does not wrap; saying so lets loops be vectorised.
        wrap = "nsw" if type_.signed else ("nuw" if step > 0 else "")
        amount = f"{type_.llvm} {current.text}, {step}"
        self._store(Value(type_, counter), self.op(type_, f"add {wrap} {amount}"))
        self.branch(head)
        self.start(end)

    def _range(self, arguments, target: str):
        values = [self.expression(argument) for argument in arguments]
        step = values.pop() if len(values) == 3 else Literal(1)
        if len(values) == 1:
            values = [Literal(0), *values]
        if len(values) != 2 or not isinstance(step, Literal) or not step.value:
            self.fail("range(start, stop, step) takes a compile-time step other than 0")
        if all(isinstance(value, Literal) for value in values):
            known = self.variables.get(target)
            type_ = known.type if known is not None else i64
            values = [self.coerce(value, type_) for value in values]
        start, stop = self.unify(*values)
        if not start.type.is_integer:
            self.fail(f"range counts integers, not {start.type}")
        return start, stop, int(step.value)

    def _break(self, node) -> None:
        self._loops[-1].breaks = True
        self.branch(self._loops[-1].end)

    def _continue(self, node) -> None:
        self.branch(self._loops[-1].again)


_STATEMENTS = {
    ast.Pass: FunctionEmitter._pass,
    ast.Expr: FunctionEmitter._bare,
    ast.Assign: FunctionEmitter._assign,
    ast.AnnAssign: FunctionEmitter._annotated,
    ast.AugAssign: FunctionEmitter._augmented,
    ast.Return: FunctionEmitter._return,
    ast.If: FunctionEmitter._if,
    ast.While: FunctionEmitter._while,
    ast.For: FunctionEmitter._for,
    ast.Break: FunctionEmitter._break,
    ast.Continue: FunctionEmitter._continue,
}
