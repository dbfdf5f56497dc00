"""`torch.onnx`: models as ONNX files. It needs the package onnx (the extra `onnx`)."""

from __future__ import annotations

from .._lazy import lazily

_HOMES = {
    "_exporting": "export is_in_onnx_export select_model_mode_for_export OperatorExportTypes "
                  "TrainingMode",
    "_program": "ONNXProgram",
    "errors": "OnnxExporterError",
    "_producer": "producer_name producer_version",
}

__getattr__, __dir__, _ = lazily(__name__, _HOMES, ("errors",))
__all__ = ["ONNXProgram", "OnnxExporterError", "errors", "export", "is_in_onnx_export"]
