"""The ONNX model of a trace: inputs, nodes, initialisers, outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._axes import Axes
from ._building import Graph, element
from ._producer import producer_name, producer_version
from ._sizes import Size
from ._tracing import Trace, Value, values_in
from .errors import OnnxExporterError
from .rows import ROWS

def assembled(onnx: Any, trace: Trace, axes: Axes, weights: dict[str, Any], opset: int,
              weight_names: Sequence[str], output_names: Sequence[str] | None, with_values: bool,
              weights_as_inputs: bool) -> Any:
    """The `onnx.ModelProto` of a trace."""
    if not trace.outputs:
        raise OnnxExporterError("the model gives no tensors: an ONNX model is what makes some")
    g = Graph(onnx, ROWS, opset)
    wanted = list(output_names or ())[:len(trace.outputs)]
    renamed = dict(zip(weights, weight_names, strict=False))
    _check_names([*axes.names, *renamed.values(), *wanted])
    for name in (*axes.names, *renamed.values(), *wanted):
        g.fresh(name)
    # Who has no name of the caller's gets one that is free.
    labels = {name: renamed[name] if name in renamed else g.fresh(name) for name in weights}
    wanted += [g.fresh(f"output_{k}") for k in range(len(wanted), len(trace.outputs))]
    for value, name in zip(trace.inputs, axes.names, strict=True):
        g.names[value.number] = name
    for axis, ((place, dim), *_) in axes.places.items():
        g.axes[axis] = (axes.names[place], dim)
    used = _needed(trace)
    for value in trace.values:
        if value.label and value.number in used:
            g.names[value.number] = g.weight(weights[value.label], labels[value.label])
    for step in trace.steps:
        if any(v.depends and v.number in used for v in step.results):
            g.emit(step)
    outputs = _outputs(g, trace.outputs, wanted)
    read = {name for node in g.nodes for name in node.input}
    g.constants = {name: proto for name, proto in g.constants.items() if name in read}
    parameters = [name for name in g.constants if name in labels.values()]
    graph = onnx.helper.make_graph(
        g.nodes, "main_graph", [_port(onnx, v, n, {}) for v, n in zip(trace.inputs, axes.names)],
        [_port(onnx, v, n, axes.outputs.get(n, {})) for v, n in zip(trace.outputs, outputs)],
        [p for name, p in g.constants.items() if with_values or name not in parameters])
    if weights_as_inputs or not with_values:
        for name in parameters:
            proto = g.constants[name]
            graph.input.append(onnx.helper.make_tensor_value_info(name, proto.data_type,
                                                                  list(proto.dims)))
    return _checked(onnx, graph, opset)


def _check_names(names: list[str]) -> None:
    """Refuse what ONNX cannot tell apart."""
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"{name!r} is no name of an input or output")
        if names.count(name) > 1:
            raise ValueError(f"two inputs or outputs have the name {name!r}")


def _needed(trace: Trace) -> set[int]:
    """The numbers of the values that the outputs depend on."""
    needed = {v.number for v in trace.outputs}
    for step in reversed(trace.steps):
        if any(v.number in needed for v in step.results):
            needed.update(v.number for v in values_in(step.values))
    return needed


def _outputs(g: Graph, values: list[Value], wanted: list[str]) -> list[str]:
    """Give the outputs their names."""
    made = {name for node in g.nodes for name in node.output}
    other: dict[str, str] = {}
    for value, name in zip(values, wanted, strict=True):
        source = g.name(value)
        if source in made and source not in other:
            other[source] = name
        else:  # an input, a parameter, or what is an output already
            g.nodes.append(g.onnx.helper.make_node("Identity", [source], [name]))
    for node in g.nodes:
        for names in (node.input, node.output):
            names[:] = [other.get(name, name) for name in names]
    return wanted


def _port(onnx: Any, value: Value, name: str, named: dict[int, str]) -> Any:
    """An input or an output of the graph, with its shape."""
    shape: list[int | str | None] = []
    for dim, size in enumerate(value.shape):
        if isinstance(size, Size):
            size = named.get(dim, named.get(
                dim - value.rank, str(size) if size.divisor else None))
        shape.append(size)
    return onnx.helper.make_tensor_value_info(name, element(value.dtype), shape)


def _checked(onnx: Any, graph: Any, opset: int) -> Any:
    """The model of a graph, which keeps to the rules of ONNX."""
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", opset)],
        producer_name=producer_name, producer_version=producer_version,
        ir_version=10 if opset <= 22 else 11)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise OnnxExporterError(f"version {opset} of ONNX's operators cannot say the model, a "
                                f"newer opset_version may: {error}") from error
    return model
