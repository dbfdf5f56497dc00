"""Anomaly mode: which line of the forward pass made the node whose derivative failed."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from ..base.frames import OWN, warn
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE, set_anomaly



class detect_anomaly:  # noqa: N801 - PyTorch's name
    """Inside, nodes remember the line that made them and gradients are checked for NaN.

    An error in a derivative is preceded by a warning with the forward line.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = STATE.anomaly
        self.prev_check_nan = STATE.check_nan
        self.check_nan = check_nan
        warn("Anomaly Detection has been enabled. This mode will increase the runtime and "
             "should only be enabled for debugging.")

    def __enter__(self) -> None:
        set_anomaly(True, self.check_nan)

    def __exit__(self, *args: object) -> None:
        set_anomaly(self.prev, self.prev_check_nan)


class set_detect_anomaly:  # noqa: N801
    """Switch anomaly mode at once; as a context manager, put it back at the end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = STATE.anomaly
        self.prev_check_nan = STATE.check_nan
        set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        set_anomaly(self.prev, self.prev_check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on in this thread."""
    return STATE.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN."""
    return STATE.check_nan


def remember(node: Any) -> None:
    """Keep the lines of Python that made a node, and the node in whose derivative it was made."""
    frames = [f for f in traceback.extract_stack()
              if not f.filename.startswith(OWN)]
    node.extra.trace = (traceback.format_list(frames), STATE.evaluating)


def watched(node: Any, grads: list[Any]) -> Sequence[Any]:
    """Run a derivative; before an error goes on, say where the node came from."""
    before, STATE.evaluating = STATE.evaluating, node
    try:
        made = node.apply(grads)
        if STATE.check_nan:
            _check_nan(node, made)
    except Exception:
        _explain(node)
        raise
    finally:
        STATE.evaluating = before
    return made


def _check_nan(node: Any, made: Sequence[Any]) -> None:
    for k, grad in enumerate(made):
        if grad is not None and bool(OPERATORS.any(OPERATORS.isnan(grad.detach()))):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {k}th "
                               "output.")


def _explain(node: Any) -> None:
    trace = node._extra.trace if node._extra is not None else None
    if trace is None:
        warn(f"Error detected in {node.name()}. No forward pass information available. "
             "Enable detect anomaly during forward pass for more information.")
        return
    lines, parent = trace
    warn(f"Error detected in {node.name()}. Traceback of forward call that caused the "
         f"error:\n{''.join(lines)}")
    while parent is not None:
        trace = parent._extra.trace if parent._extra is not None else None
        lines, above = trace if trace is not None else ([], None)
        warn(f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of "
             f"forward call that induced the previous calculation:\n{''.join(lines)}")
        parent = above
