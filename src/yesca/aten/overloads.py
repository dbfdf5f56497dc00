"""`torch.ops.aten`: PyTorch's own operators as overloads of packets.

An overload called while no dispatch mode is on and no operand takes operators over is the function
of its name. Otherwise it goes through the stations of `stations.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from .._ops import OpOverload, OpOverloadPacket
from ..base.naming import lives_in
from ..dispatch import handlers, protocol
from ..dispatch.state import STATE
from . import schemas

#: Prefixes of names -> the module that has these functions.
_SPACES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


@lives_in("torch")
class AtenOverload(OpOverload):
    """One of PyTorch's own operators: `torch.ops.aten.name.overload`."""

    def __init__(self, packet: OpOverloadPacket, letters: str, signature: str) -> None:
        from .tags import Tag

        super().__init__(packet, schemas.parse(signature))
        self.tags = [Tag[schemas.TAGS[letter]] for letter in letters if letter in schemas.TAGS]
        self.composite = "I" in letters  # modes see its parts
        self.is_view = self._schema.is_view  # type: ignore[attr-defined]
        first = next(iter(self._schema.arguments), None)
        self.writes_self = first is not None and first.is_write and not first.kwarg_only \
            and len(self._schema.returns) == 1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = protocol.participants((*args, *kwargs.values()))
        if found:
            return protocol.offer(self, found, args, kwargs)
        levels = STATE.levels
        if levels and not levels[-1].transforms:
            return protocol.through_mode(self, args, kwargs)
        if handlers.seen((*args, *kwargs.values())):
            from . import stations

            return stations.called(self, args, kwargs)
        return self.run(args, kwargs)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """What it gives by the operators that it is made of; NotImplemented if it is of none."""
        return self.kernel(*args, **kwargs) if self.composite else NotImplemented

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What its kernel gives."""
        values = self._schema.bound(args, kwargs)
        args, kwargs = self.elided(values)
        return self.kernel(*args, **kwargs)

    @cached_property
    def kernel(self) -> Callable[..., Any]:
        """The function that computes it."""
        from .kernels import KERNELS

        name = self.overloadpacket.__name__
        found = KERNELS.get(f"{name}.{self._overloadname}") or KERNELS.get(name) or _function(name)
        if found is not None:
            return _with_out(self, found) if _targets(self) else found
        base = name.removesuffix("_")
        found = None if base == name else KERNELS.get(base)
        if found is None:
            raise NotImplementedError(f"Could not run '{self.name()}': yesca has no kernel for it")

        def written(target: Any, *args: Any, **kwargs: Any) -> Any:
            return target.copy_(found(target, *args, **kwargs))

        return written

    def __reduce__(self) -> Any:
        return _found, (self.overloadpacket.__name__, self._overloadname)


def _found(name: str, overload: str) -> Any:
    from .._ops import find

    return find(f"aten::{name}", overload)


def _targets(op: AtenOverload) -> list[str]:
    """The names of the arguments that take results."""
    return [a.name for a in op._schema.arguments if a.is_write and a.kwarg_only]


def _with_out(op: AtenOverload, plain: Callable[..., Any]) -> Callable[..., Any]:
    names = _targets(op)

    def with_out(*args: Any, **kwargs: Any) -> Any:
        outs = tuple(kwargs.pop(name) for name in names)
        return plain(*args, **kwargs, out=outs[0] if len(outs) == 1 else outs)

    return with_out


def _function(name: str) -> Callable[..., Any] | None:
    """The function, or the method, that PyTorch's operator of this name stands for."""
    from .. import functional
    from .._tensor import Tensor
    from ..dispatch.call import OPERATORS
    from ..nn import functional as nn_functional

    for prefix, module in _SPACES.items():
        if name.startswith(prefix):
            from .. import fft, linalg, special

            home = {"linalg": linalg, "special": special, "fft": fft}[module]
            found = getattr(home, name.removeprefix(prefix), None)
            if found is not None:
                return found  # type: ignore[no-any-return]
    for home in (functional, Tensor, OPERATORS, nn_functional):
        try:
            found = getattr(home, name, None)
        except Exception:  # noqa: BLE001 - a name that PyTorch has and yesca says it lacks
            continue
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None


def has_function(name: str) -> bool:
    """Whether yesca has a function of the name of one of PyTorch's operators."""
    return _function(name) is not None


class AtenPacket(OpOverloadPacket):
    """The overloads of one of PyTorch's own operators, made when they are asked for."""

    def __init__(self, name: str) -> None:
        super().__init__("aten", name)
        self._lines = dict(self._named(schemas.table()[name]))

    def _named(self, lines: list[tuple[str, str]]) -> Any:
        for letters, signature in lines:
            head = signature.partition("(")[0]
            yield head.partition(".")[2] or "default", (letters, signature)

    def overloads(self) -> list[str]:
        return list(self._lines)

    def __getattr__(self, name: str) -> Any:
        line = self.__dict__.get("_lines", {}).get(name)
        if line is None:
            return super().__getattr__(name)
        made = self._overloads[name] = AtenOverload(self, *line)
        setattr(self, name, made)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .choosing import chosen

        return chosen(self, args, kwargs)(*args, **kwargs)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._lines})


AtenPacket.__name__ = AtenPacket.__qualname__ = "OpOverloadPacket"
AtenOverload.__name__ = AtenOverload.__qualname__ = "OpOverload"
AtenPacket.__module__ = AtenOverload.__module__ = "torch._ops"


def packet(name: str) -> AtenPacket | None:
    """The packet of a name, or None."""
    return AtenPacket(name) if name in schemas.table() else None
