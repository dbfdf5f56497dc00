"""The language of kernels: what `triton.language` calls `tl`.

    import yesca.kernels.language as tl

A kernel runs once for each *program* of its grid, on blocks whose sizes are powers of two. The
functions work inside of kernels (`yesca.kernel`) only. Python numbers take the type of the block
beside them.
"""

from ..._lazy import lazily

#: Functions that are methods of blocks too.
METHODS = frozenset(
    "to cast abs argmax argmin atomic_add broadcast_to cumprod cumsum exp exp2 expand_dims log "
    "log2 max min permute ravel reshape rsqrt sigmoid sin cos sqrt sum trans view xor_sum "
    "floor ceil erf softmax sort flip logical_and logical_or store".split())
_HOMES = {
    "core": (
        "constexpr program_id num_programs arange full zeros zeros_like where maximum minimum "
        "PropagateNan clamp cdiv cast expand_dims broadcast_to broadcast permute trans reshape "
        "ravel flip join dot gather logical_and logical_or static_print static_assert "
        "device_print device_assert assume debug_barrier swizzle2d range static_range tensor view "
        "multiple_of max_contiguous max_constancy"
    ),
    "math": (
        "abs ceil cos erf exp exp2 fdiv floor fma log log2 rsqrt sigmoid sin sqrt sqrt_rn div_rn "
        "umulhi"
    ),
    "memory": (
        "atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor "
        "load store"
    ),
    "random": (
        "philox rand rand4x randint randint4x randn randn4x uint_to_uniform_float"
    ),
    "reductions": (
        "argmax argmin associative_scan cumprod cumsum max min reduce softmax sort sum "
        "xor_sum"
    ),
    "windows": (
        "advance load_tensor_descriptor make_block_ptr make_tensor_descriptor "
        "store_tensor_descriptor"
    ),
    ".types": (
        "bfloat16 dtype float16 float32 float64 int1 int8 int16 int32 int64 pointer_type uint8 "
        "uint16 uint32 uint64"
    ),
}
_SUBMODULES = ("extra",)

__getattr__, __dir__, __all__ = lazily(__name__, _HOMES, _SUBMODULES)
