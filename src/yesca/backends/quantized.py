"""`torch.backends.quantized`: the engine of quantized layers; results are those of x86's."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

supported_engines = ["x86", "fbgemm"]


class _Quantized(ModuleType):
    """The module: `engine` admits the engines that give the same results."""

    _engine = "x86"

    @property
    def engine(self) -> str:
        """The engine; another name of the same sums.

        Raises RuntimeError when it is set to one that is not supported.
        """
        return self._engine

    @engine.setter
    def engine(self, value: Any) -> None:
        if value not in supported_engines:
            raise RuntimeError(f"quantized engine {value} is not supported; "
                               f"{', '.join(supported_engines)} are")
        self._engine = value


sys.modules[__name__].__class__ = _Quantized
