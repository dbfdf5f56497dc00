"""`torch.onnx.errors`: what exporting raises."""

from __future__ import annotations

from ..base.naming import lives_in

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError",
           "UnsupportedOperatorError"]


@lives_in("torch.onnx.errors")
class OnnxExporterWarning(UserWarning):
    """Something about an exported model that its author should know."""


@lives_in("torch.onnx.errors")
class OnnxExporterError(RuntimeError):
    """A model cannot be exported."""


@lives_in("torch.onnx.errors")
class UnsupportedOperatorError(OnnxExporterError):
    """A model has an operator that has no row in the exporter's table."""


@lives_in("torch.onnx.errors")
class SymbolicValueError(OnnxExporterError):
    """An operator has an argument that ONNX cannot say."""
