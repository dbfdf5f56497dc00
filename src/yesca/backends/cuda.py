"""`torch.backends.cuda`, without CUDA: the switches keep what is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base import absent
from .. import determinism

__all__ = [
    "is_built", "matmul", "cufft_plan_cache", "flash_sdp_enabled", "enable_flash_sdp",
    "mem_efficient_sdp_enabled", "enable_mem_efficient_sdp", "math_sdp_enabled",
    "enable_math_sdp", "cudnn_sdp_enabled", "enable_cudnn_sdp", "sdp_kernel",
    "fp16_bf16_reduction_math_sdp_allowed", "allow_fp16_bf16_reduction_math_sdp",
    "is_flash_attention_available", "can_use_flash_attention", "can_use_efficient_attention",
    "can_use_cudnn_attention", "preferred_linalg_library", "preferred_blas_library",
]

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
_reduced_math = False
_preferred = {"linalg": "default", "blas": "default"}


class cuBLASModule:
    """Switches of products: TF32 is one with `torch.set_float32_matmul_precision`."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may be computed in TF32."""
        return determinism.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        determinism.set_float32_matmul_precision("high" if value else "highest")


class cuFFTPlanCache:
    """The plans of a library that is not there."""

    size = 0
    max_size = 0

    def clear(self) -> None:
        """Nothing is cached."""


matmul = cuBLASModule()
cufft_plan_cache = cuFFTPlanCache()


def is_built() -> bool:
    """Whether the package has kernels for CUDA: False."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may use its flash kernel (a switch for CUDA)."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Set the switch that `flash_sdp_enabled` tells."""
    _attention["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use its memory-efficient kernel (a switch for CUDA)."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set the switch that `mem_efficient_sdp_enabled` tells."""
    _attention["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """Whether attention may be computed from its parts (a switch for CUDA)."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Set the switch that `math_sdp_enabled` tells."""
    _attention["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN (a switch for CUDA)."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set the switch that `cudnn_sdp_enabled` tells."""
    _attention["cudnn"] = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether attention may sum in half precision (a switch for CUDA)."""
    return _reduced_math


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Set the switch that `fp16_bf16_reduction_math_sdp_allowed` tells."""
    global _reduced_math
    _reduced_math = enabled


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, bool]]:
    """A context with these switches (PyTorch's newer form is `torch.nn.attention`)."""
    before = dict(_attention)
    _attention.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )
    try:
        yield {}
    finally:
        _attention.update(before)


def is_flash_attention_available() -> bool:
    """Whether there is a flash kernel for CUDA: False."""
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """Whether the flash kernel for CUDA serves these arguments: False."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def preferred_linalg_library(backend: str | None = None) -> str:
    """The library for linear algebra on CUDA, kept as it is set."""
    _preferred["linalg"] = backend or _preferred["linalg"]
    return _preferred["linalg"]


def preferred_blas_library(backend: str | None = None) -> str:
    """The library for products on CUDA, kept as it is set."""
    _preferred["blas"] = backend or _preferred["blas"]
    return _preferred["blas"]


__getattr__ = absent.names_of(__name__)
