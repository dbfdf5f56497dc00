"""What stands in the way of a call at this moment, in the order in which it is passed.

For people: `print(describe_call("add", x, y))`.
"""

from __future__ import annotations

from typing import Any

from ..core.devices import CPU
from ..core.tensor_base import TensorBase
from . import functions, observing, protocol
from .state import STATE


def stations(operator: str, *operands: Any) -> list[tuple[str, str]]:
    """Pairs of a station and what it does with a call of the operator; absent ones are left out."""
    record = functions.record(operator)
    if record is None:
        raise ValueError(f"describe_call(): there is no operator called {operator!r}")
    tensors = [t for t in operands if isinstance(t, TensorBase)]
    found = [("torch function", type(t).__name__) for t in protocol.participants(operands)]
    found += [("level", type(level).__name__) for level in reversed(STATE.levels)]
    if observing.current is not None:
        found.append(("observer", type(observing.current).__name__))
    if STATE.autocast is not None and record.autocast:
        found.append(("autocast", f"{record.autocast}: {STATE.autocast}"))
    if STATE.tape and record.backward is not None and any(t._requires_grad for t in tensors):
        found.append(("autograd", record.grad_name))
    if record.composite is not None:
        return [*found, ("composite", "runs the operators that it is made of")]
    if STATE.recorder is not None:
        found.append(("recorder", "notes the launches"))
    devices = {t._spec.device for t in tensors} or {CPU}
    return [*found, *(("device", str(d)) for d in sorted(devices, key=str))]


def describe_call(operator: str, *operands: Any) -> str:
    """The stations of a call as text, one a line. The call is not made.

    >>> import yesca as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> print(describe_call("mul", x, x))
    mul
      autograd: MulBackward0
      device: cpu
    """
    lines = [f"  {station}: {what}" for station, what in stations(operator, *operands)]
    return "\n".join([operator, *lines])
