"""Expressions of a kernel's function: Python's operators on blocks, and what is known meanwhile."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from . import blocks, types
from .blocks import Block
from .errors import NeedsInterpreter
from .recording import Counted, Recorder
from .sources import Function, constant_key, function_of

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}
_MISSING = object()
PYTHON_ONLY = "kernel.interpret[grid](...) runs all of Python"
_NUMBERS = (bool, int, float, str, tuple, list)


class Expressions:
    """Evaluates the expressions of one call of a function."""

    function: Function
    names: dict[str, Any]
    recorder: Recorder
    line: Any

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def either(self, condition: Block, then: Callable[[], Any], otherwise: Callable[[], Any]
               ) -> None:
        raise NotImplementedError

    def value(self, node: ast.expr) -> Any:
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise SyntaxError(f"unsupported expression in a kernel: {source_of(node)}; "
                              f"{PYTHON_ONLY}")
        return method(node)

    def of_Constant(self, node: ast.Constant) -> Any:  # noqa: N802
        return node.value

    def of_Name(self, node: ast.Name) -> Any:  # noqa: N802
        if node.id in self.names:
            return self.names[node.id]
        found = self.function.outer(node.id, _MISSING)
        if found is _MISSING:
            raise NameError(f"{node.id} is not defined here; a name that an `if` or a loop "
                            "assigns must have a value before it to live on")
        if isinstance(found, (*_NUMBERS, FunctionType)) or function_of(found) is not None:
            self._watch(self.function, node.id, partial(self.function.outer, node.id, None), found)
        return found

    def of_Attribute(self, node: ast.Attribute) -> Any:  # noqa: N802
        owner = self.value(node.value)
        found = getattr(owner, node.attr)
        if isinstance(found, _NUMBERS) and not isinstance(owner, Block):
            self._watch(owner, node.attr, partial(getattr, owner, node.attr, None), found)
        return found

    def _watch(self, owner: Any, name: str, read: Callable[[], Any], value: Any) -> None:
        """Numbers from around the kernel may be others at a later launch, and so may helpers."""
        self.recorder.outer[id(owner), name] = read, constant_key(value)

    def of_Tuple(self, node: ast.Tuple) -> Any:  # noqa: N802
        return tuple(self._items(node.elts))

    def of_List(self, node: ast.List) -> Any:  # noqa: N802
        return list(self._items(node.elts))

    def _items(self, nodes: list[ast.expr]) -> Any:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.value(node.value)
            else:
                yield self.value(node)

    def of_Slice(self, node: ast.Slice) -> Any:  # noqa: N802
        return slice(*(None if p is None else self.value(p)
                       for p in (node.lower, node.upper, node.step)))

    def of_Subscript(self, node: ast.Subscript) -> Any:  # noqa: N802
        return self.value(node.value)[self.value(node.slice)]

    def of_JoinedStr(self, node: ast.JoinedStr) -> str:  # noqa: N802
        return "".join(str(p.value) if isinstance(p, ast.Constant) else
                       str(self.value(p.value)) for p in node.values
                       if isinstance(p, (ast.Constant, ast.FormattedValue)))

    def of_BinOp(self, node: ast.BinOp) -> Any:  # noqa: N802
        return OPERATORS[type(node.op)](self.value(node.left), self.value(node.right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:  # noqa: N802
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, Block) and value.value.op != "const":
                return ~value if value.type is types.int1 else blocks.binary("eq", value, 0)
            return not value
        return OPERATORS[type(node.op)](value)

    def of_Compare(self, node: ast.Compare) -> Any:  # noqa: N802
        left, made = self.value(node.left), None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            here = OPERATORS[type(op)](left, right)
            made, left = here if made is None else _both(made, here), right
        return made

    def of_BoolOp(self, node: ast.BoolOp) -> Any:  # noqa: N802
        whole = isinstance(node.op, ast.And)
        made = self.value(node.values[0])
        for one in node.values[1:]:
            if not isinstance(made, Block):
                if bool(made) is not whole:
                    return made
                made = self.value(one)
                continue
            from . import language

            made = (language.logical_and if whole else language.logical_or)(made, self.value(one))
        return made

    def of_IfExp(self, node: ast.IfExp) -> Any:  # noqa: N802
        condition = self.value(node.test)
        if not isinstance(condition, Block) or condition.value.op == "const":
            return self.value(node.body if truth_of(condition) else node.orelse)
        name = f"if {node.lineno}:{node.col_offset}"

        def choose(part: ast.expr) -> Callable[[], None]:
            return lambda: self.names.__setitem__(name, self.value(part))

        self.either(condition, choose(node.body), choose(node.orelse))
        return self.names.pop(name)

    def of_Call(self, node: ast.Call) -> Any:  # noqa: N802
        function = self.value(node.func)
        args = list(self._items(node.args))
        kwargs: dict[str, Any] = {}
        for word in node.keywords:
            value = self.value(word.value)
            kwargs.update(value if word.arg is None else {word.arg: value})
        special = BUILTINS.get(function) if _hashable(function) else None
        self_line = self.line
        made = (special or self.call)(*(() if special else (function,)), *args, **kwargs)
        self.line = self_line
        return made


def _both(a: Any, b: Any) -> Any:
    return a & b if isinstance(a, Block) or isinstance(b, Block) else a and b


def truth_of(condition: Any) -> bool:
    return bool(condition.value.attr) if isinstance(condition, Block) else bool(condition)


def source_of(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]


def _hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None and not isinstance(value, Block)


def _range(*bounds: Any) -> Counted:
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Counted(start, stop, step)


def _extreme(name: str) -> Callable[..., Any]:
    def choose(*values: Any) -> Any:
        from . import language

        if not any(isinstance(v, Block) for v in values):
            return getattr(builtins, name)(*values)
        made = values[0]
        for v in values[1:]:
            made = getattr(language, f"{name}imum")(made, v)
        return made
    return choose


def _number(name: str, kind: types.dtype) -> Callable[..., Any]:
    def convert(value: Any) -> Any:
        return blocks.cast(value, kind) if isinstance(value, Block) else \
            getattr(builtins, name)(value)
    return convert


def _needs_python(*args: Any, **kwargs: Any) -> Any:
    raise NeedsInterpreter("print or breakpoint")


#: What Python's own functions are inside of kernels.
BUILTINS: dict[Any, Callable[..., Any]] = {
    range: _range, min: _extreme("min"), max: _extreme("max"), print: _needs_python,
    breakpoint: _needs_python, int: _number("int", types.int32),
    float: _number("float", types.float32), bool: _number("bool", types.int1),
}
