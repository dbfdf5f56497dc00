"""The errors of compiling, as PyTorch names them.

Those that only a tracer raises are here to be caught.
"""

from __future__ import annotations

from ..graph.breaks import InvalidBackend, TorchDynamoException, Unsupported

__all__ = [
    "BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError",
    "InvalidBackend", "RecompileError", "TorchDynamoException", "TorchRuntimeError", "Unsupported",
    "UserError",
]


class BackendCompilerFailed(TorchDynamoException):
    """A backend has raised."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """Too many graphs of one function."""


class InternalTorchDynamoError(TorchDynamoException):
    """The tracer has a fault."""


class RecompileError(TorchDynamoException):
    """A function was to be traced again where that is not allowed."""


class TorchRuntimeError(TorchDynamoException):
    """An operator has raised while it was traced."""


class UserError(Unsupported):
    """The program asks for what cannot be traced."""
