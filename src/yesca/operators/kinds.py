"""The kinds of operators: how each makes a program from its arguments.

`p`, the program under construction (`runtime.program.Program`), is handed in. Tensor arguments
come as *references* (spec and place); a formula never sees sizes, only expressions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..core.dtypes import (
    BOOL, FLOATING, INTEGRAL, NARROW_FLOATS, DType, bfloat16, bool_, default_for, float16, float32,
    int64, uint8,
)
from ..core.memory_formats import pointwise
from ..core.spec import spec
from ..core.views import broadcast_shapes, wrap_dims
from ..loops.ir import Expr, cast, const, fold
from . import limited
from .filling import filling
from .record import Record, register


def is_number(plan: Any, argument: int) -> bool:
    """Whether a plan was made for a number in the place of this tensor argument."""
    return getattr(plan.values[argument], "spec", None) is None


def compute_dtype(dtype: DType) -> DType:
    """Half types, and floats of 8 bits, are computed in float32 and rounded once per record."""
    return float32 if dtype in NARROW_FLOATS else dtype


def elementwise(text: str, body: Callable[..., Any], **options: Any) -> Record:
    """Each element by itself; tensor arguments broadcast. Options: see Record.

    dtype: "promote" (result in the promoted dtype), "float" (integers become floats),
    "compare" (computed promoted, gives bool), "bool" (operands are truth values), or a function
    of the promoted dtype and the arguments giving (compute, result).
    """
    options.setdefault("inplace", True)
    options.setdefault("out", True)
    return register(Record(text, "elementwise", body=body, program=elementwise_program,
                           **options))


def elementwise_dtypes(record: Record, p: Any, promoted: DType, values: tuple[Any, ...]
                       ) -> tuple[DType, DType]:
    """(compute dtype, result dtype) by the record's rule."""
    rule = record.dtype
    if promoted in limited.WIDE or promoted in limited.SMALL:
        limited.refuse((record.derived_from or record).name, (promoted,))
        if record.derived_from is None:
            limited.refuse_scalar(record.name, promoted, values)
    if "bifc"[promoted.category] not in record.takes and not record.derived_from:
        raise record.lacks(p.scalar_name(promoted))
    if callable(rule):
        compute, result = rule(promoted, values)
        return compute_dtype(compute), result
    if rule == "float" and promoted.category < FLOATING:
        promoted = default_for(FLOATING)
    if rule == "bool":
        return bool_, bool_
    compute = compute_dtype(promoted)
    return compute, bool_ if rule == "compare" else promoted


def elementwise_program(record: Record, p: Any, values: tuple[Any, ...]) -> None:
    """Promote, broadcast, one flat stage."""
    parameters = record.schema.parameters
    tensors = [v for v in values if p.is_ref(v)]
    if not tensors:
        kinds = ", ".join(type(v).__name__ for v, q in zip(values, parameters, strict=True)
                          if q.is_tensor)
        raise TypeError(f"{record.name}() received an invalid combination of arguments - got "
                        f"({kinds}); at least one of them must be a Tensor")
    numbers = [v for v, q in zip(values, parameters, strict=True)
               if q.is_tensor and p.is_number(v)]
    if numbers and record.derived_from is None:
        _check_numbers(record, p, values)
    promoted = p.promote(tensors, numbers)
    compute, result = elementwise_dtypes(record, p, promoted, values)
    if compute.is_complex and record.name == "abs" and p.inplace_target is not None:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    shape = broadcast_shapes(*(t.spec.shape for t in tensors))
    first = tensors[0].spec
    # PyTorch's clamps, pow and lerp take numbers beside operands, others make operands of them.
    counted = bool(numbers) and record.name.partition("_")[0] not in ("clamp", "pow", "lerp")
    strides = pointwise([t.spec for t in tensors], shape, counted) \
        if record.strides is None or tuple(first.shape) != shape else record.strides(first)
    results = [p.result(spec(d, shape, strides, p.device))
               for d in _result_dtypes(record, values, result, p)]

    def narrow(x: Expr) -> Expr:
        return cast(cast(x, promoted), compute)

    def body(*loads: Expr) -> Any:
        given = iter(loads)
        args = []
        for k, (value, q) in enumerate(zip(values, parameters, strict=True)):
            if p.is_ref(value):
                x = _narrowed(record, next(given), q.name, promoted, value.spec.ndim)
                keep = compute is bool_ and record.dtype == "bool"
                args.append(x.ne(0) if keep and x.dtype is not bool_ else cast(x, compute))
            elif q.type in ("Tensor", "Scalar", "float") and p.is_number(value):
                real = q.type != "Tensor" and not isinstance(value, complex)
                if record.in_range and compute.category == INTEGRAL:
                    args.append(filling(p, k, compute))
                    continue
                x = p.argument(k, compute.to_real() if real else compute)
                args.append(cast(_narrowed(record, x, q.name, promoted, 0), x.dtype)
                            if q.type == "Tensor" else x)
            else:
                args.append(value)
        held = None if record.holds is None else record.holds(*args)
        if held is not None:
            p.check(held, const(0, int64), record.fail)
        steps = {"narrow": narrow} if record.steps and promoted in _HALVES else {}
        made = record.body(*args, **steps)  # type: ignore[misc]
        stored = made if isinstance(made, tuple) else (made,)
        if result not in _HALVES or record.derived_from is not None:
            return stored
        # What is stored into a target of another dtype is rounded to the half type first.
        return tuple(m if r.spec.dtype is result else cast(m, result)
                     for m, r in zip(stored, results, strict=True))

    p.flat(body, tensors, results)


_HALVES = (float16, bfloat16)


def _narrowed(record: Record, x: Any, name: str, promoted: DType, ndim: int) -> Any:
    """An operand in the promoted dtype where that can hold less than the operand does."""
    if promoted in _HALVES and x.dtype is not promoted and record.derived_from is None:
        return x if name in record.exact and not ndim else cast(x, promoted)
    if record.dtype == "bool" and promoted.category == x.dtype.category == INTEGRAL:
        return cast(x, promoted)
    return x


def _check_numbers(record: Record, p: Any, values: tuple[Any, ...]) -> None:
    """Refuse numbers where PyTorch's operator has no overload for them."""
    for k, (value, q) in enumerate(zip(values, record.schema.parameters, strict=True)):
        if q.is_tensor and p.is_number(value) and q.name not in (record.numbers or ()):
            shown = "input" if q.name == "self" else q.name
            raise TypeError(f"{record.name}(): argument '{shown}' (position {k + 1}) must be "
                            f"Tensor, not {type(value).__name__}")


def _result_dtypes(record: Record, values: tuple[Any, ...], dtype: DType, p: Any) -> list[DType]:
    if record.derived_from is not None:
        return p.gradient_dtypes(record, values)
    return [dtype] * record.schema.results


# ---- reductions ------------------------------------------------------------------------------

def reduction(text: str, fold_kind: str, *, before: Callable[..., Any] = lambda x: x,
              final: Callable[..., Any] | None = None, **options: Any) -> Record:
    """One value over dimensions: `final(fold(before(x)), count)`; arguments dim and keepdim.

    dtype: "sum" (integers and bool give int64), "float" (integers refused, as mean does),
    "same", "bool"; an argument called `dtype` overrides it.
    """
    options.setdefault("out", True)
    return register(Record(text, "reduce", body=before, fold=fold_kind, final=final,
                           program=reduction_program, **options))


def reduced_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that an argument `dim` names; None and () mean all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return wrap_dims((dim,) if isinstance(dim, int) else dim, ndim)


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool
                  ) -> tuple[int, ...]:
    """The shape after a reduction."""
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def reduction_program(record: Record, p: Any, values: tuple[Any, ...]) -> None:
    """Move the reduced dimensions last, fold them."""
    given = dict(zip((q.name for q in record.schema.parameters), values, strict=True))
    x = given["self"]
    dims = reduced_dims(given.get("dim"), x.spec.ndim or 1) if x.spec.ndim else ()
    if not x.spec.ndim:
        reduced_dims(given.get("dim"), 1)  # one without dimensions admits 0 and -1
    keep = bool(given.get("keepdim", False))
    asked = given.get("dtype")
    compute, result = _reduction_dtypes(record, p, x.spec.dtype, asked)
    shape = reduced_shape(tuple(x.spec.shape), dims, keep)
    out = p.result(spec(result, shape, None, p.device))
    count = 1
    for d in dims:
        count *= x.spec.shape[d]
    if count == 0 and record.fold in ("max", "min"):
        if given.get("dim") in (None, ()):
            raise RuntimeError(f"{record.name}(): Expected reduction dim to be specified for "
                               "input.numel() == 0. Specify the reduction dim with the 'dim' "
                               "argument.")
        empty = next(d for d in dims if x.spec.shape[d] == 0)
        raise IndexError(f"{record.name}(): Expected reduction dim {empty} to have non-zero size.")

    if record.fold == "prod" and compute.is_complex:
        halved(p, x, dims, out, compute, operator.mul, 1)
        return

    def before(load: Expr) -> Expr:
        if asked is not None and record.dtype == "sum" and load.dtype is not asked:
            load = cast(load, asked)
        return record.body(cast(load, compute))  # type: ignore[misc]

    def final(folded: Expr) -> Expr:
        if record.final is None:
            return folded
        return record.final(folded, p.fixed(count, compute))

    kind = "max" if record.fold == "sum" and compute is bool_ else record.fold
    p.reduce(kind, before, final, x, dims, out)


def halved(p: Any, x: Any, dims: tuple[int, ...], out: Any, dtype: DType,
           join: Callable[[Any, Any], Any], empty: int) -> None:
    """Folds that stages lack: halves of what is left are joined until one is left."""
    keep = [d for d in range(x.spec.ndim) if d not in dims]
    order = [*keep, *dims]
    moved = x.seen((tuple(x.spec.shape[d] for d in order),
                    tuple(x.spec.strides[d] for d in order), 0))
    left, size = p.joined(moved, len(dims)) if dims else (
        x.seen(((*x.spec.shape, 1), (*x.spec.strides, 1), 0)), 1)
    outer = tuple(x.spec.shape[d] for d in keep)
    goal = out.seen((outer, spec(dtype, outer).strides, 0))
    if size == 0:
        p.flat(lambda: const(empty, dtype), [], [goal])
        return

    def part(begin: int, count: int) -> Any:
        steps = left.spec.strides
        return left.seen(((*outer, count), steps, begin * steps[-1]))

    while size > 1:
        half = size // 2
        made = p.temporary((*outer, size - half), dtype)
        p.flat(lambda a, b: join(cast(a, dtype), cast(b, dtype)), [part(0, half), part(half, half)],
               [made.seen(((*outer, half), made.spec.strides, 0))])
        if size % 2:
            p.flat(lambda a: cast(a, dtype), [part(size - 1, 1)],
                   [made.seen(((*outer, 1), made.spec.strides, half * made.spec.strides[-1]))])
        left, size = made, size - half
    steps = left.spec.strides
    p.flat(lambda a: cast(a, dtype), [left.seen((outer, steps[:-1], 0))], [goal])


def _reduction_dtypes(record: Record, p: Any, dtype: DType, asked: DType | None
                      ) -> tuple[DType, DType]:
    rule = record.dtype
    if callable(rule):
        return rule(dtype)
    if rule == "float" and asked is not None and asked.category < FLOATING:
        raise RuntimeError(
            f"{record.name}(): could not infer output dtype. Optional dtype must be either a "
            f"floating point or complex dtype. Got: {p.scalar_name(asked)}")
    if asked is not None:
        return compute_dtype(asked), asked
    if rule == "sum":
        result = int64 if dtype.category <= INTEGRAL else dtype
        return compute_dtype(result), result
    if rule == "float" and dtype.category < FLOATING:
        raise RuntimeError(
            f"{record.name}(): could not infer output dtype. Input dtype must be either a "
            f"floating point or complex dtype. Got: {p.scalar_name(dtype)}")
    if rule == "bool":
        return dtype, dtype if dtype is uint8 else bool_  # as numpy once had it, and PyTorch has
    return compute_dtype(dtype), dtype


# ---- the other kinds -------------------------------------------------------------------------

def rows(text: str, program: Callable[..., Any], **options: Any) -> Record:
    """A program of its own: `program(p, **arguments)` builds results and stages."""
    return register(Record(text, options.pop("kind", "rows"), program=_unpacked(program),
                           **options))


def _unpacked(program: Callable[..., Any]) -> Callable[..., Any]:
    def run(record: Record, p: Any, values: tuple[Any, ...]) -> None:
        program(p, *values)

    return run


def view(text: str, mapping: Callable[..., Any], **options: Any) -> Record:
    """The same storage seen differently: `mapping(spec, *arguments)` gives a Strided."""
    return register(Record(text, "view", view=mapping, program=view_program, **options))


def view_program(record: Record, p: Any, values: tuple[Any, ...]) -> None:
    """No stages: the result is the first argument's storage under another spec."""
    base = values[0]
    shape, strides, offset, *other = record.view(base.spec, *values[1:])  # type: ignore[misc]
    dtype = other[0] if other else base.spec.dtype
    p.alias(base, spec(dtype, shape, strides, base.spec.device), offset)


def composite(text: str, body: Callable[..., Any], **options: Any) -> Record:
    """Made of other operators: `body(ops, *arguments)`; autograd sees its parts."""
    return register(Record(text, "composite", composite=body, **options))


__all__ = ["BOOL", "composite", "compute_dtype", "elementwise", "fold", "reduction", "rows",
           "view"]


def refuse_gradient(value: Any, function: str, argument: str) -> None:
    """Refuse an operand that requires a gradient; `function`: what reads it, by PyTorch's name."""
    if getattr(value, "requires_grad", False):
        raise RuntimeError(f"The function '{function}' is not differentiable with respect to "
                           f"argument '{argument}'. This input cannot have requires_grad True.")
