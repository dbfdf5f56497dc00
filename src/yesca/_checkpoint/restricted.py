"""The unpickler behind `weights_only=True`.

A small stack machine over the instructions that state dicts need. It names only allowed
globals, calls only those, sets items only of dicts, appends only to lists, and sets state only
of allowed types. Whatever is wrong with the stream ends in an exception.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from struct import unpack
from typing import Any

from .._global_names import is_known, resolve
from ..base.frames import warn
from . import allowed_globals as allowed
from .messages import shown, unsupported_global

_RENAMED_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_RENAMED = {("builtins", "long"): ("builtins", "int"), ("builtins", "unicode"): ("builtins", "str")}
_LONGEST_NAME = 1000
_DICTS = (dict, OrderedDict, Counter)


def read_global(readline: Callable[[], bytes]) -> tuple[str, str]:
    """Module and name of a GLOBAL instruction, with Python 2's names brought up to date."""
    try:
        module, name = (readline()[:-1].decode("utf-8") for _ in range(2))
    except UnicodeDecodeError:
        raise UnpicklingError("a global's name is not text: the pickle is corrupt") from None
    if len(module) + len(name) > _LONGEST_NAME:
        raise UnpicklingError(f"a global's name has {len(module) + len(name)} characters: the "
                              "pickle is corrupt")
    module = _RENAMED_MODULES.get(module, module)
    return _RENAMED.get((module, name), (module, name))


class Unpickler:
    """As `pickle.Unpickler`, restricted. `persistent_load` is set by whoever makes it."""

    def __init__(self, file: Any, *, encoding: str = "bytes") -> None:
        self._file = file
        self._encoding = encoding
        self.persistent_load: Callable[[Any], Any] = _no_persistent_ids

    def load(self) -> Any:
        """The object that the stream describes."""
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._user_ids = frozenset(id(value) for value in allowed.user_names().values())
        steps = _STEPS
        while True:
            code = self._read(1)[0]
            if code == _STOP:
                return self._pop()
            step = steps.get(code)
            if step is None:
                raise UnpicklingError(f"Unsupported operand {code}")
            step(self)

    # --- the stream and the stack ---

    def _read(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise EOFError(f"Ran out of input: the pickle ends {count - len(data)} bytes early")
        return data

    def _readline(self) -> bytes:
        line = self._file.readline()
        if not line.endswith(b"\n"):
            raise EOFError("Ran out of input: the pickle ends within a name")
        return line

    def _pop(self) -> Any:
        if not self._stack:
            raise UnpicklingError("unexpected end of the stack: the pickle is corrupt")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack:
            raise UnpicklingError("unexpected end of the stack: the pickle is corrupt")
        return self._stack[-1]

    def _pop_mark(self) -> list[Any]:
        if not self._marks:
            raise UnpicklingError("could not find MARK: the pickle is corrupt")
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _is_allowed(self, target: Any) -> bool:
        return id(target) in self._user_ids or id(target) in allowed.default_ids()

    # --- instructions that name or call something ---

    def _global(self) -> None:
        module, name = read_global(self._readline)
        path = f"{module}.{name}"
        if module in allowed.BLOCKED_MODULES:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked."
            )
        if path in allowed.default_names():
            self._push(allowed.default_global(module, name))
            return
        found = allowed.user_global(module, name)
        if found is None and is_known(module, name):
            resolve(module, name)  # says what is not there
        if found is None:
            raise UnpicklingError(unsupported_global(path))
        self._push(found)

    def _reduce(self) -> None:
        args = self._pop()
        func = self._top()
        if not self._is_allowed(func) or not isinstance(args, tuple):
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {shown(func)}")
        self._stack[-1] = self._call(func, args)

    def _newobj(self) -> None:
        args = self._pop()
        cls = self._pop()
        if not isinstance(cls, type) or not self._is_allowed(cls) or not isinstance(args, tuple):
            raise UnpicklingError("Can only create new object for nn.Parameter or classes "
                                  f"allowlisted via `add_safe_globals` but got {shown(cls)}")
        if id(cls) in allowed.default_ids():
            self._push(self._call(cls, args))
        else:
            self._push(cls.__new__(cls, *args))

    @staticmethod
    def _call(func: Any, args: tuple[Any, ...]) -> Any:
        func = allowed.stand_ins().get(id(func), func)
        if func is allowed.default_global("torch", "Tensor"):
            raise UnpicklingError("tensors are made by the functions of torch._utils, not by "
                                  "calling torch.Tensor")
        try:
            return func(*args)
        except (TypeError, ValueError, OverflowError, LookupError, AttributeError) as error:
            raise UnpicklingError(f"{getattr(func, '__name__', func)} refused its arguments: "
                                  f"{error}") from error

    def _build(self) -> None:
        state = self._pop()
        target = self._top()
        kind = type(target)
        if kind is OrderedDict:
            _update_attributes(target, state)
        elif not self._is_allowed(kind) or _is_tensor_class(kind):
            raise UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types "
                                  f"allowlisted via `add_safe_globals`, but got {kind}")
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            slots = None
            if isinstance(state, tuple) and len(state) == 2:
                state, slots = state
            if state:
                _update_attributes(target, state)
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def _persistent_id(self) -> None:
        reference = self._pop()
        if type(reference) is tuple and reference:
            kind = reference[0]
            if (kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind) != "storage":
                raise UnpicklingError("Only persistent_load of storage is allowed, but got "
                                      f"{shown(kind)}")
        elif type(reference) is not int:
            raise UnpicklingError("persistent_load id must be tuple or int, but got "
                                  f"{type(reference)}")
        self._push(self.persistent_load(reference))

    # --- containers ---

    def _mark(self) -> None:
        self._marks.append(self._stack)
        self._stack = []

    def _list(self) -> list[Any]:
        target = self._top()
        if type(target) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
        return target

    def _append(self) -> None:
        item = self._pop()
        self._list().append(item)

    def _appends(self) -> None:
        items = self._pop_mark()
        self._list().extend(items)

    def _set_items(self, items: list[Any], instruction: str) -> None:
        target = self._top()
        if type(target) not in _DICTS:
            raise UnpicklingError(f"Can only {instruction} for dict, collections.OrderedDict, "
                                  f"collections.Counter, but got {type(target)}")
        if len(items) % 2:
            raise UnpicklingError(f"{instruction} with a key that has no value")
        for at in range(0, len(items), 2):
            key = items[at]
            try:
                target[key if type(key) is str else allowed.check_key(key)] = items[at + 1]
            except (TypeError, ValueError) as error:
                raise UnpicklingError(f"{instruction} with an unusable key: {error}") from None

    def _setitem(self) -> None:
        value = self._pop()
        self._set_items([self._pop(), value], "SETITEM")

    def _setitems(self) -> None:
        items = self._pop_mark()
        self._set_items(items, "SETITEMS")

    def _tuple(self) -> None:
        items = self._pop_mark()
        self._push(tuple(items))

    def _tuple_of(self, count: int) -> None:
        if len(self._stack) < count:
            raise UnpicklingError("unexpected end of the stack: the pickle is corrupt")
        self._stack[-count:] = [tuple(self._stack[-count:])]

    # --- values and the memo ---

    def _unicode(self) -> None:
        size = unpack("<I", self._read(4))[0]
        try:
            self._push(str(self._read(size), "utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise UnpicklingError("a string is not text: the pickle is corrupt") from None

    def _short_string(self) -> None:
        data = self._read(self._read(1)[0])
        self._push(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _long(self) -> None:
        self._push(pickle.decode_long(self._read(self._read(1)[0])))

    def _get(self, index: int) -> None:
        if index not in self._memo:
            raise UnpicklingError(f"Memo value not found at index {index}: the pickle is corrupt")
        self._push(self._memo[index])

    def _put(self, index: int) -> None:
        self._memo[index] = self._top()

    def _protocol(self) -> None:
        protocol = self._read(1)[0]
        if protocol != 2:
            warn(f"Detected pickle protocol {protocol} in the checkpoint, which was not the "
                 "default pickle protocol used by `torch.load` (2). The weights_only Unpickler "
                 "might not support all instructions implemented by this protocol; save with "
                 "the default, or load with weights_only=False if you trust the file.")


def _update_attributes(target: Any, state: Any) -> None:
    if not isinstance(state, dict) or not all(type(name) is str for name in state):
        raise UnpicklingError("BUILD of an object with something other than its attributes")
    target.__dict__.update(state)


def _is_tensor_class(cls: type) -> bool:
    # The state of a tensor is made by the rebuild functions, which check it.
    return issubclass(cls, allowed.default_global("torch", "Tensor"))


def _no_persistent_ids(reference: Any) -> Any:
    raise UnpicklingError("unsupported persistent id encountered")


_STOP = pickle.STOP[0]
_STEPS: dict[int, Callable[[Unpickler], Any]] = {
    code[0]: step for code, step in (
        (pickle.GLOBAL, Unpickler._global),
        (pickle.REDUCE, Unpickler._reduce),
        (pickle.NEWOBJ, Unpickler._newobj),
        (pickle.BUILD, Unpickler._build),
        (pickle.BINPERSID, Unpickler._persistent_id),
        (pickle.MARK, Unpickler._mark),
        (pickle.APPEND, Unpickler._append),
        (pickle.APPENDS, Unpickler._appends),
        (pickle.SETITEM, Unpickler._setitem),
        (pickle.SETITEMS, Unpickler._setitems),
        (pickle.TUPLE, Unpickler._tuple),
        (pickle.TUPLE1, lambda self: self._tuple_of(1)),
        (pickle.TUPLE2, lambda self: self._tuple_of(2)),
        (pickle.TUPLE3, lambda self: self._tuple_of(3)),
        (pickle.EMPTY_TUPLE, lambda self: self._push(())),
        (pickle.EMPTY_LIST, lambda self: self._push([])),
        (pickle.EMPTY_DICT, lambda self: self._push({})),
        (pickle.EMPTY_SET, lambda self: self._push(set())),
        (pickle.NONE, lambda self: self._push(None)),
        (pickle.NEWTRUE, lambda self: self._push(True)),
        (pickle.NEWFALSE, lambda self: self._push(False)),
        (pickle.BININT, lambda self: self._push(unpack("<i", self._read(4))[0])),
        (pickle.BININT1, lambda self: self._push(self._read(1)[0])),
        (pickle.BININT2, lambda self: self._push(unpack("<H", self._read(2))[0])),
        (pickle.BINFLOAT, lambda self: self._push(unpack(">d", self._read(8))[0])),
        (pickle.BINUNICODE, Unpickler._unicode),
        (pickle.SHORT_BINSTRING, Unpickler._short_string),
        (pickle.LONG1, Unpickler._long),
        (pickle.BINGET, lambda self: self._get(self._read(1)[0])),
        (pickle.LONG_BINGET, lambda self: self._get(unpack("<I", self._read(4))[0])),
        (pickle.BINPUT, lambda self: self._put(self._read(1)[0])),
        (pickle.LONG_BINPUT, lambda self: self._put(unpack("<I", self._read(4))[0])),
        (pickle.PROTO, Unpickler._protocol),
    )
}


def load(file: Any, *, encoding: str = "ASCII") -> Any:
    """As `pickle.load`, restricted."""
    return Unpickler(file, encoding=encoding).load()


def globals_in(file: Any) -> set[str]:
    """Dotted names of the globals that a pickle mentions, without running it."""
    import pickletools

    names: set[str] = set()
    for instruction, argument, _ in pickletools.genops(file.read()):
        if instruction.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            names.add(f"{module}.{name}")
    return names
