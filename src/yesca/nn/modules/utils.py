"""Arguments of modules: one number for all dimensions, or one each; and names of saved states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """Padding per dimension as `nn.functional.pad` wants it: last dimension first, each n times."""
    return tuple([x for x in reversed(tuple(t)) for _ in range(n)])


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """Output sizes, where None stands for the input's own size in that dimension."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    own = defaults[-len(out_size):]
    return [d if v is None else v for v, d in zip(out_size, own, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names of a saved state, in place: what a wrapper had put before them.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for key in [k for k in state_dict if k.startswith(prefix)]:
        state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    # The wrapper itself is called '' there, the module inside it as the prefix without its dot.
    for key in [k for k in metadata if k == prefix.replace(".", "") or k and k.startswith(prefix)]:
        metadata[key[len(prefix):]] = metadata.pop(key)
