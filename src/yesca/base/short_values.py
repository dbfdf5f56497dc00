"""Values of unknown origin in error texts: short, whatever they are."""

from __future__ import annotations

_ITEMS, _LETTERS, _LEVELS = 6, 60, 3


def shown(value: object, levels: int = _LEVELS) -> str:
    """A value from a file for an error text: short, whatever it is.

    A few shared tuples stand for more text than there is memory, and tensors take time to print.

    >>> from yesca.base.short_values import shown
    >>> shown((1, "two", [3] * 100))
    "(1, 'two', [3, 3, 3, 3, 3, 3, ...])"
    """
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() < 200 else f"<int of {value.bit_length()} bits>"
    if isinstance(value, (str, bytes)):
        return repr(value) if len(value) <= _LETTERS else f"{value[:_LETTERS]!r}..."
    if type(value) in (tuple, list):
        if not levels:
            return "..."
        items = [shown(item, levels - 1) for item in value[:_ITEMS]]  # type: ignore[index]
        if len(value) > _ITEMS:  # type: ignore[arg-type]
            items.append("...")
        inside = ", ".join(items)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, type):
        return repr(value)
    name = getattr(value, "__qualname__", None) if callable(value) else None
    return f"<{type(value).__name__} {name}>" if type(name) is str else f"<{type(value).__name__}>"
