"""`torch.backends.cpu`: what the processor can do."""

from __future__ import annotations

from functools import cache

__all__ = ["get_cpu_capability"]


@cache
def get_cpu_capability() -> str:
    """`AVX512`, `AVX2`, `NEON` or `DEFAULT`, by the features that LLVM finds."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    for name, needed in (("AVX512", "avx512vl"), ("AVX2", "avx2"), ("NEON", "neon")):
        if features.get(needed):
            return name
    return "DEFAULT"
