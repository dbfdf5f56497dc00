"""Which overload a call means."""

from __future__ import annotations

from typing import Any

from ..library._schemas import Argument
from ..library._values import NOTHING, converted

#: Operators whose functions take a number for a tensor rather than an overload for numbers.
_NUMBERS_AS_TENSORS = frozenset("""
    add sub mul div true_divide floor_divide add_ sub_ mul_ div_ floor_divide_ multiply subtract
    divide""".split())


def chosen(packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first overload whose signature admits the arguments; one that takes numbers for tensors
    only where there is no other. RuntimeError where there is none."""
    found = find(packet, args, kwargs)
    if found is not None:
        return found
    names = packet.overloads()
    if len(names) == 1:
        return getattr(packet, names[0])  # its own error says most
    listed = "\n".join(f"  {getattr(packet, name)._schema}" for name in names)
    raise RuntimeError(f"No overload of {packet} admits these arguments, of types "
                       f"{', '.join(type(a).__name__ for a in (*args, *kwargs.values()))}; "
                       f"there are\n{listed}")


def find(packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `chosen`, or None."""
    names = packet.overloads()
    plain = packet.__name__ in _NUMBERS_AS_TENSORS
    for numbers in (False, True):
        for name in names:
            if plain and name == "Scalar":
                continue
            op = getattr(packet, name)
            if fits(op._schema.arguments, args, kwargs, numbers):
                return op
    return None


def fits(arguments: tuple[Argument, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
         numbers: bool) -> bool:
    """Whether a signature admits these arguments; numbers: also for tensors."""
    places = [a for a in arguments if not a.kwarg_only]
    if len(args) > len(places):
        return False
    given = dict(zip([a.name for a in places], args, strict=False))
    if given.keys() & kwargs.keys():
        return False
    given.update(kwargs)
    if not given.keys() <= {a.name for a in arguments}:
        return False
    for argument in arguments:
        if argument.name not in given:
            if not argument.has_default_value():
                return False
        elif not _admits(argument.type, given[argument.name], numbers):
            return False
    return True


def _admits(kind: str, value: Any, numbers: bool) -> bool:
    if kind == "Tensor" and isinstance(value, (int, float, complex)):
        return numbers
    if kind in ("int", "SymInt") and isinstance(value, (bool, float)):
        return False
    if kind == "bool" and not isinstance(value, bool):
        return False
    return converted(kind, value) is not NOTHING
