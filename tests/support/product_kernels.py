"""Product kernels compiled by themselves and run on NumPy's memory, for tests of plans."""

from __future__ import annotations

import ctypes
import functools

import llvmlite.binding as llvm
import numpy as np

from yesca.runtime.tile_unit import usable
from yesca.targets.products import ProductPlan, plan_product, product_kernel, product_target
from yesca.targets.products_text import ProductTarget

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
TRIPLE = llvm.get_default_triple()
HOST = usable(llvm.get_host_cpu_features().flatten())
MACHINES = {"host": (HOST, llvm.get_host_cpu_name())}
if TRIPLE.startswith("x86_64"):
    MACHINES["x86-64-v2"] = ("+sse4.2", "x86-64-v2")
    if "+avx2" in HOST and "+f16c" in HOST:
        MACHINES["x86-64-v3"] = ("+avx2,+fma,+f16c", "x86-64-v3")
        MACHINES["v3 without f16c"] = ("+avx2,+fma", "x86-64-v3")
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
ENGINES = []


TARGETS: dict[str, ProductTarget] = {}  # of machines that are not read as their features say


def target_of(machine: str) -> ProductTarget:
    return TARGETS.get(machine) or product_target(TRIPLE, MACHINES[machine][0])


@functools.cache
def compiled(kind: str, dtype: str, machine: str):
    """The machine function of one kernel."""
    features, cpu = MACHINES[machine]
    text = product_kernel(kind, dtype, target_of(machine), "entry")
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_triple(TRIPLE)
    setting = target.create_target_machine(opt=2, cpu=cpu, features=features, jit=True)
    builder = llvm.create_pass_builder(setting, llvm.PipelineTuningOptions(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, setting)
    engine.finalize_object()
    ENGINES.append(engine)
    return ENTRY(engine.get_function_address("entry"))


def stages(plan: ProductPlan, addresses: dict[str, int], machine: str):
    """The calls of a plan: (function, words, units) of each stage."""
    scratch = np.empty(plan.scratch_bytes + 64, np.uint8)
    addresses = addresses | {"scratch": -(-scratch.ctypes.data // 64) * 64}
    for stage in plan.stages:
        words = list(stage.words)
        for place, role in stage.pointers:
            words[place] += addresses[role]
        packed = (ctypes.c_int64 * len(words))(*words)
        yield compiled(stage.kernel, stage.dtype, machine), packed, stage.units
    del scratch


def product(a, b, c, initial=None, dtype=None, machine="host", run=None, **options) -> ProductPlan:
    """c[:] = product of 3-d arrays by the planned kernels; batches of one are repeated."""
    batch, m, n = c.shape
    k = a.shape[2]
    target = target_of(machine)
    strides = [(0 if x.shape[0] < batch else x.strides[0], *x.strides[1:]) for x in (a, b)]
    kept = None
    if initial is not None:
        kept = (0, 0) if initial.ndim == 1 else initial.strides[:2]
    plan = plan_product(
        dtype or str(a.dtype), batch, m, n, k, *strides, c.strides[:2],
        target=target, initial_strides=kept, **options,
    )  # fmt: skip
    addresses = {"a": a.ctypes.data, "b": b.ctypes.data, "c": c.ctypes.data}
    if initial is not None:
        addresses["initial"] = initial.ctypes.data
    run = run or (lambda function, words, units: function(words, 0, units))
    for function, words, units in stages(plan, addresses, machine):
        run(function, words, units)
    return plan


def array(generator, batch: int, rows: int, columns: int, layout: str, dtype: str) -> np.ndarray:
    """Random values by rows, columns, with gaps, or one row repeated; aligned to no vector."""
    shape = {"rows": (rows, columns), "columns": (columns, rows), "gaps": (rows, 2 * columns)}
    shape["repeated"] = shape["rows"]
    flat = generator.standard_normal(batch * shape[layout][0] * (shape[layout][1] + 3) + 1)
    cube = flat.astype(dtype)[1:].reshape(batch, shape[layout][0], shape[layout][1] + 3)[:, :, :-3]
    if layout == "repeated":
        return np.broadcast_to(cube[:, :1], cube.shape)
    return {"rows": cube, "columns": cube.transpose(0, 2, 1), "gaps": cube[:, :, ::2]}[layout]


def half_bits(values: np.ndarray, dtype: str) -> np.ndarray:
    """The 16-bit patterns of values, rounded (towards zero for bfloat16), layout kept."""
    if dtype == "float16":
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def half_values(bits: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "float16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)
