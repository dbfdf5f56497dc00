"""The native subset: typed Python functions that become machine code through LLVM text.

The runtime's own machinery (pool, allocator, generators, executor) is written in it:

    unit = Unit("example")

    @unit.function
    def add_all(values: ptr, count: i64) -> f64:
        total = 0.0
        for index in range(count):
            total += load_f64(values, index * 8)
        return total

`unit.key` is a hash of the source file's bytes, of the constants and functions the bodies name
and of this compiler; `unit.text()` is the LLVM text. Source is read and parsed in `text()` only,
which a cached object never asks for. `runtime/units.py` turns a unit into addresses.

The subset: locals typed by their first assignment or annotation; + - * // % & | ^ << >> (division
truncates, which is Python's only for non-negative operands; shifts must be less than the width);
comparisons, and/or/not, conditional expressions; if, while, for over range, break, continue,
return; calls of types (conversion), native functions, externals and intrinsics; min, max, abs;
module-level numbers, decided when compiled: `if CONSTANT:` compiles one branch only.
"""

import builtins
import functools
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from ..base.caching import once
from .native_intrinsics import *  # noqa: F403
from .native_intrinsics import Intrinsic
from .native_types import (  # noqa: F401
    CTYPES, NativeError, NativeType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, members,
    obj, ptr, u8, u16, u32, u64, void,
)  # fmt: skip


@dataclass(frozen=True)
class External:
    """A C function, bound by name when the code is loaded."""

    name: str
    arguments: tuple
    result: NativeType
    variadic: bool = False


@dataclass(frozen=True)
class ExternalData:
    """A C variable; as a value it is the variable's address."""

    name: str


@dataclass(frozen=True, eq=False)
class Global:
    """Zero-initialised memory of a unit; as a value it is its address."""

    unit: "Unit"
    name: str
    nbytes: int
    align: int

    @property
    def symbol(self) -> str:
        return f"{self.name}_{self.unit.key}"


def external(name: str, arguments, result: NativeType = void, variadic: bool = False):
    """Declare a C function: `external("PyLong_FromLongLong", [i64], obj)`."""
    return External(name, tuple(arguments), result, variadic)


def external_data(name: str) -> ExternalData:
    """Declare a C variable: `load_obj(external_data("PyExc_TypeError"))`."""
    return ExternalData(name)


def address_of(function):
    """The address of a native function or external, inside native code only."""
    raise NativeError("address_of has no meaning under CPython")


@dataclass(frozen=True)
class Callee:
    """What a call needs to know: the symbol's text and the signature."""

    text: str
    arguments: tuple
    result: NativeType
    variadic: bool = False


class NativeFunction:
    """A function of a unit. Called from Python it runs the Python body, converted at the ends."""

    def __init__(self, unit, function, name, inline, vector_width, noalias):
        self.unit = unit
        self.python = function
        self.name = name or function.__name__
        self.inline = inline
        self.vector_width = vector_width
        self.noalias = frozenset(noalias)
        self.file = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        functools.update_wrapper(self, function)

    @once
    def _closure(self):
        names = self.python.__code__.co_freevars
        cells = self.python.__closure__ or ()
        return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}

    def lookup(self, name: str, missing=None):
        """The object that `name` means in the function's body, seen from outside."""
        for scope in (self._closure, self.python.__globals__, vars(builtins)):
            if name in scope:
                return scope[name]
        return missing

    @once
    def _signature(self):
        code = self.python.__code__
        names = code.co_varnames[: code.co_argcount]
        result = self._annotation("return")
        return {name: self._annotation(name) for name in names}, result

    def _annotation(self, name: str) -> NativeType:
        type_ = self.python.__annotations__.get(name)
        if isinstance(type_, str):
            type_ = self.lookup(type_)
        if type_ is None and name == "return":
            return void
        if not isinstance(type_, NativeType):
            raise NativeError(f"{self.file}:{self.line}: {self.name}: {name!r} has no native type")
        return type_

    @property
    def parameters(self) -> dict:
        return self._signature[0]

    @property
    def result(self) -> NativeType:
        return self._signature[1]

    @property
    def symbol(self) -> str:
        return f"{self.name}_{self.unit.key}"

    def ctypes_signature(self) -> tuple:
        """(result, *arguments) as ctypes types."""
        return CTYPES[self.result], *(CTYPES[type_] for type_ in self.parameters.values())

    def __call__(self, *arguments):
        pairs = zip(self.parameters.values(), arguments, strict=True)
        value = self.python(*(type_(argument) for type_, argument in pairs))
        return None if self.result is void else self.result(value)

    def __repr__(self) -> str:
        return f"<native function {self.unit.name}.{self.name}>"


@dataclass(eq=False)
class Unit:
    """A collection of native functions and variables: one LLVM module, one cached object."""

    name: str
    functions: dict = field(default_factory=dict)
    globals: dict = field(default_factory=dict)

    def function(self, function=None, *, name=None, inline=False, vector_width=None, noalias=()):
        """Decorator: add a function.

        `inline` makes it part of every caller, callers in other units included; `vector_width`
        (bits) asks for vectors of that width; `noalias` names pointer parameters through which
        alone their memory is reached.
        """
        if function is None:
            return lambda later: self.function(
                later, name=name, inline=inline, vector_width=vector_width, noalias=noalias
            )
        native = NativeFunction(self, function, name, inline, vector_width, noalias)
        self._add(self.functions, native.name, native)
        return native

    def global_(self, name: str, nbytes: int, align: int = 64) -> Global:
        """Zeroed memory that lives as long as the process."""
        variable = Global(self, name, nbytes, align)
        self._add(self.globals, name, variable)
        return variable

    def _add(self, table, name, thing):
        if "key" in self.__dict__:
            raise NativeError(f"unit {self.name!r} is compiled already; {name!r} comes too late")
        if name in self.functions or name in self.globals:
            raise NativeError(f"unit {self.name!r} has two things named {name!r}")
        table[name] = thing

    @once
    def _references(self):
        found = {}
        for function in self.functions.values():
            found.update(_references(function))
        return found

    @once
    def imports(self) -> tuple:
        """The units whose functions or variables this one names, in a stable order."""
        units = {
            thing.unit.name: thing.unit
            for thing in self._references.values()
            if isinstance(thing, (NativeFunction, Global)) and thing.unit is not self
        }
        return tuple(units[name] for name in sorted(units))

    @once
    def key(self) -> str:
        """The hash that names the unit's symbols and its cached object."""
        state = hashlib.blake2b(digest_size=16)
        parts = [compiler_version(), self.name]
        files = {function.file for function in self.functions.values()}
        parts += [_source_digest(file, self._scope(file)) for file in sorted(files)]
        parts += [_describe(function) for function in self.functions.values()]
        parts += [f"{g.name} {g.nbytes} {g.align}" for g in self.globals.values()]
        parts += [f"{name}={_describe(thing)}" for name, thing in self._references.items()
                  if not isinstance(thing, (NativeFunction, Global))]  # fmt: skip
        parts += [unit.key for unit in self.imports]
        state.update("\0".join(parts).encode())
        return state.hexdigest()

    def _scope(self, file):
        functions = (f for f in self.functions.values() if f.file == file)
        return next(functions).python.__globals__

    def text(self) -> str:
        """The LLVM text of the unit. Raises NativeError with file and line."""
        return _ModuleEmitter(self).emit()


class _ModuleEmitter:
    """The text of one unit: definitions, and the declarations they turn out to need."""

    ADDRESS_OF = staticmethod(address_of)

    def __init__(self, unit: Unit):
        self.unit = unit
        self._declarations = {}
        self._strings = {}
        self._copied = {}  # inline functions of other units, copied into this one
        self._pending = []

    def emit(self) -> str:
        parts = [self._define(f, "", f.symbol) for f in self.unit.functions.values()]
        while self._pending:
            function = self._pending.pop()
            parts.append(self._define(function, "internal ", self._copied[function]))
        variables = [
            f"@{g.symbol} = global [{g.nbytes} x i8] zeroinitializer, align {g.align}"
            for g in self.unit.globals.values()
        ]
        strings = [f"{name} = {text}" for text, name in self._strings.items()]
        return "\n".join([*variables, *strings, *self._declarations.values(), *parts])

    def _define(self, function, linkage, symbol) -> str:
        from .native_emit import FunctionEmitter  # only a miss needs the compiler

        tree = _tree(function)
        width = function.vector_width
        tail = "nounwind" + (" alwaysinline" if function.inline else "")
        tail += f' "prefer-vector-width"="{width}"' if width else ""
        head = f"{linkage}{function.result.returned} @{symbol}"
        return FunctionEmitter(function, self).emit(tree, head, tail)

    def declare(self, name: str, text: str) -> None:
        self._declarations.setdefault(name, text)

    def string(self, text) -> str:
        """The name of a zero-terminated constant."""
        data = (text.encode() if isinstance(text, str) else text) + b"\0"
        escaped = "".join(f"\\{byte:02X}" for byte in data)
        body = f'private unnamed_addr constant [{len(data)} x i8] c"{escaped}"'
        return self._strings.setdefault(body, f"@string.{len(self._strings)}")

    def variable(self, thing) -> str | None:
        """The text of a variable's address, or None when `thing` is no variable."""
        if isinstance(thing, Global):
            if thing.unit is not self.unit:
                self.declare(thing.symbol, f"@{thing.symbol} = external global i8")
            return f"@{thing.symbol}"
        if isinstance(thing, ExternalData):
            self.declare(thing.name, f"@{thing.name} = external global i8")
            return f"@{thing.name}"
        return None

    def callee(self, thing, fail) -> Callee:
        """How to call a native function or an external."""
        if isinstance(thing, External):
            kinds = [type_.argument for type_ in thing.arguments] + ["..."] * thing.variadic
            self.declare(
                thing.name, f"declare {thing.result.returned} @{thing.name}({', '.join(kinds)})"
            )
            return Callee(f"@{thing.name}", thing.arguments, thing.result, thing.variadic)
        if not isinstance(thing, NativeFunction):
            fail(f"{thing!r} cannot be called from native code")
        arguments = tuple(thing.parameters.values())
        symbol = thing.symbol
        if thing.unit is not self.unit:
            symbol = self._foreign(thing, arguments)
        return Callee(f"@{symbol}", arguments, thing.result)

    def _foreign(self, function, arguments) -> str:
        if not function.inline:
            kinds = ", ".join(type_.argument for type_ in arguments)
            text = f"declare {function.result.returned} @{function.symbol}({kinds})"
            self.declare(function.symbol, text)
            return function.symbol
        if function not in self._copied:
            self._copied[function] = f"inline.{function.symbol}"
            self._pending.append(function)
        return self._copied[function]


_trees = {}


def _tree(function):
    """The syntax tree of a native function's definition."""
    import ast
    import linecache

    if function.file not in _trees:
        lines = linecache.getlines(function.file, function.python.__globals__)
        if not lines:
            raise NativeError(f"{function.file}: the source of {function.name} is not available")
        found = {}
        for node in ast.walk(ast.parse("".join(lines), function.file)):
            if isinstance(node, ast.FunctionDef):
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                found[first] = node
        _trees[function.file] = found
    return _trees[function.file][function.line]


def _references(function) -> dict:
    """Every native thing or number that the body may name, by its dotted name."""
    names = (*function.python.__code__.co_names, *function.python.__code__.co_freevars)
    found = {}
    for name in names:
        thing = function.lookup(name)
        inside = members(thing)
        parts = ((f"{name}.{part}", inside[part]) for part in names if part in inside)
        found.update((key, part) for key, part in parts if _describe(part) is not None)
        if _describe(thing) is not None:
            found[name] = thing
    return found


def _describe(thing) -> str | None:
    """What of `thing` determines code; None for objects that are nothing to native code."""
    if isinstance(thing, NativeFunction):
        annotations = {name: str(type_) for name, type_ in thing.python.__annotations__.items()}
        options = (thing.inline, thing.vector_width, sorted(thing.noalias))
        return f"{thing.name} {thing.line} {annotations} {options}"
    if isinstance(thing, Global):
        return thing.name
    if isinstance(thing, (bool, int, float, str, bytes, NativeType, External, ExternalData)):
        return repr(thing)
    return thing.name if isinstance(thing, Intrinsic) else None


@functools.cache
def _file_digest(file: str) -> str:
    return hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()


def _source_digest(file: str, scope) -> str:
    try:
        return _file_digest(file)
    except OSError:  # not a file of its own: an archive, an interactive session
        import linecache

        text = "".join(linecache.getlines(file, scope))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@functools.cache
def compiler_version() -> str:
    """A digest of this compiler's own source: any change to it makes new keys."""
    here = Path(__file__)
    return " ".join(_file_digest(str(path)) for path in sorted(here.parent.glob("native*.py")))
