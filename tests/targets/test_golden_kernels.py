"""Golden kernels: their loop IR as stored, and object code for every machine without running it.

Where a kernel has changed on purpose:

    PYTHONPATH=src python tests/support/golden_kernels.py
"""

import functools

import golden_kernels
import pytest

from yesca.loops.verify import verify
from yesca.passes.pipeline import lower
from yesca.runtime import machine
from yesca.runtime.compiler import Compiler, probed_features
from yesca.runtime.native.halves import PROVIDED
from yesca.runtime.object_symbols import defined_symbols, undefined_symbols
from yesca.targets.llvm import emit_module
from yesca.targets.products import product_kernel, product_target

LINUX, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
MACHINES = {"x86-64-v2": (LINUX, "x86-64-v2"), "x86-64-v3": (LINUX, "x86-64-v3"),
            "x86-64-v4": (LINUX, "x86-64-v4"), "aarch64": (ARM, "generic")}
ELF_MACHINES = {LINUX: 62, ARM: 183}
#: Functions of the C library that code generation may call; the engine binds them by name.
C_LIBRARY = {"fma", "fmaf", "memcpy", "memset"}
PRODUCTS = [("tile", "float32"), ("tile", "float64"), ("row", "float32"), ("pack", "float32"),
            ("pack", "bfloat16"), ("pack", "float16"), ("dot", "float32"), ("dot", "float16"),
            ("dots", "float64"), ("dots", "bfloat16")]


@functools.cache
def compiler(name):
    return Compiler(*MACHINES[name])


def check_object(code, name, symbols):
    """An object for the machine, with the symbols, that asks for nothing the engine lacks."""
    assert code[:6] == b"\x7fELF\x02\x01"
    assert int.from_bytes(code[18:20], "little") == ELF_MACHINES[MACHINES[name][0]]
    assert set(symbols) <= set(defined_symbols(code))
    needs = set(undefined_symbols(code)) - {"_GLOBAL_OFFSET_TABLE_"}
    assert needs <= C_LIBRARY | set(PROVIDED)
    assert all(machine.resolve(need) for need in needs & C_LIBRARY)


@pytest.mark.parametrize("name", golden_kernels.CASES)
def test_loop_ir(name):
    stored = golden_kernels.file_of(name).read_text(encoding="utf-8")
    assert golden_kernels.printed(name) == stored


def test_every_file_has_a_kernel():
    known = {golden_kernels.file_of(name) for name in golden_kernels.CASES}
    assert set(golden_kernels.FOLDER.iterdir()) == known


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kernel", golden_kernels.CASES)
def test_objects(kernel, name):
    functions = [(lower(stage), f"stage{k}", variant)
                 for k, (stage, variant) in enumerate(golden_kernels.stages(kernel))]
    for stage, _, _ in functions:
        verify(stage, lowered=True)
    code = compiler(name).compile(emit_module(functions), kernel)
    check_object(code, name, [symbol for _, symbol, _ in functions])


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(("kind", "dtype"), PRODUCTS)
def test_products(kind, dtype, name):
    triple = MACHINES[name][0]
    features = probed_features(compiler(name)) if triple == LINUX else ""
    text = product_kernel(kind, dtype, product_target(triple, features), "product")
    check_object(compiler(name).compile(text), name, ["product"])
