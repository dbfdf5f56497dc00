"""LLVM text to an object file, for this machine or for another one.

A `Compiler` is a triple, a CPU name and a feature string as LLVM writes them. The engine has one
for the host; tests have others, so that every machine's code comes out of the same passes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any


class MachineError(RuntimeError):
    """The text of a kernel could not be parsed, compiled or linked."""


class Compiler:
    """Parses, optimises at O2 and emits for one machine; used under the machine's lock."""

    def __init__(self, triple: str, cpu: str, features: str = "") -> None:
        import llvmlite.binding as llvm

        self._llvm = llvm
        if triple == llvm.get_process_triple():
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
        else:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        self.triple, self.cpu, self.features = triple, cpu, features

    @cached_property
    def _target(self) -> Any:  # made when first needed: a warm cache needs none
        return self.target_machine()

    def target_machine(self) -> Any:
        """LLVM's description of the machine; an engine takes one for itself."""
        return self._llvm.Target.from_triple(self.triple).create_target_machine(
            opt=3, cpu=self.cpu, features=self.features, jit=True)

    def parse(self, text: str, name: str = "kernel") -> Any:
        """The verified module of a text. Raises MachineError for what LLVM refuses."""
        try:
            module = self._llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise MachineError(f"[machine] LLVM refuses {name!r}: {error}") from error
        return module

    def optimise(self, module: Any) -> None:
        """LLVM's pipeline at O2: kernels as fast as those of O3, in three quarters of its time."""
        llvm = self._llvm
        module.triple = self.triple
        module.data_layout = str(self._target.target_data)
        options = llvm.PipelineTuningOptions(speed_level=2)
        options.loop_vectorization = True
        options.loop_interleaving = True
        options.loop_unrolling = True
        options.slp_vectorization = True
        builder = llvm.create_pass_builder(self._target, options)
        builder.getModulePassManager().run(module, builder)

    def assembly(self, module: Any) -> str:
        """The module as assembly, for people."""
        return str(self._target.emit_assembly(module))

    def emit(self, module: Any) -> bytes:
        """The module as an object file."""
        return bytes(self._target.emit_object(module))

    def compile(self, text: str, name: str = "kernel") -> bytes:
        """The object file of a text."""
        module = self.parse(text, name)
        self.optimise(module)
        return self.emit(module)


# One function for each feature that shapes kernels, and what its code looks like with it.
_PROBES = {
    "avx2": ("<8 x i32>", "add <8 x i32> %a, %a", "ymm"),
    "fma": ("<8 x float>", "call <8 x float> @llvm.fma.v8f32("
            "<8 x float> %a, <8 x float> %a, <8 x float> %a)", "vfmadd"),
    "f16c": ("<4 x float>", "fpext <4 x half> %h to <4 x float>", "vcvtph2ps"),
    "avx512f": ("<16 x i32>", "add <16 x i32> %a, %a", "zmm"),
    "avx512bw": ("<32 x i16>", "add <32 x i16> %a, %a", "zmm"),
    "avx512dq": ("<8 x i64>", "mul <8 x i64> %a, %a", "vpmullq"),
    "avx512vl": ("<4 x i64>", "call <4 x i64> @llvm.abs.v4i64(<4 x i64> %a, i1 false)", "vpabsq"),
}


def probed_features(compiler: Compiler) -> str:
    """Those features of an x86 machine that kernels ask for, as `+avx2,+fma`.

    LLVM knows what the name of a CPU implies and does not say; the code that it writes does.
    """
    lines = ["declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)",
             "declare <4 x i64> @llvm.abs.v4i64(<4 x i64>, i1)"]
    for name, (kind, expression, _) in _PROBES.items():
        lines += [f"define {kind} @{name}({kind} %a, <4 x half> %h) #0 {{",
                  f"  %r = {expression}", f"  ret {kind} %r", "}"]
    lines.append('attributes #0 = { "prefer-vector-width"="512" "min-legal-vector-width"="512" }')
    pieces = compiler.assembly(compiler.parse("\n".join(lines))).split("@function")
    bodies = {piece.split(":", 1)[0].strip(): piece for piece in pieces[1:]}
    return ",".join(f"+{name}" for name, (_, _, sign) in _PROBES.items() if sign in bodies[name])
