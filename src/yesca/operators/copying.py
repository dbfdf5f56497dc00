"""Copies: clone, dtype conversion, copy_, contiguous, fill."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import DType, bool_, float64, int64
from ..core.memory_formats import is_in, strides_for
from ..core.spec import spec
from ..core.views import broadcast_shapes, view_strides
from ..loops.ir import cast, const
from .filling import element, filling
from .kinds import composite, rows


def _clone(p: Any, self: Any, memory_format: Any) -> None:
    made = spec(self.spec.dtype, self.spec.shape, strides_for(self.spec, memory_format), p.device)
    p.flat(lambda x: x, [self], [p.result(made)])


clone = rows("clone(Tensor self, *, "
             "memory_format? memory_format=None) -> Tensor", _clone, kind="copy",
             backward={"self": lambda grad: grad}, doc="A copy with memory of its own.")


def _to_dtype(p: Any, self: Any, dtype: DType, memory_format: Any) -> None:
    made = spec(dtype, self.spec.shape, strides_for(self.spec, memory_format), p.device)
    p.flat(lambda x: cast(x, dtype), [self], [p.result(made)])


to_dtype = rows(
    "to_dtype(Tensor self, dtype dtype, any? memory_format=None) -> Tensor", _to_dtype,
    samples=lambda make: [(make(3, 4), float64), (make(2), int64), (make(), bool_)],
    kind="copy", method=False, node_name="ToCopyBackward0",
    backward={"self": lambda ops, grad, self_spec: ops.to_dtype(grad, self_spec.dtype)
              if grad.dtype is not self_spec.dtype else grad},
    doc="A copy in another dtype.")


rows("as_element(Tensor self, dtype dtype) -> Tensor",
     lambda p, self, dtype: p.flat(lambda x: element(p, x, self.spec.dtype, dtype), [self],
                                   [p.result(spec(dtype, self.spec.shape, None, p.device))]),
     samples=lambda make: [(make(3, 4), float64), (make(), int64), (make(), bool_)],
     kind="copy", method=False, node_name="ToCopyBackward0",
     backward={"self": lambda ops, grad, self_spec: ops.to_dtype(grad, self_spec.dtype)},
     doc="A value in another dtype, which must be able to hold it.")


def _copy(p: Any, self: Any, src: Any, non_blocking: bool) -> None:
    target = p.result(spec(self.spec.dtype, self.spec.shape, strides_for(self.spec, None),
                           p.device))
    shape = broadcast_shapes(self.spec.shape, src.spec.shape)
    if shape != tuple(self.spec.shape):
        raise RuntimeError(f"output with shape {list(self.spec.shape)} doesn't match the broadcast "
                           f"shape {list(shape)}")
    p.flat(lambda x: cast(x, self.spec.dtype), [src], [target])


copy = rows(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", _copy, kind="copy",
    inplace=True, node_name="CopyBackwards", method=False,
    samples=lambda make: [(make(3, 4), make(3, 4)), (make(3, 4), make(4)),
                          (make(2), make(2, dtype="float64"))],
    backward={"self": lambda ops, grad: ops.zeros_like(grad),
              "src": lambda ops, grad, src_spec: ops.to_dtype(
        ops.sum_to_size(grad, tuple(src_spec.shape)), src_spec.dtype)
        if grad.dtype is not src_spec.dtype else ops.sum_to_size(grad, tuple(src_spec.shape))},
    doc="self with the values of src, which broadcasts to its shape.")


def _fill(p: Any, self: Any, value: Any) -> None:
    dtype = self.spec.dtype
    target = p.result(spec(dtype, self.spec.shape, strides_for(self.spec, None), p.device))
    if p.is_ref(value):
        if value.spec.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value.spec.ndim} dimensions.")
        p.flat(lambda x: cast(x, dtype), [value], [target])
        return
    p.flat(lambda: filling(p, 1, dtype, self.spec.numel), [], [target])


def _value_grad(ops: Any, grad: Any, value_spec: Any) -> Any:
    if value_spec is None:  # a number
        return None
    made = ops.sum(grad)
    return made if made.dtype is value_spec.dtype else ops.to_dtype(made, value_spec.dtype)


fill = rows("fill(Tensor self, Tensor value) -> Tensor", _fill, kind="copy", inplace=True,
            numbers=("value",), stretched="allowed", overlap="any",
            node_name=lambda plan: f"FillBackward{2 * plan.inplace + (plan.operands > 1)}",
            samples=lambda make: [(make(3, 4), 1), (make(3, 4), make()), (make(0, 3), 1)],
            backward={"self": lambda ops, grad: ops.zeros_like(grad),
                      "value": lambda ops, grad, value_spec: _value_grad(ops, grad, value_spec)},
            doc="Every element set to value.")


def _zero(p: Any, self: Any) -> None:
    p.flat(lambda: const(0, self.spec.dtype), [], [p.result(self.spec)])


zero = rows("zero(Tensor self) -> Tensor", _zero, kind="copy", inplace=True,
            stretched="allowed",
            backward={"self": lambda ops, grad: ops.zeros_like(grad)},
            doc="Every element set to 0.")


def _contiguous(ops: Any, self: Any, memory_format: Any) -> Any:
    kind = getattr(memory_format, "name", "contiguous_format")
    if is_in(self._spec, kind):
        return self
    if kind == "preserve_format":
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return ops.clone(self, memory_format=memory_format or ops.contiguous_format)


contiguous = composite("contiguous(Tensor self, *, memory_format memory_format=None) -> Tensor",
                       _contiguous, doc="self, or a row-major copy of it.")


def _copy_like(p: Any, self: Any, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
    made = p.result(spec(self.spec.dtype, size, stride, p.device))
    shape = tuple(self.spec.shape)
    if shape != tuple(size):
        parts = view_strides(size, stride, shape)
        assert parts is not None  # callers join dimensions that the strides let join
        made = made.seen((shape, parts, 0))
    p.flat(lambda x: x, [self], [made])


copy_like = rows("copy_like(Tensor self, int[] size, int[] stride) -> Tensor", _copy_like,
                 kind="copy", method=False,
                 node_name=lambda plan: "CloneBackward0" if plan.results[0].shape ==
                 plan.operand_spec(0).shape else "UnsafeViewBackward0",
                 backward={"self": lambda ops, grad, self_spec: grad
                           if grad.shape == self_spec.shape
                           else ops.reshape(grad, tuple(self_spec.shape))},
                 samples=lambda make: [(make(3, 4), (3, 4), (1, 3)),
                                       (make(3, 2, 2), (3, 4), (4, 1))],
                 doc="A copy with these strides; dimensions that lie so may be joined.")
