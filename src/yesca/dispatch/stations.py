"""What stands in the way of a call at this moment, in the order in which it is passed.

For people: `print(describe_call("add", x, y))`, and `with show_calls(): ...` for what runs inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TextIO

from ..core.devices import CPU
from ..operators.record import Record
from . import call, functions, handlers, observing, protocol
from .shortcuts import tensors_in
from .state import STATE


def stations(operator: str, *operands: Any) -> list[tuple[str, str]]:
    """Pairs of a station and what it does with a call of the operator; absent ones are left out."""
    record = functions.record(operator)
    if record is None:
        raise ValueError(f"describe_call(): there is no operator called {operator!r}")
    found = [("torch function", type(t).__name__) for t in protocol.participants(operands)]
    found += [("level", type(level).__name__) for level in reversed(STATE.levels)
              if not level.dispatches]
    if observing.current is not None:
        found.append(("observer", type(observing.current).__name__))
    return found + _below_levels(record, operands)


def _below_levels(record: Record, operands: Any) -> list[tuple[str, str]]:
    tensors = tensors_in(operands)
    found = []
    if STATE.autocast is not None and record.autocast:
        found.append(("autocast", f"{record.autocast}: {STATE.autocast}"))
    if STATE.tape and record.backward is not None and any(t._requires_grad for t in tensors):
        found.append(("autograd", record.grad_name))
    found += [("dispatch mode", type(level.mode).__name__)  # type: ignore[attr-defined]
              for level in reversed(STATE.levels) if level.dispatches]
    found += [("dispatch class", type(t).__name__) for t in handlers.owners(operands)]
    if record.composite is not None:
        return [*found, ("composite", "runs the operators that it is made of")]
    if STATE.recorder is not None:
        found.append(("recorder", "notes the launches"))
    devices = {t._spec.device for t in tensors} or {CPU}
    return [*found, *(("device", str(d)) for d in sorted(devices, key=str))]


def describe_call(operator: str, *operands: Any) -> str:
    """The stations of a call as text, one a line. The call is not made.

    The order is: classes with a `__torch_function__` and function modes, transforms of `func` (the
    innermost first), observers (a profile), autocast, the tape, dispatch modes (the innermost
    first), classes with a `__torch_dispatch__`, a recorder (`compile`), the device's kernel.

    >>> import yesca as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> print(describe_call("mul", x, x))
    mul
      autograd: MulBackward0
      device: cpu
    """
    lines = [f"  {station}: {what}" for station, what in stations(operator, *operands)]
    return "\n".join([operator, *lines])


class _Shown(observing.Observer):
    """Prints each call that arrives below the levels."""

    def __init__(self, file: TextIO | None) -> None:
        self.file, self.depth = file, 0

    def call(self, record: Record, values: tuple[Any, ...], target: Any = None, out: Any = None
             ) -> Any:
        chain = " > ".join(f"{station} ({what})" for station, what in _below_levels(
            record, values))
        name = record.name if target is None else f"{record.name}_"
        print(f"{' ' * self.depth}{name}: {chain}", file=self.file)
        self.depth += 1
        try:
            return call.base(record, values, target, out)
        finally:
            self.depth -= 1

    def function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return function(*args, **kwargs)

    def node(self, name: str, sequence: int) -> AbstractContextManager[Any]:
        return nullcontext()

    def range(self, name: str, annotation: bool = True) -> AbstractContextManager[Any]:
        return nullcontext()


@contextmanager
def show_calls(file: TextIO | None = None) -> Iterator[None]:
    """Inside, every operator call below the levels is printed with the stations that it passes;
    what it is made of stands below it, further in.

    file: where to; by default to the standard output. RuntimeError while a profile is on.

    >>> import yesca as torch
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> with show_calls():
    ...     _ = x * x
    mul: autograd (MulBackward0) > device (cpu)
    """
    if observing.current is not None:
        raise RuntimeError("show_calls(): a profile watches the calls already")
    observing.observe(_Shown(file))
    try:
        yield
    finally:
        observing.observe(None)


__all__ = ["describe_call", "show_calls", "stations"]
