"""Where each public name of the package lives: the table behind `yesca.__getattr__`.

A name that is in no row is looked up in `yesca.functional`, which holds every free function.
`public=internal` gives a name that differs inside. Rows are data; nothing is imported here.
"""

from __future__ import annotations

#: Room (module below `yesca`) -> the names it provides.
HOMES: dict[str, str] = {
    "_tensor": "Tensor",
    "_C": "has_lapack has_mkl has_openmp has_spectral",
    "core.dtypes": (
        "dtype=DType uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 "
        "bfloat16 uint16 uint32 uint64 bool=bool_ half=float16 float=float32 double=float64 "
        "short=int16 int=int32 long=int64 cfloat=complex64 cdouble=complex128 "
        "complex32 chalf=complex32 float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
        "float8_e5m2fnuz float8_e8m0fnu quint8 qint8 qint32 quint4x2 quint2x4 bits1x8 bits2x4 "
        "bits4x2 bits8 bits16 int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 "
        "uint6 uint7 bit=uint1 "
        "get_default_dtype set_default_dtype promote_types can_cast"
    ),
    "core.numeric_limits": "finfo iinfo",
    "core.devices": "device=Device set_default_device get_default_device=default_device",
    "core.spec": "Size",
    "storage": "UntypedStorage",
    "_quantized": (
        "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic dequantize int_repr "
        "q_scale q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis"
    ),
    "_sparse.making": "sparse_coo_tensor",
    "_sparse.products": "hspmm hsmm=hspmm smm sspaddmm saddmm=sspaddmm",
    "_sparse.moving": "resize_as_sparse_",
    "functional": "spmm=mm dsmm=mm",
    "core.layouts": (
        "layout=Layout strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged "
        "memory_format=MemoryFormat contiguous_format channels_last channels_last_3d "
        "preserve_format legacy_contiguous_format=contiguous_format qscheme=QScheme "
        "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
        "per_channel_affine_float_qparams"
    ),
    "autograd.anomaly_mode": "is_anomaly_enabled is_anomaly_check_nan_enabled",
    "autograd.modes": (
        "no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled "
        "is_inference_mode_enabled"
    ),
    "random": (
        "Generator default_generator manual_seed seed initial_seed get_rng_state set_rng_state"
    ),
    "runtime.threads": "set_num_threads get_num_threads",
    "runtime.memory": "memory_stats reset_peak_memory_stats=reset_peak",
    "interop": "set_num_interop_threads get_num_interop_threads",
    "_printing": "set_printoptions",
    "serialization": "save load",
    "amp": "autocast GradScaler",
    "amp.autocast_mode": (
        "is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype "
        "is_autocast_cpu_enabled set_autocast_cpu_enabled get_autocast_cpu_dtype "
        "set_autocast_cpu_dtype get_autocast_gpu_dtype set_autocast_gpu_dtype "
        "is_autocast_cache_enabled set_autocast_cache_enabled clear_autocast_cache "
        "autocast_increment_nesting autocast_decrement_nesting"
    ),
    "_control_flow": "cond while_loop",
    "_symbolic_numbers": (
        "SymInt SymFloat SymBool sym_int sym_float sym_not sym_sqrt sym_max sym_min sym_sum sym_ite"
    ),
    "_lobpcg": "lobpcg",
    "_lowrank": "pca_lowrank svd_lowrank",
    "graph.public": "compile",
    "func": "vmap",
    "_ops": "ops",
    "aten.tags": "Tag",
    "determinism": (
        "use_deterministic_algorithms are_deterministic_algorithms_enabled "
        "is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode "
        "get_deterministic_debug_mode set_float32_matmul_precision get_float32_matmul_precision "
        "set_flush_denormal"
    ),
    "kernels": "kernel=jit",
    "predicates": "is_tensor is_storage typename get_device_module is_warn_always_enabled "
                  "set_warn_always OutOfMemoryError AcceleratorError",
    "streams": "Stream Event",
    "utils.dlpack": "from_dlpack to_dlpack",
    "_asarray": "asarray",
    "nn.functional": (
        "cosine_similarity pairwise_distance cosine_embedding_loss hinge_embedding_loss "
        "margin_ranking_loss triplet_margin_loss"
    ),
    "nn._functional.sparse": "embedding_renorm_",
    "nn._functional.recurrent": (
        "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell"
    ),
    "typed_tensors": (
        "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor "
        "IntTensor LongTensor BoolTensor set_default_tensor_type"
    ),
    "typed_storages": (
        "TypedStorage FloatStorage DoubleStorage HalfStorage BFloat16Storage "
        "ByteStorage CharStorage ShortStorage IntStorage LongStorage BoolStorage "
        "ComplexFloatStorage ComplexDoubleStorage"
    ),
}

#: Modules that PyTorch has as attributes of the package without an import of their own.
SUBMODULES = frozenset(
    "accelerator amp ao autograd backends compiler cpu cuda distributed distributions fft func "
    "functional futures hub jit library linalg masked mps multiprocessing nn onnx optim overrides "
    "profiler quantization random return_types serialization signal sparse special storage testing "
    "torch_version types utils version vision xpu _C _dynamo _inductor _logging __config__ "
    "__future__".split()
)

#: PyTorch's module path -> yesca's, both without the package, where the two differ.
MODULE_ALIASES: dict[str, str] = {}

#: Numbers that PyTorch shares with the `math` module.
CONSTANTS: dict[str, float | None] = {
    "e": 2.718281828459045,
    "pi": 3.141592653589793,
    "inf": float("inf"),
    "nan": float("nan"),
    "newaxis": None,
}

#: Names at the top of the package that PyTorch has for accelerators only.
OWN = frozenset({"kernel", "memory_stats", "reset_peak_memory_stats"})


def locations() -> dict[str, tuple[str, str]]:
    """Public name -> (room, name inside the room).

    >>> locations()["dtype"]
    ('core.dtypes', 'DType')
    """
    found: dict[str, tuple[str, str]] = {}
    for room, names in HOMES.items():
        for entry in names.split():
            public, _, internal = entry.partition("=")
            found[public] = (room, internal or public)
    return found
