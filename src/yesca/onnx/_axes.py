"""Dynamic axes: which they are, and inputs of other sizes to run the model on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._tensor import Tensor
from ._tracing import flat
from .errors import OnnxExporterError


@dataclass
class Axes:
    """The inputs of an export: their names, and the dynamic axes among their dimensions."""

    names: list[str]  # of the inputs, in order
    inputs: list[Any]  # the example tensors
    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    outputs: dict[str, dict[int, str]] = field(default_factory=dict)  # names of their axes
    sizes: list[dict[str, int]] = field(default_factory=list)  # of each run

    def add(self, axis: str, place: int, dim: int) -> None:
        """Dimension `dim` of input number `place` may have any size."""
        rank = self.inputs[place].dim()
        if not -rank <= dim < rank:
            raise ValueError(f"dynamic axis {dim} of {self.names[place]!r}, which has {rank} "
                             "dimensions")
        self.places.setdefault(axis, []).append((place, dim % rank))

    def example(self) -> dict[str, int]:
        """The axes' sizes in the example inputs."""
        found = {}
        for axis, places in self.places.items():
            sizes = {self.inputs[k].shape[d] for k, d in places}
            if len(sizes) > 1:
                raise ValueError(f"the dynamic axis {axis!r} has several sizes in the example "
                                 f"inputs: {sorted(sizes)}")
            found[axis] = sizes.pop()
        return found

    def probes(self, run: Callable[..., Any], args: Any, kwargs: Any) -> Iterator[dict[str, int]]:
        """The sizes to run with: more than the formulas of one axis have terms (`_sizes`)."""
        if not self.places:
            self.sizes = [{}]
            yield {}
            return
        example = self.example()
        base = {axis: max(size, 2) for axis, size in example.items()}
        for k, axis in enumerate(base):  # no two the same, where the model allows that
            while base[axis] in list(base.values())[:k]:
                base[axis] += 1
        base = next((b for b in (base, example) if self._runs(run, args, kwargs, b)), example)
        self.sizes = [base]
        for axis in base:
            self.sizes += self._others(run, args, kwargs, base, [axis], 4)
        if len(base) > 1:
            self.sizes += self._others(run, args, kwargs, base, list(base), 1)
        yield from self.sizes

    def _others(self, run: Any, args: Any, kwargs: Any, base: dict[str, int], axes: list[str],
                wanted: int) -> list[dict[str, int]]:
        """Sizes that differ in some axes, with which the model runs."""
        found: list[dict[str, int]] = []
        far = max(5, *[base[axis] for axis in axes])  # there what is rounded is another number
        for step in dict.fromkeys((1, 2, 3, far, -1, -2, 4, 6, 8, 16, 32, -4, -8)):
            sizes = {a: s + (step + k if a in axes else 0) for k, (a, s) in enumerate(base.items())}
            if min(sizes.values()) > 1 and self._runs(run, args, kwargs, sizes):
                found.append(sizes)
                if len(found) == wanted:
                    return found
        raise OnnxExporterError(
            f"the model runs with too few sizes of its dynamic axes {axes}: of those around {base}"
            f" {len(found)} did, {wanted} are needed")

    def _runs(self, run: Any, args: Any, kwargs: Any, sizes: dict[str, int]) -> bool:
        given = self.arguments(args, kwargs, sizes)
        try:
            run(*given[:2])
        except (RuntimeError, ValueError, IndexError, AssertionError):
            return False
        return True

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: dict[str, int]
                  ) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
        """The arguments with inputs of these sizes, and the inputs."""
        made = [_own(tensor) for tensor in self.inputs]
        for axis, places in self.places.items():
            for place, dim in places:
                made[place] = _resized(made[place], dim, sizes[axis])
        tensors = iter(made)
        return _replaced(args, tensors), _replaced(kwargs, tensors), made


def _own(tensor: Any) -> Any:
    """A copy, which the model may write, and which is no other input."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _resized(tensor: Any, dim: int, size: int) -> Any:
    """The tensor with another size in one dimension: its own elements, over and over."""
    have = tensor.shape[dim]
    if have == size or not have:
        return tensor
    from .. import functional as ops

    return tensor.detach().index_select(dim, ops.arange(size) % have)


def _replaced(thing: Any, tensors: Iterator[Any]) -> Any:
    """The same structure with other tensors in it."""
    if isinstance(thing, Tensor):
        return next(tensors)
    if isinstance(thing, dict):
        return {name: _replaced(one, tensors) for name, one in thing.items()}
    if isinstance(thing, (list, tuple)):
        made = [_replaced(one, tensors) for one in thing]
        if hasattr(thing, "_fields"):
            return type(thing)(*made)
        return type(thing)(made)
    return thing


# ---- what was asked for ----------------------------------------------------------------------

def asked(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
          input_names: Sequence[str] | None, output_names: Sequence[str] | None,
          dynamic_axes: Mapping[str, Any] | None, dynamic_shapes: Any) -> Axes:
    """The inputs' names and their dynamic axes."""
    by_name = _by_parameter(model, args, kwargs)
    names, inputs = [], []
    for name, value in by_name:
        tensors = flat(value)
        several = len(tensors) > 1
        names += [f"{name}_{k}" if several else name for k in range(len(tensors))]
        inputs += tensors
    if not inputs:
        raise ValueError("the model has no tensors among its arguments: an ONNX model is a "
                         "function of its inputs")
    own = list(names)
    names[:len(input_names or ())] = list(input_names or ())[:len(names)]
    if len(set(names)) < len(names):
        raise ValueError(f"two inputs have the same name: {names}")
    axes = Axes(names, inputs)
    for name, dims in (dynamic_axes or {}).items():
        given = dims if isinstance(dims, Mapping) else {
            d: f"{name}_dynamic_axes_{k + 1}" for k, d in enumerate(dims)}
        if name in names or name in own:
            place = (names if name in names else own).index(name)
            for dim, axis in given.items():
                axes.add(str(axis), place, dim)
        elif output_names is None or name in output_names:
            axes.outputs[name] = {dim: str(axis) for dim, axis in given.items()}
        else:
            raise ValueError(f"dynamic_axes names {name!r}, which is no input ({names}) and no "
                             f"output ({list(output_names)})")
    if dynamic_shapes is not None:
        _read_shapes(axes, by_name, dynamic_shapes)
    return axes


def _by_parameter(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
                  ) -> list[tuple[str, Any]]:
    """The arguments by the names of the parameters that take them."""
    function = getattr(model, "forward", model)
    found: list[tuple[str, Any]] = []
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return [(f"input_{k}", value) for k, value in enumerate(args)] + list(kwargs.items())
    kinds = {p.name: p.kind for p in bound.signature.parameters.values()}
    for name, value in bound.arguments.items():
        if kinds[name] is inspect.Parameter.VAR_KEYWORD:
            found += list(value.items())
        else:
            found.append((name, value))
    return found


def _read_shapes(axes: Axes, by_name: list[tuple[str, Any]], shapes: Any) -> None:
    """The dynamic axes of `dynamic_shapes`: by the parameters' names, or in their order."""
    if isinstance(shapes, Mapping):
        unknown = set(shapes) - {name for name, _ in by_name}
        if unknown and len(by_name) == 1 and isinstance(by_name[0][1], dict):
            shapes, unknown = {by_name[0][0]: shapes}, set()
        if unknown:
            raise ValueError(f"dynamic_shapes names {sorted(unknown)}, but the model takes "
                             f"{[name for name, _ in by_name]}")
        shapes = [shapes.get(name) for name, _ in by_name]
    if len(shapes) != len(by_name):
        raise ValueError(f"dynamic_shapes has {len(shapes)} items, but the model takes "
                         f"{[name for name, _ in by_name]}")
    place = 0
    for (name, value), spec in zip(by_name, shapes, strict=True):
        place = _read(axes, name, value, spec, place)


def _read(axes: Axes, name: str, value: Any, spec: Any, place: int) -> int:
    """Read the axes of one argument; the number of the input after it."""
    if isinstance(value, Tensor):
        pairs = spec.items() if isinstance(spec, Mapping) else enumerate(spec or ())
        for dim, axis in pairs:
            if axis is not None and not isinstance(axis, int):
                text = getattr(axis, "__name__", None) or str(axis)
                free = not text.isidentifier()  # Dim.DYNAMIC, Dim.AUTO: a name of our own
                axes.add(f"{name}_dim_{dim}" if free else text, place, dim)
        return place + 1
    several = value.values() if isinstance(value, dict) else value \
        if isinstance(value, (list, tuple)) else ()
    fits = value.keys() == spec.keys() if isinstance(spec, Mapping) and isinstance(value, dict) \
        else isinstance(spec, (list, tuple)) and len(spec) == len(several)
    if several and spec is not None and not fits:
        raise ValueError(f"dynamic_shapes has {spec!r} for {name!r}, which has {len(several)} "
                         "parts: each needs its own, of the same structure")
    for k, one in enumerate(several):
        inner = None if spec is None else spec[k] if not isinstance(spec, Mapping) else \
            spec[list(value)[k]]
        place = _read(axes, f"{name}_{k}", one, inner, place)
    return place
