"""Views as copies: `diagonal_copy` is `diagonal` with memory of its own, and so on."""

# Names: alias_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy slice_copy
# Names: split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
# Names: unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy

from __future__ import annotations

from typing import Any

from . import complex_numbers, joining, views  # noqa: F401 - the records that are copied here
from .kinds import composite
from .record import RECORDS

_NAMES = ("alias", "diagonal", "expand", "permute", "select", "slice", "split_with_sizes",
          "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "view_as_complex",
          "view_as_real")


def _copied(name: str) -> Any:
    record = RECORDS[name]

    def body(ops: Any, *values: Any) -> Any:
        given = zip(record.schema.parameters, values, strict=True)
        named = {p.name: v for p, v in given if p.keyword_only}
        if name == "view" and all(isinstance(n, int) for n in values[1]):
            return ops.clone(ops.reshape(*values), memory_format=ops.contiguous_format)
        made = getattr(ops, name)(*values[:len(values) - len(named)], **named)
        if isinstance(made, tuple):
            return tuple(ops.clone(m, memory_format=ops.contiguous_format) for m in made)
        return ops.clone(made, memory_format=ops.contiguous_format)

    return body


def _two_dimensions(make: Any) -> list[Any]:
    return [(make(3, 4),), (make(3),)]


def _node(name: str) -> dict[str, Any]:
    """A node of its own with the view's formulas, where that is a record with formulas."""
    formulas = RECORDS["unsafe_split_with_sizes" if name == "split_with_sizes" else name].backward
    if not isinstance(formulas, dict):
        return {}
    shown = "".join(part.capitalize() for part in name.split("_"))
    return {"backward": formulas, "node_name": f"{shown}Backward0_copy"}


for _name in _NAMES:
    _, _, _rest = RECORDS[_name].text.partition("(")
    composite(f"{_name}_copy({_rest.replace('...', '')}", _copied(_name), method=False, out=True,
              samples=_two_dimensions if _name == "t" else None, doc=f"{_name} as a copy.",
              **_node(_name))
composite("as_strided_copy(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> "
          "Tensor", lambda ops, self, *rest: ops.clone(
              ops.as_strided(self, *rest), memory_format=ops.contiguous_format),
          out=True, method=False, doc="as_strided as a copy.")
composite("split_copy(Tensor self, int split_size, int dim=0) -> Tensor[]",
          lambda ops, self, split_size, dim: tuple(
              ops.clone(m, memory_format=ops.contiguous_format)
              for m in ops.split_pieces(self, split_size, dim)), out=True, method=False,
          node_name="SplitBackward0_copy", backward=RECORDS["unsafe_split"].backward,
          doc="split as copies.")


def _narrow_copy(ops: Any, self: Any, dim: int, start: int, length: int) -> Any:
    if dim >= self.dim() > 0:  # unlike narrow
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but "
                           f"got false: dim is {dim}, and self has {self.dim()} dimensions.")
    return ops.clone(ops.narrow(self, dim, start, length), memory_format=ops.contiguous_format)


composite("narrow_copy(Tensor self, int dim, int start, int length) -> Tensor", _narrow_copy,
          out=True, backward=RECORDS["narrow"].backward, node_name="NarrowCopyBackward0",
          doc="narrow as a copy.")
