"""Kernels of programs: `yesca.kernel` and its language. It answers `import triton` too."""

from .._lazy import lazily

_HOMES = {
    "launching": "jit JITFunction",
    "tuning": "Autotuner Config Heuristics autotune cdiv heuristics next_power_of_2",
    "errors": "CompilationError OutOfBounds Race",
    "version": "__version__",
}
_SUBMODULES = ("language", "runtime", "testing")

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, _SUBMODULES)
__all__ += _SUBMODULES
