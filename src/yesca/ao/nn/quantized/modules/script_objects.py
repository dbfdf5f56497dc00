"""What PyTorch has as objects of C++ classes: packed weights, in state dicts and in files."""

from __future__ import annotations

import copyreg
from importlib import import_module
from typing import Any

#: Name of the class in files -> the module here, and the class.
KINDS = {
    "__torch__.torch.classes.quantized.LinearPackedParamsBase": ("packing", "PackedLinear"),
    "__torch__.torch.classes.rnn.CellParamsBase": ("packed_cells", "PackedCell"),
    "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase":
        ("packed_embeddings", "PackedEmbedding"),
}


class ScriptObject:
    """What files name instead of the class, which the state tells: (parts, name of the class).

    A class below it has that name as `on_disk`, `parts`, which gives what the file holds, and
    `set_parts`, which reads it.
    """

    on_disk = ""

    def parts(self) -> tuple[Any, ...]:
        """What a file holds of it."""
        raise NotImplementedError

    def set_parts(self, parts: Any) -> None:
        """Become what `parts` tells."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"ScriptObject <{self.on_disk}>"

    def __getstate__(self) -> tuple[Any, str]:
        return self.parts(), self.on_disk

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self),), (  # type: ignore[attr-defined]
            self.__getstate__())

    def __setstate__(self, state: Any) -> None:
        parts, name = state
        if name not in KINDS:
            raise NotImplementedError(
                f"the file holds packed weights of {name}, a kind of layer that there is not; "
                "linear and recurrent layers and embeddings are there")
        module, kind = KINDS[name]
        self.__class__ = getattr(import_module(f".{module}", __package__), kind)
        self.set_parts(parts)
