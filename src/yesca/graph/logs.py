"""What YESCA_LOGS (or TORCH_LOGS) asks for is written here, to the standard error output."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec

from ..base import settings

#: What is written here, and when.
WRITTEN = {
    "fusion": "the launches of each new program, what was joined in them and what is not stored",
    "graph_breaks": "what made recorded calls run before the function's end, and its line",
    "output_code": "the kernel and the loop of each launch of a new program",
    "recompiles": "why a function that had programs needed a further one",
}
#: Parts of PyTorch, which take a level, and what else there is to see of them; most are not here.
PARTS = frozenset(
    "all aot async_compile autograd c10d cache ddp distributed dtensor dynamic dynamo export "
    "fake_tensor fsdp inductor native_dsl onnx pp torch".split()
)
ARTIFACTS = frozenset(
    "annotation aot_graphs aot_graphs_effects aot_joint_graph auto_chunker autotuning benchmarking "
    "bytecode caching compiled_autograd compiled_autograd_verbose compute_dependencies "
    "cudagraph_static_inputs cudagraphs custom_format_test_artifact ddp_graphs graph graph_code "
    "graph_code_verbose graph_region_expansion graph_sizes guards hierarchical_compile incremental "
    "inductor_metrics ir_post_fusion ir_pre_fusion kernel_code loop_ordering loop_tiling "
    "node_runtime_estimation not_implemented onnx_diagnostics overlap overlap_scheduling "
    "perf_hints post_grad_graphs pre_grad_graphs recompiles_verbose schedule side_effects sym_node "
    "trace_bytecode trace_call trace_shape_events trace_source verbose_guards".split()
) | WRITTEN.keys()


def on(name: str) -> bool:
    """Whether reports of this name are wanted; `all`, and PyTorch's `+name`, ask for them too."""
    names = settings.LOGS.get()
    return bool(names) and any(
        word.lstrip("+-") == name or word.lstrip("+") == "all" for word in names)


def write(name: str, text: str) -> None:
    """Write one report."""
    print(f"[{name}] {text}", file=sys.stderr)


def check() -> None:
    """Raise ValueError, as PyTorch does, where what is asked for has a name that nobody knows."""
    names = settings.LOGS.get()
    if names:
        _check(names)


@cache
def _check(names: tuple[str, ...]) -> None:
    asked = ",".join(names)
    if asked.lstrip("+") == "help":
        lines = (f"  {name:<14}{what}" for name, what in WRITTEN.items())
        raise ValueError("\nYESCA_LOGS (or TORCH_LOGS) takes names with commas between them:\n"
                         + "\n".join(lines) + "\n  all           all of these\n"
                         "Other names of PyTorch's logs are accepted, and write nothing.\n")
    if not all(known(name.lstrip("+-")) for name in names):
        raise ValueError(
            f"\nInvalid log settings: {asked}, must be a comma separated list of fully\n"
            "qualified module names, registered log names or registered artifact names.\n"
            'For more info on various settings, try TORCH_LOGS="help"\n'
            f"Valid settings:\n{', '.join(sorted(PARTS | ARTIFACTS))}\n")


def known(name: str) -> bool:
    """Whether a name is that of a part, of an artifact, or of a module."""
    return (name in PARTS or name in ARTIFACTS or name.startswith("torch.")
            or find_spec(name) is not None)
