"""Expressions of the native subset to LLVM values.

Compile-time numbers stay `Literal` until something asks for a type; everything else has exactly
the type it was given. There are no implicit conversions between machine types: an error that
names both types is worth more than a silent widening.
"""

import ast
import builtins
import operator

from .native_intrinsics import Intrinsic
from .native_types import (
    Literal, NativeError, NativeType, Value, bool_, f64, i64, literal_text, members, ptr, void,
)  # fmt: skip

_INTEGER_WORDS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor", ast.LShift: "shl",
}  # fmt: skip
_FLOAT_WORDS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_SIGNED_WORDS = {  # operator -> (signed, unsigned)
    ast.FloorDiv: ("sdiv", "udiv"), ast.Mod: ("srem", "urem"), ast.RShift: ("ashr", "lshr"),
}  # fmt: skip
_COMPARISONS = {  # operator -> (signed, unsigned and pointers, floats)
    ast.Eq: ("eq", "eq", "oeq"), ast.NotEq: ("ne", "ne", "une"),
    ast.Lt: ("slt", "ult", "olt"), ast.LtE: ("sle", "ule", "ole"),
    ast.Gt: ("sgt", "ugt", "ogt"), ast.GtE: ("sge", "uge", "oge"),
    ast.Is: ("eq", "eq", "oeq"), ast.IsNot: ("ne", "ne", "une"),
}  # fmt: skip
_FOLD = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Pow: operator.pow,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.eq, ast.IsNot: operator.ne,
}  # fmt: skip
_MISSING = object()


class ExpressionEmitter:
    """Emits into `self.lines`; `unit` collects what the module must declare.

    `function` is the NativeFunction being compiled: it gives file, names and their objects.
    """

    def __init__(self, function, unit):
        self.function = function
        self.unit = unit
        self.lines = []
        self.allocas = []
        self.variables = {}  # name -> Value whose text is the address of the local
        self.node = None  # for the line of an error
        self.block = "entry"
        self.terminated = False
        self._serial = 0

    # Plumbing.

    def fail(self, message: str):
        line = self.node.lineno if self.node is not None else self.function.line
        raise NativeError(f"{self.function.file}:{line}: {message}")

    def fresh(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}{self._serial}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def op(self, type_: NativeType, text: str) -> Value:
        name = self.fresh("%t")
        self.line(f"{name} = {text}")
        return Value(type_, name)

    def declare(self, name: str, text: str) -> None:
        self.unit.declare(name, text)

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label
        self.terminated = False

    def branch(self, label: str) -> None:
        if not self.terminated:
            self.line(f"br label %{label}")
        self.terminated = True

    def branch_if(self, condition: Value, then: str, otherwise: str) -> None:
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")
        self.terminated = True

    def stack(self, nbytes: int, align: int) -> Value:
        name = self.fresh("%stack")
        self.allocas.append(f"  {name} = alloca [{nbytes} x i8], align {align}")
        return Value(ptr, name)

    def call(self, type_: NativeType, target: str, values, variadic: str = ""):
        arguments = ", ".join(f"{value.type.argument} {value.text}" for value in values)
        text = f"call {variadic or type_.returned} {target}({arguments})"
        if type_ is void:
            self.line(text)
            return None
        return self.op(type_, text)

    # Conversions.

    def settle(self, value) -> Value:
        """A Value: literals take their default type."""
        if isinstance(value, Literal):
            return self.coerce(value, value.default_type)
        if not isinstance(value, Value):
            self.fail("a value is needed here" if value is not None else "void has no value")
        return value

    def coerce(self, value, type_: NativeType) -> Value:
        """`value` as `type_`: literals adapt, pointer types mix, all else must be equal."""
        if isinstance(value, Literal):
            text = literal_text(value.value, type_)
            if text is None:
                self.fail(f"{value.value!r} is no {type_}")
            return Value(type_, text)
        value = self.settle(value)
        if value.type == type_:
            return value
        if value.type.is_pointer and type_.is_pointer:
            return Value(type_, value.text)
        return self.fail(f"expected {type_}, got {value.type}; write {type_}(...) to convert")

    def cast(self, value, type_: NativeType):
        """The meaning of `type_(value)` in source."""
        if isinstance(value, Literal):
            if type_.is_pointer:
                return Value(type_, f"inttoptr (i64 {int(value.value or 0)} to ptr)")
            return self.coerce(Literal(type_(value.value)), type_)
        value = self.settle(value)
        source = value.type
        if type_.kind == "bool":
            return self.truth(value)
        if source == type_ or (source.is_pointer and type_.is_pointer):
            return Value(type_, value.text)
        word = self._cast_word(source, type_)
        if word is None:
            return Value(type_, value.text)
        return self.op(type_, f"{word} {source.llvm} {value.text} to {type_.llvm}")

    def _cast_word(self, source, target):
        if source.is_pointer or target.is_pointer:
            other = target if source.is_pointer else source
            if not other.is_integer or other.bits != 64:
                self.fail(f"{source} does not convert to {target}; use a 64-bit integer")
            return "ptrtoint" if source.is_pointer else "inttoptr"
        if source.is_float and target.is_float:
            return "fpext" if target.bits > source.bits else "fptrunc"
        if source.is_float:
            return "fptosi" if target.signed else "fptoui"
        if target.is_float:
            return "sitofp" if source.signed else "uitofp"
        if source.bits == target.bits:
            return None
        if source.bits > target.bits:
            return "trunc"
        return "sext" if source.signed else "zext"

    def truth(self, value) -> Value:
        """`value` as a condition: non-zero, non-null."""
        if isinstance(value, Literal):
            return Value(bool_, "true" if value.value else "false")
        value = self.settle(value)
        kind, text = value.type.llvm, value.text
        if value.type.kind == "bool":
            return value
        if value.type.is_float:
            return self.op(bool_, f"fcmp une {kind} {text}, 0.0")
        zero = "null" if value.type.is_pointer else "0"
        return self.op(bool_, f"icmp ne {kind} {text}, {zero}")

    def offset(self, pointer: Value, offset: Value) -> Value:
        if offset.text == "0":
            return pointer
        return self.op(
            pointer.type,
            f"getelementptr i8, ptr {pointer.text}, {offset.type.llvm} {offset.text}",
        )

    # Names.

    def compile_time(self, node):
        """The Python object that `name` or `namespace.name` stands for, or _MISSING."""
        if isinstance(node, ast.Name) and node.id not in self.variables:
            return self.function.lookup(node.id, _MISSING)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return members(self.compile_time(node.value)).get(node.attr, _MISSING)
        return _MISSING

    def _object(self, thing, spelling: str):
        if thing is None or isinstance(thing, (bool, int, float)):
            return Literal(thing)
        if isinstance(thing, (str, bytes)):
            return Value(ptr, self.unit.string(thing))
        if isinstance(thing, NativeType):
            return thing  # only generic load and store take it
        reference = self.unit.variable(thing)
        if reference is not None:
            return Value(ptr, reference)
        return self.fail(f"{spelling} is a {type(thing).__name__}, which has no native value")

    # Expressions.

    def expression(self, node):
        """A Value, a Literal, a NativeType, or None for a void call."""
        outer, self.node = self.node, node
        emit = _EXPRESSIONS.get(type(node))
        if emit is None:
            self.fail(f"{type(node).__name__} is not in the native subset")
        value = emit(self, node)
        self.node = outer
        return value

    def _constant(self, node):
        return self._object(node.value, repr(node.value))

    def _name(self, node):
        spelling = ast.unparse(node)
        if isinstance(node, ast.Name) and node.id in self.variables:
            place = self.variables[node.id]
            return self.op(place.type, f"load {place.type.llvm}, ptr {place.text}")
        thing = self.compile_time(node)
        if thing is _MISSING:
            self.fail(f"name {spelling!r} is not known here")
        return self._object(thing, spelling)

    def _unary(self, node):
        value = self.expression(node.operand)
        kind = type(node.op)
        if isinstance(value, Literal):
            fold = {ast.USub: operator.neg, ast.UAdd: operator.pos,
                    ast.Invert: operator.invert, ast.Not: operator.not_}  # fmt: skip
            return Literal(fold[kind](value.value))
        if kind is ast.Not:
            return self.op(bool_, f"xor i1 {self.truth(value).text}, true")
        value = self.settle(value)
        if kind is ast.UAdd:
            return value
        if value.type.is_float and kind is ast.USub:
            return self.op(value.type, f"fneg {value.type.llvm} {value.text}")
        if not value.type.is_integer:
            self.fail(f"{ast.unparse(node)}: not defined for {value.type}")
        if kind is ast.USub:
            return self.op(value.type, f"sub {value.type.llvm} 0, {value.text}")
        return self.op(value.type, f"xor {value.type.llvm} {value.text}, -1")

    def _binary(self, node):
        return self.binary(type(node.op), self.expression(node.left),
                           self.expression(node.right))  # fmt: skip

    def binary(self, kind, left, right):
        """`left op right` for values that are already emitted."""
        if isinstance(left, Literal) and isinstance(right, Literal):
            return Literal(_FOLD[kind](left.value, right.value))
        if isinstance(left, Value) and left.type.is_pointer:
            return self._pointer_arithmetic(kind, left, right)
        if kind in (ast.LShift, ast.RShift) and isinstance(right, Value):
            right = self.cast(right, self.settle(left).type)
        left, right = self.unify(left, right)
        type_ = left.type
        if type_.is_float:
            word = _FLOAT_WORDS.get(kind)
        elif kind in _SIGNED_WORDS and type_.is_integer:
            word = _SIGNED_WORDS[kind][0 if type_.signed else 1]
        elif type_.is_integer or kind in (ast.BitAnd, ast.BitOr, ast.BitXor):
            word = _INTEGER_WORDS.get(kind)
        else:
            word = None
        if word is None:
            self.fail(f"{kind.__name__} is not defined for {type_}")
        return self.op(type_, f"{word} {type_.llvm} {left.text}, {right.text}")

    def _pointer_arithmetic(self, kind, left, right):
        if kind is ast.Sub and isinstance(right, Value) and right.type.is_pointer:
            ends = [self.op(i64, f"ptrtoint ptr {v.text} to i64") for v in (left, right)]
            return self.binary(ast.Sub, *ends)
        step = self.coerce(right, right.type if isinstance(right, Value) else i64)
        if not step.type.is_integer or step.type.bits != 64 or kind not in (ast.Add, ast.Sub):
            self.fail(f"a pointer takes + or - with i64 or u64, not {kind.__name__} {step.type}")
        if kind is ast.Sub:
            step = self.op(i64, f"sub i64 0, {step.text}")
        return self.offset(left, step)

    def unify(self, left, right):
        """Both operands in one type: a literal takes the type of the other side."""
        if isinstance(left, Literal) and isinstance(right, Literal):
            floats = any(isinstance(side.value, float) for side in (left, right))
            type_ = f64 if floats else left.default_type
        else:
            type_ = (right if isinstance(left, Literal) else left).type
        return self.coerce(left, type_), self.coerce(right, type_)

    def _compare(self, node):
        if len(node.ops) != 1:
            self.fail("chained comparisons are not in the native subset; use `and`")
        kind = type(node.ops[0])
        left, right = self.expression(node.left), self.expression(node.comparators[0])
        if isinstance(left, Literal) and isinstance(right, Literal):
            return Literal(_FOLD[kind](left.value, right.value))
        if kind not in _COMPARISONS:
            self.fail(f"{kind.__name__} is not in the native subset")
        return self.compare(kind, left, right)

    def compare(self, kind, left, right) -> Value:
        left, right = self.unify(left, right)
        type_ = left.type
        words = _COMPARISONS[kind]
        if type_.is_float:
            word = f"fcmp {words[2]}"
        else:
            word = f"icmp {words[0 if type_.signed else 1]}"
        return self.op(bool_, f"{word} {type_.llvm} {left.text}, {right.text}")

    def _short_circuit(self, node):
        stops = isinstance(node.op, ast.Or)  # the value that ends the evaluation
        end = self.fresh("decided")
        arrivals = []
        for index, operand in enumerate(node.values):
            value = self.expression(operand)
            if isinstance(value, Literal) and not arrivals:
                if bool(value.value) == stops or index == len(node.values) - 1:
                    return Literal(bool(value.value))
                continue
            condition = self.truth(value)
            arrivals.append((condition.text, self.block))
            if index == len(node.values) - 1:
                break
            more = self.fresh("more")
            self.branch_if(condition, *((end, more) if stops else (more, end)))
            self.start(more)
        if len(arrivals) == 1:
            return Value(bool_, arrivals[0][0])
        self.branch(end)
        self.start(end)
        return self._phi(bool_, arrivals)

    def _phi(self, type_, arrivals):
        pairs = ", ".join(f"[ {text}, %{block} ]" for text, block in arrivals)
        return self.op(type_, f"phi {type_.llvm} {pairs}")

    def _conditional(self, node):
        test = self.expression(node.test)
        if isinstance(test, Literal):
            return self.expression(node.body if test.value else node.orelse)
        condition = self.truth(test)
        then, otherwise, end = self.fresh("then"), self.fresh("else"), self.fresh("end")
        self.branch_if(condition, then, otherwise)
        values, blocks = [], []
        for label, part in ((then, node.body), (otherwise, node.orelse)):
            self.start(label)
            values.append(self.expression(part))
            blocks.append(self.block)
            self.branch(end)
        self.start(end)
        values = self.unify(*values)
        arrivals = [(value.text, block) for value, block in zip(values, blocks, strict=True)]
        return self._phi(values[0].type, arrivals)

    # Calls.

    def _call(self, node):
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.fail("native calls take positional arguments only")
        target = self.compile_time(node.func)
        spelling = ast.unparse(node.func)
        if target is _MISSING:
            self.fail(f"{spelling!r} is not known here")
        if target is self.unit.ADDRESS_OF:
            return Value(ptr, self.unit.callee(self.compile_time(node.args[0]), self.fail).text)
        arguments = [self.expression(argument) for argument in node.args]
        if isinstance(target, NativeType):
            if len(arguments) != 1:
                self.fail(f"{spelling}(...) converts one value")
            return self.cast(arguments[0], target)
        if isinstance(target, Intrinsic):
            return target.emit(self, arguments)
        if target in (min, max, abs):
            return self._builtin(target, arguments)
        return self._call_function(self.unit.callee(target, self.fail), spelling, arguments)

    def _call_function(self, callee, spelling, arguments):
        types = callee.arguments
        count = len(arguments)
        if count < len(types) or (count > len(types) and not callee.variadic):
            self.fail(f"{spelling} takes {len(types)} arguments, got {count}")
        values = [self.coerce(v, t) for v, t in zip(arguments, types, strict=False)]
        values += [self.settle(value) for value in arguments[len(types):]]
        variadic = ""
        if callee.variadic:
            kinds = ", ".join([*(type_.llvm for type_ in types), "..."])
            variadic = f"{callee.result.returned} ({kinds})"
        return self.call(callee.result, callee.text, values, variadic)

    def _builtin(self, target, arguments):
        if target is builtins.abs:
            value = self.settle(arguments[0])
            negative = self.compare(ast.Lt, value, Literal(0))
            if value.type.is_float:
                kind = value.type.llvm
                name = f"llvm.fabs.{value.type}"
                self.declare(name, f"declare {kind} @{name}({kind})")
                return self.call(value.type, f"@{name}", [value])
            minus = self.op(value.type, f"sub {value.type.llvm} 0, {value.text}")
            return self._select(negative, minus, value)
        if all(isinstance(value, Literal) for value in arguments):
            return Literal(target(value.value for value in arguments))
        result = arguments[0]
        for other in arguments[1:]:
            # As CPython: min(a, b) is b if b < a else a.
            result, other = self.unify(result, other)
            kind = ast.Lt if target is builtins.min else ast.Gt
            result = self._select(self.compare(kind, other, result), other, result)
        return result

    def _select(self, condition, yes, no):
        kind = yes.type.llvm
        text = f"select i1 {condition.text}, {kind} {yes.text}, {kind} {no.text}"
        return self.op(yes.type, text)


_EXPRESSIONS = {
    ast.Constant: ExpressionEmitter._constant,
    ast.Name: ExpressionEmitter._name,
    ast.Attribute: ExpressionEmitter._name,
    ast.UnaryOp: ExpressionEmitter._unary,
    ast.BinOp: ExpressionEmitter._binary,
    ast.Compare: ExpressionEmitter._compare,
    ast.BoolOp: ExpressionEmitter._short_circuit,
    ast.IfExp: ExpressionEmitter._conditional,
    ast.Call: ExpressionEmitter._call,
}
