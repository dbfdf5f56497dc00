"""Native units to addresses: the join between the subset's compiler and the engine.

Units hold state (`unit.global_`), so each is one object of its own, loaded once: units never
share an LLVM module, where a second grouping would bring a second copy of the state.
"""

from ..targets.native import Global, NativeFunction, Unit
from . import machine


_modules: dict[Unit, machine.Module] = {}


def load_unit(unit: Unit) -> machine.Module:
    """The loaded code of a unit; the units it names are loaded first."""
    found = _modules.get(unit)
    if found is None:
        for needed in unit.imports:
            load_unit(needed)
        found = _modules[unit] = machine.load(unit.name, unit.text, unit.key)
    return found


def address(thing: NativeFunction | Global) -> int:
    """The address of a native function or variable, its unit loaded on first need."""
    return load_unit(thing.unit).address(thing.symbol)


def callable_of(function: NativeFunction, gil: bool = False):
    """The native function as a ctypes callable (about 0.5 µs a call)."""
    module = load_unit(function.unit)
    return module.function(function.symbol, *function.ctypes_signature(), gil=gil)
