"""The kernel of bytes times packed int8 weights, for each shape of machine, against integers."""

from __future__ import annotations

import ctypes
import functools

import llvmlite.binding as llvm
import numpy as np
import pytest

from yesca.targets.products_int8 import (
    DEPTH, EXTRAS, INT8_WORDS, LANES, UNIT_PANELS, int8_kernel, int8_target,
)

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
TRIPLE = llvm.get_default_triple()
HOST = llvm.get_host_cpu_features().flatten()
V4 = "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx2,+fma"
#: name -> features that decide the kernel; those of a host that has them all run.
MACHINES = {"host": HOST, "plain": "+sse4.2", "avx2": "+avx2,+fma", "avx512": V4,
            "avxvnni": "+avx2,+fma,+avxvnni", "vnni": V4 + ",+avx512vnni"}
RUNNING = [name for name, features in MACHINES.items() if name == "host" or
           TRIPLE.startswith("x86_64") and all(one in HOST.split(",")
                                               for one in features.split(","))]
#: triple, CPU, features, what the assembly must hold
COMPILED = [
    ("x86_64-unknown-linux-gnu", "x86-64-v2", "+sse4.2", "pmadd"),
    ("x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2", "vpmadd"),
    ("x86_64-unknown-linux-gnu", "alderlake", "+avx2,+avxvnni", "vpdpbusd"),
    ("x86_64-unknown-linux-gnu", "icelake-server", V4 + ",+avx512vnni", "vpdpbusd"),
    ("aarch64-unknown-linux-gnu", "generic", "+neon", "mla"),
]
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
ENGINES = []


def module_for(triple, cpu, features):
    """(optimised module, target machine)."""
    module = llvm.parse_assembly(int8_kernel(int8_target(triple, features), "entry"))
    module.verify()
    module.triple = triple
    setting = llvm.Target.from_triple(triple).create_target_machine(
        opt=2, cpu=cpu, features=features, jit=True)
    builder = llvm.create_pass_builder(setting, llvm.PipelineTuningOptions(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    return module, setting


@functools.cache
def compiled(machine):
    module, setting = module_for(TRIPLE, llvm.get_host_cpu_name(), MACHINES[machine])
    engine = llvm.create_mcjit_compiler(module, setting)
    engine.finalize_object()
    ENGINES.append(engine)
    return ENTRY(engine.get_function_address("entry"))


def packed(weights, scales):
    """(out, in) as the kernel reads it, with a scale for each row."""
    rows, inner = weights.shape
    whole = np.zeros((-(-rows // LANES) * LANES, -(-inner // DEPTH) * DEPTH), np.int8)
    whole[:rows, :inner] = weights
    panels = whole.reshape(-1, LANES, whole.shape[1] // DEPTH, DEPTH).transpose(0, 2, 1, 3)
    factors = np.zeros(len(whole), np.float32)
    factors[:rows] = scales
    extras = [np.ascontiguousarray(values).view(np.int8).reshape(-1, 1, LANES, DEPTH)
              for values in (whole.sum(1, dtype=np.int32), factors)]
    return np.ascontiguousarray(np.concatenate([panels, *extras], 1))


@pytest.mark.parametrize("machine", RUNNING)
@pytest.mark.parametrize("rows, inner, columns", [
    (1, 1, 1), (1, 784, 130), (3, 37, 16), (4, 8, 17), (9, 130, 200), (6, 4, 64)])
def test_sums_are_exact(machine, rows, inner, columns):
    rng = np.random.default_rng(rows * inner + columns)
    # The largest products first: sums of 16 bits would saturate.
    weights = rng.choice(np.array([-128, 127, 3], np.int8), (columns, inner))
    scales = rng.random(columns).astype(np.float32)
    panels = packed(weights, scales)
    groups = panels.shape[1] - EXTRAS
    a = np.full((rows, groups * DEPTH), 255, np.uint8)
    a[:, :inner] = rng.choice(np.array([255, 254, 0], np.uint8), (rows, inner))
    bias = rng.standard_normal(columns).astype(np.float32)
    found = np.array([0.5, 7.0, 2.0], np.float32)
    wanted = (a[:, :inner].astype(np.int64) - 7) @ weights.T.astype(np.int64)
    wanted = wanted.astype(np.float32) * (np.float32(0.5) * scales)
    for added in (bias, None):
        c = np.full((rows, columns + 2), 99, np.float32)
        arrays = [c, a, panels, added, found]
        blocks = -(-columns // (LANES * UNIT_PANELS))
        words = np.array([0 if x is None else x.ctypes.data for x in arrays] + [
            rows, columns, groups, a.shape[1], 4 * (columns + 2), 5, blocks], np.int64)
        assert len(words) == len(INT8_WORDS)
        compiled(machine)(words.ctypes.data, 0, -(-rows // 5) * blocks)
        np.testing.assert_array_equal(c[:, :columns], wanted + (0 if added is None else added))
        assert (c[:, columns:] == 99).all()


@pytest.mark.parametrize("triple, cpu, features, instruction", COMPILED)
def test_it_compiles_for_other_machines(triple, cpu, features, instruction):
    module, setting = module_for(triple, cpu, features)
    assert instruction in setting.emit_assembly(module)


def test_the_shape_of_a_machine():
    intel = "x86_64-unknown-linux-gnu"
    shapes = {name: int8_target(intel, features) for name, features in MACHINES.items()}
    assert [shapes[n].vnni for n in ("plain", "avx2", "avx512", "avxvnni", "vnni")] == [
        0, 0, 0, 256, 512]
    assert int8_target("aarch64-unknown-linux-gnu", "+neon").vector_bits == 128
