"""Comparisons, truth, bits, and choosing by a condition."""

# Names: greater greater_equal less less_equal masked_fill masked_fill_ not_equal

from __future__ import annotations

from typing import Any

from ..base.errors import type_name
from ..base.frames import warn
from ..core.dtypes import FLOATING, INTEGRAL, SCALAR_NAMES, DType, bool_, float64, uint8
from ..loops.ir import Expr, const
from ..loops.scalar import absolute, imag, is_complex, isnan, real, where
from .filling import filling
from .kinds import composite, elementwise, rows


EITHER = ("self", "other")  # one of them may be a number


def _compared(name: str, doc: str, alias: str, body: Any, **options: Any) -> Any:
    # Truth values have no gradient; written into floats, in place, they make it zero.
    return elementwise(f"{name}(Tensor self, Tensor other) -> Tensor", body, dtype="compare",
                       aliases=(alias,) if alias else (), doc=doc,
                       backward=dict.fromkeys(("self", "other"), lambda grad: 0.0),
                       node_name=lambda plan: f"{name.title()}Backward{int(plan.operands > 1)}",
                       **options)


eq = _compared("eq", "Whether equal.", "", lambda x, y: x.eq(y), takes="bifc")
ne = _compared("ne", "Whether different.", "not_equal", lambda x, y: x.ne(y), takes="bifc")
lt = _compared("lt", "Whether smaller.", "less", lambda x, y: x < y)
le = _compared("le", "Whether smaller or equal.", "less_equal", lambda x, y: x <= y)
gt = _compared("gt", "Whether larger.", "greater", lambda x, y: x > y)
ge = _compared("ge", "Whether larger or equal.", "greater_equal", lambda x, y: x >= y)

logical_and = elementwise("logical_and(Tensor self, Tensor other) -> Tensor",
                          lambda x, y: x & y, dtype="bool", numbers=(), takes="bifc",
                          doc="Whether both are true.")
logical_or = elementwise("logical_or(Tensor self, Tensor other) -> Tensor",
                         lambda x, y: x | y, dtype="bool", numbers=(), takes="bifc",
                         doc="Whether either is true.")
logical_xor = elementwise("logical_xor(Tensor self, Tensor other) -> Tensor",
                          lambda x, y: x ^ y, dtype="bool", numbers=(), takes="bifc",
                          doc="Whether exactly one is true.")
logical_not = elementwise("logical_not(Tensor self) -> Tensor", lambda x: ~x, dtype="bool",
                          takes="bifc", doc="Whether false.")
bitwise_and = elementwise("bitwise_and(Tensor self, Tensor other) -> Tensor",
                          lambda x, y: x & y, takes="bi", numbers=EITHER,
                          doc="Bits set in both.")
bitwise_or = elementwise("bitwise_or(Tensor self, Tensor other) -> Tensor",
                         lambda x, y: x | y, takes="bi", numbers=EITHER,
                          doc="Bits set in either.")
bitwise_xor = elementwise("bitwise_xor(Tensor self, Tensor other) -> Tensor",
                          lambda x, y: x ^ y, takes="bi", numbers=EITHER,
                          doc="Bits that differ.")
bitwise_not = elementwise("bitwise_not(Tensor self) -> Tensor", lambda x: ~x, takes="bi",
                          doc="Every bit flipped.")


def _outside(x: Expr, y: Expr) -> Expr:
    """Whether a shift by y moves every bit of x out."""
    return (y < 0) | (y >= x.dtype.itemsize * 8)


def _moved_down(x: Expr, y: Expr) -> Expr:
    """Nothing is left of a number without sign whose bits are all moved out; else its sign is."""
    if not x.dtype.is_signed:
        return where(_outside(x, y), const(0, x.dtype), x >> y)
    return x >> where(_outside(x, y), const(x.dtype.itemsize * 8 - 1, x.dtype), y)


bitwise_left_shift = elementwise(
    "bitwise_left_shift(Tensor self, Tensor other) -> Tensor",
    lambda x, y: where(_outside(x, y), const(0, x.dtype), x << y), takes="i",
    kernel="lshift_cpu", numbers=EITHER, domain={"other": (0.0, 5.0)},
    doc="Bits moved up.")
bitwise_right_shift = elementwise(
    "bitwise_right_shift(Tensor self, Tensor other) -> Tensor",
    lambda x, y: _moved_down(x, y), takes="i",
    kernel="rshift_cpu", numbers=EITHER, domain={"other": (0.0, 5.0)},
    doc="Bits moved down.")


def _only_floats(test: Any, otherwise: bool) -> Any:
    def body(x: Expr) -> Expr:
        if x.dtype.category >= FLOATING:
            made: Expr = test(x)
            return made
        return const(otherwise, bool_)
    return body


def _infinite(x: Expr) -> Expr:
    return absolute(x).eq(float("inf"))


def _finite(x: Expr) -> Expr:
    return absolute(x) < float("inf")


isnan_ = elementwise("isnan(Tensor self) -> Tensor", _only_floats(isnan, False), dtype="compare",
                     takes="bifc", inplace=False, out=False, doc="Whether not a number.")
isinf = elementwise("isinf(Tensor self) -> Tensor", _only_floats(
    lambda x: _infinite(real(x)) | _infinite(imag(x)) if is_complex(x) else _infinite(x), False),
    dtype="compare", takes="bifc", inplace=False, out=False,
    doc="Whether infinite.")
isfinite = elementwise("isfinite(Tensor self) -> Tensor", _only_floats(
    lambda x: _finite(real(x)) & _finite(imag(x)) if is_complex(x) else _finite(x), True),
    dtype="compare", takes="bifc", inplace=False, out=False,
    doc="Whether neither infinite nor NaN.")
isposinf = elementwise("isposinf(Tensor self) -> Tensor", _only_floats(
    lambda x: x.eq(float("inf")), False), dtype="compare", inplace=False,
    doc="Whether plus infinity.")
isneginf = elementwise("isneginf(Tensor self) -> Tensor", _only_floats(
    lambda x: x.eq(float("-inf")), False), dtype="compare", inplace=False,
    doc="Whether minus infinity.")
elementwise(
    "close_elements(Tensor self, Tensor other, Scalar rtol, Scalar atol, bool equal_nan) -> Tensor",
    lambda x, y, rtol, atol, equal_nan: _close(x, y, rtol, atol, equal_nan),
    dtype=lambda promoted, values: _close_dtypes(promoted, values),
    numbers=(), takes="bifc",
    inplace=False, out=False, method=False,
    samples=lambda make: [(make(3, 4), make(3, 4), 0.5, 0.1, False),
                          (make(2, 1, 3), make(4, 1), 1e-5, 1e-8, True)])


def _isclose(ops: Any, self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    if rtol == 0 == atol and not equal_nan and self.dtype is other.dtype:
        return ops.eq(self, other)  # large integers differ although their float64 do not
    return ops.close_elements(self, other, rtol, atol, equal_nan)


isclose = composite(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
    "bool equal_nan=False) -> Tensor", _isclose,
    samples=lambda make: [(make(3, 4), make(3, 4)), (make(3, 4), make(3, 4), 0.5, 0.1),
                          (make(2, 1, 3), make(4, 1)), (make(), make())],
    doc="|self - other| <= atol + rtol * |other|.")


def _close_dtypes(promoted: DType, values: tuple[Any, ...]) -> tuple[DType, DType]:
    mine, other = values[0].spec.dtype, values[1].spec.dtype
    if mine is not other:
        raise RuntimeError(f"{SCALAR_NAMES[mine]} did not match {SCALAR_NAMES[other]}")
    return promoted if promoted.category >= FLOATING else float64, bool_


def _close(x: Expr, y: Expr, rtol: Expr, atol: Expr, equal_nan: bool) -> Expr:
    same = x.eq(y)
    if x.dtype.category >= FLOATING:
        near = (absolute(x - y) <= atol + rtol * absolute(y)) & (absolute(x - y) < float("inf"))
        same = same | near
        if equal_nan:
            same = same | (isnan(x) & isnan(y))
    return same


# ---- choosing --------------------------------------------------------------------------------

_WHERE_FORMS = """
 * (Tensor condition)
 * (Tensor condition, Tensor input, Tensor other, *, Tensor out = None)
 * (Tensor condition, Number self, Tensor other)
 * (Tensor condition, Tensor input, Number other)
 * (Tensor condition, Number self, Number other)
"""


def _check_choice(condition: Any, self: Any, other: Any) -> None:
    """A condition alone, or with both of what it chooses from."""
    given = [type_name(condition)] + [type_name(v) for v in (self, other) if v is not None]
    if self is None and other is not None:
        given[1] = f"other={given[1]}"
    if len(given) == 2:
        raise TypeError("where() received an invalid combination of arguments - got "
                        f"({', '.join(given)}), but expected one of:{_WHERE_FORMS}")


def _choose(ops: Any, condition: Any, self: Any, other: Any) -> Any:
    _check_choice(condition, self, other)
    if self is None:
        return ops.nonzero_tuple(condition)
    if condition.dtype is uint8:
        warn("where received a uint8 condition tensor. This behavior is deprecated and will be "
             "removed in a future version of PyTorch. Use a boolean condition instead.")
        condition = ops.to_dtype(condition, bool_)
    if condition.dtype is not bool_:
        raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor "
                           f"with dtype {SCALAR_NAMES[condition.dtype]}")
    return ops.select_where(condition, self, other)


def _where_program(p: Any, condition: Any, self: Any, other: Any) -> None:
    from ..core.memory_formats import pointwise
    from ..core.spec import spec
    from ..core.views import broadcast_shapes
    from ..loops.ir import cast

    refs = [v for v in (self, other) if p.is_ref(v)]
    dtype: DType = p.promote(refs, [v for v in (self, other) if not p.is_ref(v)])
    shape = broadcast_shapes(*(r.spec.shape for r in (condition, *refs)))
    operands = [condition, *refs]
    out = p.result(spec(dtype, shape, pointwise(
        [r.spec for r in operands], shape, len(refs) < 2), p.device))

    def body(test: Expr, *loads: Expr) -> Expr:
        given = iter(loads)
        number = filling if dtype.category == INTEGRAL else type(p).argument
        x, y = (cast(next(given), dtype) if p.is_ref(v) else number(p, k, dtype)
                for k, v in ((1, self), (2, other)))
        return where(test, x, y)

    p.flat(body, operands, [out])


def _where_grad(keep: bool) -> Any:
    def formula(ops: Any, grad: Any, condition: Any, spec: Any) -> Any:
        made = ops.select_where(condition, grad, 0.0) if keep \
            else ops.select_where(condition, 0.0, grad)
        made = ops.sum_to_size(made, tuple(spec.shape))
        return made if made.dtype is spec.dtype else ops.to_dtype(made, spec.dtype)
    return formula


_then, _else = _where_grad(True), _where_grad(False)
select_where = rows(
    "select_where(Tensor condition, Tensor self, Tensor other) -> Tensor", _where_program,
    method=False, numbers=("self", "other"), node_name="WhereBackward0", takes="bifc",
    samples=lambda make: [(make.truths(3, 4), make(3, 4), make(3, 4)),
                          (make.truths(3, 1), make(4), 0.5), (make.truths(2), make(), make(2))],
    backward={"self": lambda ops, grad, condition, self_spec: _then(
        ops, grad, condition, self_spec),
        "other": lambda ops, grad, condition, other_spec: _else(
        ops, grad, condition, other_spec)})
where_public = composite("where(Tensor condition, Tensor? self=None, Tensor? other=None) -> Tensor",
                         _choose, out=True, method=False, numbers=("self", "other"),
                         forms=_WHERE_FORMS,
                         samples=lambda make: [(make.truths(3, 4), make(3, 4), make(3, 4)),
                                               (make.truths(3, 1), make(4), make(3, 1))],
                         doc="self where the condition holds, else other.")


def _masked_fill(inplace: bool) -> Any:
    def body(ops: Any, self: Any, mask: Any, value: Any) -> Any:
        if mask.dtype is not bool_:
            raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                               f"{mask.dtype}")
        if ops.is_tensor(value):
            if value.dim():
                raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but "
                                   f"got tensor with {value.dim()} dimension(s).")
            value = ops.as_element(value, self.dtype) if value.dtype is not self.dtype else value
        return (ops.fill_where_ if inplace else ops.fill_where)(self, mask, value)
    return body


def _fill_program(p: Any, self: Any, mask: Any, value: Any) -> None:
    from ..core.spec import spec
    from ..core.views import broadcast_shapes
    from ..loops.ir import cast

    dtype = self.spec.dtype
    shape = broadcast_shapes(self.spec.shape, mask.spec.shape)
    out = p.result(spec(dtype, shape, None, p.device))
    operands = [self, mask, *([value] if p.is_ref(value) else [])]

    def body(x: Expr, chosen: Expr, *rest: Expr) -> Expr:
        new = cast(rest[0], dtype) if rest else filling(p, 2, dtype)
        return where(chosen, new, x)

    p.flat(body, operands, [out])


fill_where = rows(
    "fill_where(Tensor self, Tensor mask, Tensor value) -> Tensor", _fill_program,
    inplace=True, method=False, takes="bifc", overlap="any", stretched="masked_fill_",
    numbers=("value",),
    node_name=lambda plan: f"MaskedFillBackward{int(plan.operands > 2)}",
    samples=lambda make: [(make(3, 4), make.truths(3, 4), 1), (make(3, 4), make.truths(4), make()),
                          (make(), make.truths(), 1)],
    backward={"self": lambda ops, grad, mask, self_spec: ops.sum_to_size(
        ops.select_where(mask, 0.0, grad), tuple(self_spec.shape)),
        "value": lambda ops, grad, mask, value_spec: ops.sum(
            ops.select_where(mask, grad, 0.0)) if value_spec is not None else None})
for _suffix in ("", "_"):
    composite(f"masked_fill{_suffix}(Tensor self, Tensor mask, Tensor value) -> Tensor",
              _masked_fill(bool(_suffix)), numbers=("value",),
              samples=lambda make: [(make(3, 4), make.truths(3, 4), 1),
                                    (make(3, 4), make.truths(4), make())],
              doc="self with value where the mask is true.")
