"""Running a model once and writing down its operators: what an exporter reads.

A level (`dispatch/levels.py`) sees every operator as a record with its full arguments. Records
that have a row in the table are steps; composites that have none are seen as their parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import functional as ops
from .._tensor import Tensor
from ..base.frames import OWN, warn
from ..dispatch import call as calls
from ..dispatch.levels import Level
from ..dispatch.state import STATE, pop_level, push_level
from ..jit import TracerWarning
from .errors import OnnxExporterError

#: Methods by which a program reads values, and what PyTorch's tracer calls what they give.
READERS = {"__bool__": "boolean", "__int__": "integer", "__float__": "float",
           "__index__": "index", "item": "number", "tolist": "list", "numpy": "NumPy array",
           "__array__": "NumPy array", "__dlpack__": "capsule", "__deepcopy__": "copy"}
COMPARED = frozenset("eq ne lt le gt ge".split())


@dataclass(eq=False)
class Value:
    """A tensor of the model: one version of it, before it is written the next time."""

    number: int
    shape: tuple[Any, ...]  # of sizes; `_sizes.Size` for those that depend on dynamic axes
    dtype: Any
    depends: bool  # on inputs or parameters
    label: str = ""  # the name of an input, parameter or buffer
    data: Any = None  # what it holds, where it depends on nothing
    step: Step | None = None
    place: int = 0  # which of the step's results

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(eq=False)
class Step:
    """One operator: its record's name and arguments, tensors as values."""

    name: str
    values: tuple[Any, ...]
    results: list[Value]
    line: str
    common: Any = None  # the dtype in which operands are compared

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.results[0].shape

    @property
    def dtype(self) -> Any:
        return self.results[0].dtype


@dataclass
class Trace:
    """A model's run: its steps, the values in order, those that go in and come out."""

    steps: list[Step] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)


class Tracer(Level):
    """The level that writes operators down. `rows`: names of records that are steps."""

    transforms = True  # sees the operators of public functions

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.trace = Trace()
        self._known: dict[int, tuple[Value, tuple[int, int], Any]] = {}
        self._over: dict[int, list[Any]] = {}  # tensors by the storage whose memory they show
        self._writes: dict[int, int] = {}  # how often that was written

    def enter(self, tensor: Any, depends: bool, label: str = "") -> Value:
        """A tensor that no step has made."""
        value = self._new(tensor, depends)
        value.label = label
        return value

    def _new(self, tensor: Any, depends: bool) -> Value:
        value = Value(len(self.trace.values), tuple(tensor.shape), tensor.dtype, depends)
        self.trace.values.append(value)
        self._know(tensor, value)
        return value

    def _know(self, tensor: Any, value: Value) -> None:
        if id(tensor) not in self._known:
            self._over.setdefault(id(tensor._storage), []).append(tensor)
        self._known[id(tensor)] = (value, self._state(tensor), tensor)

    def _state(self, tensor: Any) -> tuple[int, int]:
        """What changes when a tensor is written, also by one that has a counter of its own."""
        return tensor._version, self._writes.get(id(tensor._storage), 0)

    def value_of(self, tensor: Any) -> Value:
        """The value of a tensor that is read now."""
        known = self._known.get(id(tensor))
        if known is not None and known[1] == self._state(tensor):
            value = known[0]
        else:
            value = self._shown(tensor, known is not None)
        if not value.depends and value.data is None:
            value.data = tensor.detach().clone()
        return value

    def _shown(self, tensor: Any, written: bool) -> Value:
        """The value of a tensor that no step has made: it may show what another one does."""
        others = [self._known[id(other)] for other in self._over.get(id(tensor._storage), ())]
        for value, state, other in others:
            if state == self._state(other) and _extent(other) == _extent(tensor):
                self._know(tensor, value)
                return value
        if written or any(value.depends for value, *_ in others):
            raise OnnxExporterError(
                "a tensor was written through another one that shares its memory (a view, a "
                f"slice), or shows such memory in another form, before {line()}: ONNX has no "
                "views. Compute the written tensor by torch.where, torch.cat or an operator out "
                "of place")
        return self.enter(tensor, False)

    def depends(self, tensor: Any) -> bool:
        """Whether a tensor is one of the model's that depends on its inputs."""
        known = self._known.get(id(tensor))
        return known is not None and known[0].depends

    def call(self, record: Any, values: tuple[Any, ...], target: Any) -> Any:
        if record.name not in self.rows and record.composite is not None:
            push_level(self)
            try:
                return calls.unobserved(record, values, target)
            finally:
                pop_level()
        noted = self._noted(values)
        common = ops.result_type(*values[:2]) if record.name in COMPARED else None
        result = super().call(record, values, target)
        self._add(record.name, noted, result, common, {id(one) for one in flat(target)})
        return result

    def whole(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if name not in self.rows:
            return super().whole(name, function, args)
        level = STATE.levels.pop()
        try:
            noted = self._noted(args)
            result = function(*args)
            self._add(name, noted, result)
        finally:
            push_level(level)
        return result

    def _noted(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.value_of(value)
        if type(value) in (list, tuple):
            return tuple([self._noted(one) for one in value])
        if isinstance(value, dict):
            return {name: self._noted(one) for name, one in value.items()}
        return value

    def _add(self, name: str, values: tuple[Any, ...], result: Any, common: Any = None,
             targets: Collection[int] = ()) -> None:
        depends = any(v.depends for v in values_in(values))
        step = Step(name, values, [], line(), common)
        for place, tensor in enumerate(flat(result)):
            if id(tensor) in targets or id(tensor) in self._known:
                memory = id(tensor._storage)
                self._writes[memory] = self._writes.get(memory, 0) + 1
            made = self._new(tensor, depends)
            made.step, made.place = step, place
            step.results.append(made)
        self.trace.steps.append(step)

    def drawing(self) -> None:
        raise OnnxExporterError(
            f"random numbers are drawn at {line()}: an ONNX model has none of the model's own. "
            "Call model.eval() before the export, if it is dropout")

    def fill(self, function: Any, tensor: Any, args: Any, kwargs: Any) -> Any:
        self.drawing()


def _extent(tensor: Any) -> tuple[Any, ...]:
    """What a tensor shows of its memory."""
    own = tensor._spec
    return own.dtype, own.shape, own.strides, own.conj, own.neg, tensor._offset


def values_in(thing: Any) -> Iterator[Value]:
    """The values among arguments."""
    if isinstance(thing, Value):
        yield thing
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            yield from values_in(one)
    elif isinstance(thing, dict):
        yield from values_in(tuple(thing.values()))


def flat(thing: Any) -> list[Any]:
    """The tensors among results, in order: those of dictionaries by their names' order."""
    if isinstance(thing, Tensor):
        return [thing]
    if isinstance(thing, dict):
        thing = tuple(thing.values())
    if isinstance(thing, (list, tuple)):
        return [tensor for one in thing for tensor in flat(one)]
    return []


def line() -> str:
    """The line of the program that runs now."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    if frame is None:
        return "the model"
    return f'File "{frame.f_code.co_filename}", line {frame.f_lineno}'


@contextmanager
def watched_reads(tracer: Tracer) -> Iterator[None]:
    """Warn, inside, of values that the program reads: the trace knows the numbers only."""
    before = {name: vars(Tensor)[name] for name in READERS if name in vars(Tensor)}

    def watch(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def reader(self: Any, *args: Any, **kwargs: Any) -> Any:
            if STATE.levels and STATE.levels[-1] is tracer and tracer.depends(self):
                warn(f"Converting a tensor to a Python {READERS[name]} might cause the trace to be "
                     "incorrect. We can't record the data flow of Python values, so this value "
                     "will be treated as a constant in the future. This means that the trace "
                     f"might not generalize to other inputs! ({line()})", TracerWarning)
            return plain(self, *args, **kwargs)

        return reader

    for name, plain in before.items():
        setattr(Tensor, name, watch(name, plain))
    try:
        yield
    finally:
        for name, plain in before.items():
            setattr(Tensor, name, plain)


def trace(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
          inputs: list[Any], weights: dict[str, Any], rows: Any) -> tuple[Trace, Any]:
    """The trace of `function(*args, **kwargs)`, and what it gives.

    inputs: the tensors among the arguments; weights: parameters and buffers by their names.
    """
    tracer = Tracer(rows)
    for name, tensor in weights.items():
        tracer.enter(tensor, True, name)
    tracer.trace.inputs = [tracer.enter(tensor, True) for tensor in inputs]
    push_level(tracer)
    try:
        with watched_reads(tracer):
            result = function(*args, **kwargs)
    finally:
        pop_level()
    tracer.trace.outputs = [tracer.value_of(tensor) for tensor in flat(result)]
    return tracer.trace, result
