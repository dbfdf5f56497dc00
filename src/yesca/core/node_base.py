"""The slots of a tape node. Machine code fills them; `autograd.node` adds the methods."""

from __future__ import annotations


class NodeBase:
    """One recorded operator call.

    _plan     the plan that ran (its record holds the derivative formula)
    _edges    tuple: per tensor argument the node or leaf that it came from, or None
    _numbers  tuple: per tensor argument which result of that node it was
    _saved    tuple of saved values, or None once they were freed
    _scalars  run-time numbers of the call
    _extra    None, or the rare rest: hooks, metadata, anomaly trace, retained outputs
    """

    __slots__ = ("_plan", "_edges", "_numbers", "_saved", "_scalars", "_extra")


class Saved:
    """What the tape keeps of a tensor: storage, view and the version it had; never its node.

    `source` is the edge to give a rebuilt tensor for double backward: None for a result of the
    node that saved it (the node itself is meant then).
    """

    __slots__ = ("storage", "spec", "offset", "counter", "version", "source", "number", "leaf")
