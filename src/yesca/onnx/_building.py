"""Making an ONNX graph: nodes, constants, sizes, and what operators' rows ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._access import to_numpy
from ..core.dtypes import DType, bfloat16
from ._sizes import Size
from ._tracing import Step, Value, values_in
from .errors import OnnxExporterError, SymbolicValueError, UnsupportedOperatorError

#: ONNX's numbers of element types, by dtype.
ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
            "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14,
            "complex128": 15, "bfloat16": 16}


#: Operators whose second input was an attribute before version 13, and its name.
_ATTRIBUTES = {"Squeeze": "axes", "Unsqueeze": "axes", "ReduceSum": "axes", "Split": "split"}


def element(dtype: DType) -> int:
    """ONNX's number of a dtype."""
    return ELEMENTS[dtype.name]


class Graph:
    """The nodes of a model as they come. A name is a string: the output of a node, an input of the
    model, or a constant."""

    def __init__(self, onnx: Any, rows: dict[str, Any], opset: int) -> None:
        self.onnx, self.rows, self.opset = onnx, rows, opset
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}  # name -> TensorProto
        self.axes: dict[str, tuple[str, int]] = {}  # dynamic axis -> input and its dimension
        self.names: dict[int, str] = {}  # by the number of a value
        self._cached: dict[Any, str] = {}
        self._taken: set[str] = set()
        self.step: Step | None = None

    # ---- names and nodes

    def fresh(self, hint: str) -> str:
        """A name that nothing has."""
        name, count = hint, 0
        while name in self._taken:
            count += 1
            name = f"{hint}_{count}"
        self._taken.add(name)
        return name

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node: the name of its output, or a tuple of names."""
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        if kind in _ATTRIBUTES and self.opset < 13:
            inputs, attributes = self._older(kind, inputs, attributes)
        node = self.onnx.helper.make_node(kind, list(inputs), names, self.fresh(f"node_{kind}"),
                                          **attributes)
        if self.step is not None:
            node.doc_string = self.step.line
        self.nodes.append(node)
        return names[0] if outputs == 1 else tuple(names)

    def _older(self, kind: str, inputs: tuple[str, ...], attributes: dict[str, Any]
               ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Before version 13 these had an attribute in the place of their second input."""
        numbers = self.constants.get(inputs[1])
        if numbers is None:
            raise self.unable("sizes that depend on a dynamic axis, before version 13 of ONNX's "
                              "operators,")
        listed = self.onnx.numpy_helper.to_array(numbers).tolist()
        return inputs[:1], {**attributes, _ATTRIBUTES[kind]: listed}

    def constant(self, array: Any, name: str = "constant") -> str:
        """An initialiser of a NumPy array; equal small ones are one."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size < 64 else None
        if name == "constant" and key in self._cached:
            return self._cached[key]
        own = self.fresh(name)
        self.constants[own] = self.onnx.numpy_helper.from_array(np.ascontiguousarray(
            array).reshape(array.shape), own)
        if key is not None and name == "constant":
            self._cached[key] = own
        return own

    def weight(self, tensor: Any, name: str) -> str:
        """An initialiser that holds a tensor's values."""
        tensor = tensor.detach().contiguous()
        if tensor.dtype is bfloat16:
            proto = self.onnx.TensorProto(name=name, data_type=element(tensor.dtype),
                                          dims=tuple(tensor.shape))
            proto.raw_data = bytes(tensor.view(-1).untyped_storage()._memory()) \
                if tensor.numel() else b""
            self.constants[name] = proto
        else:
            self.constants[name] = self.onnx.numpy_helper.from_array(
                to_numpy(tensor.resolve_conj(), False), name)
        self._taken.add(name)
        return name

    # ---- operands

    def name(self, value: Value) -> str:
        """The name of a value; one that depends on nothing is a constant, or made by nodes."""
        found = self.names.get(value.number)
        if found is None and value.data is not None:
            found = self.names[value.number] = self.weight(value.data, self.fresh("constant"))
        if found is None and value.step is not None:
            self.emit(value.step)
            found = self.names[value.number]
        if found is None:
            raise OnnxExporterError("a tensor that is neither an input nor a parameter has other "
                                    "values for other sizes of the dynamic axes")
        return found

    def operand(self, value: Any, dtype: DType | None = None) -> str:
        """A value or a number as a name, converted to a dtype."""
        if isinstance(value, Value):
            name = self.name(value)
            return name if dtype is None or value.dtype is dtype else self.cast(name, dtype)
        if isinstance(value, Size):
            name = self.scalar(value)
            return name if dtype is None or dtype.name == "int64" else self.cast(name, dtype)
        kind = "float32" if dtype is None else dtype.name
        if kind == "bfloat16":
            return self.cast(self.constant(np.array(value, np.float32)), dtype)  # type: ignore
        return self.constant(np.array(value, kind))

    def cast(self, name: str, dtype: DType) -> str:
        return self.op("Cast", name, to=element(dtype))

    # ---- sizes

    def ints(self, sizes: Any) -> str:
        """A vector of int64: sizes, positions ..."""
        if all(type(s) is int for s in sizes):
            return self.constant(np.array(sizes, np.int64))
        parts, run = [], []
        for size in [*sizes, None]:
            if type(size) is int:
                run.append(size)
                continue
            if run:
                parts.append(self.constant(np.array(run, np.int64)))
                run = []
            if size is not None:
                parts.append(self._size(size))
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def _size(self, size: Size) -> str:
        if size in self._cached:
            return self._cached[size]
        if not size.divisor:
            raise self.unable("a size that is no simple formula of the dynamic axes")
        total = ""
        for factor, axes in size.terms:
            term = ""
            for axis in axes:
                term = self.op("Mul", term, self._axis(axis)) if term else self._axis(axis)
            if not term:
                term = self.constant(np.array([factor], np.int64))
            elif factor != 1:
                term = self.op("Mul", term, self.constant(np.array([factor], np.int64)))
            total = self.op("Add", total, term) if total else term
        if size.divisor != 1:
            total = self.op("Div", total, self.constant(np.array([size.divisor], np.int64)))
        self._cached[size] = total
        return total

    def _axis(self, axis: str) -> str:
        if axis not in self._cached:
            name, place = self.axes[axis]
            self._cached[axis] = self.op("Shape", name, start=place, end=place + 1) \
                if self.opset >= 15 else self.op("Slice", self.op("Shape", name),
                                                 self.ints([place]), self.ints([place + 1]))
        return self._cached[axis]

    def reduce(self, kind: str, name: str, axes: list[int], keepdims: bool = True) -> str:
        """A sum, mean ... over dimensions: they are an input in newer versions of ONNX."""
        if self.opset >= 18 or kind == "ReduceSum":
            return self.op(kind, name, self.ints(axes), keepdims=int(keepdims))
        return self.op(kind, name, axes=axes, keepdims=int(keepdims))

    def below(self, rows: Any, columns: Any, diagonal: int = 0) -> str:
        """Truth values of a matrix: those on and below a diagonal."""
        down, across = (self.op("Range", self.constant(np.array(0)), self.scalar(size),
                                self.constant(np.array(1))) for size in (rows, columns))
        down = self.op("Unsqueeze", self.op("Add", down, self.constant(np.array(diagonal))),
                       self.ints([1]))
        return self.op("Not", self.op("Greater", across, down))

    def scalar(self, size: Any) -> str:
        """A size as an int64 without dimensions."""
        if type(size) is int:
            return self.constant(np.array(size))
        return self.op("Reshape", self.ints([size]), self.constant(np.zeros(0, np.int64)))

    def fixed(self, *sizes: Any) -> Any:
        """Sizes that ONNX wants to know when the model is made."""
        for size in sizes:
            if isinstance(size, Size):
                raise self.unable(f"a size that depends on a dynamic axis ({size})")
        return sizes[0] if len(sizes) == 1 else sizes

    def reshape(self, name: str, shape: Any) -> str:
        """Give a new shape; one dynamic size is left to ONNX."""
        moving = [k for k, size in enumerate(shape) if isinstance(size, Size)]
        if len(moving) == 1 and 0 not in shape:
            shape = [-1 if k in moving else size for k, size in enumerate(shape)]
        return self.op("Reshape", name, self.ints(list(shape)), allowzero=int(0 in shape) or None)

    # ---- steps

    def unable(self, what: str) -> SymbolicValueError:
        assert self.step is not None
        return SymbolicValueError(f"{self.step.name} with {what} at {self.step.line} cannot be "
                                  "exported to ONNX")

    def emit(self, step: Step) -> None:
        """The nodes of a step, those of its operands first."""
        if step.results and all(v.number in self.names for v in step.results):
            return
        row = self.rows.get(step.name)
        if row is None:
            raise UnsupportedOperatorError(
                f"the operator {step.name} at {step.line} has no ONNX form here. Another operator "
                "may have one, or the part of the model that has it can be left out")
        for value in values_in(step.values):
            self.name(value)
        before, self.step = self.step, step
        try:
            made = row(self, step, *step.values)
        finally:
            self.step = before
        names = made if isinstance(made, tuple) else (made,)
        for value, name in zip(step.results, names, strict=True):
            self.names[value.number] = name
