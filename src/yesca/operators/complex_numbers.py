"""Complex numbers: their parts, as views and as values, conjugates, angles, and making them.

A conjugate is lazy, as in PyTorch: a view whose spec says that its values are the conjugates of
what lies in memory. Stages turn the sign where they load and store (`runtime.parts`).
"""

# Names: conj_physical conj_physical_

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, DType, bool_, default_for
from ..core.memory_formats import kept
from ..core.spec import Spec, conjugated, negated
from ..core.views import stretched
from ..loops.complexes import Complex
from ..loops.ir import Expr, const
from ..loops.scalar import atan2, conj, cos, imag, is_complex, isnan, real, sin, where
from .kinds import composite, elementwise, rows, view

# ---- parts -----------------------------------------------------------------------------------


def _part(base: Spec, which: int) -> tuple[Any, ...]:
    return (tuple(base.shape), tuple(2 * s for s in base.strides), which, base.dtype.to_real())


view("real_part(Tensor self) -> Tensor", lambda base: _part(base, 0), method=False,
     node_name="SelectBackward0",
     backward={"self": lambda ops, grad, self_spec: ops.to_dtype(grad, self_spec.dtype)})
view("imag_part(Tensor self) -> Tensor", lambda base: _part(base, 1), method=False,
     node_name="SelectBackward0", backward={"self": lambda ops, grad: ops.mul(grad, 1j)})
composite("real(Tensor self) -> Tensor", lambda ops, self:
          ops.real_part(self) if self.dtype.is_complex else self, method=False,
          samples=lambda make: [(make(3, 4),)], doc="The real part, as a view.")


def _imag(ops: Any, self: Any) -> Any:
    if not self.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if self._spec.conj:
        return ops.imag_part(ops._neg_view(ops.conj(self)))
    return ops.imag_part(self)


composite("imag(Tensor self) -> Tensor", _imag, method=False,
          doc="The imaginary part, as a view (of a conjugated tensor: a negated one).")


def _as_real(base: Spec) -> tuple[Any, ...]:
    if not base.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if base.conj:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the "
            "conjugate tensor so you can view it as real, use self.resolve_conj(); however, be "
            "warned that the resulting tensor will NOT alias the original.")
    return ((*base.shape, 2), (*(2 * s for s in base.strides), 1), 0, base.dtype.to_real())


def _as_complex(base: Spec) -> tuple[Any, ...]:
    dtype = base.dtype.to_complex()
    if not dtype.is_complex or base.dtype.is_complex:
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, "
                           f"but got a tensor of scalar type: {SCALAR_NAMES[base.dtype]}")
    if not base.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if base.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if base.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in base.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return (tuple(base.shape[:-1]), tuple(s // 2 for s in base.strides[:-1]), 0, dtype)


def _pairs(ops: Any, grad: Any) -> Any:
    return ops.view_as_complex(ops.clone(grad, memory_format=ops.contiguous_format))


view("view_as_real(Tensor self) -> Tensor", _as_real, method=False,
     backward={"self": lambda ops, grad: _pairs(ops, grad)},
     doc="Complex numbers as pairs of real ones, in a last dimension of size 2.")
view("view_as_complex(Tensor self) -> Tensor", _as_complex, method=False, autocast="float32",
     backward={"self": lambda ops, grad: ops.view_as_real(ops.resolve_conj(grad))},
     doc="Pairs of real numbers, in a last dimension of size 2, as complex numbers.")


# ---- conjugates ------------------------------------------------------------------------------

def _conj_view(p: Any, self: Any) -> None:
    p.alias(self, conjugated(self.spec, not self.spec.conj), 0, keep=False)


rows("conj_view(Tensor self) -> Tensor", _conj_view, kind="view", method=False,
     node_name="ConjBackward0", backward={"self": lambda ops, grad: ops.conj(grad)})
composite("conj(Tensor self) -> Tensor", lambda ops, self:
          ops.conj_view(self) if self.dtype.is_complex else self,
          doc="The complex conjugate, as a view; a real tensor is its own.")
composite("resolve_conj(Tensor self) -> Tensor", lambda ops, self:
          ops.clone(self) if self._spec.conj else self,
          doc="self, or a copy of it where it is a conjugated view.")
rows("_neg_view(Tensor self) -> Tensor", lambda p, self:
     p.alias(self, negated(self.spec, not self.spec.neg), 0, keep=False), kind="view",
     node_name="NegViewBackward0", backward={"self": lambda ops, grad: ops.neg(grad)},
     doc="The negative, as a view.")
composite("resolve_neg(Tensor self) -> Tensor", lambda ops, self:
          ops.clone(self) if self._spec.neg else self,
          doc="self, or a copy of it where it is a negated view.")
elementwise("conj_copy(Tensor self) -> Tensor", conj, takes="bifc", holomorphic=False,
            method=False, inplace=True,
            node_name=lambda plan: f"ConjPhysicalBackward{int(plan.inplace)}",
            backward={"self": lambda grad: conj(grad)})


def _conj_physical(ops: Any, self: Any, suffix: str) -> Any:
    """Real numbers are written as they are, which does no harm where several lie in one place."""
    alone = suffix and not stretched(self._spec.shape, self._spec.strides)
    return getattr(ops, f"conj_copy{suffix}")(self) if alone or self.dtype.is_complex else self


for _suffix in ("", "_"):
    composite(f"conj_physical{_suffix}(Tensor self) -> Tensor",
              lambda ops, self, suffix=_suffix: _conj_physical(ops, self, suffix),
              out=not _suffix,
              doc="The complex conjugate, as a copy; a real tensor is its own.")
composite("adjoint(Tensor self) -> Tensor", lambda ops, self: _adjoint(ops, self),
          samples=lambda make: [(make(3, 4),)],
          doc="The last two dimensions swapped, and conjugated.")


def _adjoint(ops: Any, self: Any) -> Any:
    if self.dim() == 0:
        return ops.conj(self)
    if self.dim() < 2:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of "
                           f"matrices. Got {self.dim()}-D tensor.")
    return ops.conj(ops.transpose(self, -2, -1))


# ---- angles ----------------------------------------------------------------------------------

def _to_real(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    compute = promoted if promoted.category >= FLOATING else default_for(FLOATING)
    return compute, compute.to_real()


def _angle(x: Any) -> Expr:
    if is_complex(x):
        return atan2(imag(x), real(x))  # type: ignore[no-any-return]
    return where(isnan(x), x, where(x < 0, const(math.pi, x.dtype), 0.0))


def _angle_grad(grad: Any, self: Any) -> Any:
    if not is_complex(self):
        return 0
    a, b = self.re, self.im
    scale = where(self.eq(0), 0.0, real(grad) / (a * a + b * b))
    return Complex(-b * scale, a * scale, self.dtype)


elementwise("angle(Tensor self) -> Tensor", _angle, dtype=_to_real, takes="bifc",
            holomorphic=False, inplace=False, backward={"self": _angle_grad},
            doc="The angle to the positive real axis, in radians; pi or 0 for real numbers.")
elementwise("isreal(Tensor self) -> Tensor", lambda x:
            imag(x).eq(0) if is_complex(x) else const(True, bool_), dtype="compare", takes="bifc",
            strides=kept,
            inplace=False, out=False, doc="Whether the imaginary part is 0.")


# ---- making them -----------------------------------------------------------------------------

def _made_of(first: str, second: str) -> Any:
    """The dtype rule of a complex number made of two real ones."""
    def rule(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
        a, b = (v.spec.dtype for v in values)
        names = SCALAR_NAMES[a], SCALAR_NAMES[b]
        if not (a.to_complex().is_complex and b.to_complex().is_complex) or a.is_complex:
            raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got "
                               f"{names[0]} and {names[1]}")
        if a is not b:
            raise RuntimeError(f"Expected object of scalar type {names[0]} but got scalar type "
                               f"{names[1]} for second argument")
        return a, a.to_complex()
    return rule


elementwise("complex(Tensor real, Tensor imag) -> Tensor",
            lambda re, im: Complex(re, im, re.dtype.to_complex()), takes="f", numbers=(),
            dtype=_made_of("real", "imag"), inplace=False, method=False, holomorphic=False,
            keeps_more=True,
            backward={"real": lambda grad: real(grad), "imag": lambda grad: imag(grad)},
            doc="real + imag * 1j.")
elementwise("polar(Tensor abs, Tensor angle) -> Tensor",
            lambda size, turn: Complex(size * cos(turn), size * sin(turn),
                                       size.dtype.to_complex()),
            dtype=_made_of("abs", "angle"), takes="f", numbers=(), inplace=False, method=False,
            holomorphic=False, autocast="float32",
            backward={"abs": lambda grad, angle: real(grad) * cos(real(angle))
                      + imag(grad) * sin(real(angle)),
                      "angle": lambda grad, abs, angle: real(abs) * (
                          imag(grad) * cos(real(angle)) - real(grad) * sin(real(angle)))},
            doc="abs * (cos(angle) + sin(angle) * 1j).")

__all__: list[str] = []
