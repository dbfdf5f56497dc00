"""`torch.compiler.config`: settings that programs assign.

They are kept, and change nothing: a function's Python runs at every call, and nothing is traced.
"""

from __future__ import annotations

from ..utils._config_module import install_config_module

_ON = """
    assume_static_by_default automatic_dynamic_shapes dynamic_shapes
    skip_tensor_guards_with_matching_dict_tags
"""
_OFF = """
    allow_unspec_int_on_nn_module capture_dynamic_output_shape_ops capture_scalar_outputs
    enable_cpp_symbolic_shape_guards fail_on_recompile_limit_hit force_cudagraph_gc
    force_disable_caches verbose wrap_top_frame
"""

install_config_module(__name__, {
    **dict.fromkeys(_ON.split(), True),
    **dict.fromkeys(_OFF.split(), False),
    **dict.fromkeys(("cache_key_tag", "dynamic_sources", "dynamic_values", "unbacked_sources"), ""),
    **dict.fromkeys(("job_id", "log_file_name", "pgo_extra_read_key", "pgo_extra_write_key")),
    "recompile_limit": 8, "accumulated_recompile_limit": 256,
    "reorderable_logging_functions": set(),
})
