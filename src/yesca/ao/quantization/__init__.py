"""`torch.ao.quantization`: models with quantized weights for inference."""

from __future__ import annotations

from ..._lazy import lazily

_OBSERVERS = (
    "FixedQParamsObserver MinMaxObserver MovingAverageMinMaxObserver "
    "MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase PerChannelMinMaxObserver "
    "PlaceholderObserver RecordingObserver UniformQuantizationObserverBase "
    "default_dynamic_quant_observer default_float_qparams_observer default_observer "
    "default_per_channel_weight_observer default_placeholder_observer default_weight_observer "
    "weight_observer_range_neg_127_to_127")

__getattr__, __dir__, __all__ = lazily(__name__, {
    "observer": _OBSERVERS,
    "qconfig": "QConfig default_dynamic_qconfig default_qconfig float16_dynamic_qconfig "
               "float16_static_qconfig float_qparams_weight_only_qconfig "
               "per_channel_dynamic_qconfig",
    "quantization_mappings": "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS "
                             "get_default_dynamic_quant_module_mappings",
    "quantize": "convert propagate_qconfig_ quantize_dynamic swap_module",
})
