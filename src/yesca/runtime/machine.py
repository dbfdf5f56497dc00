"""The LLVM engine: text in, machine code at an address out.

One engine serves the whole process and is made on first need. `load` takes a cache key (a hex
hash of whatever determines the text) and a callable that gives the LLVM text on a miss; a hit
costs a file read and a link, a miss a compilation at O2 for the host. What the text defines must
carry the key in its name: the engine resolves two functions of one name silently to the last.
What it calls is declared in it and bound by name when it is loaded, so that stored code holds no
address of any process.
"""

import ctypes
import hashlib
import sys
import threading
from dataclasses import dataclass, field

from ..base import settings
from . import cache as _cache
from . import forks
from .compiler import Compiler, MachineError, probed_features
from .object_symbols import undefined_symbols
from .tile_unit import usable

# Part of every entry's name: raise it when passes or options change.
PIPELINE_VERSION = 1
_MINIMUM_KEY = 16

# Compiling, loading and the cache are serialised, also against fork: a child must never find
# the lock held by a thread that it does not have.
LOCK = threading.RLock()
forks.join(before=LOCK.acquire, in_parent=LOCK.release, in_child=LOCK.release)


@dataclass
class Counters:
    """How often this process compiled, loaded from disk, or found code already loaded."""

    compiles: int = 0
    loads: int = 0
    hits: int = 0


counters = Counters()
_symbols: dict[int, str] = {}  # of all addresses that were asked for


@dataclass(frozen=True)
class Module:
    """Loaded machine code. Never unloaded: addresses stay valid until the process ends."""

    name: str
    key: str
    _addresses: dict = field(default_factory=dict, compare=False, repr=False)

    def address(self, symbol: str) -> int:
        """The address of a function or variable that this module defines."""
        found = self._addresses.get(symbol)
        if found is None:
            _require_key(symbol, self.key, self.name)
            with LOCK:
                found = _engine().address(symbol)
            if not found:
                raise MachineError(f"[machine] {self.name!r} defines no symbol {symbol!r}")
            self._addresses[symbol] = found
            _symbols[found] = symbol
        return found

    def function(self, symbol: str, restype=None, *argtypes, gil: bool = False):
        """The function as a ctypes callable; `gil` keeps the GIL held during the call."""
        maker = ctypes.PYFUNCTYPE if gil else ctypes.CFUNCTYPE
        return maker(restype, *argtypes)(self.address(symbol))


@dataclass(frozen=True)
class Kernel:
    """One request to `load_many`: `text` is LLVM text or a callable that makes it on a miss."""

    name: str
    key: str
    text: object


def symbol(name: str, key: str) -> str:
    """The symbol to define for `name` under `key`: unique in the process."""
    return f"{name}_{key}"


def hash_key(*parts) -> str:
    """A cache key from texts, bytes or numbers that together determine a kernel."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def load(name: str, text, key: str, externals=None) -> Module:
    """Machine code for `text` (LLVM text, or a callable giving it, run on a miss only).

    `key` is a hex hash that determines the text and occurs in each symbol the text defines.
    `externals` maps further declared names to addresses; functions of CPython and the C
    library need no mention. Raises MachineError for text LLVM refuses and for unknown names.
    """
    return load_many([Kernel(name, key, text)], externals)[0]


def load_many(kernels, externals=None) -> list:
    """Like `load` for several kernels; those that must be compiled share one LLVM module."""
    kernels = list(kernels)
    with LOCK:
        engine = _engine()
        engine.bind(externals)
        missing = {}
        for kernel in kernels:
            if kernel.key in engine.modules:
                counters.hits += 1
            elif engine.restore(kernel):
                counters.loads += 1
            else:
                missing[kernel.key] = kernel
        if missing:
            engine.compile(list(missing.values()))
        return [engine.modules[kernel.key] for kernel in kernels]


def symbol_at(address: int) -> str:
    """The symbol of the loaded function that begins at an address, empty if none was asked for."""
    return _symbols.get(address, "")


def stored(key: str) -> Module | None:
    """Machine code that is loaded or on disk, None if it must be compiled first."""
    with LOCK:
        engine = _engine()
        if key not in engine.modules and not engine.restore(Kernel("stored", key, "")):
            return None
        return engine.modules[key]


def fetch(key: str) -> _cache.Entry | None:
    """What `keep` has stored on disk, by this or another process for the same machine."""
    with LOCK:
        return _cache.current().get(_engine().entry_name(key))


def keep(key: str, entry: _cache.Entry) -> None:
    """Store an entry that is no machine code, but holds for this machine's code only."""
    with LOCK:
        _cache.current().put(_engine().entry_name(key), entry)


def bind(externals) -> None:
    """Bind names (a mapping to addresses) for all modules loaded later."""
    with LOCK:
        _engine().bind(externals)


def resolve(name: str) -> int:
    """The address of a function or variable of CPython or the C library; 0 if there is none."""
    for library in (ctypes.pythonapi, _c_library()):
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(library, name))
        except ValueError:
            continue
    return 0


def _provided(name: str) -> int:
    """Conversions of half types that LLVM calls by name where the CPU has no instruction."""
    if not name.startswith("__"):
        return 0
    from . import units
    from .native.halves import PROVIDED

    return units.address(PROVIDED[name]) if name in PROVIDED else 0


def target() -> tuple:
    """(CPU name, feature string) that code is compiled for."""
    with LOCK:
        engine = _engine()
        return engine.cpu, engine.features


def shaping_features() -> tuple:
    """(triple, features) that decide the shape of kernels, what the CPU's name implies included.

    LLVM lists all that the host has; of another CPU, and of one with features taken away, it is
    asked by trying.
    """
    with LOCK:
        engine = _engine()
        if not (settings.CPU.get() or settings.CPU_FEATURES.get()) or \
                not engine.triple.startswith("x86_64"):
            return engine.triple, engine.features
        # The text of the assembly is read, which is ELF's on all systems.
        asked = Compiler("x86_64-unknown-linux-gnu", engine.cpu, engine.features)
        return engine.triple, probed_features(asked)


_libraries = []


def _c_library():
    if not _libraries:
        _libraries.append(ctypes.CDLL(None))
    return _libraries[0]


_the_engine = None


def _engine():
    global _the_engine
    if _the_engine is None:
        _the_engine = Engine()
        # Native code may run until the very end of the process (pool threads, destructors of
        # capsules), so the engine must never be collected, not even at interpreter exit.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_the_engine))
    return _the_engine


def _join_forks(llvm) -> None:
    """Hold llvmlite's own lock around forks: its objects are also disposed of outside `LOCK`."""
    lock = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
    if lock is not None:
        forks.join(before=lock.acquire, in_parent=lock.release, in_child=lock.release)


class Engine:
    """The one MCJIT engine of a process; used under `LOCK` only."""

    def __init__(self):
        import llvmlite.binding as llvm

        self._llvm = llvm
        _join_forks(llvm)
        self.triple = llvm.get_process_triple()
        self.cpu, self.features = self._choose_cpu()
        version = ".".join(str(part) for part in llvm.llvm_version_info)
        self.tag = hash_key(
            self.triple, self.cpu, self.features, PIPELINE_VERSION, version, sys.byteorder
        )[:16]
        self.modules = {}  # key -> Module
        self._bound = {}  # name -> address
        self._objects = []
        self._compiler = Compiler(self.triple, self.cpu, self.features)
        self._mcjit = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""), self._compiler.target_machine()
        )

    def _choose_cpu(self):
        cpu = settings.CPU.get()
        host = "" if cpu else usable(self._llvm.get_host_cpu_features().flatten())
        # The user's words come last: LLVM obeys the last, with all that depends on it.
        words = [word for word in (host, settings.CPU_FEATURES.get()) if word]
        return cpu or self._llvm.get_host_cpu_name(), ",".join(words)

    def address(self, symbol_name: str) -> int:
        return self._mcjit.get_function_address(symbol_name)

    def bind(self, externals) -> None:
        for name, address in (externals or {}).items():
            if self._bound.get(name) != address:
                self._llvm.add_symbol(name, address)
                self._bound[name] = address

    def restore(self, kernel) -> bool:
        """Load `kernel` from disk; False on a miss."""
        if settings.DEBUG.get() >= 4:
            return False  # the reader wants to see the text and what becomes of it
        cache = _cache.current()
        name = self.entry_name(kernel.key)
        entry = cache.get(name)
        if entry is not None and "group" in entry.meta:
            name = entry.meta["group"]
            entry = cache.get(name)
        if entry is None or kernel.key not in entry.meta.get("keys", ()):
            return False
        try:
            self._add(entry, {kernel.key: kernel.name})
        except MachineError:  # made beside another C library: what it calls is not here
            return False
        for key in entry.meta["keys"]:
            cache.mark(self.entry_name(key), beside=name)
        return True

    def compile(self, kernels: list) -> None:
        """Compile kernels into one object, store it, load it."""
        module = self._parse_all(kernels)
        debug = settings.DEBUG.get()
        self._compiler.optimise(module)
        if debug >= 5:
            print(module, file=sys.stderr)
        if debug >= 6:
            print(self._compiler.assembly(module), file=sys.stderr)
        code = self._compiler.emit(module)
        keys = [kernel.key for kernel in kernels]
        entry = _cache.Entry({"keys": keys, "needs": undefined_symbols(code)}, code)
        counters.compiles += 1
        self._add(entry, {kernel.key: kernel.name for kernel in kernels})
        self._store(keys, entry)

    def _store(self, keys, entry) -> None:
        cache = _cache.current()
        if len(keys) == 1:
            cache.put(self.entry_name(keys[0]), entry)
            return
        group = self.entry_name(hash_key(*keys))
        cache.put(group, entry)
        for key in keys:
            cache.put(self.entry_name(key), _cache.Entry({"group": group}, b""))

    def entry_name(self, key: str) -> str:
        return f"{key}-{self.tag}"

    def _parse_all(self, kernels):
        whole = None
        for kernel in kernels:
            module = self._parse(kernel)
            if whole is None:
                whole = module
            else:
                whole.link_in(module)
        return whole

    def _parse(self, kernel):
        _check_key(kernel)
        text = kernel.text() if callable(kernel.text) else kernel.text
        if settings.DEBUG.get() >= 4:
            print(f"; {kernel.name} {kernel.key}\n{text}", file=sys.stderr)
        module = self._compiler.parse(text, kernel.name)
        for value in (*module.functions, *module.global_variables):
            if not value.is_declaration and value.linkage == self._llvm.Linkage.external:
                _require_key(value.name, kernel.key, kernel.name)
        return module

    def _add(self, entry, names) -> None:
        self._require(entry.meta["needs"])
        # The engine reads the object's bytes in place, so both live as long as it does.
        parsed = self._llvm.ObjectFileRef.from_data(entry.code)
        self._objects.append((parsed, entry.code))
        self._mcjit.add_object_file(parsed)
        self._mcjit.finalize_object()
        for key in entry.meta["keys"]:
            self.modules.setdefault(key, Module(names.get(key, "kernel"), key))

    def _require(self, needed) -> None:
        """Bind names by which code reaches outside: LLVM would abort on one it cannot find."""
        for name in needed:
            if name in self._bound:
                continue
            address = _provided(name) or resolve(name) or self.address(name)
            if not address:
                raise MachineError(
                    f"[machine] no address for the external symbol {name!r}; pass it in "
                    "`externals`"
                )
            self.bind({name: address})


def _check_key(kernel) -> None:
    key = kernel.key
    if len(key) < _MINIMUM_KEY or set(key) - set("0123456789abcdef"):
        raise ValueError(
            f"[machine] the key of {kernel.name!r} must be a hex hash of at least "
            f"{_MINIMUM_KEY} digits, got {key!r}"
        )


def _require_key(symbol_name: str, key: str, name: str) -> None:
    if key not in symbol_name:
        raise ValueError(
            f"[machine] symbol {symbol_name!r} of {name!r} must contain its key {key!r}; "
            "use machine.symbol(name, key)"
        )
