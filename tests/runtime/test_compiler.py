"""The compiler: other machines than the host, and what the name of a CPU implies."""

import platform

import pytest

from yesca.runtime.compiler import Compiler, MachineError, probed_features
from yesca.runtime.object_symbols import defined_symbols, undefined_symbols

LINUX = "x86_64-unknown-linux-gnu"
#: CPUs of this machine's kind, and the bytes of their vectors.
CPUS = [("x86-64-v2", 16), ("x86-64-v3", 32)] if platform.machine() in ("x86_64", "AMD64") \
    else [("cortex-a72", 16)]
TEXT = """
declare double @llvm.fma.f64(double, double, double)
define double @twice(double %a) {
  %r = call double @llvm.fma.f64(double %a, double 2.0, double %a)
  ret double %r
}
"""


@pytest.mark.parametrize(("triple", "cpu", "machine", "needs"), [
    (LINUX, "x86-64-v2", 62, ["fma"]),
    (LINUX, "x86-64-v3", 62, []),
    ("aarch64-unknown-linux-gnu", "generic", 183, []),
])
def test_objects_of_other_machines(triple, cpu, machine, needs):
    code = Compiler(triple, cpu).compile(TEXT)
    assert code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == machine
    assert "twice" in defined_symbols(code)
    assert [name for name in undefined_symbols(code) if not name.startswith("_G")] == needs


def test_text_that_llvm_refuses():
    with pytest.raises(MachineError, match="refuses 'odd'"):
        Compiler(LINUX, "x86-64-v2").compile("define nothing", "odd")


@pytest.mark.parametrize(("cpu", "features", "wanted"), [
    ("x86-64-v2", "", ""),
    ("x86-64-v3", "", "+avx2,+fma,+f16c"),
    ("x86-64-v3", "-fma,-f16c", "+avx2"),
    ("skylake-avx512", "", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl"),
    ("skylake-avx512", "-avx512f", "+avx2,+fma,+f16c"),
])
def test_features_that_a_cpu_implies(cpu, features, wanted):
    assert probed_features(Compiler(LINUX, cpu, features)) == wanted


@pytest.mark.parametrize(("cpu", "vector"), CPUS)
def test_products_take_the_vectors_of_the_named_cpu(cpu, vector, run_python):
    """YESCA_CPU names the machine; its vectors are not those of the plainest one."""
    program = "from yesca.runtime import products; print(products.target().vector_bytes)"
    found = run_python("-c", program, YESCA_CPU=cpu)
    assert found.stdout == f"{vector}\n", found.stderr
