"""From raw events to those that programs see."""

from __future__ import annotations

from typing import Any

from . import traffic
from .collector import BACKWARD, USER, Options, Raw, ThreadEvents
from .event_list import EventList, nested
from .events import MEMORY_EVENT_NAME, FunctionEvent
from .stacks import texts

Taken = list[tuple[ThreadEvents, list[Raw]]]
_STEP = "ProfilerStep#"


def assemble(taken: Taken, options: Options, start: int, end: int, first_id: int = 1
             ) -> EventList:
    """All events of a session, ordered by their starts.

    start, end: the session's time in nanoseconds; an event that goes on is cut off at its end.
    """
    made: dict[int, FunctionEvent] = {}
    ordered = sorted(((raw.start, place, thread, raw) for thread, events in taken
                      for place, raw in enumerate(events)), key=lambda one: one[:2])
    forward = _forward_places(ordered)
    for number, (_, _, thread, raw) in enumerate(ordered, first_id):
        event = made[id(raw)] = _event(number, thread, raw, options, start, end)
        if raw.scope == BACKWARD and raw.sequence >= 0:
            origin = forward.get(raw.sequence)
            event.fwd_thread = thread.number if origin is None else origin[0].number
            if origin is not None and options.stacks:
                event.stack = texts(origin[1].stack)
        if raw.parent is not None:
            event.cpu_parent = made.get(id(raw.parent))
        parent = event.cpu_parent
        if parent is not None and parent.scope == BACKWARD and parent.stack:
            event.stack = parent.stack
    events = list(made.values())
    nested(events)
    if options.memory:
        events += _outside(ordered, first_id + len(events), start)
        events.sort(key=lambda event: event.time_range.start)
    return EventList(events, profile_memory=options.memory, with_flops=options.flops)


def _forward_places(ordered: list[Any]) -> dict[int, tuple[ThreadEvents, Raw]]:
    """Per number of a node: the operator that made it, which is the last one to expect it."""
    return {raw.sequence: (thread, raw) for _, _, thread, raw in ordered
            if raw.scope != BACKWARD and raw.sequence >= 0}


def _event(number: int, thread: ThreadEvents, raw: Raw, options: Options, start: int, end: int
           ) -> FunctionEvent:
    given = raw.given if options.shapes else None
    details: dict[str, Any] = {}
    if given is not None:
        details = {"input_shapes": given.shapes(), "concrete_inputs": given.concrete(),
                   "structured_input_shapes": given.structured(),
                   "structured_input_strides": given.strides(), "input_dtypes": given.types()}
    if options.memory and raw.memory is not None and raw.end:
        details["cpu_memory_usage"] = raw.memory[1] - raw.memory[0]
    if options.stacks:
        details["stack"] = texts(raw.stack)
    return FunctionEvent(
        number, "ProfilerStep*" if raw.name.startswith(_STEP) else raw.name, thread.number,
        (raw.start - start) / 1000, ((raw.end or end) - start) / 1000, trace_name=raw.name,
        sequence_nr=raw.sequence, scope=raw.scope, is_user_annotation=raw.scope == USER,
        fwd_thread=0, flops=raw.flops if options.flops else 0,
        bytes_moved=0 if raw.plan is None else traffic.moved(raw.plan),
        device_resource_id=thread.native, **details)


def _outside(ordered: list[Any], first_id: int, start: int) -> list[FunctionEvent]:
    """What was allocated or freed between the outermost events."""
    found: list[FunctionEvent] = []
    known: int | None = None
    ended = 0
    for _, _, thread, raw in ordered:
        if raw.parent is not None or raw.memory is None or not raw.end:
            continue
        if raw.start >= ended:  # else it began inside an event of another thread
            changed = 0 if known is None else raw.memory[0] - known
            if changed:
                at = (raw.start - start) / 1000
                found.append(FunctionEvent(
                    first_id + len(found), MEMORY_EVENT_NAME, thread.number, at, at,
                    cpu_memory_usage=changed, device_resource_id=thread.native,
                    fwd_thread=thread.number))
        if raw.end >= ended:
            known, ended = raw.memory[1], raw.end
    return found
