"""The slots of a tape node. Machine code fills them; `autograd.node` adds the methods."""

from __future__ import annotations


class NodeBase:
    """One recorded operator call.

    _plan      the plan that ran (its record holds the derivative formula)
    _scalars   the call's run-time numbers, in order
    _edges     tuple: per tensor the node or leaf that it came from, or None
    _ports     tuple: per tensor which result of that node it was
    _mask      bit k: tensor argument k wants a gradient
    _saved     tuple of Saved, or None once they were freed
    _sequence  number in creation order: backward goes from high to low
    _extra     None, or the rare rest: hooks, metadata, anomaly trace, retained outputs
    """

    __slots__ = ("_plan", "_scalars", "_edges", "_ports", "_mask", "_saved", "_sequence", "_extra",
                 "__weakref__")


class Saved:
    """What the tape keeps of a tensor: storage, view, and the version it had; never its node."""

    __slots__ = ("storage", "spec", "offset", "counter", "version")
