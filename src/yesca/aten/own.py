"""Operators of yesca's own that PyTorch has none alike of: `torch.ops.yesca.name`.

Modes see them where yesca does in one step what PyTorch does in several, and no program says in
which: recurrent layers, for example.
"""

from __future__ import annotations

from typing import Any

from .._ops import OpOverload, OpOverloadPacket, ops
from ..dispatch.call import run
from ..library._schemas import Argument, FunctionSchema
from ..operators.record import Record
from . import schemas


class OwnSchema(schemas.AtenSchema):
    """The signature of a record: arguments are what the record takes."""

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return (*args, *(kwargs[a.name] for a in self.arguments[len(args):]))

    def results(self, made: Any) -> Any:
        """A record may give several: as they are."""
        return made


class OwnOverload(OpOverload):
    """A record as an operator that modes see."""

    composite = False

    def __init__(self, packet: OpOverloadPacket, record: Record) -> None:
        arguments = tuple(Argument(p.name, p.type) for p in record.schema.parameters)
        made: FunctionSchema = OwnSchema(f"yesca::{record.name}", "", arguments,
                                         (Argument("", "Tensor"),), text=f"yesca::{record.text}")
        super().__init__(packet, made)
        self.record = record

    def kernel(self, *values: Any) -> Any:
        """Run the record."""
        return run(self.record, values)

    def elided(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All arguments, as they are."""
        return values, {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from . import stations

        return stations.leaf(self, args, kwargs)

    def __reduce__(self) -> Any:
        return _found, (self.record.name,)


def _found(name: str) -> OwnOverload:
    from ..dispatch.functions import record

    found = record(name)
    assert found is not None
    return overload(found)


def overload(record: Record) -> OwnOverload:
    """The operator of a record, the same one each time."""
    home = vars(ops.yesca)
    packet = home.get(record.name)
    if packet is None:
        packet = OpOverloadPacket("yesca", record.name)
        setattr(ops.yesca, record.name, packet)
        packet._overloads["default"] = OwnOverload(packet, record)
    return packet._overloads["default"]  # type: ignore[no-any-return]
