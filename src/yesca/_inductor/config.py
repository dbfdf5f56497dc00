"""Settings of PyTorch's compiler backend: kept, and without effect here."""

from __future__ import annotations

from types import SimpleNamespace

debug = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm = False
coordinate_descent_tuning = False
epilogue_fusion = True
shape_padding = True
freezing = False
fallback_random = False
compile_threads = 1
force_disable_caches = False
conv_1x1_as_mm = False
layout_optimization = True
cpp_wrapper = False
triton = SimpleNamespace(cudagraphs=False, unique_kernel_names=True, cudagraph_trees=True)
cpp = SimpleNamespace(threads=-1, simdlen=None)
trace = SimpleNamespace(enabled=False)
