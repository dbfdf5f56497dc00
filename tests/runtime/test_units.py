"""Native units: all of them compile for aarch64 too, and ask for nothing that is not there."""

AARCH64 = """
import platform
platform.machine = lambda: "aarch64"  # what units ask where machines differ

import importlib, pkgutil
from yesca.runtime import machine, native
from yesca.runtime.compiler import Compiler
from yesca.runtime.object_symbols import defined_symbols, undefined_symbols
from yesca.targets.native import Unit

compiler = Compiler("aarch64-unknown-linux-gnu", "generic")
codes = {}
for found in pkgutil.iter_modules(native.__path__):
    unit = getattr(importlib.import_module(f"{native.__name__}.{found.name}"), "unit", None)
    if isinstance(unit, Unit):
        text = unit.text() if callable(unit.text) else unit.text
        codes[unit.name] = compiler.compile(text, unit.name)
        assert int.from_bytes(codes[unit.name][18:20], "little") == 183
ours = {name for code in codes.values() for name in defined_symbols(code)}
for name, code in sorted(codes.items()):
    missing = [n for n in undefined_symbols(code) if n not in ours and not machine.resolve(n)]
    print(name, *missing)
"""


def test_every_unit_compiles_for_aarch64(run_python):
    found = run_python("-c", AARCH64)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.split("\n")[:-1]
    assert {"pool", "launch", "alloc", "waiting", "random"} <= set(lines)
    assert [line for line in lines if " " in line] == []
