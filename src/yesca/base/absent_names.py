"""What PyTorch has and this package lacks, by module; `absent.py` says so to who asks.

A name goes from here when it comes to the package: the tests of structure see to it.
"""

from __future__ import annotations

#: Module without the package's name ("" is the package) -> its names.
NAMES: dict[str, str] = {
    "": (
        "AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig "
        "BenchmarkExecutionStats Block BoolType BufferDict CallStack Capsule ClassType Code "
        "CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType "
        "ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType "
        "DictType DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet "
        "EnumType ErrorReport ExcludeDispatchKeyGuard ExecutionPlan FatalError FileCheck "
        "FloatType FunctionSchema Future FutureType Gradient Graph GraphExecutorState "
        "IODescriptor InferredType IntType InterfaceType JITException ListType LiteScriptModule "
        "LockingLogger LoggerBase ModuleDict Node NoneType NoopLogger NumberType OperatorInfo "
        "OptionalType ParameterDict PyObjectType PyTorchFileReader PyTorchFileWriter "
        "QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage RRefType SUM "
        "ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator "
        "ScriptFunction ScriptList ScriptListIterator ScriptMethod ScriptModule "
        "ScriptModuleSerializer ScriptObject ScriptObjectProperty SerializationStorageContext "
        "StaticModule Storage StorageBase StreamObjType StringType SymBoolType SymIntType "
        "TensorType ThroughputBenchmark TracingState TupleType Type UnionType Use Value "
        "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt "
        "batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats "
        "batch_norm_update_stats ccol_indices_copy choose_qparams_optimized classes "
        "col_indices_copy compiled_with_cxx11_abi contrib cpp crow_indices_copy "
        "cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution "
        "cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose "
        "cudnn_grid_sampler cudnn_is_acceptable eig empty_quantized export "
        "fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation "
        "fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation "
        "fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix "
        "fork fused_moving_avg_obs_fake_quant fx get_autocast_ipu_dtype get_autocast_xla_dtype "
        "get_file_path import_ir_module import_ir_module_from_buffer indices_copy "
        "init_num_threads is_autocast_ipu_enabled is_autocast_xla_enabled is_distributed "
        "is_vulkan_available lstsq matrix_rank merge_type_from_type_comment "
        "miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu "
        "miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn "
        "mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights "
        "mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer monitor mtia native_norm nativert "
        "nested numa package parse_ir parse_schema parse_type_comment "
        "prepare_multiprocessing_environment "
        "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 "
        "quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell "
        "quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell "
        "quantized_rnn_tanh_cell quasirandom row_indices_copy "
        "set_anomaly_enabled set_autocast_ipu_dtype set_autocast_ipu_enabled "
        "set_autocast_xla_dtype set_autocast_xla_enabled slice_inverse solve "
        "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor "
        "sparse_csc_tensor sparse_csr_tensor sym_constrain_range "
        "sym_constrain_range_for_size sym_fresh_size symeig thread_safe_generator unify_type_list "
        "values_copy wait windows"
    ),
    "Tensor": (
        "ccol_indices chalf col_indices crow_indices eig index ipu lstsq mtia reinforce "
        "row_indices slice_inverse solve symeig to_mkldnn to_padded_tensor to_sparse_bsc "
        "to_sparse_bsr to_sparse_csc to_sparse_csr volatile"
    ),
    "accelerator": "Graph empty_host_cache get_device_capability graphs memory",
    "ao": "ns pruning",
    "ao.nn": "intrinsic qat quantizable sparse",
    "ao.nn.quantized": (
        "BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d "
        "ConvTranspose3d DeQuantize Dropout ELU FXFloatFunctional "
        "FloatFunctional GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LSTM "
        "LayerNorm LeakyReLU Linear MultiheadAttention PReLU QFunctional Quantize ReLU6 Sigmoid "
        "Softmax"
    ),
    "ao.nn.quantized.dynamic": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"
    ),
    "ao.nn.quantized.dynamic.modules": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"
    ),
    "ao.nn.quantized.modules": (
        "BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d "
        "ConvTranspose3d DeQuantize Dropout ELU FXFloatFunctional "
        "FloatFunctional GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LSTM "
        "LayerNorm LeakyReLU Linear MultiheadAttention PReLU QFunctional Quantize ReLU6 Sigmoid "
        "Softmax"
    ),
    "ao.nn.quantized.modules.linear": "Linear",
    "ao.quantization": (
        "AffineQuantizedObserverBase DeQuantStub FakeQuantize FakeQuantizeBase "
        "FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize Granularity HistogramObserver "
        "MappingType MatchAllNode ObserverOrFakeQuantize Pattern PerAxis PerBlock PerGroup PerRow "
        "PerTensor PerToken QConfigAny QConfigDynamic QConfigMapping QuantStub QuantType "
        "QuantWrapper ReuseInputObserver TorchAODType ZeroPointDomain add_quant_dequant "
        "convert_dynamic_jit convert_jit default_affine_fixed_qparams_fake_quant "
        "default_affine_fixed_qparams_observer default_debug_observer default_dynamic_fake_quant "
        "default_embedding_fake_quant default_embedding_fake_quant_4bit default_eval_fn "
        "default_fake_quant default_fixed_qparams_range_0to1_fake_quant "
        "default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_fake_quant "
        "default_fixed_qparams_range_neg1to1_observer default_float_qparams_observer_4bit "
        "default_fused_act_fake_quant default_fused_per_channel_wt_fake_quant "
        "default_fused_wt_fake_quant default_histogram_fake_quant default_histogram_observer "
        "default_per_channel_weight_fake_quant default_reuse_input_observer "
        "default_symmetric_fixed_qparams_fake_quant default_symmetric_fixed_qparams_observer "
        "default_weight_fake_quant disable_fake_quant disable_observer enable_fake_quant "
        "enable_observer fuse_conv_bn fuse_conv_bn_jit fuse_conv_bn_relu fuse_convtranspose_bn "
        "fuse_linear_bn fuse_modules fuse_modules_qat "
        "fused_per_channel_wt_fake_quant_range_neg_127_to_127 "
        "fused_wt_fake_quant_range_neg_127_to_127 get_block_size get_combined_dict "
        "get_default_compare_output_module_list get_default_custom_config_dict "
        "get_default_dynamic_sparse_quant_module_mappings "
        "get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings "
        "get_default_qat_qconfig get_default_qat_qconfig_dict get_default_qat_qconfig_mapping "
        "get_default_qconfig get_default_qconfig_dict get_default_qconfig_mapping "
        "get_default_qconfig_propagation_list get_default_static_quant_module_mappings "
        "get_default_static_quant_reference_module_mappings "
        "get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class "
        "get_embedding_qat_module_mappings get_embedding_static_quant_module_mappings "
        "get_fuser_method get_fuser_method_new get_observer_state_dict get_quantized_operator "
        "get_static_quant_module_class load_observer_state_dict no_observer_set "
        "per_channel_weight_observer_range_neg_127_to_127 prepare prepare_dynamic_jit prepare_jit "
        "prepare_qat qconfig_equals quantize_dynamic_jit quantize_jit quantize_qat script_qconfig "
        "script_qconfig_dict"
    ),
    "ao.quantization.observer": (
        "AffineQuantizedObserverBase Granularity HistogramObserver MappingType PerAxis PerBlock "
        "PerGroup PerRow PerTensor PerToken ReuseInputObserver TorchAODType ZeroPointDomain "
        "default_affine_fixed_qparams_observer default_debug_observer "
        "default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_observer "
        "default_float_qparams_observer_4bit default_histogram_observer "
        "default_reuse_input_observer default_symmetric_fixed_qparams_observer get_block_size "
        "get_observer_state_dict load_observer_state_dict "
        "per_channel_weight_observer_range_neg_127_to_127"
    ),
    "ao.quantization.qconfig": (
        "QConfigAny QConfigDynamic default_activation_only_qconfig default_debug_qconfig "
        "default_dynamic_qat_qconfig default_embedding_qat_qconfig "
        "default_embedding_qat_qconfig_4bit default_per_channel_qconfig "
        "default_per_channel_symmetric_qnnpack_qat_qconfig "
        "default_per_channel_symmetric_qnnpack_qconfig default_qat_qconfig default_qat_qconfig_v2 "
        "default_quint8_weight_qconfig default_reuse_input_qconfig "
        "default_symmetric_qnnpack_qat_qconfig default_symmetric_qnnpack_qconfig "
        "default_weight_only_qconfig "
        "float_qparams_weight_only_qconfig_4bit get_default_qat_qconfig "
        "get_default_qat_qconfig_dict get_default_qconfig get_default_qconfig_dict qconfig_equals"
    ),
    "ao.quantization.quantization_mappings": (
        "DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS "
        "DEFAULT_MODULE_TO_ACT_POST_PROCESS DEFAULT_QAT_MODULE_MAPPINGS "
        "DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS DEFAULT_STATIC_QUANT_MODULE_MAPPINGS "
        "DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS get_default_compare_output_module_list "
        "get_default_dynamic_sparse_quant_module_mappings "
        "get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings "
        "get_default_qconfig_propagation_list get_default_static_quant_module_mappings "
        "get_default_static_quant_reference_module_mappings "
        "get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class "
        "get_embedding_qat_module_mappings get_embedding_static_quant_module_mappings "
        "get_quantized_operator get_static_quant_module_class no_observer_set"
    ),
    "ao.quantization.quantize": "add_quant_dequant prepare prepare_qat quantize quantize_qat",
    "autograd": (
        "DeviceType NestedIOFunction ProfilerActivity ProfilerConfig ProfilerEvent ProfilerState "
        "enforce_grad_layout_policy handle_torch_function has_torch_function "
        "is_multithreading_enabled is_tensor_like is_view_replay_enabled kineto_available "
        "profiler_legacy"
    ),
    "autograd.function": "NestedIOFunction",
    "autograd.grad_mode": "enforce_grad_layout_policy",
    "autograd.gradcheck": (
        "get_analytical_jacobian get_numerical_jacobian get_numerical_jacobian_wrt_specific_input"
    ),
    "autograd.graph": "region_activation_memory_budget set_override_stale_capture_stream",
    "autograd.profiler": (
        "EnforceUnique KinetoStepTracker MemRecordsAcc load_nvprof parse_nvprof_trace"
    ),
    "autograd.profiler_util": "EventMetadata FormattedTimesMixin Kernel MemRecordsAcc StringTable",
    "backends": "python_native xeon xnnpack",
    "backends.cuda": (
        "SDPAParams blas_workspace_size cuFFTPlanCacheAttrContextProp cuFFTPlanCacheManager "
        "cublas_workspace_size cublaslt_workspace_size is_ck_sdpa_available "
        "preferred_rocm_fa_library"
    ),
    "backends.mps": "get_core_count get_name",
    "compiler": "CacheInfo NestedCompileRegionOptions",
    "cpu": "get_capabilities",
    "cpu.amp": "autocast_mode grad_scaler",
    "cuda": (
        "CUDAGraph CUDAPluggableAllocator GreenContext MemPool caching_allocator_disabled "
        "caching_allocator_enable change_current_allocator check_error clock_rate comm cudaStatus "
        "current_solver_handle device_memory_used gds get_allocator_backend "
        "get_stream_from_external graph graph_pool_handle green_contexts host_memory_stats "
        "host_memory_stats_as_nested_dict jiterator list_gpu_processes make_graphed_callables "
        "memory_usage nccl power_draw reset_accumulated_host_memory_stats "
        "reset_peak_host_memory_stats sparse temperature tunable use_mem_pool"
    ),
    "cuda.amp": "amp_definitely_not_available autocast_mode common grad_scaler",
    "cuda.graphs": "graph graph_pool_handle make_graphed_callables",
    "cuda.memory": (
        "CUDAPluggableAllocator MemPool caching_allocator_disabled caching_allocator_enable "
        "change_current_allocator get_allocator_backend host_memory_stats "
        "host_memory_stats_as_nested_dict list_gpu_processes reset_accumulated_host_memory_stats "
        "reset_peak_host_memory_stats use_mem_pool"
    ),
    "cuda.nvtx": "range_end range_start",
    "distributed": (
        "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions Backend BackendConfig "
        "BarrierOptions BroadcastOptions BuiltinCommHookType DebugLevel DeviceMesh GatherOptions "
        "GradBucket GroupName P2POp ProcessGroupGloo QueueEmptyError RankType ReduceOptions "
        "ReduceScatterOptions Reducer ScatterOptions Store algorithms all_gather_single "
        "argparse_util autograd breakpoint c10d_logger checkpoint collective_utils config "
        "constants debug default_pg_timeout device_mesh distributed_c10d elastic flight_recorder "
        "fsdp get_backend_config get_debug_level get_default_backend_for_device get_pg_count "
        "launch launcher logging_handlers nn optim pipelining record_comm reduce_op "
        "reduce_scatter_single remote_device rpc run set_debug_level set_debug_level_from_env "
        "shrink_group supports_complex tensor utils"
    ),
    "func": "rearrange",
    "jit": (
        "Future ONNXTracedModule RecursiveScriptClass TopLevelTracedModule TracedModule "
        "TracingCheckError export_opnames frontend fuser generate_bytecode "
        "jit_module_from_flatbuffer last_executed_optimized_graph mobile quantized "
        "run_frozen_optimizations save_jit_module_to_flatbuffer set_module strict_fusion "
        "supported_ops unsupported_tensor_ops"
    ),
    "library": (
        "EffectType NAMELESS_SCHEMA device_types_t get_kernel"
    ),
    "masked": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor maskedtensor",
    "mps": "Event compile_shader event load_metallib profiler",
    "multiprocessing": "init_reductions pool queue reductions",
    "nn": "backends cpp intrinsic qat quantizable",
    "nn.attention": "experimental",
    "nn.functional": "ScalingType SwizzleType assert_int_or_pair scaled_grouped_mm scaled_mm",
    "nn.parallel": "DistributedDataParallelCPU",
    "onnx": (
        "ExportableModule InputObserver JitScalarType TensorProtoDataType operators ops "
        "register_custom_op_symbolic symbolic_helper symbolic_opset10 symbolic_opset11 "
        "symbolic_opset12 symbolic_opset13 symbolic_opset14 symbolic_opset15 symbolic_opset16 "
        "symbolic_opset17 symbolic_opset18 symbolic_opset19 symbolic_opset20 symbolic_opset7 "
        "symbolic_opset8 symbolic_opset9 testing unregister_custom_op_symbolic utils verification"
    ),
    "overrides": "redispatch_function",
    "profiler": "ExecutionTraceObserver KinetoStepTracker RecordScope itt profiler python_tracer",
    "random": "thread_safe_generator",
    "sparse": (
        "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT "
        "SparseSemiStructuredTensorCUTLASS as_sparse_gradcheck sampled_addmm semi_structured "
        "spsolve to_sparse_semi_structured"
    ),
    "testing": "FileCheck",
    "utils": (
        "ThroughputBenchmark backcompat backend_registration bundled_inputs "
        "cmake_prefix_path cpp_backtrace cpp_extension debug_log deterministic file_baton "
        "generate_methods_for_privateuse1_backend get_cpp_backtrace hipify jit "
        "mkldnn mobile_optimizer model_dump model_zoo rename_privateuse1_backend show_pickle "
        "tensorboard throughput_benchmark viz"
    ),
    "utils.benchmark": (
        "CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts FuzzedParameter "
        "FuzzedSparseTensor FuzzedTensor Fuzzer Language ParameterAlias examples op_fuzzers utils"
    ),
    "utils.checkpoint": "GraphExecGroup",
    "utils.data": (
        "DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation "
        "backward_compatibility datapipes functional_datapipe graph graph_settings "
        "guaranteed_datapipes_determinism non_deterministic runtime_validation "
        "runtime_validation_disabled"
    ),
    "xpu": (
        "Event MemPool Stream StreamContext XPUGraph XPUPluggableAllocator can_device_access_peer "
        "change_current_allocator clock_rate current_stream default_generators device_memory_used "
        "device_of get_arch_list get_gencode_flags get_per_process_memory_fraction "
        "get_rng_state_all get_stream_from_external graph graph_pool_handle graphs initial_seed "
        "is_current_stream_capturing is_tf32_supported make_graphed_callables memory "
        "memory_snapshot memory_stats memory_stats_as_nested_dict memory_usage power_draw random "
        "reset_accumulated_memory_stats seed_all set_per_process_memory_fraction "
        "set_rng_state_all set_stream stream streams temperature use_mem_pool utilization"
    ),
}
